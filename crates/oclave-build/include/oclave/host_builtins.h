// The built-in functions of OpenCL C that code for the host has: integer, common, geometric and relational functions, vector
// loads and stores. Mathematical functions and conversions are in host_math.h and host_convert.h.
//
// oclave-build includes this where it compiles SHARED functions for the host, after it has hidden the compiler's own
// declarations of these names (`names` of src/host/builtins.rs lists them).
#ifndef OCLAVE_HOST_BUILTINS_H
#define OCLAVE_HOST_BUILTINS_H

#define OCLAVE_FN static inline __attribute__((overloadable))

// A function of vectors does on every lane what the one of scalars does. R is the scalar of the result.
#define OCLAVE_VECTORS_1(R, name, T)                                                                          \
    OCLAVE_FN R##2 name(T##2 x) { return (R##2)(name(x.lo), name(x.hi)); }                                    \
    OCLAVE_FN R##3 name(T##3 x) { return (R##3)(name(x.xy), name(x.z)); }                                     \
    OCLAVE_FN R##4 name(T##4 x) { return (R##4)(name(x.lo), name(x.hi)); }                                    \
    OCLAVE_FN R##8 name(T##8 x) { return (R##8)(name(x.lo), name(x.hi)); }                                    \
    OCLAVE_FN R##16 name(T##16 x) { return (R##16)(name(x.lo), name(x.hi)); }
#define OCLAVE_VECTORS_2(R, name, T, S)                                                                       \
    OCLAVE_FN R##2 name(T##2 x, S##2 y) { return (R##2)(name(x.lo, y.lo), name(x.hi, y.hi)); }                \
    OCLAVE_FN R##3 name(T##3 x, S##3 y) { return (R##3)(name(x.xy, y.xy), name(x.z, y.z)); }                  \
    OCLAVE_FN R##4 name(T##4 x, S##4 y) { return (R##4)(name(x.lo, y.lo), name(x.hi, y.hi)); }                \
    OCLAVE_FN R##8 name(T##8 x, S##8 y) { return (R##8)(name(x.lo, y.lo), name(x.hi, y.hi)); }                \
    OCLAVE_FN R##16 name(T##16 x, S##16 y) { return (R##16)(name(x.lo, y.lo), name(x.hi, y.hi)); }
#define OCLAVE_VECTORS_3(R, name, T)                                                                          \
    OCLAVE_FN R##2 name(T##2 x, T##2 y, T##2 z) { return (R##2)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi)); }  \
    OCLAVE_FN R##3 name(T##3 x, T##3 y, T##3 z) { return (R##3)(name(x.xy, y.xy, z.xy), name(x.z, y.z, z.z)); }     \
    OCLAVE_FN R##4 name(T##4 x, T##4 y, T##4 z) { return (R##4)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi)); }  \
    OCLAVE_FN R##8 name(T##8 x, T##8 y, T##8 z) { return (R##8)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi)); }  \
    OCLAVE_FN R##16 name(T##16 x, T##16 y, T##16 z) { return (R##16)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi)); }

// The same with scalars in the place of some vectors.
#define OCLAVE_SIZES(X, ...) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(16, __VA_ARGS__)
#define OCLAVE_VECTOR_SCALAR_(n, name, T) OCLAVE_FN T##n name(T##n x, T y) { return name(x, (T##n)(y)); }
#define OCLAVE_VECTOR_SCALAR(name, T) OCLAVE_SIZES(OCLAVE_VECTOR_SCALAR_, name, T)
#define OCLAVE_VECTOR_SCALARS_(n, name, T) OCLAVE_FN T##n name(T##n x, T y, T z) { return name(x, (T##n)(y), (T##n)(z)); }
#define OCLAVE_VECTOR_SCALARS(name, T) OCLAVE_SIZES(OCLAVE_VECTOR_SCALARS_, name, T)

#define OCLAVE_SCALAR_1(R, name, T, expression)                                                               \
    OCLAVE_FN R name(T x) { return expression; }                                                              \
    OCLAVE_VECTORS_1(R, name, T)
#define OCLAVE_SCALAR_2(R, name, T, expression)                                                               \
    OCLAVE_FN R name(T x, T y) { return expression; }                                                         \
    OCLAVE_VECTORS_2(R, name, T, T)
