/*!
[config]
name: A counter of 64 bits
clc_version_min: 10

[test]
name: 8 work-items
kernel_name: q82
dimensions: 1
global_size: 8 0 0
arg_out: 0 buffer uint[8] 0 40 80 120 160 200 240 280
arg_in: 1 buffer uint[40] repeat 1
!*/

kernel void q82(global uint *out, global const uint *in)
{
    size_t id = get_global_id(0);
    uint sum = 0;
    for (size_t i = 0; i < 40; i++)
        sum += in[i] * (uint)id;
    out[id] = sum;
}
