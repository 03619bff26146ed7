// Merge sorts.

// One level on the whole buffer: each work-item merges two runs.
kernel void merge_runs(global const int *from, global int *to, const uint n, const uint run) {
    uint a = get_global_id(0) * 2 * run;
    if (a >= n) return;
    uint b = min(a + run, n);
    const uint end_a = b, end_b = min(b + run, n);
    for (uint at = a; at < end_b; at++) {
        if (a < end_a && (b >= end_b || from[a] <= from[b]))
            to[at] = from[a++];
        else
            to[at] = from[b++];
    }
}

// One level: each work-item finds the place of its element in the other run by binary search.
kernel void merge_by_search(global const int *from, global int *to, const uint n, const uint run) {
    const uint i = get_global_id(0);
    if (i >= n) return;
    const uint mine = i / run, start = mine / 2 * 2 * run;
    const bool is_right = mine & 1;
    uint low = min(is_right ? start : start + run, n);
    uint high = min(low + run, n);
    const uint first = low;
    const int value = from[i];
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (is_right ? from[middle] <= value : from[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    to[start + (i - mine * run) + (low - first)] = value;
}

// All levels of a group in local memory, with two buffers.
kernel void merge_local(global const int *in, global int *out, local int *a, local int *b) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    local int *from = a, *to = b;
    from[lid] = in[get_global_id(0)];
    for (uint run = 1; run < size; run *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid % (2 * run) == 0) {
            uint i = lid;
            uint k = min(lid + run, size);
            const uint end_i = k, end_k = min(k + run, size);
            for (uint at = lid; at < end_k; at++) {
                const bool left = i < end_i && (k >= end_k || from[i] <= from[k]);
                to[at] = left ? from[i++] : from[k++];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        local int *t = from;
        from = to;
        to = t;
    }
    out[get_global_id(0)] = from[lid];
}
