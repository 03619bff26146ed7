// Convolutions.

constant float gauss5[5] = { 0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f };

// With a filter in constant memory, and the nearest pixel outside of the image.
kernel void naive(global const float *in, constant float *filter, global float *out, const int width, const int height, const int radius) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int fy = -radius; fy <= radius; fy++) {
        for (int fx = -radius; fx <= radius; fx++) {
            const int px = clamp(x + fx, 0, width - 1), py = clamp(y + fy, 0, height - 1);
            sum += in[py * width + px] * filter[(fy + radius) * (2 * radius + 1) + fx + radius];
        }
    }
    out[y * width + x] = sum;
}

// With the tile and its halo in local memory.
kernel void tiled(global const float *in, constant float *filter, global float *out, const int width, const int height, const int radius, local float *tile) {
    const int w = get_local_size(0), h = get_local_size(1), pitch = w + 2 * radius;
    const int l = get_local_id(1) * w + get_local_id(0);
    const int x0 = get_group_id(0) * w - radius, y0 = get_group_id(1) * h - radius;
    for (int i = l; i < pitch * (h + 2 * radius); i += w * h) {
        const int px = clamp(x0 + i % pitch, 0, width - 1), py = clamp(y0 + i / pitch, 0, height - 1);
        tile[i] = in[py * width + px];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    const int side = 2 * radius + 1;
    for (int i = 0; i < side * side; i++)
        sum += tile[(get_local_id(1) + i / side) * pitch + get_local_id(0) + i % side] * filter[i];
    out[y * width + x] = sum;
}

// Separable: rows first, with a row of the tile in local memory, then columns.
kernel void rows(global const float *in, global float *out, const int width, local float *tile) {
    const int lid = get_local_id(0), size = get_local_size(0);
    const int base = get_group_id(0) * size, y = get_global_id(1);
    for (int i = lid; i < size + 4; i += size) tile[i] = in[y * width + clamp(base + i - 2, 0, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 5; k++) sum += gauss5[k] * tile[lid + k];
    if (base + lid < width) out[y * width + base + lid] = sum;
}

kernel void columns(global const float *in, global float *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width) return;
    float sum = 0.0f;
    for (int k = 0; k < 5; k++) sum += gauss5[k] * in[clamp(y + k - 2, 0, height - 1) * width + x];
    out[y * width + x] = sum;
}

// In one dimension with integers: the filter comes to local memory.
kernel void one_dimension(global const short *in, global const short *filter, global int *out, const int n, const int taps, local short *coefficients) {
    const int i = get_global_id(0);
    for (int k = get_local_id(0); k < taps; k += get_local_size(0)) coefficients[k] = filter[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= n) return;
    int sum = 0;
    for (int k = 0; k < taps && k <= i; k++) sum += in[i - k] * coefficients[k];
    out[i] = sum;
}
