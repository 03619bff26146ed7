/*!
[config]
name: Ids and global variables in functions that are not inlined
clc_version_min: 20

[test]
name: two groups
kernel_name: q58
dimensions: 1
global_size: 16 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[16] 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1

[test]
name: a global variable
kernel_name: q58_variable
dimensions: 1
global_size: 4 0 0
local_size: 4 0 0
arg_out: 0 buffer uint[4] 5 7 11 13
!*/

global uint table[4] = {5, 7, 11, 13};

__attribute__((noinline)) uint group(void)
{
    return get_group_id(0);
}

kernel void q58(global uint *out)
{
    out[get_global_id(0)] = group();
}

__attribute__((noinline)) uint entry(size_t i)
{
    return table[i];
}

kernel void q58_variable(global uint *out)
{
    size_t i = get_global_id(0);
    out[i] = entry(i);
}
