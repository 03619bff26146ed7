// The heat equation in three dimensions.

#define AT(x, y, z) (((z) * height + (y)) * width + (x))

kernel void seven_points(global const float *in, global float *out, const int width, const int height, const int depth, const float c) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= width || y >= height || z >= depth) return;
    const float here = in[AT(x, y, z)];
    if (x == 0 || x == width - 1 || y == 0 || y == height - 1 || z == 0 || z == depth - 1) {
        out[AT(x, y, z)] = here;
        return;
    }
    const float around = in[AT(x - 1, y, z)] + in[AT(x + 1, y, z)] + in[AT(x, y - 1, z)] + in[AT(x, y + 1, z)]
        + in[AT(x, y, z - 1)] + in[AT(x, y, z + 1)];
    out[AT(x, y, z)] = here + c * (around - 6.0f * here);
}

// The group walks through the planes: each plane comes to local memory, those next to it are in registers.
kernel void walking_planes(global const float *in, global float *out, const int width, const int height, const int depth, const float c, local float *plane) {
    const int w = get_local_size(0), h = get_local_size(1), pitch = w + 2;
    const int lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    const int x = get_global_id(0), y = get_global_id(1);
    const bool inside = x < width && y < height;
    const bool inner = x > 0 && x < width - 1 && y > 0 && y < height - 1;
    float before = 0.0f, here = inside ? in[AT(x, y, 0)] : 0.0f;
    for (int z = 0; z < depth; z++) {
        const float after = inside && z + 1 < depth ? in[AT(x, y, z + 1)] : 0.0f;
        plane[ly * pitch + lx] = here;
        if (inner) {
            if (lx == 1) plane[ly * pitch] = in[AT(x - 1, y, z)];
            if (lx == w) plane[ly * pitch + w + 1] = in[AT(x + 1, y, z)];
            if (ly == 1) plane[lx] = in[AT(x, y - 1, z)];
            if (ly == h) plane[(h + 1) * pitch + lx] = in[AT(x, y + 1, z)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inside) {
            float next = here;
            if (inner && z > 0 && z < depth - 1) {
                const float around = plane[ly * pitch + lx - 1] + plane[ly * pitch + lx + 1]
                    + plane[(ly - 1) * pitch + lx] + plane[(ly + 1) * pitch + lx] + before + after;
                next += c * (around - 6.0f * here);
            }
            out[AT(x, y, z)] = next;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        before = here;
        here = after;
    }
}
