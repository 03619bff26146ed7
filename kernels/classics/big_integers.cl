// Integers of many limbs, the least significant limb first.

#define LIMBS 8

// Sum and difference with carry and borrow, from comparisons.
kernel void add_subtract(global const uint *a, global const uint *b, global uint *sums, global uint *differences, global uchar2 *overflows) {
    const size_t at = get_global_id(0) * LIMBS;
    uint carry = 0, borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        const uint x = a[at + i], y = b[at + i];
        uint sum = x + y;
        uint next = sum < x;
        sum += carry;
        next |= sum < carry;
        carry = next;
        sums[at + i] = sum;
        const uint difference = x - y;
        next = x < y;
        next |= difference < borrow;
        differences[at + i] = difference - borrow;
        borrow = next;
    }
    overflows[get_global_id(0)] = (uchar2)((uchar)carry, (uchar)borrow);
}

// The full product, with sums of 64 bits.
kernel void multiply(global const uint *a, global const uint *b, global uint *products) {
    const size_t item = get_global_id(0);
    uint all[2 * LIMBS];
    for (int i = 0; i < 2 * LIMBS; i++) all[i] = 0;
    for (int i = 0; i < LIMBS; i++) {
        ulong carry = 0;
        const ulong x = a[item * LIMBS + i];
        for (int k = 0; k < LIMBS; k++) {
            carry += x * b[item * LIMBS + k] + all[i + k];
            all[i + k] = (uint)carry;
            carry >>= 32;
        }
        all[i + LIMBS] = (uint)carry;
    }
    for (int i = 0; i < 2 * LIMBS; i++) products[item * 2 * LIMBS + i] = all[i];
}

// The same in columns with limbs of 64 bits and mul_hi.
kernel void multiply_columns(global const ulong *a, global const ulong *b, global ulong *products) {
    const size_t item = get_global_id(0);
    ulong low = 0, middle = 0, high = 0;
    for (int column = 0; column < LIMBS; column++) {
        for (int i = max(0, column - LIMBS / 2 + 1); i <= min(column, LIMBS / 2 - 1); i++) {
            const ulong x = a[item * (LIMBS / 2) + i], y = b[item * (LIMBS / 2) + column - i];
            const ulong l = x * y, h = mul_hi(x, y);
            low += l;
            const ulong carry = h + (low < l);
            middle += carry;
            high += middle < carry;
        }
        products[item * LIMBS + column] = low;
        low = middle;
        middle = high;
        high = 0;
    }
}

