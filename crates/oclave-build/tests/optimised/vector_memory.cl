// Vectors through memory of other types.
kernel void vector_memory(global uint *out, local uint4 *tile, global const uint4 *in)
{
    int i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
    local uint *words = (local uint *)tile;
    uint first = words[4 * i + 1];
    words[4 * i + 2] = first * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong2 pair = ((local ulong2 *)tile)[i];
    out[get_global_id(0)] = (uint)(pair.y >> 32) + first + ((local ushort *)tile)[8 * i + 3];
}
kernel void vector_three(global float *out, global const float *in)
{
    float3 a = vload3(0, in), b = vload3(1, in);
    float3 c = cross(a, b);
    float3 d = a.x > b.y ? a : b;
    vstore3(normalize(c) + d, 0, out);
    float8 e = (float8)(a, b, 1, 2);
    vstore8(e.s76543210, 1, out);
    float16 f = vload16(1, in);
    out[0] += dot(f.lo.hi, f.odd.lo) + f.s3 + f.even.s1;
}
