// Stencils in one dimension, with the halo in local memory.

#define RADIUS 3

// The sum of seven neighbours; the first work-items also load the halo.
kernel void sum_of_neighbours(global const int *in, global int *out, const int n, local int *tile) {
    const int lid = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size;
    for (int i = lid; i < size + 2 * RADIUS; i += size) {
        const int at = base + i - RADIUS;
        tile[i] = at >= 0 && at < n ? in[at] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += tile[lid + RADIUS + k];
    if (base + lid < n) out[base + lid] = sum;
}

// Several steps in one launch: the group loads as much halo as the steps use up.
kernel void several_steps(global const int *in, global int *out, const int n, const int steps, local int *a, local int *b) {
    const int lid = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size;
    const int width = size + 2 * steps;
    for (int i = lid; i < width; i += size) a[i] = in[clamp(base + i - steps, 0, n - 1)];
    for (int s = 1; s <= steps; s++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = s + lid; i < width - s; i += size) {
            const int at = base + i - steps;
            const int left = at <= 0 ? a[i] : a[i - 1];
            const int right = at >= n - 1 ? a[i] : a[i + 1];
            b[i] = left + 2 * a[i] - right;
        }
        // Outside of the line, the value at its end goes on.
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = s + lid; i < width - s; i += size) a[i] = b[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (base + lid < n) out[base + lid] = a[steps + lid];
}

// The values move through registers while a work-item walks along a column.
kernel void walking(global const int *in, global int *out, const int width, const int height) {
    const int x = get_global_id(0);
    if (x >= width) return;
    int above = 0, here = in[x];
    for (int y = 0; y < height; y++) {
        const int below = y + 1 < height ? in[(y + 1) * width + x] : 0;
        out[y * width + x] = above - 2 * here + below;
        above = here;
        here = below;
    }
}
