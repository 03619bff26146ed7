// Prefix sums of groups by Blelloch: up a tree and down again. Each work-item has two elements.

kernel void exclusive_tree(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), n = 2 * get_local_size(0);
    const uint base = get_group_id(0) * n;
    uint offset = 1;
    tmp[2 * lid] = in[base + 2 * lid];
    tmp[2 * lid + 1] = in[base + 2 * lid + 1];
    for (uint d = n >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            const uint a = offset * (2 * lid + 1) - 1;
            const uint b = offset * (2 * lid + 2) - 1;
            tmp[b] += tmp[a];
        }
        offset *= 2;
    }
    if (lid == 0) tmp[n - 1] = 0;
    for (uint d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            const uint a = offset * (2 * lid + 1) - 1;
            const uint b = offset * (2 * lid + 2) - 1;
            const uint t = tmp[a];
            tmp[a] = tmp[b];
            tmp[b] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + 2 * lid] = tmp[2 * lid];
    out[base + 2 * lid + 1] = tmp[2 * lid + 1];
}

// Indices with padding, so that banks of the local memory do not conflict.
#define PADDED(i) ((i) + ((i) >> 4))

kernel void exclusive_tree_padded(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), half_n = get_local_size(0), n = 2 * half_n;
    const uint base = get_group_id(0) * n;
    tmp[PADDED(lid)] = in[base + lid];
    tmp[PADDED(lid + half_n)] = in[base + lid + half_n];
    uint stride = 1;
    for (uint d = half_n; d > 0; d /= 2, stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            const uint b = stride * (2 * lid + 2) - 1;
            tmp[PADDED(b)] += tmp[PADDED(b - stride)];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) tmp[PADDED(n - 1)] = 0;
    for (uint d = 1; d <= half_n; d *= 2) {
        stride /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            const uint b = stride * (2 * lid + 2) - 1;
            const uint left = tmp[PADDED(b - stride)];
            tmp[PADDED(b - stride)] = tmp[PADDED(b)];
            tmp[PADDED(b)] += left;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + lid] = tmp[PADDED(lid)];
    out[base + lid + half_n] = tmp[PADDED(lid + half_n)];
}

// Inclusive, in global memory, with while loops.
kernel void inclusive_tree_global(global uint *data) {
    const uint lid = get_local_id(0), n = 2 * get_local_size(0);
    global uint *mine = data + get_group_id(0) * n;
    uint stride = 1;
    while (stride < n) {
        const uint at = (lid + 1) * stride * 2 - 1;
        if (at < n) mine[at] += mine[at - stride];
        stride *= 2;
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    stride = n / 4;
    while (stride > 0) {
        const uint at = (lid + 1) * stride * 2 - 1;
        if (at + stride < n) mine[at + stride] += mine[at];
        stride /= 2;
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
