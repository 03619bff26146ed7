// A program with one device global.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global int only = 1;

kernel void one_sum(global int *out)
{
    *out = only;
}
