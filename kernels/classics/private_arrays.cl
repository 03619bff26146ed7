// Private arrays that hold values from local memory, which other values replace behind barriers.

kernel void rows(global uint *data, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0);
    uint m[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) m[i][j] = data[id] + i * 4 + j;
    for (int r = 0; r < 4; r++) {
        tmp[lid] = m[r][(lid + r) & 3];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 4; j++) m[(r + 1) & 3][j] += tmp[(lid + j) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum = sum * 3 + m[i][j];
    data[id] = sum;
}

// An element by its number, and one by an index.
kernel void elements(global uint *data, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0);
    const uint at = data[id] % 3;
    uint m[4] = {1, 2, 3, data[id]};
    tmp[lid] = data[id] * 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    m[3] = tmp[lid] + 4;
    m[at] = tmp[(lid + 1) % size];
    barrier(CLK_LOCAL_MEM_FENCE);
    tmp[lid] = m[(at + 1) & 3] * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    data[id] = m[0] + m[1] * 3 + m[2] * 5 + m[3] * 7 + m[at] * 11 + tmp[size - 1 - lid];
}

typedef struct {
    uint first, rest[3];
} Pair;

kernel void structures(global uint *data, local uint *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0), value = data[id];
    Pair pairs[2];
    pairs[0].first = value;
    pairs[1].first = 5;
    for (uint i = 0; i < 3; i++) {
        pairs[0].rest[i] = i;
        pairs[1].rest[i] = value + i;
    }
    tmp[lid] = value * 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint mine = tmp[lid];
    pairs[1].rest[2] = mine ^ 3;
    pairs[0].first += mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    tmp[lid] = pairs[value & 1].rest[(value >> 1) % 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[id] = pairs[0].first + pairs[1].rest[2] * 3 + pairs[(value >> 2) & 1].rest[1] * 5 + tmp[size - 1 - lid];
}

// A structure that work-items copy as a whole.
kernel void copies(global uint *data) {
    local Pair shared[256];
    const uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0), value = data[id];
    shared[lid].first = value;
    for (uint i = 0; i < 3; i++) shared[lid].rest[i] = value * 3 + i;
    barrier(CLK_LOCAL_MEM_FENCE);
    const Pair mine = shared[size - 1 - lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[lid].first = lid;
    for (uint i = 0; i < 3; i++) shared[lid].rest[i] = 1000;
    barrier(CLK_LOCAL_MEM_FENCE);
    data[id] = mine.rest[value % 3] * 5 + mine.rest[0] + mine.first * 3 + shared[(lid + 1) % size].first;
}
