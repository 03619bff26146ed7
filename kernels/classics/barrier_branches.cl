// Barriers in branches that all work-items of a group take together.

// A barrier in both arms of an if.
kernel void both_arms(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint value;
    if (get_group_id(0) % 2 == 0) {
        tmp[lid] = in[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tmp[size - 1 - lid];
    } else {
        tmp[size - 1 - lid] = in[get_global_id(0)] * 3;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tmp[(lid + 1) % size];
    }
    out[get_global_id(0)] = value;
}

// Barriers in the cases of a switch, one of which falls through.
kernel void in_cases(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    uint value = 0;
    switch (get_group_id(0) % 4) {
    case 0:
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tmp[size - 1 - lid];
        break;
    case 1:
        barrier(CLK_LOCAL_MEM_FENCE);
        value = tmp[(lid + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = value + 1;
        // fall through
    case 2:
        barrier(CLK_LOCAL_MEM_FENCE);
        value += tmp[(lid + 2) % size];
        break;
    default:
        value = tmp[lid];
    }
    out[get_global_id(0)] = value;
}

// Break and continue between barriers. The conditions depend on the round only.
kernel void break_continue(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint value = in[get_global_id(0)];
    for (int i = 0; i < 100; i++) {
        tmp[lid] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == rounds) break;
        if (i % 3 == 1) {
            value = tmp[size - 1 - lid] + 7;
            barrier(CLK_LOCAL_MEM_FENCE);
            continue;
        }
        value += tmp[(lid + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i % 3 == 2) continue;
        value ^= 0x55;
    }
    out[get_global_id(0)] = value;
}

// A jump out of two loops, both with barriers.
kernel void leave_two_loops(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    int done = 0;
    tmp[lid] = in[get_global_id(0)];
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 4; k++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint next = tmp[(lid + 1) % size];
            barrier(CLK_LOCAL_MEM_FENCE);
            tmp[lid] = next + i;
            if (++done == rounds) goto out_of_both;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) tmp[0] += 100;
    }
out_of_both:
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tmp[size - 1 - lid];
}

// A helper with barriers, called from two places and in a loop.
uint neighbour(local uint *tmp, const uint value, const uint distance) {
    const uint lid = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    tmp[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    return tmp[(lid + distance) % get_local_size(0)];
}

kernel void in_helper(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    uint value = in[get_global_id(0)];
    if (get_group_id(0) & 1)
        value += neighbour(tmp, value, 1);
    else
        value -= neighbour(tmp, value, 2);
    for (int i = 0; i < rounds; i++)
        value = value * 5 + neighbour(tmp, value, i);
    out[get_global_id(0)] = value;
}

// A helper with a loop and a barrier, which reduces. It is called twice with different data.
uint sum_of_group(local uint *tmp, const uint value) {
    const uint lid = get_local_id(0);
    uint left = get_local_size(0);
    tmp[lid] = value;
    while (left > 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint next = (left + 1) / 2;
        if (lid + next < left) tmp[lid] += tmp[lid + next];
        left = next;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum = tmp[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

kernel void mean_and_spread(global const uint *in, global uint2 *out, local uint *tmp) {
    const uint value = in[get_global_id(0)] & 0xFFFF;
    const uint mean = sum_of_group(tmp, value) / (uint)get_local_size(0);
    const uint spread = sum_of_group(tmp, value > mean ? value - mean : mean - value);
    if (get_local_id(0) == 0) out[get_group_id(0)] = (uint2)(mean, spread);
}

// A barrier under a condition in a loop; every third round has none.
kernel void now_and_then(global const uint *in, global uint *out, const int rounds, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint value = in[get_global_id(0)];
    for (int i = 0; i < rounds; i++) {
        if (i % 3 != 0) {
            tmp[lid] = value;
            barrier(CLK_LOCAL_MEM_FENCE);
            value += tmp[size - 1 - lid];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        value = value * 3 + 1;
    }
    out[get_global_id(0)] = value;
}

// A whole group returns before the first barrier.
kernel void group_returns(global const uint *in, global uint *out, const uint groups, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    if (get_group_id(0) >= groups) return;
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tmp[size - 1 - lid];
}
