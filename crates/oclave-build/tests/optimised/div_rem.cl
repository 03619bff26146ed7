// Coordinates of a flat index: quotient and remainder of one division.
kernel void div_rem(global int *out, global const float *in, int width, int height)
{
    int i = get_global_id(0);
    int x = i % width, y = i / width, z = y / height;
    out[x * height + y % height] = z + (int)in[i / width];
}
kernel void div_rem_unsigned(global uint *out, uint n)
{
    uint i = get_global_id(0);
    out[i / n] = i % n;
    out[n + (i >> 3) / n] = (i >> 3) % n;
}
kernel void div_rem_vector(global int4 *out, int4 n)
{
    int4 i = (int4)(get_global_id(0)) + (int4)(0, 1, 2, 3);
    out[0] = i / n;
    out[1] = i % n;
}
