// Sums of groups that differ in how they end.

// After the last barrier, the upper half returns. The lower half adds to a counter in local memory.
kernel void reduce_early_exit(global const uint *in, global uint *out) {
    local uint tmp[256];
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint half_size = (size + 1) / 2;
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid >= half_size) return;
    uint sum = tmp[lid];
    if (lid + half_size < size) sum += tmp[lid + half_size];
    atomic_add(&out[get_group_id(0)], sum);
}

// In each round, the work-items that are done skip the work with `continue`, but not the barrier.
kernel void reduce_skipping(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    for (uint s = get_local_size(0) >> 1; s; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid >= s) continue;
        tmp[lid] += tmp[lid + s];
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The last rounds are unrolled, each with a barrier.
kernel void reduce_unrolled(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (size >= 256) { if (lid < 128) tmp[lid] += tmp[lid + 128]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 128) { if (lid < 64) tmp[lid] += tmp[lid + 64]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 64) { if (lid < 32) tmp[lid] += tmp[lid + 32]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 32) { if (lid < 16) tmp[lid] += tmp[lid + 16]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 16) { if (lid < 8) tmp[lid] += tmp[lid + 8]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 8) { if (lid < 4) tmp[lid] += tmp[lid + 4]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 4) { if (lid < 2) tmp[lid] += tmp[lid + 2]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (size >= 2) { if (lid < 1) tmp[lid] += tmp[lid + 1]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The last 32 work-items go on without a loop. Each step waits, because groups may be wider than the hardware.
kernel void reduce_last_warp(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0);
    tmp[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 32; s >>= 1) {
        if (lid < s) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint sum = tmp[lid];
#pragma unroll
    for (uint s = 32; s > 0; s >>= 1) {
        if (lid < s && lid + s < get_local_size(0)) sum += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = sum;
}

// One atomic addition to the total for each group. A second result counts the groups.
kernel void reduce_atomic(global const uint *in, volatile global uint *total) {
    local uint sum;
    if (get_local_id(0) == 0) sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum, in[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        atomic_add(&total[0], sum);
        atomic_inc(&total[1]);
    }
}

// One level of many: the host launches it again on its own output until one value is left.
kernel void reduce_level(global const uint *in, const uint n, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), gid = get_global_id(0);
    tmp[lid] = gid < n ? in[gid] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (lid < s) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}
