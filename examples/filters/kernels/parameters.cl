#include "filters.h"

/* Weights of red, green and blue, in 1/256; the defaults are those of ITU-R BT.601. */
DEVICE_GLOBAL(host_access_write) __global int luma_weights[3] = {77, 150, 29};

/* Blur: radius in pixels, and one weight a tap in 1/65536. Radius 0 leaves the picture as it is. */
DEVICE_GLOBAL(host_access_write) __global int blur_radius = 0;
DEVICE_GLOBAL(host_access_write) __global int blur_weights[2 * MAX_RADIUS + 1] = {ONE_Q16};

/* Gradients of at least this value are edges. */
DEVICE_GLOBAL(host_access_read_write) __global int threshold_level = 128;

/* What the kernels count: pixels on an edge, and pixels by gradient. */
DEVICE_GLOBAL(host_access_read_write) __global uint edge_count;
DEVICE_GLOBAL(host_access_read_write) __global uint histogram_bins[256];
