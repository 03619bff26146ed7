// Blocks of quantised numbers as structs. Their scales are halves, which code copies and converts.

typedef struct {
    half scale;
    uchar numbers[16];
} block;

typedef struct {
    half scale, offset;
    union {
        uchar bytes[8];
        uint words[2];
    } u;
} block_with_offset;

typedef struct {
    block parts[2];
    half scales[3];
} super_block;

kernel void copy_blocks(global const block *in, global block *out) {
    const size_t i = get_global_id(0);
    out[i] = in[i];
}

// A member of the copy changes.
kernel void count_up(global const block *in, global block *out) {
    const size_t i = get_global_id(0);
    block b = in[i];
    for (uint k = 0; k < 16; k++)
        b.numbers[k] += k;
    out[i] = b;
}

// The copy is one of two.
kernel void choose(global const block_with_offset *in, global block_with_offset *out, global const uint *which) {
    const size_t i = get_global_id(0);
    block_with_offset b = which[i] & 1 ? in[i] : in[get_global_size(0) - 1 - i];
    if (which[i] & 2)
        b.u.words[0] = which[i];
    out[i] = b;
}

kernel void turn_groups(global const block *in, global block *out, local block *staged) {
    const size_t l = get_local_id(0);
    staged[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = staged[get_local_size(0) - 1 - l];
}

// Arrays and structs of structs, by way of private memory.
kernel void turn_parts(global const super_block *in, global super_block *out, uint first) {
    const size_t i = get_global_id(0);
    super_block own[2];
    own[0] = in[i];
    own[1] = own[0];
    for (uint k = 0; k < 2; k++)
        own[1].parts[(k + first) & 1] = own[0].parts[k];
    out[i] = own[1];
}

float of(block b, uint k) {
    return vload_half(0, &b.scale) * b.numbers[k];
}

kernel void dequantise(global const block *in, global float *out) {
    const size_t i = get_global_id(0);
    block b = in[i];
    for (uint k = 0; k < 16; k++)
        out[16 * i + k] = of(b, k);
}

// Twice the scale, half the numbers.
kernel void rescale(global const block *in, global block *out) {
    const size_t i = get_global_id(0);
    block b = in[i];
    vstore_half(vload_half(0, &in[i].scale) * 2.0f, 0, &b.scale);
    for (uint k = 0; k < 16; k++)
        b.numbers[k] /= 2;
    out[i] = b;
}
