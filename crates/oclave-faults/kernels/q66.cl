/*!
[config]
name: A store of three halves
clc_version_min: 10

[test]
name: leaves the fourth element
kernel_name: q66
dimensions: 1
global_size: 1 0 0
local_size: 1 0 0
arg_in: 0 buffer ushort[4] repeat 4660
arg_out: 0 buffer ushort[4] 15360 16384 16896 4660
arg_in: 1 float 1.0
!*/

kernel void q66(global ushort *out, float a)
{
    vstorea_half3((float3)(a, a + 1, a + 2), 0, (global half *)out);
}
