// Fixed-point numbers with 16 bits after the point, and saturating arithmetic.

int q_multiply(const int a, const int b) {
    return (int)(((long)a * b + 0x8000) >> 16);
}

kernel void multiply_divide(global const int *a, global const int *b, global int *products, global int *quotients) {
    const size_t i = get_global_id(0);
    products[i] = q_multiply(a[i], b[i]);
    quotients[i] = b[i] ? (int)(((long)a[i] << 16) / b[i]) : a[i] < 0 ? INT_MIN : INT_MAX;
}

// The product saturates instead of wrapping around.
kernel void saturating(global const int *a, global const int *b, global int4 *out) {
    const size_t i = get_global_id(0);
    const long product = ((long)a[i] * b[i]) >> 16;
    const int clamped = (int)clamp(product, (long)INT_MIN, (long)INT_MAX);
    out[i] = (int4)(clamped, convert_int_sat(product), add_sat(a[i], b[i]), sub_sat(a[i], b[i]));
}

// Sixteen narrow numbers at once.
kernel void narrow(global const char16 *a, global const char16 *b, global char16 *sums, global uchar16 *differences, global short16 *products) {
    const size_t i = get_global_id(0);
    sums[i] = add_sat(a[i], b[i]);
    differences[i] = sub_sat(as_uchar16(a[i]), as_uchar16(b[i]));
    products[i] = convert_short16(a[i]) * convert_short16(b[i]);
}

kernel void means(global const uint *a, global const uint *b, global uint4 *out) {
    const size_t i = get_global_id(0);
    out[i] = (uint4)(hadd(a[i], b[i]), rhadd(a[i], b[i]), abs_diff(a[i], b[i]), mad_hi(a[i], b[i], 7u));
}

kernel void of_24_bits(global const int *a, global const int *b, global int2 *out) {
    const size_t i = get_global_id(0);
    const int x = a[i] >> 12, y = b[i] >> 20;
    out[i] = (int2)(mul24(x, y), mad24(y, x, 5));
}

// Square roots bit by bit.
kernel void square_root(global const uint *in, global uint *out) {
    const size_t i = get_global_id(0);
    uint x = in[i], root = 0;
    uint bit = 1u << 30;
    while (bit > x) bit >>= 2;
    while (bit != 0) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    out[i] = root;
}

// Sine and cosine by CORDIC. The angles are from -pi/2 to pi/2 with 28 bits after the point.
kernel void cordic(global const int *angles, constant int *table, const int steps, const int gain, global int2 *out) {
    const size_t i = get_global_id(0);
    int x = gain, y = 0, z = angles[i];
    for (int k = 0; k < steps; k++) {
        const int dx = x >> k, dy = y >> k;
        if (z >= 0) {
            x -= dy;
            y += dx;
            z -= table[k];
        } else {
            x += dy;
            y -= dx;
            z += table[k];
        }
    }
    out[i] = (int2)(x, y);
}

// A digital filter of second order with the rest carried along.
kernel void filter(global const short *in, global short *out, const int n, constant int *c) {
    global const short *from = in + get_global_id(0) * n;
    global short *to = out + get_global_id(0) * n;
    int x1 = 0, x2 = 0, y1 = 0, y2 = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        const int x = from[i];
        const int sum = c[0] * x + c[1] * x1 + c[2] * x2 - c[3] * y1 - c[4] * y2 + rest;
        const int y = clamp(sum >> 14, -32768, 32767);
        rest = sum & 0x3FFF;
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        to[i] = (short)y;
    }
}
