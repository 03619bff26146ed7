// Kernels that share functions and variables with those of both.rs.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global int offsets[4] = {1, 20, 300, 4000};
extern DEVICE_GLOBAL() __global uint STEPS;

uint remainder_of(uint x, uint divisor);
ulong first_above(global const int *x, uint count, int bound);

float mixed(uint x, float y)
{
    return (float)(x % 10) * y;
}

float sum_of(global const float *x, uint count)
{
    float sum = 0;
    for (uint i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

kernel void calls_rust(global const int *x, uint count, uint divisor, global ulong *out)
{
    size_t i = get_global_id(0);
    out[i] = remainder_of((uint)i, divisor) * 1000 + first_above(x, count, (int)i);
}

kernel void step_in_c(uint by)
{
    STEPS += by;
}
