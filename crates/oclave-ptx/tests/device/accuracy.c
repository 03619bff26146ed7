// Errors of OpenCL C's built-in functions on the first OpenCL device, in units of the last place. See ci/ptx-pack.
//
//   accuracy FILE.ptx   (or FILE.spv) runs the kernels of accuracy.cl; compiled with -DT=float and with -DT=double
//
// References are computed in long double, whose 64 bits of mantissa leave an error of 2^-11 ulp for double. Each function has
// 2^18 arguments: special values, random bits, and random numbers of several ranges. Prints a line for each function and ends
// with 1 if one is above the limit of OpenCL 3.0 (tables 40 and 41 of the C specification, full profile).
#define CL_TARGET_OPENCL_VERSION 300
#define _GNU_SOURCE
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT (1 << 18)
#define IS_FLOAT (sizeof(T) == sizeof(float))
#define MANTISSA (IS_FLOAT ? 24 : 53)
#define LOWEST (IS_FLOAT ? -149 : -1074)
#define HIGHEST (IS_FLOAT ? 128 : 1024)
// Of half_ functions, whose arguments are 2^-16 to 2^16 where they are angles.
#define HALF 8192
#define EXACT 0
#define ROUNDED 0.5
#define QUOTIENT (IS_FLOAT ? 2.5 : ROUNDED)

typedef long double L;
static const L PI = 3.14159265358979323846264338327950288L;

// Exact reductions first: products with pi of large numbers would lose all digits.
static L sin_of_pi(L x) {
    L r = remainderl(x, 2);
    if (r > 0.5L)
        r = 1 - r;
    else if (r < -0.5L)
        r = -1 - r;
    return sinl(PI * r);
}
static L cos_of_pi(L x) {
    L r = fabsl(remainderl(x, 2));
    return r <= 0.25L ? cosl(PI * r) : sinl(PI * (0.5L - r));
}
static L tan_of_pi(L x) {
    L r = remainderl(x, 1);
    return fabsl(r) == 0.5L ? copysignl(INFINITY, r) : sin_of_pi(r) / cos_of_pi(r);
}
static L acos_by_pi(L x) { return acosl(x) / PI; }
static L asin_by_pi(L x) { return asinl(x) / PI; }
static L atan_by_pi(L x) { return atanl(x) / PI; }
static L atan2_by_pi(L y, L x) { return atan2l(y, x) / PI; }
static L reciprocal_root(L x) { return 1 / sqrtl(x); }
static L reciprocal(L x) { return 1 / x; }
static L quotient(L x, L y) { return x / y; }
static L next(L x, L y) { return IS_FLOAT ? nextafterf((float)x, (float)y) : nextafter((double)x, (double)y); }

// As INTEGER of accuracy.cl.
static int integer(L x) { return isnan(x) ? 0 : (int)(x < -2000 ? -2000 : x > 2000 ? 2000 : x); }
static L scaled(L x, L y) { return ldexpl(x, integer(y)); }
static L power(L x, L y) { return powl(x, integer(y)); }
static L root(L x, L y) {
    int n = integer(y);
    if (n == 0 || (x < 0 && n % 2 == 0))
        return NAN;
    L positive = powl(fabsl(x), 1.0L / n);
    return n % 2 ? copysignl(positive, x) : positive;
}
static L exponent(L x) { return isfinite(x) && x != 0 ? logbl(x) : 0; }
static L fraction(L x) {
    static const L most = 1 - (sizeof(T) == sizeof(float) ? 0x1p-24L : 0x1p-53L);
    L rest = isinf(x) ? 0 : x - floorl(x);
    return rest > most ? most : rest;
}
static L part(L x) {
    L whole;
    return modfl(x, &whole);
}
// At least the three lowest bits, with the quotient's sign.
static L low_bits(L x, L y) {
    int bits = 0;
    if (isfinite(x) && !isnan(y) && y != 0)
        remquol(x, y, &bits);
    return bits % 8;
}
static L mantissa(L x) {
    int exponent;
    return frexpl(x, &exponent);
}
static L power_of_two(L x) {
    int result = 0;
    if (isfinite(x))
        frexpl(x, &result);
    return result;
}

struct function {
    const char *name;
    L (*of_one)(L);
    L (*of_two)(L, L);
    double limit;
    int is_angle;
};

