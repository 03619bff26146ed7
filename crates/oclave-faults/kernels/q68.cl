/*!
[config]
name: Saturated multiplication and addition of long
clc_version_min: 10

[test]
name: a sum that overflows
kernel_name: q68
dimensions: 1
global_size: 1 0 0
local_size: 1 0 0
arg_out: 0 buffer long[1] 9223372036854775807
arg_in: 1 long 4611686018427387904
arg_in: 2 long 1
arg_in: 3 long 4611686018427387904

[test]
name: a product that overflows
kernel_name: q68
dimensions: 1
global_size: 1 0 0
local_size: 1 0 0
arg_out: 0 buffer long[1] -9223372036854775808
arg_in: 1 long -4611686018427387904
arg_in: 2 long 3
arg_in: 3 long 5
!*/

kernel void q68(global long *out, long a, long b, long c)
{
    out[get_global_id(0)] = mad_sat(a, b, c);
}