// Powers modulo numbers of 32 bits.
kernel void power_32(global const uint4 *in, global uint *out) {
    const uint modulus = in[get_global_id(0)].z;
    ulong base = in[get_global_id(0)].x % modulus, result = 1 % modulus;
    for (uint e = in[get_global_id(0)].y; e; e >>= 1) {
        if (e & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    out[get_global_id(0)] = (uint)result;
}

// Powers modulo odd numbers of 64 bits by Montgomery.
ulong reduced(const ulong high, const ulong low, const ulong modulus, const ulong inverse) {
    const ulong q = mul_hi(low * inverse, modulus);
    return high >= q ? high - q : high - q + modulus;
}

ulong montgomery(const ulong a, const ulong b, const ulong modulus, const ulong inverse) {
    return reduced(mul_hi(a, b), a * b, modulus, inverse);
}

kernel void power_64(global const ulong4 *in, global ulong *out) {
    const ulong modulus = in[get_global_id(0)].z;
    ulong inverse = modulus;
    for (int i = 0; i < 5; i++) inverse *= 2 - modulus * inverse;
    // 2^64 and 2^128 modulo the modulus, by doubling.
    ulong one = -modulus % modulus, square = one;
    for (int i = 0; i < 64; i++) square = square >= modulus - square ? square - (modulus - square) : square + square;
    ulong base = montgomery(in[get_global_id(0)].x % modulus, square, modulus, inverse), result = one;
    ulong e = in[get_global_id(0)].y;
    while (e != 0) {
        if (e & 1) result = montgomery(result, base, modulus, inverse);
        base = montgomery(base, base, modulus, inverse);
        e >>= 1;
    }
    out[get_global_id(0)] = reduced(0, result, modulus, inverse);
}

// Powers modulo odd numbers of 128 bits, with Montgomery products of four limbs.
#define SMALL 4

void product(uint *out, const uint *a, const uint *b, const uint *m, const uint inverse) {
    uint t[SMALL + 2];
    for (int i = 0; i < SMALL + 2; i++) t[i] = 0;
    for (int i = 0; i < SMALL; i++) {
        ulong carry = 0;
        for (int k = 0; k < SMALL; k++) {
            carry += (ulong)a[k] * b[i] + t[k];
            t[k] = (uint)carry;
            carry >>= 32;
        }
        carry += t[SMALL];
        t[SMALL] = (uint)carry;
        t[SMALL + 1] = (uint)(carry >> 32);
        const uint q = t[0] * inverse;
        carry = ((ulong)q * m[0] + t[0]) >> 32;
        for (int k = 1; k < SMALL; k++) {
            carry += (ulong)q * m[k] + t[k];
            t[k - 1] = (uint)carry;
            carry >>= 32;
        }
        carry += t[SMALL];
        t[SMALL - 1] = (uint)carry;
        t[SMALL] = t[SMALL + 1] + (uint)(carry >> 32);
    }
    // Subtracts the modulus where the result is not below it.
    uint d[SMALL];
    long borrow = 0;
    for (int i = 0; i < SMALL; i++) {
        borrow += (long)t[i] - m[i];
        d[i] = (uint)borrow;
        borrow >>= 32;
    }
    const bool is_less = t[SMALL] == 0 && borrow < 0;
    for (int i = 0; i < SMALL; i++) out[i] = is_less ? t[i] : d[i];
}

kernel void power_128(global const uint *bases, global const uint *exponents, global const uint *moduli, global const uint *squares, global uint *out) {
    const size_t at = get_global_id(0) * SMALL;
    uint m[SMALL], base[SMALL], result[SMALL], one[SMALL] = { 1, 0, 0, 0 };
    for (int i = 0; i < SMALL; i++) {
        m[i] = moduli[at + i];
        base[i] = bases[at + i];
        result[i] = squares[at + i];
    }
    uint inverse = m[0];
    for (int i = 0; i < 4; i++) inverse *= 2 - m[0] * inverse;
    inverse = -inverse;
    product(base, base, result, m, inverse);
    product(result, one, result, m, inverse);
    for (int bit = 31; bit >= 0; bit--) {
        product(result, result, result, m, inverse);
        if (exponents[get_global_id(0)] >> bit & 1) product(result, result, base, m, inverse);
    }
    product(result, result, one, m, inverse);
    for (int i = 0; i < SMALL; i++) out[at + i] = result[i];
}

// A sum of two numbers that the group holds together, a limb for each work-item. Carries move until none is left.
kernel void add_in_group(global const uint *a, global const uint *b, global uint *sums, local uint *carries) {
    local int moving;
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint x = a[get_global_id(0)];
    uint sum = x + b[get_global_id(0)];
    carries[lid] = sum < x;
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) moving = 0;
        const uint carry = lid > 0 ? carries[lid - 1] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += carry;
        carries[lid] = sum < carry;
        if (sum < carry && lid + 1 < size) moving = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (moving);
    sums[get_global_id(0)] = sum;
}

// Factorials as decimal digits of nine each.
kernel void factorials(global uint *out, const uint limbs) {
    const uint n = get_global_id(0);
    global uint *mine = out + n * limbs;
    mine[0] = 1;
    for (uint i = 1; i < limbs; i++) mine[i] = 0;
    for (uint k = 2; k <= n; k++) {
        ulong carry = 0;
        for (uint i = 0; i < limbs; i++) {
            carry += (ulong)mine[i] * k;
            mine[i] = (uint)(carry % 1000000000);
            carry /= 1000000000;
        }
    }
}
