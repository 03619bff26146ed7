// A radix sort by digits of 4 bits: histogram, scan and permutation, once for each digit.

#define DIGITS 16

// Counts the digits of each group; digit by digit, so that a scan gives the first places.
kernel void radix_histogram(global const uint *keys, const uint n, const uint shift, global uint *counts) {
    local uint bins[DIGITS];
    const uint lid = get_local_id(0), size = get_local_size(0), gid = get_global_id(0);
    for (uint i = lid; i < DIGITS; i += size) bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (gid < n) atomic_inc(&bins[keys[gid] >> shift & (DIGITS - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < DIGITS; i += size) counts[i * get_num_groups(0) + get_group_id(0)] = bins[i];
}

// A single work-item is enough for few groups.
kernel void radix_scan(global uint *counts, const uint n) {
    uint sum = 0;
    for (uint i = 0; i < n; i++) {
        const uint count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

// Each work-item counts equal digits before it, so that the order of equal digits stays.
kernel void radix_permute(global const uint *keys, const uint n, const uint shift, global const uint *counts, global uint *out, local uchar *digits) {
    const uint lid = get_local_id(0), gid = get_global_id(0);
    const uint key = gid < n ? keys[gid] : 0;
    const uchar digit = gid < n ? (uchar)(key >> shift & (DIGITS - 1)) : 255;
    digits[lid] = digit;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (gid >= n) return;
    uint before = 0;
    for (uint i = 0; i < lid; i++) before += digits[i] == digit;
    out[counts[digit * get_num_groups(0) + get_group_id(0)] + before] = key;
}

// A group sorts by one bit after the other: a scan of the bits splits the elements.
kernel void radix_split(global uint *data, const int bits, local uint *values, local uint *sums) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    uint value = data[get_global_id(0)];
    for (int bit = 0; bit < bits; bit++) {
        const uint set = value >> bit & 1;
        uint sum = set;
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint d = 1; d < size; d <<= 1) {
            if (lid >= d) sum += sums[lid - d];
            barrier(CLK_LOCAL_MEM_FENCE);
            sums[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const uint zeros = size - sums[size - 1];
        const uint to = set ? zeros + sum - 1 : lid - sum;
        values[to] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = values[lid];
    }
    data[get_global_id(0)] = value;
}
