// Built-in functions of vectors, with arguments that are rarely tried.

#define MAD_SAT(T, N) \
    kernel void mad_sat_##T##N(global const T##N *a, global const T##N *b, global const T##N *c, global T##N *out) { \
        const size_t i = get_global_id(0); \
        out[i] = mad_sat(a[i], b[i], c[i]); \
    }
MAD_SAT(int, 2)
MAD_SAT(int, 4)
MAD_SAT(int, 16)
MAD_SAT(uint, 2)
MAD_SAT(uint, 4)
MAD_SAT(uint, 16)

MAD_SAT(long, )
MAD_SAT(long, 4)

// The other way round than `edge <= x` for NaN.
kernel void step_float4(global const float4 *edge, global const float4 *x, global float4 *out) {
    const size_t i = get_global_id(0);
    out[i] = step(edge[i], x[i]);
}

// One edge for all lanes.
kernel void step_one_edge(global const float *edge, global const float4 *x, global float4 *out) {
    const size_t i = get_global_id(0);
    out[i] = step(edge[i], x[i]);
}

// Only the lowest bits of a mask count.
kernel void shuffle_int4(global const int4 *in, global const uint4 *mask, global int4 *out) {
    const size_t i = get_global_id(0);
    out[i] = shuffle(in[i], mask[i]);
}

// As halves; the element behind each three stays.
kernel void store_half3(global const float *in, global half *out) {
    const size_t i = get_global_id(0);
    vstorea_half3(vload3(i, in), i, out);
}

kernel void store_half3_towards_zero(global const float *in, global half *out, local half *tmp) {
    const size_t i = get_global_id(0), l = get_local_id(0);
    for (uint k = 0; k < 4; k++) vstore_half(1.0f, 4 * l + k, tmp);
    vstorea_half3_rtz(vload3(i, in), l, tmp);
    for (uint k = 0; k < 4; k++) vstore_half(vload_half(4 * l + k, tmp), 4 * i + k, out);
}

// Functions that drivers have instructions for. Square roots are rounded to integers, as they need not be exact.
#define FLOATS(T) \
    kernel void floats_##T(global const T *a, global const T *b, global const T *holes, global T *out) { \
        const size_t i = get_global_id(0); \
        const T x = a[i], y = b[i]; \
        out[12 * i] = floor(x); \
        out[12 * i + 1] = ceil(x); \
        out[12 * i + 2] = trunc(x); \
        out[12 * i + 3] = rint(x); \
        out[12 * i + 4] = copysign(x, y); \
        out[12 * i + 5] = fmin(x, holes[i]); \
        out[12 * i + 6] = fmax(holes[i], x); \
        out[12 * i + 7] = fma(x, y, x); \
        out[12 * i + 8] = fabs(x); \
        out[12 * i + 9] = rint(sqrt(x * x) * 4); \
        out[12 * i + 10] = rint(4 * (native_sqrt(x * x) + half_sqrt(y * y))); \
        out[12 * i + 11] = rint(8 * (x * x + 1) * rsqrt(x * x + 1) * native_rsqrt(x * x + 1)); \
    }
FLOATS(float)
FLOATS(float4)
