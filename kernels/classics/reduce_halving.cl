// Sums of groups with sequential addressing: the stride halves.

// The classic form for powers of two, with local memory as an argument.
kernel void reduce_sequential(global const uint *in, global uint *out, local uint *tmp) {
    uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (lid < s) {
            tmp[lid] += tmp[lid + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// Halves rounded up, so that any size works.
kernel void reduce_any_size(global const uint *in, global uint *out) {
    local uint tmp[256];
    const uint lid = get_local_id(0);
    uint left = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    while (left > 1) {
        const uint half_left = (left + 1) / 2;
        if (lid + half_left < left) tmp[lid] += tmp[lid + half_left];
        left = half_left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// Each work-item adds two elements while it loads.
kernel void reduce_two_elements(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint i = get_group_id(0) * size * 2 + lid;
    tmp[lid] = in[i] + in[i + size];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = size / 2; s > 0; s /= 2) {
        if (lid < s) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// Work-items walk over the input with the stride of the whole grid.
kernel void reduce_grid_stride(global const uint *in, const uint n, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    uint sum = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = 128; s > 0; s >>= 1) {
        if (lid < s && lid + s < get_local_size(0)) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// In global memory: the input is overwritten.
kernel void reduce_global(global uint *data, global uint *out) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    global uint *mine = data + get_group_id(0) * size;
    for (uint left = size; left > 1; left = (left + 1) / 2) {
        const uint s = (left + 1) / 2;
        if (lid < left - s) mine[lid] += mine[lid + s];
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = mine[0];
}

// Maximum and minimum in one pass.
kernel void reduce_max_min(global const int *in, global int2 *out, local int *highest, local int *lowest) {
    const int lid = get_local_id(0), size = get_local_size(0);
    highest[lid] = lowest[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < size; s *= 2) {
        if (lid % (2 * s) == 0 && lid + s < size) {
            highest[lid] = max(highest[lid], highest[lid + s]);
            if (lowest[lid + s] < lowest[lid]) lowest[lid] = lowest[lid + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = (int2)(highest[0], lowest[0]);
}

// A sum of floats.
kernel void reduce_float(global const float *in, global float *out, local float *tmp) {
    const uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (lid < s) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!lid) out[get_group_id(0)] = tmp[0];
}
