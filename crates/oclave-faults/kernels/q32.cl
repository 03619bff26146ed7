/*!
[config]
name: A value that branches with loops set
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q32
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer uint[16] repeat 0 1
arg_in: 1 buffer uint[16] repeat 1
arg_out: 1 buffer uint[16] repeat 25 9
arg_in: 2 uint 2
!*/

kernel void q32(global uint *out, global uint *p, uint b)
{
    uint id = get_global_id(0), i = 0, v;
    if (id & 1) {
        v = 1;
        do
            p[id] *= 3;
        while (++i < b);
    } else {
        v = 0;
        do
            p[id] *= 5;
        while (++i < b);
    }
    out[id] = v;
}
