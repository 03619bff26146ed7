// Loops that compilers replace by functions that fill, copy and move memory.

// Each work-item clears its part of the row.
__kernel void clear(__global uchar *data, uint each, uint cleared) {
    __global uchar *own = data + get_global_id(0) * each;
    for (uint i = 0; i < cleared; i++)
        own[i] = 0;
}

// A byte that is only known at the launch.
__kernel void fill_byte(__global uchar *data, uint each, uint filled, uchar byte) {
    __global uchar *own = data + get_global_id(0) * each;
    for (uint i = 0; i < filled; i++)
        own[i] = byte;
}

// All bits of integers.
__kernel void fill_ones(__global int *data, uint each, uint filled) {
    __global int *own = data + get_global_id(0) * each;
    for (uint i = 0; i < filled; i++)
        own[i] = -1;
}

// The first work-item clears local memory for its group.
__kernel void clear_local(__global const uint *in, __global uint *out, __local uint *counts, uint n) {
    const uint lid = get_local_id(0);
    if (lid == 0)
        for (uint i = 0; i < n; i++)
            counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&counts[in[get_global_id(0)] % n]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        for (uint i = 0; i < n; i++)
            out[get_group_id(0) * n + i] = counts[i];
}

// The ranges do not overlap.
__kernel void copy(__global uint *restrict to, __global const uint *restrict from, uint each, uint copied) {
    const size_t start = get_global_id(0) * each;
    for (uint i = 0; i < copied; i++)
        to[start + i] = from[start + i];
}

// The ranges overlap: each element moves by one place.
__kernel void move_down(__global uint *data, uint each, uint moved) {
    __global uint *own = data + get_global_id(0) * each;
    for (uint i = 0; i < moved; i++)
        own[i] = own[i + 1];
}

// A private array of zeros, of which one element is set.
__kernel void private_zeros(__global const uint *in, __global uint *out) {
    uint table[64];
    for (int i = 0; i < 64; i++)
        table[i] = 0;
    const uint value = in[get_global_id(0)];
    table[value & 63] = value;
    out[get_global_id(0)] = table[(value >> 6) & 63] + table[value & 63];
}

typedef struct {
    uint words[20];
    ushort tail[3];
} record;

// Structures are assigned as a whole.
__kernel void assign(__global record *to, __global const record *from) {
    const size_t i = get_global_id(0);
    record own = from[i];
    own.words[own.words[0] % 20] += 1;
    to[i] = own;
}
