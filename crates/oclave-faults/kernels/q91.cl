/*!
[config]
name: A value of local memory under a condition
clc_version_min: 10

[test]
name: two groups
kernel_name: q91
dimensions: 1
global_size: 128 0 0
local_size: 64 0 0
arg_out: 0 buffer uint[2] 64 64
!*/

kernel void q91(global uint *out)
{
    local uint sums[64];
    uint id = get_local_id(0);
    sums[id] = id + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint last = 7;
    if (id == 0) {
        last = sums[63];
        sums[63] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0)
        out[get_group_id(0)] = last;
}
