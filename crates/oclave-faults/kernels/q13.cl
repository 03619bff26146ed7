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

[test]
name: a kernel with one limit for all work-items
kernel_name: limited
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer uint[16] 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249 2249
arg_in: 1 buffer uint[16] 11 48 85 21 58 95 31 68 4 41 78 14 51 88 24 61
arg_in: 2 uint 2
arg_in: 3 uint 5

[test]
name: the same kernel, called with an id
kernel_name: called_with_id
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer uint[16] 854 1657 2249 2891 854 1657 2249 2891 854 1657 2249 2891 854 1657 2249 2891
arg_in: 1 buffer uint[16] 11 48 85 21 58 95 31 68 4 41 78 14 51 88 24 61
arg_in: 2 uint 5
!*/

kernel void q13(global int *out, int limit, int count)
{
    int x = get_global_id(0), t = 0;
    while (t < limit)
        for (int j = 0; j < count; j++)
            t += (x + j) % 7;
    out[x] = t;
}

kernel __attribute__((noinline)) void limited(global uint *out, global const uint *in, uint limit, uint count)
{
    uint sum = 0;
    for (uint i = 0; i <= limit % 4; i++) {
        uint row = 0;
        for (uint j = 0; j < count; j++)
            row += in[(j * 7 + i) % 16] * (j + 1);
        sum += row;
    }
    out[get_global_id(0)] = sum;
}

kernel void called_with_id(global uint *out, global const uint *in, uint count)
{
    limited(out, in, get_global_id(0), count);
}
