// Prefix sums of groups by Hillis and Steele: each round adds from twice as far.

// Two buffers take turns; they are halves of one piece of local memory.
kernel void inclusive_double_buffer(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint to = 0, from = 1;
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint offset = 1; offset < size; offset *= 2) {
        to = 1 - to;
        from = 1 - from;
        if (lid >= offset)
            tmp[to * size + lid] = tmp[from * size + lid] + tmp[from * size + lid - offset];
        else
            tmp[to * size + lid] = tmp[from * size + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tmp[to * size + lid];
}

// The same, but exclusive: the input enters shifted by one place.
kernel void exclusive_double_buffer(global const uint *in, global uint *out, local uint *a, local uint *b) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    a[lid] = lid > 0 ? in[get_global_id(0) - 1] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint offset = 1; offset < size; offset <<= 1) {
        b[lid] = a[lid] + (lid >= offset ? a[lid - offset] : 0);
        barrier(CLK_LOCAL_MEM_FENCE);
        local uint *other = a;
        a = b;
        b = other;
    }
    out[get_global_id(0)] = a[lid];
}

// In place, with a barrier between reading and writing.
kernel void inclusive_in_place(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint sum = in[get_global_id(0)];
    tmp[lid] = sum;
    for (uint offset = 1; offset < size; offset <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid >= offset) sum += tmp[lid - offset];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = sum;
    }
    out[get_global_id(0)] = sum;
}

// The lower half of the local memory holds zeros, so that no work-item needs a condition.
kernel void inclusive_padded(global const uint *in, global uint *out) {
    local uint tmp[512];
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint at = size + lid;
    tmp[lid] = 0;
    tmp[at] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint offset = 1; offset < size; offset <<= 1) {
        const uint sum = tmp[at] + tmp[at - offset];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[at] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tmp[at];
}

// The running maximum instead of a sum.
kernel void running_maximum(global const int *in, global int *out, local int *tmp) {
    const int lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < size; d += d) {
        int best = tmp[lid];
        if (lid - d >= 0) best = max(best, tmp[lid - d]);
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = best;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tmp[lid];
}