#define OCLAVE_SCALAR_3(R, name, T, expression)                                                               \
    OCLAVE_FN R name(T x, T y, T z) { return expression; }                                                    \
    OCLAVE_VECTORS_3(R, name, T)

// Integer functions of one type: U its unsigned one, `low` and `high` its limits.
OCLAVE_FN ulong oclave_high_product(ulong x, ulong y)
{
    ulong low = (x & 0xffffffff) * (y & 0xffffffff);
    ulong a = (x >> 32) * (y & 0xffffffff) + (low >> 32);
    ulong b = (x & 0xffffffff) * (y >> 32) + (a & 0xffffffff);
    return (x >> 32) * (y >> 32) + (a >> 32) + (b >> 32);
}
#define OCLAVE_INTEGER(T, U, bits, low, high)                                                                 \
    OCLAVE_SCALAR_1(U, abs, T, x < 0 ? (U)((U)0 - (U)x) : (U)x)                                               \
    OCLAVE_SCALAR_2(U, abs_diff, T, x > y ? (U)((U)x - (U)y) : (U)((U)y - (U)x))                              \
    OCLAVE_FN T add_sat(T x, T y)                                                                             \
    {                                                                                                         \
        T r;                                                                                                  \
        return __builtin_add_overflow(x, y, &r) ? (x < 0 ? (T)low : (T)high) : r;                             \
    }                                                                                                         \
    OCLAVE_VECTORS_2(T, add_sat, T, T)                                                                        \
    OCLAVE_FN T sub_sat(T x, T y)                                                                             \
    {                                                                                                         \
        T r;                                                                                                  \
        return __builtin_sub_overflow(x, y, &r) ? (x < y ? (T)low : (T)high) : r;                             \
    }                                                                                                         \
    OCLAVE_VECTORS_2(T, sub_sat, T, T)                                                                        \
    OCLAVE_SCALAR_2(T, hadd, T, (T)((x & y) + ((x ^ y) >> 1)))                                                \
    OCLAVE_SCALAR_2(T, rhadd, T, (T)((x | y) - ((x ^ y) >> 1)))                                               \
    OCLAVE_SCALAR_2(T, max, T, x > y ? x : y)                                                                 \
    OCLAVE_SCALAR_2(T, min, T, x < y ? x : y)                                                                 \
    OCLAVE_SCALAR_3(T, clamp, T, x < y ? y : x > z ? z : x)                                                   \
    OCLAVE_VECTOR_SCALAR(max, T)                                                                              \
    OCLAVE_VECTOR_SCALAR(min, T)                                                                              \
    OCLAVE_VECTOR_SCALARS(clamp, T)                                                                           \
    OCLAVE_SCALAR_1(T, clz, T, (T)((U)x == 0 ? bits : __builtin_clzl((ulong)(U)x) - (64 - bits)))            \
    OCLAVE_SCALAR_1(T, ctz, T, (T)((U)x == 0 ? bits : __builtin_ctzl((ulong)(U)x)))                          \
    OCLAVE_SCALAR_1(T, popcount, T, (T)__builtin_popcountl((ulong)(U)x))                                     \
    OCLAVE_SCALAR_2(T, rotate, T, (T)((U)((U)x << ((U)y & (bits - 1))) | (U)((U)x >> ((bits - ((U)y & (bits - 1))) & (bits - 1)))))
#define OCLAVE_NARROW(T)                                                                           \
    OCLAVE_SCALAR_2(T, mul_hi, T, (T)(((ulong)x * (ulong)y) >> (sizeof(T) * 8)))                              \
    OCLAVE_SCALAR_3(T, mad_hi, T, (T)(mul_hi(x, y) + z))
#define OCLAVE_MAD_SAT(T, W, low, high)                                                                       \
    OCLAVE_FN T mad_sat(T x, T y, T z)                                                                        \
    {                                                                                                         \
        W r = (W)x * (W)y + (W)z;                                                                             \
        return r < (W)low ? (T)low : r > (W)high ? (T)high : (T)r;                                            \
    }                                                                                                         \
    OCLAVE_VECTORS_3(T, mad_sat, T)
