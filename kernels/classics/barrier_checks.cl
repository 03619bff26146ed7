// Checks that never fail and would stop a work-item for ever, between barriers.

#define CHECK(condition) if (!(condition)) for (;;);

// The first work-item of a group stores before the second barrier, the others go another way.
kernel void checked_store(global const uint *in, global uint *out, const int n, local uint *tmp) {
    const uint i = get_global_id(0), l = get_local_id(0);
    uint v = in[i];
    if (l == 0) tmp[0] = v + 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    v += tmp[0];
    CHECK(n > 0)
    if (l == 0) out[i] = v; else v += 4;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (n > 4) v ^= out[i - l]; else v += 6;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = v;
}

// A check of each work-item, and one in a loop.
kernel void checked_loop(global const uint *in, global uint *out, const int n, local uint *tmp) {
    const uint i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
    uint v = in[i];
    for (int round = 0; round < n; round++) {
        tmp[l] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
        CHECK(l < size * n)
        if (l % 2 == 0) v += tmp[(l + 1) % size]; else v ^= 5;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = v;
}
