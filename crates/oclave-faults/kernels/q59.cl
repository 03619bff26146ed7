/*!
[config]
name: A built-in function of a vector of 128 bytes
clc_version_min: 10

[test]
name: two work-items
kernel_name: q59
dimensions: 1
global_size: 2 0 0
local_size: 2 0 0
arg_out: 0 buffer long[32] 1008 1008 1008 1008 1008 1008 1008 1008 1008 1009 1010 1011 1012 1013 1014 1015 \
  1008 1008 1008 1008 1008 1008 1008 1008 1008 1009 1010 1011 1012 1013 1014 1015
arg_in: 1 long 1000
!*/

kernel void q59(global long *out, long a)
{
    long16 value = (long16)(a) + (long16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    vstore16(max(value, (long16)(1008)), get_global_id(0), out);
}
