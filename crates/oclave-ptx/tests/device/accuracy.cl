// One kernel for each built-in function, compiled with -DT=float and with -DT=double. See accuracy.c.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define KERNEL(name, value)                                                                     \
    kernel void k_##name(global const T *a, global const T *b, global T *out) {                 \
        size_t i = get_global_id(0);                                                            \
        out[i] = value;                                                                         \
    }
#define OF_ONE(name) KERNEL(name, name(a[i]))
#define OF_TWO(name) KERNEL(name, name(a[i], b[i]))

OF_ONE(acos)
OF_ONE(acosh)
OF_ONE(acospi)
OF_ONE(asin)
OF_ONE(asinh)
OF_ONE(asinpi)
OF_ONE(atan)
OF_ONE(atanh)
OF_ONE(atanpi)
OF_ONE(cbrt)
OF_ONE(cos)
OF_ONE(cosh)
OF_ONE(cospi)
OF_ONE(erf)
OF_ONE(erfc)
OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(exp10)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log2)
OF_ONE(log10)
OF_ONE(log1p)
OF_ONE(rsqrt)
OF_ONE(sin)
OF_ONE(sinh)
OF_ONE(sinpi)
OF_ONE(sqrt)
OF_ONE(tan)
OF_ONE(tanh)
OF_ONE(tanpi)
OF_ONE(tgamma)
OF_TWO(atan2)
OF_TWO(atan2pi)
OF_TWO(fmod)
OF_TWO(hypot)
OF_TWO(pow)
OF_TWO(powr)
OF_TWO(remainder)

KERNEL(divide, a[i] / b[i])
KERNEL(recip, 1 / a[i])
OF_TWO(fdim)
OF_TWO(nextafter)
OF_ONE(logb)
// Integers of -2000 to 2000. What ilogb and the exponents of numbers without one are, is not a matter of accuracy.
#define INTEGER(value) (isnan(value) ? 0 : (int)clamp(value, (T)-2000, (T)2000))
#define IF_FINITE(value) (isfinite(a[i]) && a[i] != 0 ? (T)(value) : 0)
KERNEL(ilogb, IF_FINITE(ilogb(a[i])))
KERNEL(ldexp, ldexp(a[i], INTEGER(b[i])))
KERNEL(pown, pown(a[i], INTEGER(b[i])))
KERNEL(rootn, rootn(a[i], INTEGER(b[i])))
// Functions with a second result.
#define SECOND(name, first, R, call, value)                                                     \
    T of_##name(T x, T y) {                                                                     \
        R second;                                                                               \
        T result = call;                                                                        \
        return first ? result : (T)(value);                                                     \
    }                                                                                           \
    KERNEL(name, of_##name(a[i], b[i]))
SECOND(sincos, 1, T, sincos(x, &second), 0)
SECOND(cos_of_sincos, 0, T, sincos(x, &second), second)
SECOND(fract, 1, T, fract(x, &second), 0)
SECOND(floor_of_fract, 0, T, fract(x, &second), second)
SECOND(modf, 1, T, modf(x, &second), 0)
SECOND(whole_of_modf, 0, T, modf(x, &second), second)
SECOND(frexp, 1, int, frexp(x, &second), 0)
SECOND(exponent_of_frexp, 0, int, frexp(x, &second), isfinite(x) ? second : 0)
SECOND(remquo, 1, int, remquo(x, y, &second), 0)
SECOND(quotient_of_remquo, 0, int, remquo(x, y, &second), isfinite(x) && !isnan(y) && y != 0 ? second % 8 : 0)

#ifdef HALF_FUNCTIONS
OF_TWO(half_divide)
OF_TWO(half_powr)
OF_ONE(half_cos)
OF_ONE(half_exp)
OF_ONE(half_exp2)
OF_ONE(half_exp10)
OF_ONE(half_log)
OF_ONE(half_log2)
OF_ONE(half_log10)
OF_ONE(half_recip)
OF_ONE(half_rsqrt)
OF_ONE(half_sin)
OF_ONE(half_sqrt)
OF_ONE(half_tan)
#endif
