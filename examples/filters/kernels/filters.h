/* What the kernels of the `filters` example share: the parameters, which are device globals defined in parameters.cl. */
#ifndef FILTERS_H
#define FILTERS_H

#include <oclave/oclave.h>

/* Largest blur radius, in pixels. */
#define MAX_RADIUS 15
/* Fixed-point one of the luminance weights and of the edge strength. */
#define ONE_Q8 256
/* Fixed-point one of the blur weights. */
#define ONE_Q16 65536

extern __global int luma_weights[3];
extern __global int blur_radius;
extern __global int blur_weights[2 * MAX_RADIUS + 1];
extern __global int threshold_level;
extern __global uint edge_count;
extern __global uint histogram_bins[256];

/* Index of pixel (x, y), with coordinates outside the picture moved to its border. */
static inline size_t clamped(int x, int y, int width, int height) {
    return (size_t)clamp(y, 0, height - 1) * (size_t)width + (size_t)clamp(x, 0, width - 1);
}

#endif
