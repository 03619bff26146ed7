// A node with barriers and local memory, of benches/small_nodes.rs; compiled as small_nodes.cl is.

kernel void bump(global float *x, global const float *y)
{
    size_t i = get_global_id(0);
    x[i] = x[i] + 1.0f;
}

kernel void scan(global float *x, global const float *y)
{
    local float part[64];
    size_t l = get_local_id(0);
    part[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = 1; step < 64; step *= 2) {
        float left = l >= step ? part[l - step] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[l] += left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[get_global_id(0)] = part[l] * 0.01f;
}
