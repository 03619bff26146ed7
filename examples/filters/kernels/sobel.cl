#include "filters.h"

/* Gradient by the Sobel operator: |gx| + |gy|, times the strength in 1/256. Range: width × height. */
kernel void sobel(global const uchar *from, global uchar *gradient, int strength) {
    int x = get_global_id(0), y = get_global_id(1);
    int width = get_global_size(0), height = get_global_size(1);
    int p[3][3];
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx)
            p[dy][dx] = from[clamped(x + dx - 1, y + dy - 1, width, height)];
    int gx = (p[0][2] + 2 * p[1][2] + p[2][2]) - (p[0][0] + 2 * p[1][0] + p[2][0]);
    int gy = (p[2][0] + 2 * p[2][1] + p[2][2]) - (p[0][0] + 2 * p[0][1] + p[0][2]);
    uint magnitude = abs(gx) + abs(gy);
    gradient[(size_t)y * width + x] = convert_uchar_sat(magnitude * strength / ONE_Q8);
}
