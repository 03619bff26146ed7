// Collective functions of work-groups.

kernel void reductions(global const int *in, global const uint *unsigned_in, global int *sums, global int2 *extremes, global uint2 *unsigned_extremes, global long *wide) {
    const size_t i = get_global_id(0), g = get_group_id(0);
    const int sum = work_group_reduce_add(in[i]);
    const int highest = work_group_reduce_max(in[i]), lowest = work_group_reduce_min(in[i]);
    const uint high = work_group_reduce_max(unsigned_in[i]), low = work_group_reduce_min(unsigned_in[i]);
    const long total = work_group_reduce_add((long)in[i] << 20);
    // All work-items have the result; the last one stores it.
    if (get_local_id(0) == get_local_size(0) - 1) {
        sums[g] = sum;
        extremes[g] = (int2)(highest, lowest);
        unsigned_extremes[g] = (uint2)(high, low);
        wide[g] = total;
    }
}

kernel void scans(global const int *in, global int4 *out) {
    const size_t i = get_global_id(0);
    const int a = work_group_scan_inclusive_add(in[i]);
    const int b = work_group_scan_exclusive_add(in[i]);
    const int c = work_group_scan_inclusive_max(in[i]);
    const int d = work_group_scan_exclusive_min(in[i]);
    out[i] = (int4)(a, b, c, d);
}

// The work-item that is asked for differs from group to group.
kernel void broadcasts(global const uint *in, global const uint *from, global uint *out) {
    const size_t i = get_global_id(0);
    out[i] = work_group_broadcast(in[i], (size_t)from[get_group_id(0)]);
}

kernel void broadcasts_2d(global const uint *in, global uint *out) {
    const size_t width = get_global_size(0), i = get_global_id(1) * width + get_global_id(0);
    const size_t x = get_local_size(0) - 1, y = get_group_id(1) % get_local_size(1);
    out[i] = work_group_broadcast(in[i], x, y);
}

kernel void votes(global const int *in, global int4 *out) {
    const size_t i = get_global_id(0);
    const int all_positive = work_group_all(in[i] > 0), any_positive = work_group_any(in[i] > 0);
    const int all_even = work_group_all(!(in[i] & 1)), any_zero = work_group_any(in[i] == 0);
    out[i] = (int4)(all_positive != 0, any_positive != 0, all_even != 0, any_zero != 0);
}

// In a loop that a vote ends.
kernel void until_any(global const uint *in, global uint *out) {
    uint value = in[get_global_id(0)], rounds = 0;
    while (!work_group_any(value % 16 == 0)) {
        value = value * 5 + 3;
        rounds++;
    }
    out[get_global_id(0)] = rounds;
}

// Compaction: the scan of flags gives the places, the sum their number.
kernel void compact(global const int *in, global int *out, global uint *counts) {
    const size_t i = get_global_id(0), base = get_group_id(0) * get_local_size(0);
    const uint keep = in[i] > 0;
    const uint place = work_group_scan_exclusive_add(keep);
    if (keep) out[base + place] = in[i];
    const uint count = work_group_reduce_add(keep);
    if (get_local_id(0) == 0) counts[get_group_id(0)] = count;
}

// In both arms of a condition of the group, with floats.
kernel void in_arms(global const float *in, global float *out) {
    const size_t i = get_global_id(0);
    float result;
    if (get_group_id(0) % 2)
        result = work_group_reduce_max(in[i]);
    else
        result = work_group_scan_inclusive_min(in[i]);
    out[i] = result;
}
