// What the host may do with a device global.
#include <oclave/oclave.h>

DEVICE_GLOBAL(host_access_read) __global int access_read = 1;
DEVICE_GLOBAL(host_access_write) __global int access_write = 2;
DEVICE_GLOBAL(host_access_read_write) __global int access_read_write = 3;
DEVICE_GLOBAL(host_access_none) __global int access_none = 4;
DEVICE_GLOBAL() __global const int access_const = 5;
DEVICE_GLOBAL(init_mode_reset, implement_in_csr_on) __global int access_fpga = 6;
/// No kernel uses it; the host may.
DEVICE_GLOBAL() __global int access_unused[2] = {8, 9};

kernel void access_read_all(global int *out)
{
    out[0] = access_read;
    out[1] = access_write;
    out[2] = access_read_write;
    out[3] = access_none;
    out[4] = access_const;
    out[5] = access_fpga;
}

kernel void access_add(int by)
{
    access_read += by;
    access_write += by;
    access_read_write += by;
    access_none += by;
    access_fpga += by;
}
