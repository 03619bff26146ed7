// Collective functions of sub-groups. Nothing here depends on how many work-items a sub-group has.

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// The sum of a group: first of each sub-group, then of those in local memory.
kernel void sum_of_group(global const int *in, global int *out, local int *tmp) {
    const int sum = sub_group_reduce_add(in[get_global_id(0)]);
    if (get_sub_group_local_id() == 0) tmp[get_sub_group_id()] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        int total = 0;
        for (uint s = 0; s < get_num_sub_groups(); s++) total += tmp[s];
        out[get_group_id(0)] = total;
    }
}

// Which sub-group a work-item belongs to, its place there, and an inclusive scan.
kernel void scan_of_subgroup(global const int *in, global int4 *out) {
    const size_t i = get_global_id(0);
    const int sum = sub_group_scan_inclusive_add(in[i]);
    out[i] = (int4)(get_sub_group_id(), get_sub_group_local_id(), sum, get_sub_group_size());
}

// Maximum, minimum, broadcast of the first one, and an exclusive scan.
kernel void others_of_subgroup(global const int *in, global int4 *places, global int4 *out) {
    const size_t i = get_global_id(0);
    places[i] = (int4)(get_sub_group_id(), get_sub_group_local_id(), get_num_sub_groups(), get_max_sub_group_size());
    const int highest = sub_group_reduce_max(in[i]), lowest = sub_group_reduce_min(in[i]);
    const int first = sub_group_broadcast(in[i], 0);
    out[i] = (int4)(highest, lowest, first, sub_group_scan_exclusive_add(in[i]));
}

// Votes, and a barrier of the sub-group between a store and a load in local memory.
kernel void votes_of_subgroup(global const int *in, global int4 *places, global int4 *out, local int *tmp) {
    const size_t i = get_global_id(0);
    const uint base = get_sub_group_id() * get_max_sub_group_size(), size = get_sub_group_size(), me = get_sub_group_local_id();
    places[i] = (int4)(get_sub_group_id(), me, 0, 0);
    tmp[base + me] = in[i];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    const int next = tmp[base + (me + 1) % size];
    out[i] = (int4)(sub_group_all(in[i] > 0) != 0, sub_group_any(in[i] > 90) != 0, next, 0);
}
