/*!
[config]
name: A check that never fails, between barriers
clc_version_min: 10

[test]
name: two groups
kernel_name: q14
dimensions: 1
global_size: 16 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[16] 0 5 10 11 8 9 14 15 0 5 10 11 8 9 14 15
arg_in: 1 buffer uint[16] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
arg_in: 2 int 5
!*/

kernel void q14(global uint *out, global const uint *in, int n)
{
    local uint shared[1];
    uint id = get_global_id(0), item = get_local_id(0), value = in[id];
    if (item == 0)
        shared[0] = value + 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    value += shared[0];
    if (n <= 0)
        for (;;)
            ;
    if (item == 0)
        out[id] = value;
    else
        value += 4;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (n > 4)
        value ^= out[id - item];
    else
        value += 6;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[id] = value;
}
