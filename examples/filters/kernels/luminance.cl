#include "filters.h"

/* RGB, three bytes a pixel, to one byte of luminance. Range: pixels. */
kernel void luminance(global const uchar *rgb, global uchar *gray) {
    size_t i = get_global_id(0);
    int sum = luma_weights[0] * rgb[3 * i] + luma_weights[1] * rgb[3 * i + 1] + luma_weights[2] * rgb[3 * i + 2];
    gray[i] = convert_uchar_sat((sum + ONE_Q8 / 2) / ONE_Q8);
}
