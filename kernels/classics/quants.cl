// Quantised numbers in blocks with scales.

// A block of 18 bytes: a half as the scale, and 32 numbers of 4 bits. The low halves of the bytes come first.
kernel void dequantise_4(global const uchar *blocks, global float *out) {
    const uint block = get_global_id(0) / 16, k = get_global_id(0) % 16;
    global const uchar *b = blocks + 18 * block;
    const float scale = vload_half(0, (global const half *)b);
    const uchar q = b[2 + k];
    out[32 * block + k] = ((q & 15) - 8) * scale;
    out[32 * block + 16 + k] = ((q >> 4) - 8) * scale;
}

// A block of 22 bytes: a half, 32 fifth bits in four bytes, and 32 numbers of 4 bits.
kernel void dequantise_5(global const uchar *blocks, global float *out) {
    const uint block = get_global_id(0);
    global const uchar *b = blocks + 22 * block;
    const float scale = vload_half(0, (global const half *)b);
    const uint high = b[2] | (uint)b[3] << 8 | (uint)b[4] << 16 | (uint)b[5] << 24;
    for (uint k = 0; k < 16; k++) {
        const uint q = b[6 + k];
        const int low = (int)((q & 15) | ((high >> k << 4) & 16)) - 16;
        const int upper = (int)((q >> 4) | ((high >> (k + 12)) & 16)) - 16;
        out[32 * block + k] = low * scale;
        out[32 * block + 16 + k] = upper * scale;
    }
}

// Scales of 6 bits in 12 bytes, two of them for each of 8 parts: a factor and an offset.
kernel void scales_of_6_bits(global const uchar *packed, global uchar2 *out) {
    const uint block = get_global_id(0) / 8, part = get_global_id(0) % 8;
    global const uchar *s = packed + 12 * block;
    uchar factor, offset;
    if (part < 4) {
        factor = s[part] & 63;
        offset = s[part + 4] & 63;
    } else {
        factor = (s[part + 4] & 15) | ((s[part - 4] >> 6) << 4);
        offset = (s[part + 4] >> 4) | ((s[part] >> 6) << 4);
    }
    out[get_global_id(0)] = (uchar2)(factor, offset);
}

// A row of 4-bit numbers times a vector of bytes with scales; a row for each group.
kernel void row_times_vector(global const uchar *rows, const uint blocks, global const char *v, global const float *v_scales, global float *out, local float *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    global const uchar *row = rows + get_group_id(0) * blocks * 18;
    float sum = 0.0f;
    for (uint b = lid; b < blocks; b += size) {
        int whole = 0;
        for (uint k = 0; k < 16; k++) {
            const uchar q = row[18 * b + 2 + k];
            whole += ((q & 0xF) - 8) * v[32 * b + k] + ((q >> 4) - 8) * v[32 * b + 16 + k];
        }
        sum += whole * vload_half(0, (global const half *)(row + 18 * b)) * v_scales[b];
    }
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint left = size; left > 1; ) {
        const uint next = (left + 1) / 2;
        if (lid < left - next) tmp[lid] += tmp[lid + next];
        barrier(CLK_LOCAL_MEM_FENCE);
        left = next;
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// Bytes with the greatest magnitude as the scale: the group finds it.
kernel void quantise_8(global const float *in, global char *out, global float *scales, local float *tmp) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    const float x = in[get_global_id(0)];
    tmp[lid] = fabs(x);
    for (uint left = size; left > 1; ) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint next = (left + 1) / 2;
        if (lid + next < left) tmp[lid] = fmax(tmp[lid], tmp[lid + next]);
        left = next;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float greatest = tmp[0];
    // The scale is a power of two, so that the division is exact.
    const float scale = ldexp(1.0f, ilogb(greatest) - 6);
    out[get_global_id(0)] = convert_char_sat_rte(x / scale);
    if (lid == 0) scales[get_group_id(0)] = scale;
}
