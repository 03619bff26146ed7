// Conway's Game of Life.

// On a torus, one generation a launch.
kernel void generation(global const uchar *in, global uchar *out, const int width, const int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) continue;
            alive += in[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    switch (alive) {
    case 2:
        out[y * width + x] = in[y * width + x];
        break;
    case 3:
        out[y * width + x] = 1;
        break;
    default:
        out[y * width + x] = 0;
    }
}

// Each group has a small torus of its own in local memory, for many generations.
kernel void many_generations(global uchar *worlds, const int width, const int height, const int generations, local uchar *a, local uchar *b) {
    const int lid = get_local_id(0), size = get_local_size(0), cells = width * height;
    global uchar *world = worlds + get_group_id(0) * cells;
    for (int i = lid; i < cells; i += size) a[i] = world[i];
    int g = 0;
    while (g < generations) {
        barrier(CLK_LOCAL_MEM_FENCE);
        local uchar *from = g & 1 ? b : a;
        local uchar *to = g & 1 ? a : b;
        for (int i = lid; i < cells; i += size) {
            const int x = i % width, y = i / width;
            const int left = x ? x - 1 : width - 1, right = x + 1 < width ? x + 1 : 0;
            const int up = (y ? y - 1 : height - 1) * width, down = (y + 1 < height ? y + 1 : 0) * width;
            const int here = y * width;
            const int n = from[up + left] + from[up + x] + from[up + right] + from[here + left] + from[here + right]
                + from[down + left] + from[down + x] + from[down + right];
            to[i] = n == 3 || (n == 2 && from[i]);
        }
        g++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < cells; i += size) world[i] = generations & 1 ? b[i] : a[i];
}

// 32 cells a word: neighbours are counted with logic on whole rows.
kernel void packed_words(global const uint *in, global uint *out, const int words, const int height) {
    const int i = get_global_id(0), y = get_global_id(1);
    if (i >= words || y >= height) return;
    uint ones = 0, twos = 0, fours = 0;
    uint self = 0;
    for (int dy = -1; dy <= 1; dy++) {
        const int row = (y + dy + height) % height * words;
        const uint w = in[row + i];
        const uint left = (w << 1) | (in[row + (i + words - 1) % words] >> 31);
        const uint right = (w >> 1) | (in[row + (i + 1) % words] << 31);
        uint three[3] = { left, right, w };
        if (dy == 0) {
            self = w;
            three[2] = 0;
        }
        for (int k = 0; k < 3; k++) {
            const uint carry = ones & three[k];
            ones ^= three[k];
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    out[y * words + i] = twos & ~fours & (ones | self);
}
