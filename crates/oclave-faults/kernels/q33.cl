/*!
[config]
name: A value from memory that changes before a barrier
clc_version_min: 10

[test]
name: two groups
kernel_name: q33
dimensions: 1
global_size: 16 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[16] 1 4 7 10 13 16 19 22 25 28 31 34 37 40 43 46
arg_in: 1 buffer uint[16] 1 4 7 10 13 16 19 22 25 28 31 34 37 40 43 46
arg_out: 1 buffer uint[16] repeat 9
!*/

kernel void q33(global uint *out, global uint *p)
{
    uint id = get_global_id(0);
    uint value = p[id];
    p[id] = 9;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[id] = value;
}
