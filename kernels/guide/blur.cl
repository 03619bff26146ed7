#include <oclave/oclave.h>

SPEC_CONSTANT(int, RADIUS, 0, 1) // kernels call RADIUS()

kernel void blur(global const float *x, global float *y)
{
    int i = get_global_id(0), n = get_global_size(0);
    float sum = 0;
    for (int k = -RADIUS(); k <= RADIUS(); k++)
        sum += x[clamp(i + k, 0, n - 1)];
    y[i] = sum / (2 * RADIUS() + 1);
}
