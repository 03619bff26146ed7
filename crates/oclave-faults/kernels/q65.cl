/*!
[config]
name: A broadcast of half
clc_version_min: 20
require_device_extensions: cl_khr_fp16

[test]
name: 8 work-items
kernel_name: q65
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer float[8] repeat 3.5
arg_in: 1 buffer float[8] 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5
!*/

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void q65(global float *out, global const float *in)
{
    half value = (half)in[get_global_id(0)];
    out[get_global_id(0)] = (float)work_group_broadcast(value, 3);
}