static const struct function functions[] = {
    {"acos", acosl, 0, 4, 0},
    {"acosh", acoshl, 0, 4, 0},
    {"acospi", acos_by_pi, 0, 5, 0},
    {"asin", asinl, 0, 4, 0},
    {"asinh", asinhl, 0, 4, 0},
    {"asinpi", asin_by_pi, 0, 5, 0},
    {"atan", atanl, 0, 5, 0},
    {"atanh", atanhl, 0, 5, 0},
    {"atanpi", atan_by_pi, 0, 5, 0},
    {"cbrt", cbrtl, 0, 2, 0},
    {"cos", cosl, 0, 4, 0},
    {"cosh", coshl, 0, 4, 0},
    {"cospi", cos_of_pi, 0, 4, 0},
    {"erf", erfl, 0, 16, 0},
    {"erfc", erfcl, 0, 16, 0},
    {"exp", expl, 0, 3, 0},
    {"exp2", exp2l, 0, 3, 0},
    {"exp10", exp10l, 0, 3, 0},
    {"expm1", expm1l, 0, 3, 0},
    {"log", logl, 0, 3, 0},
    {"log2", log2l, 0, 3, 0},
    {"log10", log10l, 0, 3, 0},
    {"log1p", log1pl, 0, 2, 0},
    {"rsqrt", reciprocal_root, 0, 2, 0},
    {"sin", sinl, 0, 4, 0},
    {"sinh", sinhl, 0, 4, 0},
    {"sinpi", sin_of_pi, 0, 4, 0},
    {"sqrt", sqrtl, 0, ROUNDED, 0},
    {"tan", tanl, 0, 5, 0},
    {"tanh", tanhl, 0, 5, 0},
    {"tanpi", tan_of_pi, 0, 6, 0},
    {"tgamma", tgammal, 0, 16, 0},
    {"atan2", 0, atan2l, 6, 0},
    {"atan2pi", 0, atan2_by_pi, 6, 0},
    {"fmod", 0, fmodl, EXACT, 0},
    {"hypot", 0, hypotl, 4, 0},
    {"pow", 0, powl, 16, 0},
    {"powr", 0, powl, 16, 0},
    {"remainder", 0, remainderl, EXACT, 0},
    {"divide", 0, quotient, QUOTIENT, 0},
    {"recip", reciprocal, 0, QUOTIENT, 0},
    {"fdim", 0, fdiml, ROUNDED, 0},
    {"nextafter", 0, next, EXACT, 0},
    {"logb", logbl, 0, EXACT, 0},
    {"ilogb", exponent, 0, EXACT, 0},
    {"ldexp", 0, scaled, ROUNDED, 0},
    {"pown", 0, power, 16, 0},
    {"rootn", 0, root, 16, 0},
    {"sincos", sinl, 0, 4, 0},
    {"cos_of_sincos", cosl, 0, 4, 0},
    {"fract", fraction, 0, ROUNDED, 0},
    {"floor_of_fract", floorl, 0, EXACT, 0},
    {"modf", part, 0, EXACT, 0},
    {"whole_of_modf", truncl, 0, EXACT, 0},
    {"frexp", mantissa, 0, EXACT, 0},
    {"exponent_of_frexp", power_of_two, 0, EXACT, 0},
    {"remquo", 0, remainderl, EXACT, 0},
    {"quotient_of_remquo", 0, low_bits, EXACT, 0},
    {"half_divide", 0, quotient, HALF, 0},
    {"half_powr", 0, powl, HALF, 0},
    {"half_cos", cosl, 0, HALF, 1},
    {"half_exp", expl, 0, HALF, 0},
    {"half_exp2", exp2l, 0, HALF, 0},
    {"half_exp10", exp10l, 0, HALF, 0},
    {"half_log", logl, 0, HALF, 0},
    {"half_log2", log2l, 0, HALF, 0},
    {"half_log10", log10l, 0, HALF, 0},
    {"half_recip", reciprocal, 0, HALF, 0},
    {"half_rsqrt", reciprocal_root, 0, HALF, 0},
    {"half_sin", sinl, 0, HALF, 1},
    {"half_sqrt", sqrtl, 0, HALF, 0},
    {"half_tan", tanl, 0, HALF, 1},
};

static uint64_t state;

static uint64_t next_number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

// From -range to range.
static T within(double range) { return (T)(((double)(next_number() >> 11) * 0x1p-52 - 1) * range); }

