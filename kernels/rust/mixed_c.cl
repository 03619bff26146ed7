// Functions and variables that this source shares with mixed.rs.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global int theirs[3] = {-1, 20, 300};
extern DEVICE_GLOBAL() __global uint OURS;

long quotient(long x, int divisor);
uint sum_of_local(local const uint *x, uint count);

float in_c(uint x, float y)
{
    return (float)(x % 100) * y;
}

uint greatest(global const uint *x, uint count)
{
    uint most = 0;
    for (uint i = 0; i < count; i++)
        most = max(most, x[i]);
    return most;
}

kernel void calls_rust(int divisor, global long *out)
{
    long i = get_global_id(0);
    out[i] = quotient(i * 1000 - 5000, divisor);
}

kernel void calls_rust_locally(local uint *tile, global uint *out)
{
    tile[get_local_id(0)] = (uint)get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = sum_of_local(tile, (uint)get_local_size(0));
    out[get_global_id(0)] = sum;
}

kernel void step_in_c(uint by)
{
    OURS = OURS * 3 + by;
    theirs[0] += (int)by;
}

kernel void advance_in_c(uint factor, uint addend, global uint *x)
{
    size_t i = get_global_id(0);
    x[i] = x[i] * factor + addend;
}
