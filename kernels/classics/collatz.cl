// Steps of the sequence of Collatz until it reaches one.

kernel void steps(global uint *out, const uint first) {
    ulong x = first + get_global_id(0);
    uint n = 0;
    while (x > 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        n++;
    }
    out[get_global_id(0)] = n;
}

// Pairs of an odd step and all halvings after it; the longest of the group and its start win.
kernel void longest(global uint2 *out, const uint first, local uint *counts, local uint *starts) {
    const uint lid = get_local_id(0);
    const uint start = first + (uint)get_global_id(0);
    ulong x = start;
    uint n = 0;
    for (;;) {
        const uint zeros = (uint)popcount((x & -x) - 1);
        x >>= zeros;
        n += zeros;
        if (x == 1) break;
        x = 3 * x + 1;
        n++;
    }
    counts[lid] = n;
    starts[lid] = start;
    for (uint left = get_local_size(0); left > 1; ) {
        const uint half_left = (left + 1) / 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid + half_left < left) {
            const uint other = counts[lid + half_left];
            if (other > counts[lid] || (other == counts[lid] && starts[lid + half_left] < starts[lid])) {
                counts[lid] = other;
                starts[lid] = starts[lid + half_left];
            }
        }
        left = half_left;
    }
    if (lid == 0) out[get_group_id(0)] = (uint2)(counts[0], starts[0]);
}
