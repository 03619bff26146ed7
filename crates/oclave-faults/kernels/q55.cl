/*!
[config]
name: A constant with the addresses of others
clc_version_min: 10

[test]
name: 8 work-items
kernel_name: q55
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[8] 2 3 6 7 2 3 6 7
arg_in: 1 uint 1
!*/

constant uint odd[4] = { 1, 3, 5, 7 };
constant uint even[4] = { 2, 4, 6, 8 };
constant uint *constant tables[2] = { odd, even };

kernel void q55(global uint *out, uint a)
{
    uint id = get_global_id(0);
    out[id] = tables[(id + a) & 1][id & 3];
}
