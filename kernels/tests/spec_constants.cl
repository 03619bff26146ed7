#include <oclave/oclave.h>

SPEC_CONSTANT(int, FACTOR, 0, 3)
SPEC_CONSTANT(float, BIAS, 1, 0.5f)
SPEC_CONSTANT(uint, LARGE, 2, 4000000000u)

kernel void specialized(global float *x)
{
    size_t i = get_global_id(0);
    x[i] = x[i] * FACTOR() + BIAS();
}

kernel void large_constant(global ulong *out)
{
    out[get_global_id(0)] = LARGE();
}
