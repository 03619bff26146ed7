// The built-in functions that the host has, on both sides: tests/device/language/if_device.rs compares.
#include <oclave/oclave.h>

struct operands {
    int4 a, b, c;
    long2 l, m, n;
    uchar8 u, v, w;
    float4 x, y, z;
};

SHARED void integers(struct operands o, long *out, size_t out_length)
{
    int4 a = o.a, b = o.b, c = o.c;
    long2 l = o.l, m = o.m, n = o.n;
    uchar8 u = o.u, v = o.v, w = o.w;
    size_t at = 0;
#define TAKE(vector)                                                                                          \
    do {                                                                                                      \
        long4 t = convert_long4(vector);                                                                      \
        if (at + 4 <= out_length)                                                                             \
            vstore4(t, 0, out + at);                                                                          \
        at += 4;                                                                                              \
    } while (0)
#define TAKE2(vector) TAKE((long4)(vector, 0, 0))
#define TAKE8(vector) do { ushort8 t8 = convert_ushort8(vector); TAKE(t8.lo); TAKE(t8.hi); } while (0)
    TAKE(abs(a)); TAKE2(convert_long2(abs(l))); TAKE8(abs(u));
    TAKE(abs_diff(a, b)); TAKE2(convert_long2(abs_diff(l, m))); TAKE8(abs_diff(u, v));
    TAKE(add_sat(a, b)); TAKE2(add_sat(l, m)); TAKE8(add_sat(u, v)); TAKE(add_sat(as_uint4(a), as_uint4(b)));
    TAKE(sub_sat(a, b)); TAKE2(sub_sat(l, m)); TAKE8(sub_sat(u, v)); TAKE2(as_long2(sub_sat(as_ulong2(l), as_ulong2(m))));
    TAKE(hadd(a, b)); TAKE2(hadd(l, m)); TAKE8(hadd(u, v));
    TAKE(rhadd(a, b)); TAKE2(rhadd(l, m)); TAKE8(rhadd(u, v));
    TAKE(clz(a)); TAKE2(clz(l)); TAKE8(clz(u));
    TAKE(ctz(a)); TAKE2(ctz(l)); TAKE8(ctz(u));
    TAKE(popcount(a)); TAKE2(popcount(l)); TAKE8(popcount(u));
    TAKE(rotate(a, b)); TAKE2(rotate(l, m)); TAKE8(rotate(u, v));
    TAKE(mul_hi(a, b)); TAKE2(mul_hi(l, m)); TAKE8(mul_hi(u, v)); TAKE2(as_long2(mul_hi(as_ulong2(l), as_ulong2(m))));
    TAKE(mad_hi(a, b, c)); TAKE2(mad_hi(l, m, n)); TAKE8(mad_hi(u, v, w));
    TAKE8(mad_sat(u, v, w));
    TAKE(mad24(a >> 8, b >> 8, c)); TAKE(mul24(a >> 8, b >> 8));
    TAKE(max(a, b)); TAKE(min(a, 7)); TAKE2(max(l, m)); TAKE8(min(u, v)); TAKE(clamp(a, -100, 100)); TAKE8(clamp(u, min(v, w), max(v, w)));
    TAKE(upsample(a, as_uint4(b))); TAKE(upsample(as_short8(a).lo, as_ushort8(b).hi)); TAKE8(upsample(u, v));
    TAKE(select(a, b, c)); TAKE2(select(l, m, n)); TAKE8(select(u, v, w)); TAKE(bitselect(a, b, c));
    TAKE((int4)(any(a), all(a), any(l), all(l)));
    TAKE(isless(o.x, o.y)); TAKE(isgreaterequal(o.x, o.y)); TAKE(isunordered(o.x, o.y)); TAKE(isnan(o.x)); TAKE(isinf(o.x));
    TAKE(isfinite(o.x)); TAKE(isnormal(o.x)); TAKE(signbit(o.x)); TAKE(islessgreater(o.x, o.y));
    TAKE((int4)(isequal(o.x.s0, o.y.s0), isnan(o.x.s1), signbit(o.x.s2), isnotequal(o.x.s3, o.y.s3)));
    TAKE(convert_char4_sat(a)); TAKE(convert_uint4_sat(a)); TAKE2(convert_long2(convert_int2_sat(l))); TAKE8(convert_char8_sat(u));
    TAKE(convert_int4_sat(o.x)); TAKE(convert_uchar4_sat(o.x)); TAKE(convert_short4(a));
    TAKE(as_int4(convert_float4(a))); TAKE(vload4(1, (const int *)&o)); TAKE(vload3(0, (const int *)&o).xyzz);
}

