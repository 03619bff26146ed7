// Tree reductions whose bound is asked for in each iteration.

// In local memory of the kernel.
__kernel void tree_local(__global const uint *in, __global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// The value that is stored before the loop is a sum, too.
__kernel void tree_id(__global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = lid + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// In local memory that the host allocates.
__kernel void tree_argument(__global const uint *in, __global uint *out, __local uint *tmp) {
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// In global memory.
__kernel void tree_global(__global uint *data, __global uint *out) {
    uint lid = get_local_id(0);
    __global uint *mine = data + get_group_id(0) * get_local_size(0);
    mine[lid] += 3;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            mine[lid] += mine[lid + s];
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = mine[0];
}

// With a bit mask.
__kernel void tree_mask(__global const uint *in, __global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)] + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && (lid & (2 * s - 1)) == 0)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

// The maximum.
__kernel void tree_maximum(__global const uint *in, __global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            tmp[lid] = max(tmp[lid], tmp[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

void add_pair(__local uint *tmp, uint lid, uint s) {
    if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
        tmp[lid] += tmp[lid + s];
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The barrier is in a function.
__kernel void tree_function(__global const uint *in, __global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 1; s < get_local_size(0); s *= 2)
        add_pair(tmp, lid, s);
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}

__attribute__((noinline)) void wait_for_group(void) {
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The barrier is in a function that is not inlined.
__kernel void tree_call(__global const uint *in, __global uint *out) {
    __local uint tmp[256];
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    wait_for_group();
    for (uint s = 1; s < get_local_size(0); s *= 2) {
        if (lid + s < get_local_size(0) && lid % (2 * s) == 0)
            tmp[lid] += tmp[lid + s];
        wait_for_group();
    }
    if (lid == 0)
        out[get_group_id(0)] = tmp[0];
}
