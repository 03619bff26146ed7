// Kernels that a device may lack the sub-groups or the work-groups for, beside one that needs nothing.

kernel void neighbour(global int *out)
{
    out[get_global_id(0)] = 7;
}

__attribute__((reqd_work_group_size(100000, 1, 1))) kernel void wide_groups(global int *out)
{
    out[get_global_id(0)] = (int)get_local_id(0);
}

// What each work-item writes is the sum of 0, 1, … over its sub-group.

__attribute__((intel_reqd_sub_group_size(8))) kernel void sub_groups_of_8(global int *out)
{
    out[get_global_id(0)] = sub_group_reduce_add((int)get_sub_group_local_id());
}

/// Odd sizes are had by no device.
__attribute__((intel_reqd_sub_group_size(7))) kernel void sub_groups_of_7(global int *out)
{
    out[get_global_id(0)] = sub_group_reduce_add((int)get_sub_group_local_id());
}
