kernel void scan(global int *out, global const int *in, local int *t, int n)
{
    int l = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size * 2, offset = 1;
    t[2 * l] = base + 2 * l < n ? in[base + 2 * l] : 0;
    t[2 * l + 1] = base + 2 * l + 1 < n ? in[base + 2 * l + 1] : 0;
    for (int d = size; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d)
            t[offset * (2 * l + 2) - 1] += t[offset * (2 * l + 1) - 1];
        offset *= 2;
    }
    if (l == 0)
        t[2 * size - 1] = 0;
    for (int d = 1; d <= size; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            int a = offset * (2 * l + 1) - 1, b = offset * (2 * l + 2) - 1, x = t[a];
            t[a] = t[b];
            t[b] += x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (base + 2 * l < n) out[base + 2 * l] = t[2 * l];
    if (base + 2 * l + 1 < n) out[base + 2 * l + 1] = t[2 * l + 1];
}
