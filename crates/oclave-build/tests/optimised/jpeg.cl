// Integer transforms with shifts of negative numbers, and an order of zigzag.
constant uchar zigzag[64] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
                             35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
void pass(int *d, int stride)
{
    for (int i = 0; i < 8; i++, d += stride == 1 ? 8 : 1) {
        int a = d[0] + d[7 * stride], b = d[0] - d[7 * stride], c = d[3 * stride] + d[4 * stride];
        d[0] = (a + c) << 2;
        d[4 * stride] = (a - c) >> 1;
        d[2 * stride] = (b * 4433 + 2048) >> 12;
        d[6 * stride] = -(b * 10703) >> 13;
    }
}
kernel void jpeg(global const uchar *in, global short *out, global const ushort *table, int stride)
{
    int block[64];
    for (int i = 0; i < 64; i++)
        block[i] = in[(i >> 3) * stride + (i & 7)] - 128;
    pass(block, 1);
    pass(block, 8);
    for (int i = 0; i < 64; i++) {
        int v = block[zigzag[i]], q = table[i];
        out[i] = v < 0 ? -((-v + q / 2) / q) : (v + q / 2) / q;
    }
}
