// The Mandelbrot set, with fixed-point numbers, floats and vectors.

// 24 bits after the point, so that every device has the same result.
kernel void fixed_point(global uchar *out, const int width, const int height, const int limit) {
    const int px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height) return;
    const int cx = (int)(((long)px * 3 << 24) / width) - (2 << 24);
    const int cy = (int)(((long)py * 2 << 24) / height) - (1 << 24);
    int x = 0, y = 0, i = 0;
    while (i < limit) {
        const int xx = (int)((long)x * x >> 24), yy = (int)((long)y * y >> 24);
        if (xx + yy > 4 << 24) break;
        y = (int)((long)x * y >> 23) + cy;
        x = xx - yy + cx;
        i++;
    }
    out[py * width + px] = (uchar)i;
}

kernel void floats(global uchar *out, const int width, const int height, const int limit) {
    const int px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height) return;
    const float cx = 3.0f * px / width - 2.0f, cy = 2.0f * py / height - 1.0f;
    float x = 0.0f, y = 0.0f;
    int i;
    for (i = 0; i < limit && x * x + y * y <= 4.0f; i++) {
        const float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
    }
    out[py * width + px] = (uchar)i;
}

// Four pixels at once: those that are outside stop counting, and the loop ends when all are.
kernel void vectors(global uchar4 *out, const int width, const int height, const int limit) {
    const int px = get_global_id(0) * 4, py = get_global_id(1);
    if (px >= width || py >= height) return;
    const float4 cx = 3.0f * convert_float4((int4)(px, px + 1, px + 2, px + 3)) / width - 2.0f;
    const float4 cy = (float4)(2.0f * py / height - 1.0f);
    float4 x = 0.0f, y = 0.0f;
    int4 count = 0;
    for (int i = 0; i < limit; i++) {
        const int4 inside = x * x + y * y <= 4.0f;
        if (!any(inside)) break;
        count -= inside;
        const float4 next = x * x - y * y + cx;
        y = select(y, 2.0f * x * y + cy, inside);
        x = select(x, next, inside);
    }
    out[(py * width + px) / 4] = convert_uchar4(count);
}
