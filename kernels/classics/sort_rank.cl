// Sorts that compute the place of each element: by rank and by counting.

// All elements of the buffer are compared with the own one.
kernel void rank_global(global const float *in, const int n, global float *out) {
    const int i = get_global_id(0);
    if (i >= n) return;
    const float mine = in[i];
    int rank = 0;
    for (int k = 0; k < n; k++) {
        const float other = in[k];
        rank += other < mine || (other == mine && k < i);
    }
    out[rank] = mine;
}

// The same in tiles, which the group loads to local memory.
kernel void rank_tiled(global const int *in, const uint n, global int *out, global uint *ranks, local int *tile) {
    const uint i = get_global_id(0), lid = get_local_id(0), size = get_local_size(0);
    const int mine = i < n ? in[i] : 0;
    uint rank = 0;
    for (uint base = 0; base < n; base += size) {
        if (base + lid < n) tile[lid] = in[base + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint count = min(size, n - base);
        for (uint k = 0; k < count; k++) {
            if (tile[k] < mine || (tile[k] == mine && base + k < i)) rank++;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) {
        out[rank] = mine;
        ranks[i] = rank;
    }
}

// A group sorts bytes by counting them.
kernel void counting(global const uchar *in, global uchar *out) {
    local uint counts[256];
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint base = get_group_id(0) * size;
    for (uint v = lid; v < 256; v += size) counts[v] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&counts[in[base + lid]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        uint sum = 0;
        for (int v = 0; v < 256; v++) {
            const uint count = counts[v];
            counts[v] = sum;
            sum += count;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint at = atomic_inc(&counts[in[base + lid]]);
    out[base + at] = in[base + lid];
}
