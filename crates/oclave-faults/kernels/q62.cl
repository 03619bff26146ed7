/*!
[config]
name: Saturated multiplication and addition of a vector
clc_version_min: 10

[test]
name: the largest integer
kernel_name: q62
dimensions: 1
global_size: 1 0 0
local_size: 1 0 0
arg_out: 0 buffer int[2] repeat 2147483647
arg_in: 1 int 2147483647
!*/

kernel void q62(global int *out, int a)
{
    int2 value = mad_sat((int2)(a), (int2)(2), (int2)(2));
    out[2 * get_global_id(0)] = value.x;
    out[2 * get_global_id(0) + 1] = value.y;
}
