// Contour lines by marching squares.

// Edges of each case: 0 is above, 1 right, 2 below, 3 left; 4 is none. Two lines of two ends each.
constant uchar4 lines[16] = {
    (uchar4)(4, 4, 4, 4), (uchar4)(3, 0, 4, 4), (uchar4)(0, 1, 4, 4), (uchar4)(3, 1, 4, 4),
    (uchar4)(1, 2, 4, 4), (uchar4)(3, 0, 1, 2), (uchar4)(0, 2, 4, 4), (uchar4)(3, 2, 4, 4),
    (uchar4)(2, 3, 4, 4), (uchar4)(2, 0, 4, 4), (uchar4)(0, 1, 2, 3), (uchar4)(2, 1, 4, 4),
    (uchar4)(1, 3, 4, 4), (uchar4)(1, 0, 4, 4), (uchar4)(0, 3, 4, 4), (uchar4)(4, 4, 4, 4),
};

int case_of(const float4 corners, const float level) {
    const int4 above = corners > level;
    return (above.x & 1) | (above.y & 2) | (above.z & 4) | (above.w & 8);
}

// The case of each cell, and how many lines all of them have.
kernel void classify(global const float *field, const int width, const int height, const float level, global uchar *cases, volatile global uint *count) {
    local uint mine;
    const int x = get_global_id(0), y = get_global_id(1);
    if (get_local_id(0) == 0 && get_local_id(1) == 0) mine = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x < width - 1 && y < height - 1) {
        const int at = y * width + x;
        const float4 corners = (float4)(field[at], field[at + 1], field[at + width + 1], field[at + width]);
        const int c = case_of(corners, level);
        cases[y * (width - 1) + x] = (uchar)c;
        const uint n = (lines[c].x != 4) + (lines[c].z != 4);
        if (n) atomic_add(&mine, n);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && get_local_id(1) == 0) atomic_add(count, mine);
}

float2 point_on(const int edge, const float4 c, const float level) {
    switch (edge) {
    case 0: return (float2)((level - c.x) / (c.y - c.x), 0.0f);
    case 1: return (float2)(1.0f, (level - c.y) / (c.z - c.y));
    case 2: return (float2)((level - c.w) / (c.z - c.w), 1.0f);
    default: return (float2)(0.0f, (level - c.x) / (c.w - c.x));
    }
}

// The ends of the lines of each cell, as floats x, y, x, y.
kernel void draw(global const float *field, const int width, const int height, const float level, global const uchar *cases, global float4 *out) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width - 1 || y >= height - 1) return;
    const int at = y * width + x, cell = y * (width - 1) + x;
    const float4 corners = (float4)(field[at], field[at + 1], field[at + width + 1], field[at + width]);
    const uchar4 ends = lines[cases[cell]];
    float4 first = -1.0f, second = -1.0f;
    const float2 origin = (float2)(x, y);
    if (ends.x != 4) first = (float4)(origin + point_on(ends.x, corners, level), origin + point_on(ends.y, corners, level));
    if (ends.z != 4) second = (float4)(origin + point_on(ends.z, corners, level), origin + point_on(ends.w, corners, level));
    out[2 * cell] = first;
    out[2 * cell + 1] = second;
}
