// Prefix sums over many groups, in several launches.

// First, each group scans its part and stores its total.
kernel void scan_parts(global const uint *in, const uint n, global uint *out, global uint *totals, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0), gid = get_global_id(0);
    uint sum = gid < n ? in[gid] : 0;
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 1; d < size; d *= 2) {
        const uint add = lid >= d ? tmp[lid - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += add;
        tmp[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (gid < n) out[gid] = sum;
    if (lid == size - 1) totals[get_group_id(0)] = sum;
}

// Then a single group scans the totals in chunks, exclusively, and carries a sum from chunk to chunk.
kernel void scan_totals(global uint *totals, const uint n, local uint *tmp) {
    local uint carry;
    const uint lid = get_local_id(0), size = get_local_size(0);
    if (lid == 0) carry = 0;
    for (uint base = 0; base < n; base += size) {
        const uint i = base + lid;
        const uint mine = i < n ? totals[i] : 0;
        uint sum = mine;
        tmp[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint d = 1; d < size; d <<= 1) {
            if (lid >= d) sum += tmp[lid - d];
            barrier(CLK_LOCAL_MEM_FENCE);
            tmp[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const uint before = carry;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < n) totals[i] = before + sum - mine;
        if (lid == size - 1) carry = before + sum;
    }
}

// At last, each group adds what came before it.
kernel void add_totals(global uint *out, const uint n, global const uint *totals) {
    const uint gid = get_global_id(0);
    if (gid < n) out[gid] += totals[get_group_id(0)];
}

// One round of a scan in global memory; the host doubles the distance from launch to launch.
kernel void scan_round(global const uint *from, global uint *to, const uint distance, const uint n) {
    const uint i = get_global_id(0);
    if (i < n) to[i] = i >= distance ? from[i] + from[i - distance] : from[i];
}

// Compaction: the scan of flags says where each element that is kept goes.
kernel void mark(global const uint *in, const uint n, const uint limit, global uint *flags) {
    const uint i = get_global_id(0);
    if (i < n) flags[i] = in[i] < limit;
}

kernel void scatter(global const uint *in, global const uint *sums, const uint n, const uint limit, global uint *out, global uint *count) {
    const uint i = get_global_id(0);
    if (i >= n) return;
    if (in[i] < limit) out[sums[i] - 1] = in[i];
    if (i == n - 1) *count = sums[i];
}