static T any_bits(void) {
    uint64_t bits = next_number();
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(T *a, T *b, const struct function *function) {
    static const double special[] = {0,  -0.0,     1,         -1,  0.5, -0.5, 2,     -2,    3,  -3,
                                     INFINITY, -INFINITY, NAN, 1.5, 0.25, -0.25, 100.5, -7, 1e-30, 1e30};
    enum { SPECIAL = sizeof special / sizeof *special };
    state = 88172645463325252u;
    for (int i = 0; i < COUNT; i++) {
        if (i < SPECIAL * SPECIAL && !function->is_angle) {
            a[i] = (T)special[i / SPECIAL];
            b[i] = (T)special[i % SPECIAL];
        } else {
            static const double ranges[] = {3.14159265, 1, 20, 100, 2};
            int kind = i % 8;
            a[i] = kind < 3 && !function->is_angle ? any_bits() : within(ranges[kind % 5]);
            switch (next_number() >> 62) {
            case 0: b[i] = any_bits(); break;
            case 1: b[i] = (T)((int)(next_number() % 41) - 20); break;
            case 2: b[i] = within(4); break;
            default: b[i] = within(50);
            }
        }
        // Its domain; at the edges it differs from pow.
        if (strstr(function->name, "powr")) {
            a[i] = (T)fabs((double)a[i]);
            if (!isfinite(a[i]) || a[i] == 0 || !isfinite(b[i]))
                a[i] = b[i] = 2;
        }
    }
}

// The error, or infinity where a number is none, or none is one.
static double error_of(T got, L expected) {
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got) ? 0 : INFINITY;
    if (isinf(expected))
        return isinf(got) && !signbit(got) == !signbit(expected) ? 0 : INFINITY;
    // What rounds to infinity, or was rounded there: as if exponents had no end.
    L value = isinf(got) ? copysignl(ldexpl(1, HIGHEST), got) : (L)got;
    int exponent = LOWEST;
    if (expected != 0)
        frexpl(expected, &exponent);
    if (exponent > HIGHEST && isinf(got) && !signbit(got) == !signbit(expected))
        return 0;
    int unit = exponent - MANTISSA < LOWEST ? LOWEST : exponent - MANTISSA;
    return (double)(fabsl(value - expected) / ldexpl(1, unit));
}

static void need(cl_int code, const char *what) {
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(2);
}

int main(int count, char **arguments) {
    need(count == 2 ? CL_SUCCESS : CL_INVALID_VALUE, "usage: accuracy FILE.ptx");
    FILE *file = fopen(arguments[1], "rb");
    need(file ? CL_SUCCESS : CL_INVALID_VALUE, arguments[1]);
    static unsigned char text[1 << 23];
    size_t size = fread(text, 1, sizeof text - 1, file) + 1;
    fclose(file);

    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    need(code, "clCreateCommandQueueWithProperties");
    const unsigned char *start = text;
    // SPIR-V begins with its number; the driver wants PTX with its terminating zero.
    cl_program program = text[0] == 3 ? clCreateProgramWithIL(context, text, size - 1, &code)
                                      : clCreateProgramWithBinary(context, 1, &device, &size, &start, NULL, &code);
    need(code, arguments[1]);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");

    size_t bytes = COUNT * sizeof(T), items = COUNT;
    T *host[3];
    cl_mem buffers[3];
    for (int i = 0; i < 3; i++) {
        host[i] = malloc(bytes);
        buffers[i] = clCreateBuffer(context, 0, bytes, NULL, &code);
        need(code, "clCreateBuffer");
    }
    int looked_at = 0, bad = 0;
    for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
        const struct function *function = &functions[at];
        char name[64];
        snprintf(name, sizeof name, "k_%s", function->name);
        cl_kernel kernel = clCreateKernel(program, name, &code);
        // Those of half_ are there for float only.
        if (code == CL_INVALID_KERNEL_NAME && !strncmp(function->name, "half_", 5))
            continue;
        need(code, name);
        fill(host[0], host[1], function);
        for (unsigned i = 0; i < 3; i++) {
            if (i < 2)
                need(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, bytes, host[i], 0, NULL, NULL), name);
            need(clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]), name);
        }
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), name);
        need(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, bytes, host[2], 0, NULL, NULL), name);
        double worst = 0;
        int worst_at = 0;
        for (int i = 0; i < COUNT; i++) {
            L expected = function->of_one ? function->of_one(host[0][i]) : function->of_two(host[0][i], host[1][i]);
            double error = error_of(host[2][i], expected);
            if (error > worst) {
                worst = error;
                worst_at = i;
            }
        }
        // What the references themselves, and rounding the result, leave open.
        double allowed = function->limit == ROUNDED ? 0.5005 : function->limit;
        int is_bad = worst > allowed;
        printf("%s %s %s %.4g ulp, limit %g", is_bad ? "BAD" : "ok", IS_FLOAT ? "float" : "double", function->name,
               worst, function->limit);
        if (is_bad)
            printf(", at %a, %a: %a", (double)host[0][worst_at], (double)host[1][worst_at], (double)host[2][worst_at]);
        printf("\n");
        looked_at++;
        bad += is_bad;
    }
    printf("%d functions of %s, %d above their limits\n", looked_at, IS_FLOAT ? "float" : "double", bad);
    return bad > 0 || looked_at < 58;
}
