// Fast Fourier transforms with radix 2.

float2 times(const float2 a, const float2 b) {
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

uint reversed(uint x, const int bits) {
    uint r = 0;
    for (int i = 0; i < bits; i++) {
        r = (r << 1) | (x & 1);
        x >>= 1;
    }
    return r;
}

// In local memory: each work-item computes a butterfly a step. Factors come from a table.
kernel void local_steps(global const float2 *in, global float2 *out, constant float2 *roots, const int bits, local float2 *tmp) {
    const uint n = 1u << bits, half_n = n / 2;
    const uint base = get_group_id(0) * n;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0)) tmp[reversed(i, bits)] = in[base + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint span = 1; span < n; span *= 2) {
        for (uint i = get_local_id(0); i < half_n; i += get_local_size(0)) {
            const uint k = i & (span - 1);
            const uint at = 2 * (i - k) + k;
            const float2 a = tmp[at], b = times(tmp[at + span], roots[k * (half_n / span)]);
            tmp[at] = a + b;
            tmp[at + span] = a - b;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = get_local_id(0); i < n; i += get_local_size(0)) out[base + i] = tmp[i];
}

// By Stockham in global memory, one step a launch; the factors are computed.
kernel void stockham_step(global const float2 *from, global float2 *to, const uint half_n, const uint span) {
    const uint i = get_global_id(0);
    const uint k = i & (span - 1);
    const float angle = -M_PI_F * (float)k / (float)span;
    const float2 a = from[i], b = times(from[i + half_n], (float2)(cos(angle), sin(angle)));
    const uint at = 2 * (i - k) + k;
    to[at] = a + b;
    to[at + span] = a - b;
}

// A transform of numbers modulo a prime, which is exact.
#define PRIME 998244353u

uint modular(const uint a, const uint b) {
    return (uint)((ulong)a * b % PRIME);
}

kernel void number_theoretic(global uint *data, global const uint *roots, const int bits, local uint *tmp) {
    const uint n = 1u << bits, lid = get_local_id(0), size = get_local_size(0);
    global uint *mine = data + get_group_id(0) * n;
    for (uint i = lid; i < n; i += size) tmp[i] = mine[i];
    for (uint span = n / 2; span > 0; span >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = lid; i < n / 2; i += size) {
            const uint k = i % span, at = 2 * (i - k) + k;
            const uint a = tmp[at], b = tmp[at + span];
            uint sum = a + b;
            if (sum >= PRIME) sum -= PRIME;
            const uint difference = a >= b ? a - b : a + PRIME - b;
            tmp[at] = sum;
            tmp[at + span] = modular(difference, roots[k * (n / 2 / span)]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < n; i += size) mine[reversed(i, bits)] = tmp[i];
}
