/*!
[config]
name: A loop with barriers inside another loop
clc_version_min: 10

[test]
name: places of four keys
kernel_name: q15
dimensions: 1
global_size: 9 0 0
local_size: 9 0 0
arg_out: 0 buffer uint[4] 0 3 5 8
arg_in: 1 buffer int[8] 1 3 5 7 9 11 13 15
arg_in: 2 uint 8
arg_in: 3 buffer int[4] 0 6 10 20
arg_in: 4 uint 4
!*/

// The group searches for one key after the other. Work-items split the rest of the numbers between them.
kernel void q15(global uint *places, global const int *sorted, const uint n, global const int *keys, const uint count)
{
    local uint low, high, smaller;
    const uint id = get_local_id(0), size = get_local_size(0);
    for (uint k = 0; k < count; ++k) {
        if (id == 0) {
            low = 0;
            high = n;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        while (low < high) {
            const uint from = low, length = high - low;
            if (id == 0) smaller = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (sorted[from + (id + 1) * length / (size + 1)] < keys[k]) atomic_inc(&smaller);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (id == 0) {
                const uint parts = smaller;
                if (parts < size) high = from + (parts + 1) * length / (size + 1);
                if (parts > 0) low = from + parts * length / (size + 1) + 1;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (id == 0) places[k] = low;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
