#include "filters.h"

/* One dimension of a separable blur: taps lie along (dx, dy). Range: width × height. */
static uchar blurred(global const uchar *from, int dx, int dy) {
    int x = get_global_id(0), y = get_global_id(1);
    int width = get_global_size(0), height = get_global_size(1);
    int sum = ONE_Q16 / 2;
    for (int tap = -blur_radius; tap <= blur_radius; ++tap)
        sum += blur_weights[tap + blur_radius] * from[clamped(x + tap * dx, y + tap * dy, width, height)];
    return convert_uchar_sat(sum / ONE_Q16);
}

kernel void blur_rows(global const uchar *from, global uchar *to) {
    to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = blurred(from, 1, 0);
}

kernel void blur_columns(global const uchar *from, global uchar *to) {
    to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = blurred(from, 0, 1);
}
