// The same sum with while and do loops, and with the barrier in different places of the body.

// The barrier comes first.
kernel void reduce_while_first(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    uint s = get_local_size(0) / 2;
    tmp[lid] = in[get_global_id(0)];
    while (s > 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < s) tmp[lid] += tmp[lid + s];
        s /= 2;
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The barrier comes last.
kernel void reduce_while_last(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    uint s = get_local_size(0) / 2;
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    while (s > 0) {
        if (lid < s) tmp[lid] += tmp[lid + s];
        s /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The stride lies in local memory, where one work-item halves it.
kernel void reduce_shared_stride(global const uint *in, global uint *out, local uint *tmp) {
    local uint stride;
    const uint lid = get_local_id(0);
    if (lid == 0) stride = get_local_size(0) / 2;
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    while (stride > 0) {
        if (lid < stride) tmp[lid] += tmp[lid + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) stride >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// A do loop with the barrier first, and the work under a condition.
kernel void reduce_do_first(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint s = 1;
    tmp[lid] = in[get_global_id(0)];
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((lid & (2 * s - 1)) == 0 && lid + s < size) tmp[lid] += tmp[lid + s];
        s *= 2;
    } while (s < size);
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// A do loop with the barrier last.
kernel void reduce_do_last(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    uint s = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        uint next = (s + 1) >> 1;
        if (lid < s - next) tmp[lid] += tmp[lid + next];
        s = next;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (s > 1);
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// An endless loop that a break ends between two barriers.
kernel void reduce_endless(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    uint left = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (left == 1) break;
        const uint s = left - left / 2;
        if (lid < left / 2) tmp[lid] += tmp[lid + s];
        left = s;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The rounds are counted, and the stride follows from the round.
kernel void reduce_counted(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    const int rounds = 32 - (int)clz(size - 1);
    tmp[lid] = in[get_global_id(0)];
    for (int round = rounds - 1; round >= 0; round--) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint s = 1u << round;
        const bool mine = lid < s && lid + s < size;
        const uint other = mine ? tmp[lid + s] : 0;
        if (mine) tmp[lid] += other;
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}
