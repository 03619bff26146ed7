// One memory, several types.
typedef union { uint4 v; uint w[4]; ulong2 l; float4 f; uchar b[16]; } block_t;
kernel void unions(global uint4 *data, global uchar *bytes)
{
    int i = get_global_id(0);
    block_t t;
    t.v = data[i];
    uint s = 0;
    for (int k = 0; k < 4; k++)
        s += t.w[k];
    t.b[5] ^= (uchar)s;
    t.l.y += t.l.x >> 7;
    data[i] = t.v;
    bytes[i] = t.b[s & 15];
}
kernel void reinterpreted(global uint *out, uint4 v, float f)
{
    ulong2 w = as_ulong2(v);
    out[0] = (uint)(w.y >> 32);
    out[1] = (uint)(w.x >> 40) + v.x;
    private uint4 copy = v;
    out[2] = ((private uint *)&copy)[get_global_id(0) & 3];
    out[3] = as_uint(f) >> 23;
    out[4] = ((private uchar *)&copy)[9];
}
