/*!
[config]
name: A condition on a difference with an id
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q61
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_in: 0 buffer int[16] repeat -1
arg_out: 0 buffer int[16] 0 1 2 3 4 5 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1
arg_in: 1 int 3
arg_in: 2 int 5
arg_in: 3 int 10
!*/

kernel void q61(global int *out, int d, int n, int m)
{
    int i = get_global_id(0), j = d - i;
    if (i > n || j > m)
        return;
    out[i] = i;
}
