#include "globals.h"

kernel void read_shared(global int *count, global uint *bins)
{
    if (get_global_id(0) == 0) {
        *count = counter;
        for (uint i = 0; i < HISTOGRAM_BINS; i++)
            bins[i] = histogram[i];
    }
}

kernel void double_shared(void)
{
    if (get_global_id(0) == 0) {
        counter *= 2;
        for (uint i = 0; i < HISTOGRAM_BINS; i++)
            histogram[i] *= 2;
    }
}
