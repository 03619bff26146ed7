kernel __attribute__((reqd_work_group_size(8, 4, 1))) void required_2d(global int *out)
{
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = (int)(get_local_id(1) * 8 + get_local_id(0));
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void required_1d(global int *out)
{
    out[get_global_id(0)] = (int)get_local_id(0);
}
