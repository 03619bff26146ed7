// Every kind of argument that a launch can carry.
#include "structs.h"

/// Each scalar goes to its slot, converted to `long`.
kernel void scalars(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, global long *out)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = e;
    out[5] = f;
    out[6] = g;
    out[7] = (long)h;
    out[8] = (long)i;
}

kernel void vectors(float4 a, int2 b, uchar3 c, short8 d, global float4 *sum, constant uint4 *table)
{
    size_t i = get_global_id(0);
    float4 bytes = (float4)(convert_float3(c), 0.0f);
    sum[i] = a + convert_float4((int4)(b, b)) + bytes + convert_float4(d.lo) + convert_float4(d.hi)
        + convert_float4(table[i]);
}

/// A struct by value and structs in memory.
kernel void structs(pair_t scale, global const struct sample *samples, global float *out)
{
    size_t i = get_global_id(0);
    struct sample s = samples[i];
    out[i] = s.weight * (s.at.first + s.at.second) * scale.first + scale.second + s.flag + s.matrix[1][2];
}

/// A struct with padding in it and after it, an enum and a vector of three lanes.
kernel void padded(struct padded p, global float *out)
{
    out[0] = p.small;
    out[1] = (float)p.wide;
    out[2] = p.axis.x + p.axis.y + p.axis.z;
    out[3] = p.mode == MODE_SECOND ? 1.0f : 0.0f;
    out[4] = p.tail;
}

/// Layouts that Rust sees as bytes only.
kernel void opaque(packed_t p, union either e, global float *out)
{
    out[0] = p.value;
    out[1] = e.as_float;
}

/// Sums each work-group through local memory.
kernel void group_sum(global const int *in, global int *sums, local int *scratch)
{
    uint lid = get_local_id(0);
    scratch[lid] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (lid < step)
            scratch[lid] += scratch[lid + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        sums[get_group_id(0)] = scratch[0];
}

/// Bytes without a type.
kernel void fill_bytes(global void *bytes, uchar value, ulong count)
{
    global uchar *out = bytes;
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        out[i] = value;
}

/// Where a work-item is, in three dimensions: id, local id, group, global size and offset of each.
kernel void positions(global ulong *out)
{
    size_t width = get_global_size(0);
    size_t height = get_global_size(1);
    size_t x = get_global_id(0) - get_global_offset(0);
    size_t y = get_global_id(1) - get_global_offset(1);
    size_t z = get_global_id(2) - get_global_offset(2);
    global ulong *slot = out + 15 * (x + width * (y + height * z));
    for (uint d = 0; d < 3; d++) {
        slot[d] = get_global_id(d);
        slot[3 + d] = get_local_id(d);
        slot[6 + d] = get_group_id(d);
        slot[9 + d] = get_local_size(d);
        slot[12 + d] = get_global_offset(d);
    }
}

/// Uses its local memory only where it is told that there is some.
kernel void may_lack_local(global int *values, local int *scratch, int len)
{
    int sum = 1;
    if (len > 0) {
        scratch[0] = 6;
        sum += scratch[0];
    }
    values[get_global_id(0)] += sum;
}
