// A static variable whose name other sources have, too: each source has its own.
#include <oclave/oclave.h>

DEVICE_GLOBAL() static __global int same_name = 200;

kernel void static_b_add(int by, global int *out)
{
    same_name += by;
    *out = same_name;
}
