#include <oclave/oclave.h>

DEVICE_GLOBAL() __global float alpha = 1.0f;

kernel void saxpy(global const float *x, global float *y)
{
    size_t i = get_global_id(0);
    y[i] += alpha * x[i];
}
