// Vectors of sixteen numbers of double precision.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define DOUBLES(name, expression)                                                                       \
    kernel void name(global const double16 *a, global const double16 *b, global const double16 *c,      \
                     global double16 *out) {                                                            \
        const size_t i = get_global_id(0);                                                              \
        const double16 x = a[i], y = b[i], z = c[i];                                                    \
        out[i] = expression;                                                                            \
    }

#define LONGS(name, expression)                                                                         \
    kernel void name(global const double16 *a, global const double16 *b, global const double16 *c,      \
                     global long16 *out) {                                                              \
        const size_t i = get_global_id(0);                                                              \
        const double16 x = a[i], y = b[i], z = c[i];                                                    \
        out[i] = expression;                                                                            \
    }

DOUBLES(d_cos, cos(x))
DOUBLES(d_exp, exp(x))
DOUBLES(d_pow, pow(fabs(x), y))
DOUBLES(d_atan2, atan2(x, y))
DOUBLES(d_hypot, hypot(x, y))
DOUBLES(d_sqrt, sqrt(fabs(x)))
DOUBLES(d_fma, fma(x, y, z))
DOUBLES(d_fmin, fmin(x, y))
DOUBLES(d_fmax_of_scalar, fmax(x, y.s0))
DOUBLES(d_fmod, fmod(x, y))
DOUBLES(d_trunc, trunc(x / y))
DOUBLES(d_floor, floor(x))
DOUBLES(d_rint, rint(x))
DOUBLES(d_copysign, copysign(x, y))
DOUBLES(d_fdim, fdim(x, y))
DOUBLES(d_ldexp, ldexp(x, convert_int16(y)))
DOUBLES(d_pown, pown(x, convert_int16(y) & 3))
DOUBLES(d_clamp, clamp(x, -1.0, 1.0))
DOUBLES(d_mix, mix(x, y, 0.25))
DOUBLES(d_sign, sign(x))
DOUBLES(d_step, step(x, y))
DOUBLES(d_select, select(x, y, as_long16(z)))
DOUBLES(d_bitselect, bitselect(x, y, z))
DOUBLES(d_shuffle, shuffle(x, as_ulong16(y)))
DOUBLES(d_shuffle2, shuffle2(x, y, as_ulong16(z)))
DOUBLES(d_of_long, convert_double16(as_long16(x)))
DOUBLES(d_of_long_down, convert_double16_rtn(as_long16(x)))
DOUBLES(d_of_float, convert_double16(convert_float16_rtz(x)))

LONGS(l_ilogb, convert_long16(ilogb(x)))
LONGS(l_of_double, convert_long16_sat(ldexp(x, 58)))
LONGS(l_of_double_up, convert_long16_rtp(x))
LONGS(l_to_char, convert_long16(convert_char16_sat_rte(x * 16)))
LONGS(l_isnan, isnan(sqrt(x)))
LONGS(l_isfinite, isfinite(1.0 / trunc(x)))
LONGS(l_isnormal, isnormal(trunc(x)))
LONGS(l_signbit, signbit(x))
LONGS(l_isless, isless(x, y))
LONGS(l_isordered, isordered(y, sqrt(x)))
LONGS(l_isunordered, isunordered(sqrt(x), y))
LONGS(l_islessgreater, islessgreater(x, y))

// Functions with a second result.
kernel void two_results(global const double16 *a, global const double16 *b, global double16 *out, global int16 *numbers) {
    const size_t i = get_global_id(0);
    const double16 x = a[i], y = b[i];
    double16 second;
    out[8 * i] = sincos(x, &second);
    out[8 * i + 1] = second;
    out[8 * i + 2] = modf(x, out + 8 * i + 3);
    out[8 * i + 4] = fract(x, &second);
    out[8 * i + 5] = second;
    int16 number;
    out[8 * i + 6] = frexp(x, &number);
    numbers[2 * i] = number;
    out[8 * i + 7] = remquo(x, y, numbers + 2 * i + 1);
    numbers[2 * i + 1] &= 7;
}

// The logarithm of the gamma function, and its sign.
kernel void gamma_and_sign(global const double16 *a, global double16 *out, global int16 *signs) {
    const size_t i = get_global_id(0);
    int16 sign;
    out[i] = lgamma_r(a[i], &sign);
    signs[i] = sign;
}

// Any address that is aligned to an element.
kernel void unaligned_doubles(global const double *in, global double *out) {
    const size_t i = get_global_id(0);
    vstore16(vload16(i, in + 3), i, out + 5);
}

// Halves in memory.
kernel void narrow(global const double16 *in, global half *out, global half *aligned) {
    const size_t i = get_global_id(0);
    vstore_half16(in[i], i, out + 1);
    vstorea_half16_rtz(in[i], i, aligned);
}

__attribute__((noinline)) double16 scaled(double16 a, double16 b) {
    return a * 3.0 - b;
}

// A function that stays a call.
kernel void calls(global const double16 *a, global const double16 *b, global double16 *out) {
    const size_t i = get_global_id(0);
    out[i] = scaled(a[i], fabs(b[i]));
}
