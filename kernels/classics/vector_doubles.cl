// Built-in functions of vectors of doubles.

// Only the lowest bits of a mask count.
kernel void shuffle_double4(global const double4 *in, global const ulong4 *mask, global double4 *out) {
    const size_t i = get_global_id(0);
    out[i] = shuffle(in[i], mask[i]);
}

kernel void shuffle_to_double8(global const double4 *in, global const ulong8 *mask, global double8 *out) {
    const size_t i = get_global_id(0);
    out[i] = shuffle(in[i], mask[i]);
}

kernel void step_double2(global const double2 *edge, global const double2 *x, global double2 *out) {
    const size_t i = get_global_id(0);
    out[i] = step(edge[i], x[i]);
}

// As halves; the element behind each three stays.
kernel void store_half3(global const double *in, global half *out) {
    const size_t i = get_global_id(0);
    vstorea_half3(vload3(i, in), i, out);
}
