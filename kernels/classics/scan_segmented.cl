// Segmented prefix sums of groups: the sum starts again where a flag is set.

// By Hillis and Steele, with flags in local memory.
kernel void segmented(global const uint *in, global const uchar *heads, global uint *out, local uint *values, local int *flags) {
    const int lid = get_local_id(0), size = get_local_size(0);
    uint value = in[get_global_id(0)];
    int flag = heads[get_global_id(0)];
    for (int d = 1; d < size; d *= 2) {
        values[lid] = value;
        flags[lid] = flag;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid >= d) {
            if (!flag) value += values[lid - d];
            flag |= flags[lid - d];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = value;
}

// First the start of each segment by a maximum, then a sum that stops there.
kernel void segmented_by_start(global const uint *in, global const uchar *heads, global uint *out, local uint *values, local int *starts) {
    const int lid = get_local_id(0), size = get_local_size(0);
    starts[lid] = heads[get_global_id(0)] ? lid : 0;
    values[lid] = in[get_global_id(0)];
    for (int d = 1; d < size; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int before = lid >= d ? starts[lid - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (before > starts[lid]) starts[lid] = before;
    }
    const int start = starts[lid];
    for (int d = 1; d < size; d <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint add = 0;
        if (lid - d >= start) add = values[lid - d];
        barrier(CLK_LOCAL_MEM_FENCE);
        values[lid] += add;
    }
    out[get_global_id(0)] = values[lid];
}

// The total of each segment: the last work-item of a segment writes it.
kernel void segment_totals(global const uint *in, global const uchar *heads, global uint *totals, global uint *count, local uint *values, local int *flags) {
    local int segments;
    const int lid = get_local_id(0), size = get_local_size(0);
    const size_t base = get_group_id(0) * get_local_size(0);
    if (lid == 0) segments = 0;
    values[lid] = in[get_global_id(0)];
    flags[lid] = lid == 0 || heads[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (flags[lid]) {
        uint sum = values[lid];
        int index = 0;
        for (int i = lid + 1; i < size && !flags[i]; i++) sum += values[i];
        for (int i = 0; i < lid; i++) index += flags[i];
        totals[base + index] = sum;
        atomic_inc(&segments);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) count[get_group_id(0)] = segments;
}
