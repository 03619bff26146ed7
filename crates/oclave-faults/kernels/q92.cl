/*!
[config]
name: A private pointer that a condition chooses
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q92
dimensions: 1
global_size: 16 0 0
arg_out: 0 buffer uint[16] 0 12 9 15 12 24 21 27 24 36 33 39 36 48 45 51
arg_in: 1 buffer uint[19] 0 3 6 9 12 15 18 21 24 27 30 33 36 39 42 45 48 51 54
!*/

kernel void q92(global uint *out, global const uint *x)
{
    uint id = get_global_id(0);
    uint a[2] = {x[id], x[id + 1]}, b[2] = {x[id + 2], x[id + 3]};
    uint *t = x[id] & 1 ? b : a;
    out[id] = t[x[id] / 2 % 2];
}
