struct particle {
    float4 position;
    float mass;
    int alive;
};

/// Moves the particles that are alive.
kernel void step(struct particle first, global struct particle *particles, float seconds)
{
    size_t i = get_global_id(0);
    if (particles[i].alive)
        particles[i].position += (particles[i].position - first.position) * seconds;
}

/// The sum of each work-group, by a tree in local memory.
kernel void sums(global const float *x, global float *sum, local float *scratch)
{
    size_t id = get_local_id(0);
    scratch[id] = x[get_global_id(0)];
    for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < stride)
            scratch[id] += scratch[id + stride];
    }
    if (id == 0)
        sum[get_group_id(0)] = scratch[0];
}
