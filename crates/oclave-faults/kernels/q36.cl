/*!
[config]
name: Cases of a switch that lead to one block
clc_version_min: 10

[test]
name: 8 work-items
kernel_name: q36
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[8] 3 5 21 3 7 5 3 7
arg_in: 1 uint 3
arg_in: 2 uint 5
arg_in: 3 uint 7
!*/

kernel void q36(global uint *out, uint a, uint b, uint c)
{
    uint id = get_global_id(0), value;
    switch (id) {
    case 0:
    case 3:
    case 6:
        value = a;
        break;
    case 1:
    case 5:
        value = b;
        break;
    case 2:
        value = a * c;
        break;
    default:
        value = c;
    }
    out[id] = value;
}
