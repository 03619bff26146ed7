/*!
[config]
name: A private array of which only an address is used behind a barrier
clc_version_min: 10

[test]
name: two groups
kernel_name: q81
dimensions: 1
global_size: 8 0 0
local_size: 4 0 0
arg_out: 0 buffer uint[8] 0 8 14 24 28 40 42 56
arg_in: 1 buffer uint[8] 0 1 2 1 3 1 2 1
!*/

kernel void q81(global uint *out, global const uint *places)
{
    uint id = get_global_id(0);
    uint kept[4];
    kept[0] = id;
    kept[1] = 7 * id;
    kept[2] = id / 3;
    kept[3] = id & 5;
    kept[places[id]] += id;
    for (uint round = 0; round < get_global_size(0); round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round == places[get_group_id(0)])
            break;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[id] = kept[1];
}
