/*!
[config]
name: A read between writes to neighbouring elements
clc_version_min: 10

[test]
name: reads the second element
kernel_name: q16
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_in: 0 buffer uint[64] repeat 1
arg_out: 0 buffer uint[64] repeat 8 7 5 3
arg_in: 1 uint 1
!*/

kernel void q16(global uint *p, uint a)
{
    size_t id = get_global_id(0);
    p[4 * id + 1] = 7;
    p[4 * id + 2] = 5;
    p[4 * id + 3] = 3;
    p[4 * id] = p[4 * id + (a & 3)] + 1;
}