OCLAVE_INTEGER(char, uchar, 8, CHAR_MIN, CHAR_MAX)
OCLAVE_INTEGER(uchar, uchar, 8, 0, UCHAR_MAX)
OCLAVE_INTEGER(short, ushort, 16, SHRT_MIN, SHRT_MAX)
OCLAVE_INTEGER(ushort, ushort, 16, 0, USHRT_MAX)
OCLAVE_INTEGER(int, uint, 32, INT_MIN, INT_MAX)
OCLAVE_INTEGER(uint, uint, 32, 0, UINT_MAX)
OCLAVE_INTEGER(long, ulong, 64, LONG_MIN, LONG_MAX)
OCLAVE_INTEGER(ulong, ulong, 64, 0, ULONG_MAX)
// The products of signed numbers, extended to 64 bits, have the right bits, too.
OCLAVE_NARROW(char)
OCLAVE_NARROW(uchar)
OCLAVE_NARROW(short)
OCLAVE_NARROW(ushort)
OCLAVE_NARROW(int)
OCLAVE_NARROW(uint)
OCLAVE_SCALAR_2(ulong, mul_hi, ulong, oclave_high_product(x, y))
OCLAVE_SCALAR_2(long, mul_hi, long, (long)(oclave_high_product((ulong)x, (ulong)y) - (x < 0 ? (ulong)y : 0) - (y < 0 ? (ulong)x : 0)))
OCLAVE_SCALAR_3(ulong, mad_hi, ulong, mul_hi(x, y) + z)
OCLAVE_SCALAR_3(long, mad_hi, long, (long)((ulong)mul_hi(x, y) + (ulong)z))
OCLAVE_MAD_SAT(char, long, CHAR_MIN, CHAR_MAX)
OCLAVE_MAD_SAT(uchar, long, 0, UCHAR_MAX)
OCLAVE_MAD_SAT(short, long, SHRT_MIN, SHRT_MAX)
OCLAVE_MAD_SAT(ushort, long, 0, USHRT_MAX)
OCLAVE_MAD_SAT(int, long, INT_MIN, INT_MAX)
OCLAVE_MAD_SAT(uint, ulong, 0, UINT_MAX)
OCLAVE_FN ulong mad_sat(ulong x, ulong y, ulong z)
{
    ulong low = x * y + z;
    return oclave_high_product(x, y) != 0 || low < z ? ULONG_MAX : low;
}
OCLAVE_VECTORS_3(ulong, mad_sat, ulong)
OCLAVE_FN long mad_sat(long x, long y, long z)
{
    ulong product = (ulong)x * (ulong)y, low = product + (ulong)z;
    ulong high = (ulong)mul_hi(x, y) + (z < 0 ? ULONG_MAX : 0) + (low < product ? 1 : 0);
    if (high == (ulong)((long)low >> 63))
        return (long)low;
    return (long)high < 0 ? LONG_MIN : LONG_MAX;
}
OCLAVE_VECTORS_3(long, mad_sat, long)

#define OCLAVE_UPSAMPLE(R, T, U, bits)                                                                        \
    OCLAVE_FN R upsample(T x, U y) { return (R)(((ulong)x << bits) | (ulong)y); }                             \
    OCLAVE_VECTORS_2(R, upsample, T, U)
OCLAVE_UPSAMPLE(short, char, uchar, 8)
OCLAVE_UPSAMPLE(ushort, uchar, uchar, 8)
OCLAVE_UPSAMPLE(int, short, ushort, 16)
OCLAVE_UPSAMPLE(uint, ushort, ushort, 16)
OCLAVE_UPSAMPLE(long, int, uint, 32)
OCLAVE_UPSAMPLE(ulong, uint, uint, 32)
OCLAVE_SCALAR_2(int, mul24, int, (int)((uint)x * (uint)y))
OCLAVE_SCALAR_2(uint, mul24, uint, x * y)
OCLAVE_SCALAR_3(int, mad24, int, (int)((uint)x * (uint)y + (uint)z))
OCLAVE_SCALAR_3(uint, mad24, uint, x * y + z)

