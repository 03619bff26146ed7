#include "common.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

enum level { LOW = -1, HIGH = 1 };
typedef enum { RED, GREEN } color_t;
typedef global float *floats_t;
struct __attribute__((packed)) packed { char tag; int value; };
struct wide { int value; } __attribute__((aligned(32)));
struct holder { global int *list; union { int i; float f; } either; atomic_int count; bool set; };
typedef int table_t[4];
struct nested { struct { short x, y; } point; table_t table; };

DEVICE_GLOBAL() __global item_t current;
DEVICE_GLOBAL(device_image_scope, host_access_read) __global ulong steps = 1;
DEVICE_GLOBAL() static __global half small[2][2];
SPEC_CONSTANT(short, DEPTH, 7, -3)
SPEC_CONSTANT(double, SCALE, 8, 0.25)

/// Does this.
///
/// And that:
/// ```
/// not a test
/// ```
kernel __attribute__((reqd_work_group_size(16, 2, 1)))
void everything(const item_t item, enum level level, color_t color, floats_t hidden, struct packed packed,
                struct wide wide, struct nested nested, global const struct holder *restrict holder,
                volatile global uint *flags, constant char16 *table, local double2 *scratch, global void *raw,
                global table_t *tables, global half *halves, half4 h)
{
    hidden[0] = item.weight * (float)level + color + packed.value + wide.value + nested.point.y + SCALE();
    flags[0] = holder->either.i + table[0].s3 + tables[1][2] + DEPTH();
    scratch[0] = (double2)(1.0, 2.0);
    ((global char *)raw)[0] = (char)scratch[0].x;
    halves[0] = h.x + small[1][0];
    current.grid[1][2] = (int)steps++;
}
