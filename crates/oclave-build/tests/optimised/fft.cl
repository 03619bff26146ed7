float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
kernel void fft(global float2 *out, global const float2 *in, uint p)
{
    uint t = get_global_size(0), i = get_global_id(0), k = i & (p - 1);
    uint j = ((i - k) << 1) + k;
    float angle = -3.14159265f * k / (float)p;
    float2 u0 = in[i], u1 = times(in[i + t], (float2)(cos(angle), sin(angle)));
    out[j] = u0 + u1;
    out[j + p] = u0 - u1;
}
