// Vectors of sixteen numbers of 64 bits.

#define SIGNED(name, expression)                                                                                   \
    kernel void name(global const long16 *a, global const long16 *b, global const long16 *c, global long16 *out) { \
        const size_t i = get_global_id(0);                                                                         \
        const long16 x = a[i], y = b[i], z = c[i];                                                                 \
        out[i] = expression;                                                                                       \
    }

#define UNSIGNED(name, expression)                                                                    \
    kernel void name(global const ulong16 *a, global const ulong16 *b, global const ulong16 *c,       \
                     global ulong16 *out) {                                                           \
        const size_t i = get_global_id(0);                                                            \
        const ulong16 x = a[i], y = b[i], z = c[i];                                                   \
        out[i] = expression;                                                                          \
    }

SIGNED(s_max, max(x, y))
SIGNED(s_min, min(x, y))
SIGNED(s_min_of_scalar, min(x, y.s3))
SIGNED(s_clamp, clamp(x, min(y, z), max(y, z)))
SIGNED(s_abs, as_long16(abs(x)))
SIGNED(s_abs_diff, as_long16(abs_diff(x, y)))
SIGNED(s_add_sat, add_sat(x, y))
SIGNED(s_sub_sat, sub_sat(x, y))
SIGNED(s_hadd, hadd(x, y))
SIGNED(s_rhadd, rhadd(x, y))
SIGNED(s_mul_hi, mul_hi(x, y))
SIGNED(s_mad_hi, mad_hi(x, y, z))
SIGNED(s_mad_sat, mad_sat(x >> 20, y >> 44, z))
SIGNED(s_select, select(x, y, z))
SIGNED(s_bitselect, bitselect(x, y, z))
SIGNED(s_upsample, upsample(convert_int16(x >> 32), convert_uint16_sat(as_ulong16(y) >> 32)))
SIGNED(s_of_unsigned, convert_long16_sat(as_ulong16(x)))
UNSIGNED(u_max, max(x, y))
UNSIGNED(u_min, min(x, y))
UNSIGNED(u_abs_diff, abs_diff(x, y))
UNSIGNED(u_add_sat, add_sat(x, y))
UNSIGNED(u_sub_sat, sub_sat(x, y))
UNSIGNED(u_hadd, hadd(x, y))
UNSIGNED(u_rhadd, rhadd(x, y))
UNSIGNED(u_mul_hi, mul_hi(x, y))
UNSIGNED(u_mad_sat, mad_sat(x >> 20, y >> 44, z))
UNSIGNED(u_clz, clz(x >> (y & 63)))
UNSIGNED(u_popcount, popcount(x))
UNSIGNED(u_rotate, rotate(x, y))
UNSIGNED(u_of_signed, convert_ulong16_sat(as_long16(x)))
UNSIGNED(u_narrow, convert_ulong16(convert_uint16_sat(x >> (y & 63))))
UNSIGNED(u_narrow_signed, convert_ulong16(convert_char16_sat(as_long16(x) >> (as_long16(y) & 63))))
UNSIGNED(u_shuffle, shuffle(x, y))
UNSIGNED(u_shuffle_narrow, (ulong16)(shuffle(x, y.lo), shuffle(x, y.s89ab), shuffle(x, y.scd), shuffle(x, y.sef)))
UNSIGNED(u_shuffle_of_eight, shuffle(x.hi, y))
UNSIGNED(u_shuffle_of_two, shuffle(x.hi.hi.hi, y))
UNSIGNED(u_shuffle2, shuffle2(x, y, z))
UNSIGNED(u_shuffle2_narrow, (ulong16)(shuffle2(x, y, z.lo), shuffle2(x, y, z.hi)))
UNSIGNED(u_shuffle2_of_four, shuffle2(x.lo.hi, y.hi.lo, z))

// Any address that is aligned to an element.
kernel void unaligned_copies(global const long *in, global long *out) {
    const size_t i = get_global_id(0);
    vstore16(vload16(i, in + 3), i, out + 5);
}

// Through local and private memory.
kernel void staged_copies(global const ulong *in, global ulong *out, local ulong *staged) {
    const size_t i = get_global_id(0);
    const size_t l = get_local_id(0);
    vstore16(vload16(i, in), l, staged);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong own[40];
    for (uint k = 0; k < 40; k++)
        own[k] = k;
    vstore16(vload16(get_local_size(0) - 1 - l, staged), 1, own);
    vstore16(vload16(1, own + 1), i, out);
}

// Conditions from all lanes.
kernel void conditions(global const long16 *a, global const long16 *b, global long16 *out) {
    const size_t i = get_global_id(0);
    const long16 x = a[i], y = b[i];
    const long16 less = x < y;
    out[i] = select(x, y, less) + any(less) + 2 * all(less) + 4 * any(x == y);
}

__attribute__((noinline)) long16 mixed(long16 a, long16 b) {
    return a * 3 - (b ^ a.sfedcba9876543210);
}

__attribute__((noinline)) long16 larger(long16 a, long16 b) {
    return max(mixed(a, b), b);
}

__attribute__((noinline)) void put(global long16 *to, long16 value) {
    *to = value;
}

// Functions that stay calls.
kernel void calls(global const long16 *a, global const long16 *b, global long16 *out) {
    const size_t i = get_global_id(0);
    put(out + i, larger(a[i], b[i]) + mixed(b[i], a[i]));
}

// An argument of the kernel.
kernel void arguments(const long16 a, global const long16 *b, global long16 *out) {
    const size_t i = get_global_id(0);
    out[i] = max(a, b[i]);
}
