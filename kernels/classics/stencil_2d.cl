// Stencils in two dimensions.

// Five points, with the border copied.
kernel void jacobi(global const float *in, global float *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[at] = in[at];
        return;
    }
    out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]);
}

// Nine points with integer weights; tile and halo are in local memory.
kernel void blur_tiled(global const uchar *in, global uchar *out, const int width, const int height, local uchar *tile) {
    const int w = get_local_size(0), h = get_local_size(1);
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x0 = get_group_id(0) * w - 1, y0 = get_group_id(1) * h - 1;
    for (int y = ly; y < h + 2; y += h)
        for (int x = lx; x < w + 2; x += w)
            tile[y * (w + 2) + x] = in[clamp(y0 + y, 0, height - 1) * width + clamp(x0 + x, 0, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    local const uchar *p = tile + ly * (w + 2) + lx;
    const int pitch = w + 2;
    const int sum = p[0] + 2 * p[1] + p[2] + 2 * p[pitch] + 4 * p[pitch + 1] + 2 * p[pitch + 2]
        + p[2 * pitch] + 2 * p[2 * pitch + 1] + p[2 * pitch + 2];
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) out[y * width + x] = (uchar)((sum + 8) >> 4);
}

// Only the work-items at the edge of the group load the halo.
kernel void edges_load(global const int *in, global int *out, const int width, const int height, local int *tile) {
    const int w = get_local_size(0), h = get_local_size(1), pitch = w + 2;
    const int lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    const int x = get_global_id(0), y = get_global_id(1);
    const bool inside = x < width && y < height;
    tile[ly * pitch + lx] = inside ? in[y * width + x] : 0;
    if (lx == 1) tile[ly * pitch] = x > 0 && y < height ? in[y * width + x - 1] : 0;
    if (lx == w) tile[ly * pitch + w + 1] = x + 1 < width && y < height ? in[y * width + x + 1] : 0;
    if (ly == 1) tile[lx] = y > 0 && x < width ? in[(y - 1) * width + x] : 0;
    if (ly == h) tile[(h + 1) * pitch + lx] = y + 1 < height && x < width ? in[(y + 1) * width + x] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside)
        out[y * width + x] = 4 * tile[ly * pitch + lx] - tile[ly * pitch + lx - 1] - tile[ly * pitch + lx + 1]
            - tile[(ly - 1) * pitch + lx] - tile[(ly + 1) * pitch + lx];
}

// Sobel's operator with a vector of neighbours.
kernel void sobel(global const uchar *in, global ushort *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int3 rows[3];
    for (int dy = -1; dy <= 1; dy++) {
        const int at = clamp(y + dy, 0, height - 1) * width;
        rows[dy + 1] = (int3)(in[at + max(x - 1, 0)], in[at + x], in[at + min(x + 1, width - 1)]);
    }
    const int gx = rows[0].z + 2 * rows[1].z + rows[2].z - rows[0].x - 2 * rows[1].x - rows[2].x;
    const int gy = rows[2].x + 2 * rows[2].y + rows[2].z - rows[0].x - 2 * rows[0].y - rows[0].z;
    out[y * width + x] = (ushort)(abs(gx) + abs(gy));
}

// The median of nine by a network of exchanges.
#define ORDER(a, b) do { const uchar low = min(a, b); b = max(a, b); a = low; } while (0)

kernel void median(global const uchar *in, global uchar *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    uchar p[9];
    for (int k = 0; k < 9; k++)
        p[k] = in[clamp(y + k / 3 - 1, 0, height - 1) * width + clamp(x + k % 3 - 1, 0, width - 1)];
    ORDER(p[1], p[2]); ORDER(p[4], p[5]); ORDER(p[7], p[8]);
    ORDER(p[0], p[1]); ORDER(p[3], p[4]); ORDER(p[6], p[7]);
    ORDER(p[1], p[2]); ORDER(p[4], p[5]); ORDER(p[7], p[8]);
    ORDER(p[0], p[3]); ORDER(p[5], p[8]); ORDER(p[4], p[7]);
    ORDER(p[3], p[6]); ORDER(p[1], p[4]); ORDER(p[2], p[5]);
    ORDER(p[4], p[7]); ORDER(p[4], p[2]); ORDER(p[6], p[4]);
    ORDER(p[4], p[2]);
    out[y * width + x] = p[4];
}
