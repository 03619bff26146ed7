/*!
[config]
name: A vote in which all agree
clc_version_min: 20

[test]
name: 8 work-items
kernel_name: q63
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer int[8] repeat 1
arg_in: 1 int 1
!*/

kernel void q63(global int *out, int a)
{
    out[get_global_id(0)] = work_group_all(a > 2 || get_local_id(0) < 8) != 0;
}
