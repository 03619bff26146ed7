// Transposes of a matrix.

kernel void naive(global const float *in, global float *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// A tile in local memory, so that reads and writes are both along rows. Tiles need not be square.
kernel void tiled(global const uint *in, global uint *out, const uint width, const uint height, local uint *tile) {
    const uint w = get_local_size(0), h = get_local_size(1);
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint x = get_group_id(0) * w + lx, y = get_group_id(1) * h + ly;
    if (x < width && y < height) tile[ly * w + lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint l = ly * w + lx;
    const uint tx = l % h, ty = l / h;
    const uint ox = get_group_id(1) * h + tx, oy = get_group_id(0) * w + ty;
    if (ox < height && oy < width) out[oy * height + ox] = tile[tx * w + ty];
}

// The same with one column of padding.
kernel void padded(global const uint *in, global uint *out, const uint width, const uint height, local uint *tile) {
    const uint n = get_local_size(0);
    const uint lx = get_local_id(0), ly = get_local_id(1);
    uint x = get_group_id(0) * n + lx, y = get_group_id(1) * n + ly;
    if (x < width && y < height) tile[ly * (n + 1) + lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * n + lx;
    y = get_group_id(0) * n + ly;
    if (x < height && y < width) out[y * height + x] = tile[lx * (n + 1) + ly];
}

// Tiles of 16 by 16 with fewer work-items: each moves several rows.
#define TILE 16

kernel void several_rows(global const float *in, global float *out, const int width, const int height) {
    local float tile[TILE][TILE + 1];
    const int lx = get_local_id(0), ly = get_local_id(1), rows = get_local_size(1);
    const int x0 = get_group_id(0) * TILE, y0 = get_group_id(1) * TILE;
    for (int r = ly; r < TILE; r += rows)
        if (x0 + lx < width && y0 + r < height) tile[r][lx] = in[(y0 + r) * width + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = ly; r < TILE; r += rows)
        if (y0 + lx < height && x0 + r < width) out[(x0 + r) * height + y0 + lx] = tile[lx][r];
}

// Each work-item transposes a block of 4 by 4 in vectors.
kernel void vectors(global const float4 *in, global float4 *out, const int blocks_x, const int blocks_y) {
    const int bx = get_global_id(0), by = get_global_id(1);
    const float4 a = in[(4 * by + 0) * blocks_x + bx];
    const float4 b = in[(4 * by + 1) * blocks_x + bx];
    const float4 c = in[(4 * by + 2) * blocks_x + bx];
    const float4 d = in[(4 * by + 3) * blocks_x + bx];
    out[(4 * bx + 0) * blocks_y + by] = (float4)(a.x, b.x, c.x, d.x);
    out[(4 * bx + 1) * blocks_y + by] = (float4)(a.y, b.y, c.y, d.y);
    out[(4 * bx + 2) * blocks_y + by] = (float4)(a.z, b.z, c.z, d.z);
    out[(4 * bx + 3) * blocks_y + by] = (float4)(a.w, b.w, c.w, d.w);
}

// A square matrix in place: the groups above the diagonal exchange two tiles.
kernel void in_place(global uint *data, const uint width, local uint *a, local uint *b) {
    const uint n = get_local_size(0), gx = get_group_id(0), gy = get_group_id(1);
    const uint lx = get_local_id(0), ly = get_local_id(1);
    if (gx < gy) return;
    const uint there = (gy * n + ly) * width + gx * n + lx;
    const uint back = (gx * n + ly) * width + gy * n + lx;
    a[ly * n + lx] = data[there];
    if (gx != gy) b[ly * n + lx] = data[back];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[back] = a[lx * n + ly];
    if (gx != gy) data[there] = b[lx * n + ly];
}
