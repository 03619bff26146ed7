constant float weights[5][5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};
kernel void convolution(global uchar *out, global const uchar *in, int w, int h, int channels)
{
    int x = get_global_id(0), y = get_global_id(1);
    for (int c = 0; c < channels; c++) {
        float sum = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                int sx = clamp(x + dx, 0, w - 1), sy = clamp(y + dy, 0, h - 1);
                sum += in[(sy * w + sx) * channels + c] * weights[dy + 2][dx + 2];
            }
        out[(y * w + x) * channels + c] = convert_uchar_sat_rte(sum / 256);
    }
}
