/*!
[config]
name: A built-in function of a value that depends on the path, in a loop
clc_version_min: 10

[test]
name: one work-item
kernel_name: q26
dimensions: 1
global_size: 1 0 0
local_size: 1 0 0
arg_out: 0 buffer uint[1] 1434691162
arg_in: 1 buffer uint[8] 0 2654435761 1013904226 3668339987 2027808452 387276917 3041712678 1401181143
arg_in: 2 uint 5
arg_in: 3 uint 77
arg_in: 4 uint 8
!*/

kernel void q26(global uint *out, global const uint *in, uint a, uint b, uint n)
{
    uint sum = 0;
    for (uint i = 0; i < n; i++) {
        uint value = i < a ? in[i] : b;
        sum += rotate(value, 9u);
    }
    out[0] = sum;
}
