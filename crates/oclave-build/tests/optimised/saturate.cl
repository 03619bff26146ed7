// Arithmetic that ends at the largest number.
kernel void saturate(global uint *out, global const uint *a, global const uint *b)
{
    int i = get_global_id(0);
    uint sum = a[i] + b[i];
    out[i] = sum < a[i] ? 0xffffffffu : sum;
    out[i + 1] = a[i] > b[i] ? a[i] - b[i] : 0;
}
kernel void saturate_pixels(global uchar4 *out, global const uchar4 *a, global const uchar4 *b)
{
    int i = get_global_id(0);
    int4 t = convert_int4(a[i]) + convert_int4(b[i]);
    out[i] = convert_uchar4(min(max(t, (int4)(0)), (int4)(255)));
    uchar x = a[i].x, y = b[i].x, s = x + y;
    out[i + 1] = (uchar4)(s < x ? 255 : s);
}
kernel void saturate_signed(global short *out, short a, short b)
{
    int t = (int)a - b;
    out[0] = t > 32767 ? 32767 : t < -32768 ? -32768 : t;
    t = (int)a + b;
    out[1] = t > 32767 ? 32767 : t < -32768 ? -32768 : t;
}
kernel void saturate_long(global int *out, int a, int b)
{
    out[0] = (int)clamp((long)a + b, (long)INT_MIN, (long)INT_MAX);
    out[1] = (int)clamp((long)a - b, (long)INT_MIN, (long)INT_MAX);
}
