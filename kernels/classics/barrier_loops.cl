// Barriers before, in and after loops, with work under conditions between them.
// Each kernel passes values from work-item to work-item through local memory.

// Rotates by one place a round; barriers at the beginning and at the end of the body.
kernel void rotate_for(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    for (int i = 0; i < rounds; i++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint next = tmp[(lid + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = next + lid;
    }
    out[get_global_id(0)] = tmp[lid];
}

// The same with a while loop, and a barrier before it.
kernel void rotate_while(global const uint *in, global uint *out, int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    while (rounds-- > 0) {
        const uint next = tmp[(lid + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = next + lid;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tmp[lid];
}

// The same with a do loop, which starts and ends with a barrier.
kernel void rotate_do(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    int i = 0;
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint next = 0;
        if (lid + 1 < size)
            next = tmp[lid + 1];
        else
            next = tmp[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = next + lid;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (++i < rounds);
    out[get_global_id(0)] = tmp[lid];
}

// A loop in a loop, each with a barrier. The inner one runs as often as the outer one says.
kernel void rotate_nested(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    for (int i = 1; i <= rounds; i++) {
        for (int k = 0; k < i; k++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint next = tmp[(lid + 1) % size];
            barrier(CLK_LOCAL_MEM_FENCE);
            tmp[lid] = next + lid;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) tmp[0] ^= (uint)i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tmp[lid];
}

// Half of the work-items write and the other half reads, in turn.
kernel void ping_pong(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint value = in[get_global_id(0)];
    for (int i = 0; i < rounds; i++) {
        if ((lid & 1) == (i & 1)) tmp[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((lid & 1) != (i & 1)) {
            if (lid > 0) value += 3 * tmp[lid - 1];
            if (lid + 1 < size) value ^= tmp[lid + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = value;
}

// Two arrays change roles in each round, so that one barrier is enough.
kernel void two_arrays(global const uint *in, global uint *out, const int rounds, local uint *a, local uint *b) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    local uint *from = a;
    local uint *to = b;
    from[lid] = in[get_global_id(0)];
    for (int i = 0; i < rounds; i++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        to[lid] = from[(lid + 1) % size] + lid;
        local uint *const other = from;
        from = to;
        to = other;
    }
    out[get_global_id(0)] = from[lid];
}

// A loop whose number of rounds comes from memory and is the same for the whole group.
kernel void rounds_of_group(global const uint *in, global const int *rounds, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    const int n = rounds[get_group_id(0)];
    tmp[lid] = in[get_global_id(0)];
    for (int i = 0; i < n; ++i) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint next = tmp[(lid + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = next + lid;
    }
    out[get_global_id(0)] = tmp[lid];
}
