#define BINS 64
kernel void histogram(global uint *bins, global const uchar *in, int n)
{
    local uint counts[BINS];
    int l = get_local_id(0);
    for (int i = l; i < BINS; i += get_local_size(0))
        counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[in[i] * BINS / 256]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < BINS; i += get_local_size(0))
        atomic_add(&bins[i], counts[i]);
}
