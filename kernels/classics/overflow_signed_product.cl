// Checks of signed products for overflow with the compiler's builtin function.

kernel void of_int(global const int *a, global const int *b, global int *values, global uint *flags) {
    const size_t i = get_global_id(0);
    int product;
    flags[i] = __builtin_mul_overflow(a[i], b[i], &product);
    values[i] = product;
}

kernel void of_long(global const long *a, global const long *b, global long *values, global uint *flags) {
    const size_t i = get_global_id(0);
    long product;
    flags[i] = __builtin_mul_overflow(a[i], b[i], &product) ? 1 : 0;
    values[i] = product;
}
