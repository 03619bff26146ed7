// Temperatures of a chip: several steps in one launch, on a tile that shrinks from step to step.

kernel void hotspot(global const float *temperature, global const float *power, global float *out, const int width, const int height,
                    const int steps, local float *a, local float *b) {
    const int w = get_local_size(0), h = get_local_size(1);
    const int tw = w + 2 * steps, th = h + 2 * steps;
    const int l = get_local_id(1) * w + get_local_id(0), items = w * h;
    const int x0 = get_group_id(0) * w - steps, y0 = get_group_id(1) * h - steps;
    for (int i = l; i < tw * th; i += items) {
        const int x = x0 + i % tw, y = y0 + i / tw;
        if (x >= 0 && x < width && y >= 0 && y < height) a[i] = temperature[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s <= steps; s++) {
        for (int i = l; i < tw * th; i += items) {
            const int tx = i % tw, ty = i / tw, x = x0 + tx, y = y0 + ty;
            const bool computed = tx >= s && tx < tw - s && ty >= s && ty < th - s;
            if (!computed || x < 0 || x >= width || y < 0 || y >= height) continue;
            const float here = a[i];
            const float left = x > 0 ? a[i - 1] : here;
            const float right = x < width - 1 ? a[i + 1] : here;
            const float above = y > 0 ? a[i - tw] : here;
            const float below = y < height - 1 ? a[i + tw] : here;
            b[i] = here + 0.1f * (power[y * width + x] + left + right + above + below - 4.0f * here);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (s == steps) break;
        for (int i = l; i < tw * th; i += items) {
            const int tx = i % tw, ty = i / tw;
            if (tx >= s && tx < tw - s && ty >= s && ty < th - s) a[i] = b[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) out[y * width + x] = b[(get_local_id(1) + steps) * tw + get_local_id(0) + steps];
}
