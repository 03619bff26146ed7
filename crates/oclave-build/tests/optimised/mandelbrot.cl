kernel void mandelbrot(global uchar4 *out, int width, float x0, float y0, float step, int limit)
{
    int px = get_global_id(0) % width, py = get_global_id(0) / width, i = 0;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    while (x * x + y * y < 4 && i < limit) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        i++;
    }
    uchar shade = 255 * i / limit;
    switch (i % 6) {
    case 0: out[py * width + px] = (uchar4)(shade, 0, 0, 255); break;
    case 1: out[py * width + px] = (uchar4)(0, shade, 0, 255); break;
    case 2: out[py * width + px] = (uchar4)(0, 0, shade, 255); break;
    default: out[py * width + px] = (uchar4)(shade); break;
    }
}
