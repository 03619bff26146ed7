// Variables with device_image_scope: one instance in each program. All kernels are in one image.
#include <oclave/oclave.h>

DEVICE_GLOBAL(device_image_scope) __global int scoped = 17;
DEVICE_GLOBAL(device_image_scope) __global int scoped_table[4] = {1, 2, 3, 4};
DEVICE_GLOBAL(device_image_scope, host_access_read) static __global long scoped_seen;
DEVICE_GLOBAL(device_image_scope, host_access_write) __global float scoped_gain = 0.5f;
DEVICE_GLOBAL(device_image_scope, host_access_none) __global int scoped_private;
/// No kernel uses it.
DEVICE_GLOBAL(device_image_scope) __global int scoped_unused = 1;
/// In the same programs, shared by all of them.
DEVICE_GLOBAL(host_access_none) __global int shared_private;
SPEC_CONSTANT(int, SCOPED_STEP, 40, 1)

__attribute__((noinline)) static void bump(int by)
{
    scoped += by;
    scoped_seen += 1;
}

/// Adds `by` times the constant to `scoped`, and one to `scoped_seen`.
kernel void scoped_add(int by)
{
    bump(by * SCOPED_STEP());
    scoped_private += 1;
    shared_private += 1;
}

kernel void scoped_read(global int *out, global float *gain)
{
    out[0] = scoped;
    for (int i = 0; i < 4; i++)
        out[1 + i] = scoped_table[i];
    out[5] = (int)scoped_seen;
    out[6] = scoped_private;
    out[7] = shared_private;
    *gain = scoped_gain;
}

kernel void scoped_write(int index, int value)
{
    if (index >= 0 && index < 4)
        scoped_table[index] = value;
}
