// Device globals of every shape, and every way to reach one.
#include <oclave/oclave.h>

typedef struct {
    int id;
    uchar flag;
    float weight;
    int parts[4];
} item_t;

DEVICE_GLOBAL() __global char g_char = 'f';
DEVICE_GLOBAL() __global uchar g_uchar = 200;
DEVICE_GLOBAL() __global short g_short = -2;
DEVICE_GLOBAL() __global ushort g_ushort = 65000;
DEVICE_GLOBAL() __global int g_int = 3;
DEVICE_GLOBAL() __global uint g_uint = 4000000000u;
DEVICE_GLOBAL() __global long g_long = -5000000000;
DEVICE_GLOBAL() __global ulong g_ulong = 7;
DEVICE_GLOBAL() __global float g_float = 4.5f;
DEVICE_GLOBAL() __global float4 g_float4 = (float4)(1.0f, 2.0f, 3.0f, 4.0f);
DEVICE_GLOBAL() __global int3 g_int3 = (int3)(1, 2, 3);
DEVICE_GLOBAL() __global int g_array[4] = {5, 2, 3};
DEVICE_GLOBAL() __global int g_table[3][2] = {{3, 4}, {5, 6}, {7, 8}};
DEVICE_GLOBAL() __global item_t g_item = {6, 1, 4.25f, {5, 6, 7, 8}};
DEVICE_GLOBAL() __global item_t g_items[2] = {{5, 1, 2.5f, {1, 2, 3, 4}}, {7, 0, 2.75f, {5, 6, 7, 8}}};
DEVICE_GLOBAL() __global float4 g_vectors[2];
DEVICE_GLOBAL() __global int g_zero;
DEVICE_GLOBAL() __global int g_atomic;
DEVICE_GLOBAL() __global uint g_large[1 << 20];

/// Reads all of them: integers to `integers` (31), floats to `floats` (17).
kernel void types_read(global long *integers, global float *floats)
{
    global long *i = integers;
    *i++ = g_char;
    *i++ = g_uchar;
    *i++ = g_short;
    *i++ = g_ushort;
    *i++ = g_int;
    *i++ = g_uint;
    *i++ = g_long;
    *i++ = (long)g_ulong;
    *i++ = g_int3.x;
    *i++ = g_int3.y;
    *i++ = g_int3.z;
    for (int n = 0; n < 4; n++)
        *i++ = g_array[n];
    for (int n = 0; n < 6; n++)
        *i++ = g_table[n / 2][n % 2];
    *i++ = g_item.id;
    *i++ = g_item.flag;
    *i++ = g_item.parts[2];
    for (int n = 0; n < 2; n++) {
        *i++ = g_items[n].id;
        *i++ = g_items[n].flag;
        *i++ = g_items[n].parts[3];
    }
    *i++ = g_zero;
    global float *f = floats;
    *f++ = g_float;
    vstore4(g_float4, 0, f);
    f += 4;
    *f++ = g_item.weight;
    *f++ = g_items[0].weight;
    *f++ = g_items[1].weight;
    vstore4(g_vectors[0], 0, f);
    vstore4(g_vectors[1], 1, f);
    f += 8;
    *f++ = (float)g_large[12345];
}

/// Adds one to every number of them.
kernel void types_add_one(void)
{
    g_char += 1;
    g_uchar += 1;
    g_short += 1;
    g_ushort += 1;
    g_int += 1;
    g_uint += 1;
    g_long += 1;
    g_ulong += 1;
    g_float += 1.0f;
    g_float4 += 1.0f;
    g_int3 += 1;
    for (int n = 0; n < 4; n++)
        g_array[n] += 1;
    for (int n = 0; n < 6; n++)
        g_table[n / 2][n % 2] += 1;
    g_item.id += 1;
    g_item.flag += 1;
    g_item.weight += 1.0f;
    g_item.parts[2] += 1;
    for (int n = 0; n < 2; n++) {
        g_items[n].id += 1;
        g_items[n].flag += 1;
        g_items[n].weight += 1.0f;
        g_items[n].parts[3] += 1;
        g_vectors[n] += 1.0f;
    }
    g_zero += 1;
    g_large[12345] += 1;
}

/// Every work-item adds one, atomically.
kernel void types_count(void)
{
    atomic_inc((volatile __global int *)&g_atomic);
}

kernel void types_fill_large(uint value)
{
    size_t i = get_global_id(0);
    if (i < (1 << 20))
        g_large[i] = value + (uint)i;
}
