// Loops with barriers inside loops and conditions, and code before and after them that must run once. Groups have two dimensions.

// Counters of both loops begin at run time, so that inner loops may have no iterations.
kernel void two_loops(global uint *data, local uint *tmp, const uint n, const uint m) {
    const uint size = get_local_size(0) * get_local_size(1), lid = get_local_id(1) * get_local_size(0) + get_local_id(0);
    const uint id = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * size + lid;
    uint v = data[id];
    for (uint i = 0; i < n; i++) {
        data[id] = data[id] * 3 + i;
        for (uint j = i; j < m; j++) {
            tmp[lid] = v;
            barrier(CLK_LOCAL_MEM_FENCE);
            v = v * 5 + tmp[(lid + 1) % size] + j;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        data[id] ^= v;
    }
}

kernel void three_loops(global uint *data, local uint *tmp, const uint n, const uint m) {
    const uint size = get_local_size(0) * get_local_size(1), lid = get_local_id(1) * get_local_size(0) + get_local_id(0);
    const uint id = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * size + lid;
    uint v = data[id];
    for (uint h = 0; h < n; h++) {
        data[id] += h + 1;
        for (uint i = h; i < m; i++) {
            data[id] = data[id] * 3 + i;
            for (uint j = i * 2; j < m + 1; j++) {
                tmp[lid] = v;
                barrier(CLK_LOCAL_MEM_FENCE);
                v = v * 5 + tmp[(lid + 1) % size] + j;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            data[id] ^= v;
        }
    }
}

// All work-items of a group take the same branch.
kernel void loop_in_branch(global uint *data, local uint *tmp, const uint n, const uint m) {
    const uint size = get_local_size(0) * get_local_size(1), lid = get_local_id(1) * get_local_size(0) + get_local_id(0);
    const uint id = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * size + lid;
    uint v = data[id];
    for (uint i = 0; i < n; i++) {
        data[id] = data[id] * 3 + i;
        if ((i ^ m) & 1) {
            for (uint j = i; j < m; j++) {
                tmp[lid] = v;
                barrier(CLK_LOCAL_MEM_FENCE);
                v = v * 5 + tmp[(lid + 1) % size] + j;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            data[id] += 7;
        }
        data[id] ^= v;
    }
}

// Pairs exchange their values in local memory, as in a bitonic sort.
kernel void exchanges(global uint *data, local uint *tmp, const uint n) {
    const uint size = get_local_size(0) * get_local_size(1), lid = get_local_id(1) * get_local_size(0) + get_local_id(0);
    const uint id = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * size + lid;
    tmp[lid] = data[id];
    for (uint k = 1; k <= n; k <<= 1)
        for (uint j = k >> 1; j > 0; j >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint other = lid ^ j;
            if (other > lid && other < size) {
                const uint a = tmp[lid], b = tmp[other];
                tmp[lid] = b + k;
                tmp[other] = a * 3;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[id] = tmp[lid];
}
