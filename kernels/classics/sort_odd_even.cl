// Odd-even sorts.

// Neighbours are exchanged in as many rounds as there are elements.
kernel void transposition(global const int *in, global int *out, local int *tmp) {
    const int lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int round = 0; round < size; round++) {
        if ((lid & 1) == (round & 1) && lid + 1 < size) {
            if (tmp[lid] > tmp[lid + 1]) {
                const int t = tmp[lid];
                tmp[lid] = tmp[lid + 1];
                tmp[lid + 1] = t;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tmp[lid];
}

// One round on the whole buffer; the host launches it again and again.
kernel void transposition_round(global int *data, const uint n, const uint parity) {
    const uint i = 2 * get_global_id(0) + parity;
    if (i + 1 >= n) return;
    const int a = data[i], b = data[i + 1];
    data[i] = min(a, b);
    data[i + 1] = max(a, b);
}

// Batcher's merge exchange, for any size.
kernel void merge_exchange(global const int *in, global int *out, local int *tmp) {
    const int lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    int highest = 1;
    while (2 * highest < size) highest *= 2;
    for (int p = highest; p > 0; p /= 2) {
        int q = highest, r = 0, d = p;
        for (;;) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid + d < size && (lid & p) == r && tmp[lid] > tmp[lid + d]) {
                const int t = tmp[lid];
                tmp[lid] = tmp[lid + d];
                tmp[lid + d] = t;
            }
            if (q == p) break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tmp[lid];
}
