// Device globals that begin with the addresses of others.
#include <oclave/oclave.h>

typedef struct link {
    int value;
    __global struct link *next;
} link_t;

typedef struct {
    long before[600];
    __global int *where;
    int after;
} large_t;

DEVICE_GLOBAL() __global int addresses_values[4] = {10, 20, 30, 40};
DEVICE_GLOBAL() __global int *__global addresses_third = &addresses_values[2];
/// Past the end, at the end, and nowhere.
DEVICE_GLOBAL() __global int *__global addresses_table[3] = {addresses_values + 4, &addresses_values[3], 0};
/// A list. (A ring cannot be: SPIR-V defines what an initial value uses before it.)
DEVICE_GLOBAL() __global link_t addresses_tail = {3, 0};
DEVICE_GLOBAL() __global link_t addresses_middle = {2, &addresses_tail};
DEVICE_GLOBAL() __global link_t addresses_head = {1, &addresses_middle};
/// Too large to share memory with the others.
DEVICE_GLOBAL() __global large_t addresses_large = {{7}, &addresses_tail.value, 9};
DEVICE_GLOBAL() __global int addresses_lonely = 3;
/// No kernel uses it, nor what it points to.
DEVICE_GLOBAL() __global int *__global addresses_unused = &addresses_lonely;
DEVICE_GLOBAL(device_image_scope) __global int addresses_scoped[2] = {5, 6};
DEVICE_GLOBAL(device_image_scope) __global int *__global addresses_scoped_second = &addresses_scoped[1];

/// Follows the addresses only: the variables that they point to are not named.
kernel void addresses_follow(global int *out)
{
    out[0] = *addresses_third;
    out[1] = addresses_table[0][-1];
    out[2] = *addresses_table[1];
    out[3] = addresses_table[2] == 0;
    out[4] = addresses_head.next->value;
    out[5] = addresses_head.next->next->value;
    out[6] = *addresses_large.where;
    out[7] = (int)addresses_large.before[0] + addresses_large.after;
    out[8] = *addresses_scoped_second;
    *addresses_third += 1;
    *addresses_scoped_second += 1;
}

/// Names the variables that others point to.
kernel void addresses_targets(global int *out)
{
    out[0] = addresses_values[2];
    out[1] = addresses_scoped[1];
}
