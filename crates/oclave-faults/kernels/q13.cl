/*!
[config]
name: Work-items reach an inner loop at different times
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q13
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer int[16] 50 60 60 54 64 56 60 50 60 60 54 64 56 60 50 60
arg_in: 1 int 50
arg_in: 2 int 5
!*/

kernel void q13(global int *out, int limit, int count)
{
    int x = get_global_id(0), t = 0;
    while (t < limit)
        for (int j = 0; j < count; j++)
            t += (x + j) % 7;
    out[x] = t;
}
