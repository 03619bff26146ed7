// Addresses of device globals: stored to memory, passed to functions, followed by other kernels, in initial values.
#include <oclave/oclave.h>

DEVICE_GLOBAL() __global int target[4] = {10, 20, 30, 40};
/// The address of `target[2]`, once `pointers_publish` has run.
DEVICE_GLOBAL() __global ulong address;
DEVICE_GLOBAL() __global int *__global pointer;
DEVICE_GLOBAL() static __global int hidden = 9;

__attribute__((noinline)) static int sum(__global const int *values, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += values[i];
    return total;
}

__attribute__((noinline)) static void add_to_hidden(int by)
{
    hidden += by;
}

/// Stores the address of `target[2]` to a device global and to an argument.
kernel void pointers_publish(global ulong *out)
{
    address = (ulong)&target[2];
    pointer = &target[2];
    *out = (ulong)&target[2];
}

/// Writes through the address that `pointers_publish` stored.
kernel void pointers_follow(int value)
{
    *(__global int *)address = value;
    pointer[1] = value + 1;
}

/// Writes through an address that came from the host.
kernel void pointers_write_to(ulong where, int value)
{
    *(__global int *)where = value;
}

kernel void pointers_sum(global int *out)
{
    add_to_hidden(1);
    out[0] = sum(target, 4);
    out[1] = hidden;
}