// Relational functions of integers. The condition of a vector's ?: is the highest bit, as select has it.
#define OCLAVE_ANY_ALL(T)                                                                                     \
    OCLAVE_FN int any(T x) { return x < 0; }                                                                  \
    OCLAVE_FN int any(T##2 x) { return any((T)(x.x | x.y)); }                                                 \
    OCLAVE_FN int any(T##3 x) { return any((T)(x.x | x.y | x.z)); }                                           \
    OCLAVE_FN int any(T##4 x) { return any(x.lo | x.hi); }                                                    \
    OCLAVE_FN int any(T##8 x) { return any(x.lo | x.hi); }                                                    \
    OCLAVE_FN int any(T##16 x) { return any(x.lo | x.hi); }                                                   \
    OCLAVE_FN int all(T x) { return x < 0; }                                                                  \
    OCLAVE_FN int all(T##2 x) { return all((T)(x.x & x.y)); }                                                 \
    OCLAVE_FN int all(T##3 x) { return all((T)(x.x & x.y & x.z)); }                                           \
    OCLAVE_FN int all(T##4 x) { return all(x.lo & x.hi); }                                                    \
    OCLAVE_FN int all(T##8 x) { return all(x.lo & x.hi); }                                                    \
    OCLAVE_FN int all(T##16 x) { return all(x.lo & x.hi); }
OCLAVE_ANY_ALL(char)
OCLAVE_ANY_ALL(short)
OCLAVE_ANY_ALL(int)
OCLAVE_ANY_ALL(long)
#define OCLAVE_SELECT_(n, T, C) OCLAVE_FN T##n select(T##n x, T##n y, C##n c) { return c ? y : x; }
#define OCLAVE_SELECT(T, S, U)                                                                                \
    OCLAVE_FN T select(T x, T y, S c) { return c ? y : x; }                                                   \
    OCLAVE_FN T select(T x, T y, U c) { return c ? y : x; }                                                   \
    OCLAVE_SIZES(OCLAVE_SELECT_, T, S)                                                                        \
    OCLAVE_SIZES(OCLAVE_SELECT_, T, U)
OCLAVE_SELECT(char, char, uchar)
OCLAVE_SELECT(uchar, char, uchar)
OCLAVE_SELECT(short, short, ushort)
OCLAVE_SELECT(ushort, short, ushort)
OCLAVE_SELECT(int, int, uint)
OCLAVE_SELECT(uint, int, uint)
OCLAVE_SELECT(long, long, ulong)
OCLAVE_SELECT(ulong, long, ulong)
OCLAVE_SELECT(float, int, uint)
OCLAVE_SELECT(double, long, ulong)
OCLAVE_SELECT(half, short, ushort)
#define OCLAVE_BITSELECT(T) OCLAVE_SCALAR_3(T, bitselect, T, (T)((x & ~z) | (y & z)))
OCLAVE_BITSELECT(char)
OCLAVE_BITSELECT(uchar)
OCLAVE_BITSELECT(short)
OCLAVE_BITSELECT(ushort)
OCLAVE_BITSELECT(int)
OCLAVE_BITSELECT(uint)
OCLAVE_BITSELECT(long)
OCLAVE_BITSELECT(ulong)
OCLAVE_SCALAR_3(float, bitselect, float, as_float(bitselect(as_int(x), as_int(y), as_int(z))))
OCLAVE_SCALAR_3(double, bitselect, double, as_double(bitselect(as_long(x), as_long(y), as_long(z))))
OCLAVE_SCALAR_3(half, bitselect, half, as_half(bitselect(as_short(x), as_short(y), as_short(z))))

// Relational functions of floating-point numbers: 1 for scalars, -1 in each lane of vectors, as the operators give it.
#define OCLAVE_TEST_1_(n, name, T, I, expression) OCLAVE_FN I##n name(T##n x) { return expression; }
#define OCLAVE_TEST_1(name, T, I, expression)                                                                 \
    OCLAVE_FN int name(T x) { return expression; }                                                            \
    OCLAVE_SIZES(OCLAVE_TEST_1_, name, T, I, expression)
#define OCLAVE_TEST_2_(n, name, T, I, expression) OCLAVE_FN I##n name(T##n x, T##n y) { return expression; }
#define OCLAVE_TEST_2(name, T, I, expression)                                                                 \
    OCLAVE_FN int name(T x, T y) { return expression; }                                                       \
    OCLAVE_SIZES(OCLAVE_TEST_2_, name, T, I, expression)
#define OCLAVE_SIGNBIT_(n, T, I) OCLAVE_FN I##n signbit(T##n x) { return as_##I##n(x) < (I)0; }
#define OCLAVE_TESTS(T, I, smallest, infinity)                                                                \
    OCLAVE_TEST_2(isequal, T, I, x == y)                                                                      \
    OCLAVE_TEST_2(isnotequal, T, I, x != y)                                                                   \
    OCLAVE_TEST_2(isgreater, T, I, x > y)                                                                     \
    OCLAVE_TEST_2(isgreaterequal, T, I, x >= y)                                                               \
    OCLAVE_TEST_2(isless, T, I, x < y)                                                                        \
    OCLAVE_TEST_2(islessequal, T, I, x <= y)                                                                  \
    OCLAVE_TEST_2(islessgreater, T, I, (x < y) | (x > y))                                                     \
    OCLAVE_TEST_2(isordered, T, I, (x == x) & (y == y))                                                       \
    OCLAVE_TEST_2(isunordered, T, I, (x != x) | (y != y))                                                     \
    OCLAVE_TEST_1(isnan, T, I, x != x)                                                                        \
    OCLAVE_TEST_1(isinf, T, I, (x == (T)infinity) | (x == -(T)infinity))                                      \
    OCLAVE_TEST_1(isfinite, T, I, (x < (T)infinity) & (x > -(T)infinity))                                     \
    OCLAVE_TEST_1(isnormal, T, I, ((x < (T)infinity) & (x >= (T)smallest)) | ((x > -(T)infinity) & (x <= -(T)smallest))) \
    OCLAVE_FN int signbit(T x) { return as_##I(x) < 0; }                                                      \
    OCLAVE_SIZES(OCLAVE_SIGNBIT_, T, I)
OCLAVE_TESTS(float, int, FLT_MIN, INFINITY)
OCLAVE_TESTS(double, long, DBL_MIN, INFINITY)
OCLAVE_TESTS(half, short, 6.103515625e-05f, INFINITY)

// Vectors in arrays of scalars, aligned as scalars are.
#define OCLAVE_LANES_2(p) p[0], p[1]
#define OCLAVE_LANES_3(p) p[0], p[1], p[2]
#define OCLAVE_LANES_4(p) OCLAVE_LANES_3(p), p[3]
#define OCLAVE_LANES_8(p) OCLAVE_LANES_4(p), p[4], p[5], p[6], p[7]
#define OCLAVE_LANES_16(p) OCLAVE_LANES_8(p), p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]
#define OCLAVE_LOAD_(n, T)                                                                                    \
    OCLAVE_FN T##n vload##n(size_t offset, const T *p)                                                        \
    {                                                                                                         \
        p += offset * n;                                                                                      \
        return (T##n)(OCLAVE_LANES_##n(p));                                                                   \
    }                                                                                                         \
    OCLAVE_FN T##n vload##n(size_t offset, __constant T *p)                                                   \
    {                                                                                                         \
        p += offset * n;                                                                                      \
        return (T##n)(OCLAVE_LANES_##n(p));                                                                   \
    }                                                                                                         \
    OCLAVE_FN void vstore##n(T##n data, size_t offset, T *p)                                                  \
    {                                                                                                         \
        p += offset * n;                                                                                      \
        for (int lane = 0; lane < n; lane++)                                                                  \
            p[lane] = data[lane];                                                                             \
    }
#define OCLAVE_LOAD(T) OCLAVE_SIZES(OCLAVE_LOAD_, T)
OCLAVE_LOAD(char)
OCLAVE_LOAD(uchar)
OCLAVE_LOAD(short)
OCLAVE_LOAD(ushort)
OCLAVE_LOAD(int)
OCLAVE_LOAD(uint)
OCLAVE_LOAD(long)
OCLAVE_LOAD(ulong)
OCLAVE_LOAD(float)
OCLAVE_LOAD(double)
OCLAVE_LOAD(half)

// printf is the C library's, which knows no vectors (`%v4f`); in C++ clang would look for it under another name.
#ifdef __OPENCL_CPP_VERSION__
#ifdef __APPLE__
int printf(__constant const char *format, ...) __asm__("_printf");
#else
int printf(__constant const char *format, ...) __asm__("printf");
#endif
#endif

#endif
