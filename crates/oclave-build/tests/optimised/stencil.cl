kernel void stencil(global float *out, global const float *in, int w, int h, int d)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int west = x == 0 ? 0 : x - 1, east = x == w - 1 ? x : x + 1;
    int north = y == 0 ? 0 : y - 1, south = y == h - 1 ? y : y + 1;
    int below = z == 0 ? 0 : z - 1, above = z == d - 1 ? z : z + 1;
#define AT(X, Y, Z) in[((Z) * h + (Y)) * w + (X)]
    out[(z * h + y) * w + x] = 0.4f * AT(x, y, z) + 0.1f * (AT(west, y, z) + AT(east, y, z) + AT(x, north, z)
        + AT(x, south, z) + AT(x, y, below) + AT(x, y, above));
}
kernel void wrapped(global int *out, global const int *in, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1), alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                alive += in[(y + dy + h) % h * w + (x + dx + w) % w];
    out[y * w + x] = alive == 3 || (alive == 2 && in[y * w + x]);
}
