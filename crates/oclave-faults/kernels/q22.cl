/*!
[config]
name: An access to private memory in a kernel without private variables
clc_version_min: 10

[test]
name: does not happen
kernel_name: q22
dimensions: 1
global_size: 4 0 0
local_size: 4 0 0
arg_out: 0 buffer uint[4] repeat 7
arg_in: 1 ulong 0
!*/

kernel void q22(global uint *out, ulong address)
{
    out[get_global_id(0)] = 7;
    if (address)
        *out = *(private uint *)address;
}
