#include "filters.h"

/* White where the gradient reaches threshold_level, black elsewhere; counts the white ones. Range: pixels. */
kernel void threshold(global const uchar *gradient, global uchar *mask) {
    size_t i = get_global_id(0);
    int edge = gradient[i] >= threshold_level;
    mask[i] = edge ? 255 : 0;
    if (edge)
        atomic_inc(&edge_count);
}