SHARED void floats(struct operands o, float *out, size_t out_length)
{
    float4 x = o.x, y = o.y, z = o.z, p = fabs(x) + 0.5f, second;
    int4 exponent;
    size_t at = 0;
#define KEEP(vector)                                                                                          \
    do {                                                                                                      \
        float4 t = vector;                                                                                    \
        if (at + 4 <= out_length)                                                                             \
            vstore4(t, 0, out + at);                                                                          \
        at += 4;                                                                                              \
    } while (0)
    float4 unit = x / 101.0f;
    KEEP(acos(unit)); KEEP(asin(unit)); KEEP(atan(x)); KEEP(acospi(unit)); KEEP(asinpi(unit)); KEEP(atanpi(x));
    KEEP(acosh(p + 1)); KEEP(asinh(x)); KEEP(atanh(unit * 0.9f)); KEEP(atan2(x, y)); KEEP(atan2pi(x, y));
    KEEP(cbrt(x)); KEEP(ceil(x)); KEEP(floor(x)); KEEP(rint(x)); KEEP(round(x)); KEEP(trunc(x)); KEEP(copysign(x, y));
    KEEP(cos(x)); KEEP(sin(x)); KEEP(tan(unit)); KEEP(cospi(unit)); KEEP(sinpi(unit)); KEEP(tanpi(unit * 0.4f));
    KEEP(cosh(unit * 5)); KEEP(sinh(unit * 5)); KEEP(tanh(x)); KEEP(erf(unit)); KEEP(erfc(unit));
    KEEP(exp(unit * 5)); KEEP(exp2(unit * 5)); KEEP(exp10(unit * 5)); KEEP(expm1(unit)); KEEP(log(p)); KEEP(log2(p)); KEEP(log10(p)); KEEP(log1p(p)); KEEP(logb(p));
    KEEP(fabs(x)); KEEP(fdim(x, y)); KEEP(fma(x, y, z)); KEEP(mad(unit, unit, p)); KEEP(fmax(x, y)); KEEP(fmin(x, 2.5f)); KEEP(fmod(x, p));
    KEEP(hypot(x, y)); KEEP(ldexp(x, 3)); KEEP(lgamma(p)); KEEP(tgamma(fmin(p, 5.0f))); KEEP(maxmag(x, y)); KEEP(minmag(x, y));
    KEEP(pow(p, unit)); KEEP(powr(p, unit)); KEEP(pown(unit, (int4)(0, 1, 2, 3))); KEEP(rootn(p, (int4)(2, 3, 4, 5))); KEEP(remainder(x, p));
    KEEP(sqrt(p)); KEEP(rsqrt(p)); KEEP(nextafter(x, y)); KEEP(convert_float4(ilogb(p)));
    KEEP(fract(x, &second)); KEEP(second); KEEP(modf(x, &second)); KEEP(second); KEEP(sincos(unit, &second)); KEEP(second);
    KEEP(frexp(x, &exponent)); KEEP(convert_float4(exponent));
    KEEP(clamp(x, -1.0f, 1.0f)); KEEP(degrees(x)); KEEP(radians(x)); KEEP(max(x, y)); KEEP(min(x, 1.0f)); KEEP(mix(x, y, 0.25f)); KEEP(mix(x, y, unit));
    KEEP(step(x, y)); KEEP(step(0.5f, x)); KEEP(smoothstep(-20.0f, 20.0f, x)); KEEP(sign(x));
    KEEP(cross(unit, y)); KEEP((float4)(dot(unit, unit), dot(unit.xyz, unit.xyz), length(x), length(x.xy)));
    KEEP((float4)(distance(x, y), distance(x.xyz, y.xyz), fast_length(x), fast_distance(x, y)));
    KEEP(normalize(p)); KEEP(fast_normalize(p)); KEEP((float4)(normalize(p.xyz), 0)); KEEP(select(x, y, as_int4(z))); KEEP(native_sqrt(p));
}

// Not compared with devices: Intel's runtime (2026.2) says that mad_sat(-1, 0, -3) of ints is 2147483647.
SHARED int4 saturated(int4 a, int4 b, int4 c) { return mad_sat(a, b, c); }
SHARED long2 saturated_long(long2 a, long2 b, long2 c) { return mad_sat(a, b, c); }

kernel void all_integers(global const struct operands *o, global long *out, ulong stride)
{
    size_t i = get_global_id(0);
    integers(o[i], out + i * stride, stride);
}

kernel void all_floats(global const struct operands *o, global float *out, ulong stride)
{
    size_t i = get_global_id(0);
    floats(o[i], out + i * stride, stride);
}
