/*!
[config]
name: An id in a function that is not inlined
clc_version_min: 10

[test]
name: two groups
kernel_name: q58
dimensions: 1
global_size: 16 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[16] 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1
!*/

__attribute__((noinline)) uint group(void)
{
    return get_group_id(0);
}

kernel void q58(global uint *out)
{
    out[get_global_id(0)] = group();
}
