// Searches in sorted numbers.

kernel void bounds(global const int *sorted, const uint n, global const int *keys, global uint2 *out) {
    const int key = keys[get_global_id(0)];
    uint low = 0, high = n;
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (sorted[middle] < key) low = middle + 1;
        else high = middle;
    }
    const uint first = low;
    high = n;
    while (low < high) {
        const uint middle = (low + high) >> 1;
        if (sorted[middle] <= key) low = middle + 1;
        else high = middle;
    }
    out[get_global_id(0)] = (uint2)(first, low);
}

// Without branches in the loop.
kernel void branchless(global const int *sorted, const uint n, global const int *keys, global uint *out) {
    const int key = keys[get_global_id(0)];
    uint base = 0, length = n;
    while (length > 1) {
        const uint half_length = length / 2;
        base += sorted[base + half_length - 1] < key ? half_length : 0;
        length -= half_length;
    }
    out[get_global_id(0)] = base + (sorted[base] < key);
}

// In the order of a heap, where the children of i are 2i and 2i + 1.
kernel void heap_order(global const int *heap, const uint n, global const int *keys, global int *out) {
    const int key = keys[get_global_id(0)];
    uint i = 1;
    while (i <= n) i = 2 * i + (heap[i] < key);
    i >>= ctz(~i) + 1;
    out[get_global_id(0)] = i ? heap[i] : INT_MAX;
}

// The group searches one key together: each round splits the range at a place for each work-item.
kernel void by_group(global const int *sorted, const uint n, global const int *keys, global uint *out) {
    local uint low, high, below;
    const uint lid = get_local_id(0), size = get_local_size(0);
    const int key = keys[get_group_id(0)];
    if (lid == 0) {
        low = 0;
        high = n;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    while (low < high) {
        const uint from = low, length = high - low;
        if (lid == 0) below = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (sorted[from + (lid + 1) * length / (size + 1)] < key) atomic_inc(&below);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            const uint parts = below;
            if (parts < size) high = from + (parts + 1) * length / (size + 1);
            if (parts > 0) low = from + parts * length / (size + 1) + 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = low;
}
