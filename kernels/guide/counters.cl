#include <oclave/oclave.h>

DEVICE_GLOBAL() __global int counter;
DEVICE_GLOBAL(host_access_read) __global float table[4] = {1, 2, 3, 4};

kernel void count(global const float *x)
{
    if (x[get_global_id(0)] > table[2])
        atomic_inc(&counter);
}
