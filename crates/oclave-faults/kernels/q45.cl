/*!
[config]
name: A masked id beside a base in an address
clc_version_min: 10

[test]
name: 16 work-items
kernel_name: q45
dimensions: 1
global_size: 16 0 0
local_size: 16 0 0
arg_out: 0 buffer uint[16] 108 109 110 111 112 113 114 115 108 109 110 111 112 113 114 115
arg_in: 1 buffer uint[32] 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 \
  116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131
arg_in: 2 uint 1
!*/

kernel void q45(global uint *out, global const uint *in, uint a)
{
    uint id = get_global_id(0);
    out[id] = in[(id & 7) + 8 * (a & 3)];
}
