// Device globals of three sizes, for copies.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global uint block_small;
DEVICE_GLOBAL() __global uchar block_medium[64 << 10];
DEVICE_GLOBAL() __global uchar block_large[64 << 20];

kernel void blocks_touch(void)
{
    block_small += 1;
    block_medium[0] += 1;
    block_large[0] += 1;
}
