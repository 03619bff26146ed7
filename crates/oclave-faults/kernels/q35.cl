/*!
[config]
name: The maximum of an id and a number
clc_version_min: 10

[test]
name: 8 x 1
kernel_name: q35
dimensions: 2
global_size: 8 1 0
local_size: 8 1 0
arg_out: 0 buffer uint[8] repeat 1
!*/

kernel void q35(global uint *out)
{
    out[get_global_id(0)] = max((uint)get_local_id(1), 1u);
}
