// Sums of groups with interleaved addressing: the stride doubles.

// The work-items whose id is divisible by twice the stride add.
__kernel void reduce_modulo(__global const uint *in, __global uint *out, __local uint *tmp) {
    const uint lid = get_local_id(0);
    const uint size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < size; s *= 2) {
        if (lid % (2 * s) == 0 && lid + s < size)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// A bit mask selects the same work-items.
__kernel void reduce_mask(__global const uint *in, __global uint *out, __local uint *tmp) {
    const uint lid = get_local_id(0);
    const uint size = get_local_size(0);
    uint mask = 1;
    tmp[lid] = in[get_global_id(0)];
    for (uint offset = 1; offset < size; offset <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((lid & mask) == 0 && lid + offset < size)
            tmp[lid] += tmp[lid + offset];
        mask = (mask << 1) | 1;
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// Neighbouring work-items add at a strided index.
__kernel void reduce_strided(__global const uint *in, __global uint *out, __local uint *tmp) {
    const uint lid = get_local_id(0);
    const uint size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < size; s *= 2) {
        const uint index = 2 * s * lid;
        if (index + s < size) {
            tmp[index] += tmp[index + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// The stride doubles, and the barrier stands at the beginning and at the end of the body.
__kernel void reduce_two_barriers(__global const uint *in, __global uint *out, __local uint *tmp) {
    const uint lid = get_local_id(0);
    const uint size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    for (uint s = 1; s < size; s <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint other = 0;
        if (lid + s < size)
            other = tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] += other;
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}
