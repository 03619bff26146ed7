// A scalar that an inner loop reads: from a device global, and through an argument.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global float factor = 1.0f;

/// `x[i]` = sum over `rounds` of `factor`, and a value that depends on it.
kernel void loop_global(global float *x, int rounds)
{
    size_t i = get_global_id(0);
    float sum = x[i];
    for (int n = 0; n < rounds; n++)
        sum = sum * 0.5f + factor;
    x[i] = sum;
}

/// The same with the memory as an argument.
kernel void loop_argument(global float *x, int rounds, global const float *factor_pointer)
{
    size_t i = get_global_id(0);
    float sum = x[i];
    for (int n = 0; n < rounds; n++)
        sum = sum * 0.5f + *factor_pointer;
    x[i] = sum;
}

/// As `loop_global`, with stores in the loop, so that the value must be read each time.
kernel void loop_global_stored(global float *x, int rounds)
{
    size_t i = get_global_id(0);
    for (int n = 0; n < rounds; n++)
        x[i] = x[i] * 0.5f + factor;
}

kernel void loop_argument_stored(global float *x, int rounds, global const float *factor_pointer)
{
    size_t i = get_global_id(0);
    for (int n = 0; n < rounds; n++)
        x[i] = x[i] * 0.5f + *factor_pointer;
}
