// Checks for overflow with the compiler's builtin functions. Each flag is a bit of the result.

kernel void of_int(global const int *a, global const int *b, global int *values, global uint *flags) {
    const size_t i = get_global_id(0);
    int sum, difference;
    uint f = 0;
    if (__builtin_add_overflow(a[i], b[i], &sum)) f |= 1;
    if (__builtin_sub_overflow(a[i], b[i], &difference)) f |= 2;
    values[2 * i] = sum;
    values[2 * i + 1] = difference;
    flags[i] = f;
}

kernel void of_uint(global const uint *a, global const uint *b, global uint *values, global uint *flags) {
    const size_t i = get_global_id(0);
    uint sum, difference, product;
    uint f = __builtin_add_overflow(a[i], b[i], &sum);
    f |= __builtin_sub_overflow(a[i], b[i], &difference) ? 2 : 0;
    f |= __builtin_mul_overflow(a[i], b[i], &product) ? 4 : 0;
    values[3 * i] = sum;
    values[3 * i + 1] = difference;
    values[3 * i + 2] = product;
    flags[i] = f;
}

kernel void of_long(global const long *a, global const long *b, global long *values, global uint *flags) {
    const size_t i = get_global_id(0);
    long sum, difference;
    uint f = __builtin_add_overflow(a[i], b[i], &sum) ? 1 : 0;
    f |= __builtin_sub_overflow(a[i], b[i], &difference) ? 2 : 0;
    values[2 * i] = sum;
    values[2 * i + 1] = difference;
    flags[i] = f;
}

kernel void of_ulong(global const ulong *a, global const ulong *b, global ulong *values, global uint *flags) {
    const size_t i = get_global_id(0);
    ulong sum, difference, product;
    uint f = __builtin_add_overflow(a[i], b[i], &sum) ? 1 : 0;
    f |= __builtin_sub_overflow(a[i], b[i], &difference) ? 2 : 0;
    f |= __builtin_mul_overflow(a[i], b[i], &product) ? 4 : 0;
    values[3 * i] = sum;
    values[3 * i + 1] = difference;
    values[3 * i + 2] = product;
    flags[i] = f;
}

// The product of all numbers of a row, or zero where it does not fit.
kernel void checked_products(global const uint *in, const uint n, global uint *out) {
    const size_t i = get_global_id(0);
    uint product = 1;
    for (uint k = 0; k < n; k++) {
        if (__builtin_mul_overflow(product, in[i * n + k], &product)) {
            product = 0;
            break;
        }
    }
    out[i] = product;
}

// The same checks without builtin functions, as portable code has them.
kernel void by_hand(global const int *a, global const int *b, global uint *flags) {
    const size_t i = get_global_id(0);
    const int x = a[i], y = b[i];
    uint f = 0;
    if (y > 0 ? x > INT_MAX - y : x < INT_MIN - y) f |= 1;
    if (y < 0 ? x > INT_MAX + y : x < INT_MIN + y) f |= 2;
    const long wide = (long)x * y;
    if (wide != (int)wide) f |= 4;
    if (mul_hi(x, y) != (int)((uint)x * (uint)y) >> 31) f |= 8;
    if (add_sat(x, y) != (int)((uint)x + (uint)y)) f |= 16;
    flags[i] = f;
}
