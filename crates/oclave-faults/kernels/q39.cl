/*!
[config]
name: Lanes of a product of vectors that are zero
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q39
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer uint[16] 0 1 2 3 4 5 6 7 8 5 5 5 5 5 5 5
arg_in: 1 uint 5
arg_in: 2 uint 9
!*/

kernel void q39(global uint *out, uint a, uint b)
{
    uint item = get_local_id(0), id = get_global_id(0), zero = get_local_id(1);
    uint4 v = (uint4)(item, zero, 0, 3) * (uint4)(zero, id, 0, 670219777) ^ (uint4)(0, id, 16, 0);
    uint4 x = select((uint4)(0, a, 0, a), v, v < (uint4)(id, b, 3, 1676520105));
    out[id] = select(x, (uint4)(3), (uint4)(0, item, 0, 0) < v).s1;
}
