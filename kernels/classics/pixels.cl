// Formats of pixels.

kernel void rgb565_to_888(global const ushort *in, global uchar *out) {
    const size_t i = get_global_id(0);
    const ushort p = in[i];
    const uint r = p >> 11, g = p >> 5 & 63, b = p & 31;
    out[3 * i] = (uchar)(r << 3 | r >> 2);
    out[3 * i + 1] = (uchar)(g << 2 | g >> 4);
    out[3 * i + 2] = (uchar)(b << 3 | b >> 2);
}

kernel void rgb888_to_565(global const uchar *in, global ushort *out) {
    const size_t i = get_global_id(0);
    const uchar3 p = vload3(i, in);
    out[i] = (ushort)((p.x & 0xF8) << 8 | (p.y & 0xFC) << 3 | p.z >> 3);
}

// Planes with a quarter of the colours (4:2:0) to RGBA, in whole numbers.
kernel void yuv420_to_rgba(global const uchar *y_plane, global const uchar *u_plane, global const uchar *v_plane, const int width, const int height, global uchar4 *out) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    const int at = y / 2 * (width / 2) + x / 2;
    const int c = 298 * (y_plane[y * width + x] - 16), d = u_plane[at] - 128, e = v_plane[at] - 128;
    const int4 rgb = (int4)(c + 409 * e + 128, c - 100 * d - 208 * e + 128, c + 516 * d + 128, 255 << 8);
    out[y * width + x] = convert_uchar4_sat(rgb >> 8);
}

// Luminance, with a group for a row that also finds its mean.
kernel void luminance(global const uchar4 *in, global uchar *out, global uint *means, const uint width) {
    local uint sum;
    const uint lid = get_local_id(0), size = get_local_size(0), row = get_group_id(0);
    if (lid == 0) sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint x = lid; x < width; x += size) {
        const uchar4 p = in[row * width + x];
        const uint y = (77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8;
        out[row * width + x] = (uchar)y;
        atomic_add(&sum, y);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) means[row] = sum / width;
}

// One picture over another one, with all four channels of a word at once.
kernel void blend(global const uint *over, global uint *under) {
    const size_t i = get_global_id(0);
    const uint a = over[i] >> 24, inverse = 255 - a;
    const uint even = (over[i] & 0x00FF00FF) * a + (under[i] & 0x00FF00FF) * inverse;
    const uint odd = (over[i] >> 8 & 0x00FF00FF) * a + (under[i] >> 8 & 0x00FF00FF) * inverse;
    under[i] = (even >> 8 & 0x00FF00FF) | (odd & 0xFF00FF00);
}

// Four samples of 10 bits in five bytes, as raw pictures have them.
kernel void unpack_10_bits(global const uchar *in, global ushort4 *out) {
    const size_t i = get_global_id(0);
    global const uchar *p = in + 5 * i;
    const ushort4 high = convert_ushort4(vload4(0, p)) << (ushort4)2;
    const ushort4 low = (ushort4)(p[4]) >> (ushort4)(0, 2, 4, 6) & (ushort4)3;
    out[i] = high | low;
}
