// Prime numbers.

// Each work-item crosses the multiples of its number out.
kernel void cross_out(global uchar *composite, const uint n) {
    const uint p = get_global_id(0) + 2;
    if (p * p >= n) return;
    for (uint k = p * p; k < n; k += p) composite[k] = 1;
}

// A segment for each group in local memory; the flags become bits of words.
kernel void segment(global const uint *primes, const uint count, const uint length, global uint *bits, global uint *found, local uchar *composite) {
    local uint total;
    const uint lid = get_local_id(0), size = get_local_size(0);
    const uint first = get_group_id(0) * length;
    for (uint i = lid; i < length; i += size) composite[i] = first + i < 2;
    if (lid == 0) total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < count; k += size) {
        const uint p = primes[k];
        uint at = max(p * p, (first + p - 1) / p * p);
        for (; at < first + length; at += p) composite[at - first] = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint mine = 0;
    for (uint w = lid; w < length / 32; w += size) {
        uint word = 0;
        for (uint b = 0; b < 32; b++)
            if (!composite[32 * w + b]) word |= 1u << b;
        mine += popcount(word);
        bits[first / 32 + w] = word;
    }
    atomic_add(&total, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) found[get_group_id(0)] = total;
}

// By division, with wheels of 2 and 3.
kernel void is_prime(global const uint *in, global uchar *out) {
    const uint x = in[get_global_id(0)];
    bool prime = x == 2 || x == 3 || (x > 3 && x % 2 != 0 && x % 3 != 0);
    for (uint d = 5; prime && d * d <= x; d += 6) {
        if (x % d == 0 || x % (d + 2) == 0) prime = false;
    }
    out[get_global_id(0)] = prime;
}

// By Miller and Rabin, with bases that are enough for 32 bits.
uint power_modulo(ulong base, uint exponent, const uint modulus) {
    ulong result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    return (uint)result;
}

kernel void miller_rabin(global const uint *in, global uchar *out) {
    const uint n = in[get_global_id(0)];
    out[get_global_id(0)] = n == 2 || n == 7 || n == 61;
    if (n < 3 || n % 2 == 0 || n == 7 || n == 61) return;
    uint odd = n - 1;
    int twos = 0;
    while (odd % 2 == 0) {
        odd /= 2;
        twos++;
    }
    const uint bases[3] = { 2, 7, 61 };
    for (int b = 0; b < 3; b++) {
        uint x = power_modulo(bases[b], odd, n);
        if (x == 1 || x == n - 1) continue;
        bool witness = true;
        for (int r = 1; r < twos; r++) {
            x = (uint)((ulong)x * x % n);
            if (x == n - 1) {
                witness = false;
                break;
            }
        }
        if (witness) return;
    }
    out[get_global_id(0)] = 1;
}

// Greatest common divisors, by remainders and with shifts only.
kernel void common_divisors(global const uint2 *in, global uint2 *out) {
    uint a = in[get_global_id(0)].x, b = in[get_global_id(0)].y;
    while (b != 0) {
        const uint t = a % b;
        a = b;
        b = t;
    }
    uint u = in[get_global_id(0)].x, v = in[get_global_id(0)].y;
    uint binary;
    if (u == 0 || v == 0) {
        binary = u | v;
    } else {
        const uint shift = ctz(u | v);
        u >>= ctz(u);
        do {
            v >>= ctz(v);
            if (u > v) {
                const uint t = u;
                u = v;
                v = t;
            }
            v -= u;
        } while (v != 0);
        binary = u << shift;
    }
    out[get_global_id(0)] = (uint2)(a, binary);
}
