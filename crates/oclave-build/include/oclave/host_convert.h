// Conversions of OpenCL C for the host: `convert_T` and, for integers, `convert_T_sat`, without rounding modes. See
// host_builtins.h.
#ifndef OCLAVE_HOST_CONVERT_H
#define OCLAVE_HOST_CONVERT_H

#define OCLAVE_CONVERT_(n, D, S)                                                                              \
    OCLAVE_FN D##n convert_##D##n(S##n x) { return __builtin_convertvector(x, D##n); }
#define OCLAVE_CONVERT(D, S)                                                                                  \
    OCLAVE_FN D convert_##D(S x) { return (D)x; }                                                             \
    OCLAVE_SIZES(OCLAVE_CONVERT_, D, S)
#define OCLAVE_SATURATE_(n, D, S)                                                                             \
    OCLAVE_FN D##n convert_##D##n##_sat(S##n x)                                                               \
    {                                                                                                         \
        D##n r;                                                                                               \
        for (int lane = 0; lane < n; lane++)                                                                  \
            r[lane] = convert_##D##_sat(x[lane]);                                                             \
        return r;                                                                                             \
    }
#define OCLAVE_SATURATE_INTEGER(D, S, low, high)                                                              \
    OCLAVE_FN D convert_##D##_sat(S x)                                                                        \
    {                                                                                                         \
        if (x < 0)                                                                                            \
            return (long)x < (long)low ? (D)low : (D)x;                                                       \
        return (ulong)x > (ulong)high ? (D)high : (D)x;                                                       \
    }                                                                                                         \
    OCLAVE_SIZES(OCLAVE_SATURATE_, D, S)
#define OCLAVE_SATURATE_FLOAT(D, S, low, high)                                                                \
    OCLAVE_FN D convert_##D##_sat(S x)                                                                        \
    {                                                                                                         \
        double wide = (double)x;                                                                              \
        return wide != wide ? (D)0 : wide <= (double)low ? (D)low : wide >= (double)high ? (D)high : (D)wide; \
    }                                                                                                         \
    OCLAVE_SIZES(OCLAVE_SATURATE_, D, S)
#define OCLAVE_SOURCES(X, D)                                                                                  \
    X(D, char) X(D, uchar) X(D, short) X(D, ushort) X(D, int) X(D, uint) X(D, long) X(D, ulong)               \
    X(D, float) X(D, double) X(D, half)
#define OCLAVE_TO_INTEGER(D, low, high)                                                                       \
    OCLAVE_SOURCES(OCLAVE_CONVERT, D)                                                                         \
    OCLAVE_SATURATE_INTEGER(D, char, low, high)                                                               \
    OCLAVE_SATURATE_INTEGER(D, uchar, low, high)                                                              \
    OCLAVE_SATURATE_INTEGER(D, short, low, high)                                                              \
    OCLAVE_SATURATE_INTEGER(D, ushort, low, high)                                                             \
    OCLAVE_SATURATE_INTEGER(D, int, low, high)                                                                \
    OCLAVE_SATURATE_INTEGER(D, uint, low, high)                                                               \
    OCLAVE_SATURATE_INTEGER(D, long, low, high)                                                               \
    OCLAVE_SATURATE_INTEGER(D, ulong, low, high)                                                              \
    OCLAVE_SATURATE_FLOAT(D, float, low, high)                                                                \
    OCLAVE_SATURATE_FLOAT(D, double, low, high)                                                               \
    OCLAVE_SATURATE_FLOAT(D, half, low, high)
OCLAVE_TO_INTEGER(char, CHAR_MIN, CHAR_MAX)
OCLAVE_TO_INTEGER(uchar, 0, UCHAR_MAX)
OCLAVE_TO_INTEGER(short, SHRT_MIN, SHRT_MAX)
OCLAVE_TO_INTEGER(ushort, 0, USHRT_MAX)
OCLAVE_TO_INTEGER(int, INT_MIN, INT_MAX)
OCLAVE_TO_INTEGER(uint, 0, UINT_MAX)
OCLAVE_TO_INTEGER(long, LONG_MIN, LONG_MAX)
OCLAVE_TO_INTEGER(ulong, 0, ULONG_MAX)
OCLAVE_SOURCES(OCLAVE_CONVERT, float)
OCLAVE_SOURCES(OCLAVE_CONVERT, double)
OCLAVE_SOURCES(OCLAVE_CONVERT, half)

#endif
