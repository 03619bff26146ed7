// The mathematical, common and geometric functions of OpenCL C for the host: those of the C library on every lane. Functions
// of half work in float. See host_builtins.h.
#ifndef OCLAVE_HOST_MATH_H
#define OCLAVE_HOST_MATH_H

#define OCLAVE_MATH_1(name, expression)                                                                       \
    OCLAVE_SCALAR_1(float, name, float, expression)                                                           \
    OCLAVE_SCALAR_1(double, name, double, expression)                                                         \
    OCLAVE_SCALAR_1(half, name, half, (half)name((float)x))
#define OCLAVE_MATH_2(name, expression)                                                                       \
    OCLAVE_SCALAR_2(float, name, float, expression)                                                           \
    OCLAVE_SCALAR_2(double, name, double, expression)                                                         \
    OCLAVE_SCALAR_2(half, name, half, (half)name((float)x, (float)y))
#define OCLAVE_LIBM_1(name)                                                                                   \
    OCLAVE_SCALAR_1(float, name, float, __builtin_##name##f(x))                                               \
    OCLAVE_SCALAR_1(double, name, double, __builtin_##name(x))                                                \
    OCLAVE_SCALAR_1(half, name, half, (half)name((float)x))
#define OCLAVE_LIBM_2(name)                                                                                   \
    OCLAVE_SCALAR_2(float, name, float, __builtin_##name##f(x, y))                                            \
    OCLAVE_SCALAR_2(double, name, double, __builtin_##name(x, y))                                             \
    OCLAVE_SCALAR_2(half, name, half, (half)name((float)x, (float)y))
#define OCLAVE_FLOATS(X) X(float) X(double) X(half)
#define OCLAVE_PI 3.14159265358979323846

OCLAVE_LIBM_1(acos)
OCLAVE_LIBM_1(acosh)
OCLAVE_LIBM_1(asin)
OCLAVE_LIBM_1(asinh)
OCLAVE_LIBM_1(atan)
OCLAVE_LIBM_1(atanh)
OCLAVE_LIBM_1(cbrt)
OCLAVE_LIBM_1(ceil)
OCLAVE_LIBM_1(cos)
OCLAVE_LIBM_1(cosh)
OCLAVE_LIBM_1(erf)
OCLAVE_LIBM_1(erfc)
OCLAVE_LIBM_1(exp)
OCLAVE_LIBM_1(exp2)
OCLAVE_LIBM_1(expm1)
OCLAVE_LIBM_1(fabs)
OCLAVE_LIBM_1(floor)
OCLAVE_LIBM_1(lgamma)
OCLAVE_LIBM_1(log)
OCLAVE_LIBM_1(log10)
OCLAVE_LIBM_1(log1p)
OCLAVE_LIBM_1(log2)
OCLAVE_LIBM_1(logb)
OCLAVE_LIBM_1(rint)
OCLAVE_LIBM_1(round)
OCLAVE_LIBM_1(sin)
OCLAVE_LIBM_1(sinh)
OCLAVE_LIBM_1(sqrt)
OCLAVE_LIBM_1(tan)
OCLAVE_LIBM_1(tanh)
OCLAVE_LIBM_1(tgamma)
OCLAVE_LIBM_1(trunc)
OCLAVE_MATH_1(rsqrt, 1 / sqrt(x))
OCLAVE_SCALAR_1(float, exp10, float, (float)__builtin_pow(10.0, (double)x))
OCLAVE_SCALAR_1(double, exp10, double, __builtin_pow(10.0, x))
OCLAVE_SCALAR_1(half, exp10, half, (half)exp10((float)x))
// In double, whose rounding does not show in float; exact where sines and cosines are.
OCLAVE_FN double oclave_turn(double x) { return x - 2 * __builtin_floor(x / 2); }
#define OCLAVE_PI_1(name, T, expression) OCLAVE_SCALAR_1(T, name, T, (T)(expression))
#define OCLAVE_PI_FUNCTIONS(T)                                                                                \
    OCLAVE_PI_1(acospi, T, __builtin_acos((double)x) / OCLAVE_PI)                                             \
    OCLAVE_PI_1(asinpi, T, __builtin_asin((double)x) / OCLAVE_PI)                                             \
    OCLAVE_PI_1(atanpi, T, __builtin_atan((double)x) / OCLAVE_PI)                                             \
    OCLAVE_PI_1(cospi, T, __builtin_cos(OCLAVE_PI * oclave_turn((double)x)))                                  \
    OCLAVE_PI_1(sinpi, T, __builtin_sin(OCLAVE_PI * oclave_turn((double)x)))                                  \
    OCLAVE_PI_1(tanpi, T, __builtin_tan(OCLAVE_PI * oclave_turn((double)x)))                                  \
    OCLAVE_SCALAR_2(T, atan2pi, T, (T)(__builtin_atan2((double)x, (double)y) / OCLAVE_PI))
OCLAVE_FLOATS(OCLAVE_PI_FUNCTIONS)

OCLAVE_LIBM_2(atan2)
OCLAVE_LIBM_2(copysign)
OCLAVE_LIBM_2(fdim)
OCLAVE_LIBM_2(fmax)
OCLAVE_LIBM_2(fmin)
OCLAVE_LIBM_2(fmod)
OCLAVE_LIBM_2(hypot)
OCLAVE_LIBM_2(pow)
OCLAVE_LIBM_2(remainder)
OCLAVE_MATH_2(powr, x < 0 ? NAN : pow(x, y))
OCLAVE_MATH_2(maxmag, fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y))
OCLAVE_MATH_2(minmag, fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y))
OCLAVE_SCALAR_2(float, nextafter, float, __builtin_nextafterf(x, y))
OCLAVE_SCALAR_2(double, nextafter, double, __builtin_nextafter(x, y))
OCLAVE_SCALAR_3(float, fma, float, __builtin_fmaf(x, y, z))
OCLAVE_SCALAR_3(double, fma, double, __builtin_fma(x, y, z))
OCLAVE_SCALAR_3(half, fma, half, (half)fma((float)x, (float)y, (float)z))
#define OCLAVE_SCALARS_OF(T)                                                                                  \
    OCLAVE_VECTOR_SCALAR(fmax, T)                                                                             \
    OCLAVE_VECTOR_SCALAR(fmin, T)                                                                             \
    OCLAVE_SCALAR_3(T, mad, T, x * y + z)
OCLAVE_FLOATS(OCLAVE_SCALARS_OF)

// Functions with integers. pown and rootn take them in the lanes, ldexp also one for all.
#define OCLAVE_EXPONENTS_(n, T) OCLAVE_FN T##n ldexp(T##n x, int y) { return ldexp(x, (int##n)(y)); }
#define OCLAVE_EXPONENTS(T)                                                                                   \
    OCLAVE_FN int ilogb(T x) { return __builtin_ilogb((double)x); }                                           \
    OCLAVE_VECTORS_1(int, ilogb, T)                                                                           \
    OCLAVE_FN T ldexp(T x, int y) { return (T)__builtin_ldexp((double)x, y); }                                \
    OCLAVE_VECTORS_2(T, ldexp, T, int)                                                                        \
    OCLAVE_SIZES(OCLAVE_EXPONENTS_, T)                                                                        \
    OCLAVE_FN T pown(T x, int y) { return (T)__builtin_pow((double)x, (double)y); }                           \
    OCLAVE_VECTORS_2(T, pown, T, int)                                                                         \
    OCLAVE_FN T rootn(T x, int y)                                                                             \
    {                                                                                                         \
        double root = __builtin_pow(__builtin_fabs((double)x), 1.0 / y);                                      \
        return (T)(x < 0 ? (y & 1 ? -root : NAN) : root);                                                     \
    }                                                                                                         \
    OCLAVE_VECTORS_2(T, rootn, T, int)
OCLAVE_FLOATS(OCLAVE_EXPONENTS)
OCLAVE_FN float nan(uint x) { return as_float(0x7fc00000 | (x & 0x3fffff)); }
OCLAVE_VECTORS_1(float, nan, uint)
OCLAVE_FN double nan(ulong x) { return as_double(0x7ff8000000000000 | (x & 0x7ffffffffffff)); }
OCLAVE_VECTORS_1(double, nan, ulong)

// Functions with a second result.
#define OCLAVE_SECOND_(n, name, T, S)                                                                         \
    OCLAVE_FN T##n name(T##n x, S##n *second)                                                                 \
    {                                                                                                         \
        T##n first;                                                                                           \
        S##n other;                                                                                           \
        for (int lane = 0; lane < n; lane++) {                                                                \
            S one;                                                                                            \
            first[lane] = name(x[lane], &one);                                                                \
            other[lane] = one;                                                                                \
        }                                                                                                     \
        *second = other;                                                                                      \
        return first;                                                                                         \
    }
#define OCLAVE_SECOND(T)                                                                                      \
    OCLAVE_FN T fract(T x, T *second)                                                                         \
    {                                                                                                         \
        *second = floor(x);                                                                                   \
        T below_one = (T)(sizeof(T) == 8 ? 0x1.fffffffffffffp-1 : sizeof(T) == 4 ? 0x1.fffffep-1 : 0x1.ffcp-1); \
        return fmin(x - *second, below_one);                                                                  \
    }                                                                                                         \
    OCLAVE_FN T modf(T x, T *second)                                                                          \
    {                                                                                                         \
        *second = trunc(x);                                                                                   \
        return copysign(__builtin_isinf((double)x) ? (T)0 : x - *second, x);                                  \
    }                                                                                                         \
    OCLAVE_FN T sincos(T x, T *second)                                                                        \
    {                                                                                                         \
        *second = cos(x);                                                                                     \
        return sin(x);                                                                                        \
    }                                                                                                         \
    OCLAVE_FN T frexp(T x, int *second)                                                                       \
    {                                                                                                         \
        *second = x == 0 || x - x != 0 ? 0 : __builtin_ilogb((double)x) + 1;                                  \
        return (T)__builtin_ldexp((double)x, -*second);                                                       \
    }                                                                                                         \
    OCLAVE_SIZES(OCLAVE_SECOND_, fract, T, T)                                                                 \
    OCLAVE_SIZES(OCLAVE_SECOND_, modf, T, T)                                                                  \
    OCLAVE_SIZES(OCLAVE_SECOND_, sincos, T, T)                                                                \
    OCLAVE_SIZES(OCLAVE_SECOND_, frexp, T, int)
OCLAVE_FLOATS(OCLAVE_SECOND)

// The quick ones are no quicker here.
#define OCLAVE_QUICK_1(name)                                                                                  \
    OCLAVE_SCALAR_1(float, native_##name, float, name(x))                                                     \
    OCLAVE_SCALAR_1(float, half_##name, float, name(x))
OCLAVE_QUICK_1(cos)
OCLAVE_QUICK_1(exp)
OCLAVE_QUICK_1(exp2)
OCLAVE_QUICK_1(exp10)
OCLAVE_QUICK_1(log)
OCLAVE_QUICK_1(log2)
OCLAVE_QUICK_1(log10)
OCLAVE_QUICK_1(rsqrt)
OCLAVE_QUICK_1(sin)
OCLAVE_QUICK_1(sqrt)
OCLAVE_QUICK_1(tan)
OCLAVE_SCALAR_1(float, native_recip, float, 1 / x)
OCLAVE_SCALAR_1(float, half_recip, float, 1 / x)
OCLAVE_SCALAR_2(float, native_divide, float, x / y)
OCLAVE_SCALAR_2(float, half_divide, float, x / y)
OCLAVE_SCALAR_2(float, native_powr, float, powr(x, y))
OCLAVE_SCALAR_2(float, half_powr, float, powr(x, y))

// Common functions.
#define OCLAVE_COMMON_(n, T)                                                                                  \
    OCLAVE_FN T##n mix(T##n x, T##n y, T z) { return mix(x, y, (T##n)(z)); }                                  \
    OCLAVE_FN T##n step(T x, T##n y) { return step((T##n)(x), y); }                                           \
    OCLAVE_FN T##n smoothstep(T x, T y, T##n z) { return smoothstep((T##n)(x), (T##n)(y), z); }
#define OCLAVE_COMMON(T)                                                                                      \
    OCLAVE_SCALAR_2(T, max, T, x < y ? y : x)                                                                 \
    OCLAVE_SCALAR_2(T, min, T, y < x ? y : x)                                                                 \
    OCLAVE_SCALAR_3(T, clamp, T, fmin(fmax(x, y), z))                                                         \
    OCLAVE_VECTOR_SCALAR(max, T)                                                                              \
    OCLAVE_VECTOR_SCALAR(min, T)                                                                              \
    OCLAVE_VECTOR_SCALARS(clamp, T)                                                                           \
    OCLAVE_SCALAR_1(T, degrees, T, (T)(180 / OCLAVE_PI) * x)                                                  \
    OCLAVE_SCALAR_1(T, radians, T, (T)(OCLAVE_PI / 180) * x)                                                  \
    OCLAVE_SCALAR_3(T, mix, T, x + (y - x) * z)                                                               \
    OCLAVE_SCALAR_2(T, step, T, y < x ? (T)0 : (T)1)                                                          \
    OCLAVE_FN T smoothstep(T x, T y, T z)                                                                     \
    {                                                                                                         \
        T t = clamp((z - x) / (y - x), (T)0, (T)1);                                                           \
        return t * t * (3 - 2 * t);                                                                           \
    }                                                                                                         \
    OCLAVE_VECTORS_3(T, smoothstep, T)                                                                        \
    OCLAVE_SCALAR_1(T, sign, T, x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0)                             \
    OCLAVE_SIZES(OCLAVE_COMMON_, T)
OCLAVE_FLOATS(OCLAVE_COMMON)

// Geometric functions.
#define OCLAVE_LENGTHS_(V, T)                                                                                 \
    OCLAVE_FN T length(V x) { return sqrt(dot(x, x)); }                                                       \
    OCLAVE_FN T distance(V x, V y) { return length(x - y); }                                                  \
    OCLAVE_FN V normalize(V x)                                                                                \
    {                                                                                                         \
        T of = length(x);                                                                                     \
        return of == 0 ? x : x / of;                                                                          \
    }
#define OCLAVE_GEOMETRY(T)                                                                                    \
    OCLAVE_FN T dot(T x, T y) { return x * y; }                                                               \
    OCLAVE_FN T dot(T##2 x, T##2 y) { return x.x * y.x + x.y * y.y; }                                         \
    OCLAVE_FN T dot(T##3 x, T##3 y) { return x.x * y.x + x.y * y.y + x.z * y.z; }                             \
    OCLAVE_FN T dot(T##4 x, T##4 y) { return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w; }                 \
    OCLAVE_FN T##3 cross(T##3 x, T##3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; }                            \
    OCLAVE_FN T##4 cross(T##4 x, T##4 y) { return (T##4)(cross(x.xyz, y.xyz), (T)0); }                        \
    OCLAVE_LENGTHS_(T, T)                                                                                     \
    OCLAVE_LENGTHS_(T##2, T)                                                                                  \
    OCLAVE_LENGTHS_(T##3, T)                                                                                  \
    OCLAVE_LENGTHS_(T##4, T)
OCLAVE_FLOATS(OCLAVE_GEOMETRY)
#define OCLAVE_QUICK_LENGTHS(V)                                                                               \
    OCLAVE_FN float fast_length(V x) { return length(x); }                                                    \
    OCLAVE_FN float fast_distance(V x, V y) { return distance(x, y); }                                        \
    OCLAVE_FN V fast_normalize(V x) { return normalize(x); }
OCLAVE_QUICK_LENGTHS(float)
OCLAVE_QUICK_LENGTHS(float2)
OCLAVE_QUICK_LENGTHS(float3)
OCLAVE_QUICK_LENGTHS(float4)

#endif
