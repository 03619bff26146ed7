/*!
[config]
name: Atomic functions on a generic pointer
clc_version_min: 20

[test]
name: 8 work-items
kernel_name: q24
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer int[2] 8 8
arg_in: 0 buffer int[2] 0 0
arg_in: 1 int 1
!*/

kernel void q24(global int *out, int a)
{
    local int shared;
    if (get_local_id(0) == 0)
        shared = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 2; i++) {
        int *where = i == a ? &shared : (int *)&out[0];
        atomic_fetch_add((atomic_int *)where, 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        out[1] = shared;
}
