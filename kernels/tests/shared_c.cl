// Shared functions in OpenCL C, where the sides part by the macro.
#include "shared.h"

SHARED int scaled_in_c(int x, int by) { return mul24(x, by); }

SHARED int which_side(void)
{
#ifdef OCLAVE_HOST
    return 1;
#else
    return 2;
#endif
}

/// Overloads in C.
SHARED __attribute__((overloadable)) float norm(float2 x) { return length(x); }
SHARED __attribute__((overloadable)) float norm(float3 x) { return length(x); }

struct span { // 40 bytes
    double low, high;
    char name[3];
    uint ids[4];
};
SHARED struct span widened(struct span s, double by)
{
    s.low -= by;
    s.high += by;
    s.name[0] = 'w';
    s.ids[3] += 1;
    return s;
}

constant int TABLE[4] = {1, 10, 100, 1000};
SHARED int from_table(uint i) { return TABLE[i & 3]; }

kernel void in_c(global int *out)
{
    out[0] = which_side();
    out[1] = scaled_in_c(21, 2);
    out[2] = from_table(2);
    out[3] = in_header(1);
}

kernel void widen(global struct span *spans, double by)
{
    size_t i = get_global_id(0);
    spans[i] = widened(spans[i], by);
}
