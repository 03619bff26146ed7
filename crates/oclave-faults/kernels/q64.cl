/*!
[config]
name: The size of a sub-group that is not full
clc_version_min: 20

[test]
name: a group of 9
kernel_name: q64
dimensions: 1
global_size: 9 0 0
local_size: 9 0 0
arg_out: 0 buffer uint[9] repeat 1
!*/

kernel void q64(global uint *out)
{
    uint members = sub_group_reduce_add(1u);
    out[get_global_id(0)] = get_sub_group_size() == members;
}
