#include "filters.h"

/* Adds each pixel's value to the device global `histogram_bins`: first per group in local memory, then once a bin. */
kernel void histogram(global const uchar *values, uint count, local uint *bins) {
    for (uint bin = get_local_id(0); bin < 256; bin += get_local_size(0))
        bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < count; i += get_global_size(0))
        atomic_inc(&bins[values[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = get_local_id(0); bin < 256; bin += get_local_size(0))
        atomic_add(&histogram_bins[bin], bins[bin]);
}
