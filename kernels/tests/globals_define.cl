#include "globals.h"

typedef struct {
    float gain;
    int offset[2];
} settings_t;

/// Counts work-items of both sources.
DEVICE_GLOBAL() __global int counter = 5;
DEVICE_GLOBAL() __global uint histogram[HISTOGRAM_BINS] = {1, 2, 3};
DEVICE_GLOBAL(host_access_write) __global settings_t settings = {2.0f, {1, -1}};
DEVICE_GLOBAL(host_access_read) static __global long last;

kernel void count_up(int by)
{
    if (get_global_id(0) == 0) {
        counter += by;
        last = counter;
    }
}

kernel void add_to_bin(uint bin)
{
    if (get_global_id(0) == 0 && bin < HISTOGRAM_BINS)
        histogram[bin] += 1;
}

kernel void apply_settings(global float *x)
{
    size_t i = get_global_id(0);
    x[i] = x[i] * settings.gain + (float)(settings.offset[0] + settings.offset[1]);
}
