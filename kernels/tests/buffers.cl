// Kernels whose results tell in which order they ran.

/// Moves each value on; neither this with another factor nor with another addend can be swapped.
kernel void advance(global uint *values, uint factor, uint addend)
{
    size_t i = get_global_id(0);
    values[i] = values[i] * factor + addend;
}

/// Moves each value on by another.
kernel void combine(global const uint *from, global uint *to, uint factor)
{
    size_t i = get_global_id(0);
    to[i] = to[i] * factor + from[i];
}

/// As `advance`, for a tile of an array with rows of `pitch` and planes of `plane` values.
kernel void advance_tile(global uint *tile, ulong pitch, ulong plane, uint factor, uint addend)
{
    size_t i = get_global_id(0) + get_global_id(1) * pitch + get_global_id(2) * plane;
    tile[i] = tile[i] * factor + addend;
}

/// Keeps some bits of each value.
kernel void keep_low(global uint *values, uint bits)
{
    values[get_global_id(0)] &= bits;
}

/// Writes its numbers without a look at what is there.
kernel void number(global uint *values, uint first)
{
    values[get_global_id(0)] = first + (uint)get_global_id(0);
}

/// As `advance` for one value, after a long time.
kernel void advance_late(global uint *value, uint loops, uint addend)
{
    uint x = value[0];
    for (uint i = 0; i < loops; i++)
        x = x * 1664525u + 1013904223u + (x >> 7);
    // The loops must have run to know this.
    value[0] = x == 0x12345u ? 0u : value[0] + addend;
}

/// Reverses each group of eight values through a local array.
__attribute__((reqd_work_group_size(8, 1, 1)))
kernel void reverse_eights(global int *values)
{
    local int kept[8];
    kept[7 - get_local_id(0)] = values[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    values[get_global_id(0)] = kept[get_local_id(0)];
}
