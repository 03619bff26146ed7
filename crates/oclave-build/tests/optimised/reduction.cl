kernel void reduction(global float *out, global const float *in, local float *t, uint n, uint block)
{
    uint l = get_local_id(0), i = get_group_id(0) * block * 2 + l, stride = block * 2 * get_num_groups(0);
    float sum = 0;
    while (i < n) {
        sum += in[i] + (i + block < n ? in[i + block] : 0);
        i += stride;
    }
    t[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (block >= 64) { if (l < 32) t[l] += t[l + 32]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (block >= 32) { if (l < 16) t[l] += t[l + 16]; barrier(CLK_LOCAL_MEM_FENCE); }
    for (uint s = 8; s > 0; s >>= 1) {
        if (l < s)
            t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = t[0];
}
