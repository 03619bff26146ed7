/*!
[config]
name: A negated value that is kept across a barrier
clc_version_min: 10

[test]
name: groups of 8
kernel_name: q43
dimensions: 1
global_size: 16 0 0
local_size: 8 0 0
arg_out: 0 buffer float[16] -0.5 -1.5 -2.5 -3.5 -4.5 -5.5 -6.5 -7.5 -8.5 -9.5 -10.5 -11.5 -12.5 -13.5 -14.5 -15.5
arg_in: 1 buffer float[16] 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5 10.5 11.5 12.5 13.5 14.5 15.5
!*/

kernel void q43(global float *out, global const float *in)
{
    uint id = get_global_id(0);
    float value = -in[id];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = value;
}
