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
