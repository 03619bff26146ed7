// Generators of random numbers; each work-item has a state of its own.

// LCG: the work-item jumps to its place by squaring the step.
kernel void lcg_jump(const ulong seed, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    ulong multiplier = 6364136223846793005ul, increment = 1442695040888963407ul;
    ulong a = 1, c = 0;
    for (uint n = item * each; n > 0; n >>= 1) {
        if (n & 1) {
            a *= multiplier;
            c = c * multiplier + increment;
        }
        increment *= multiplier + 1;
        multiplier *= multiplier;
    }
    ulong x = a * seed + c;
    for (uint k = 0; k < each; k++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        out[item * each + k] = (uint)(x >> 32);
    }
}

kernel void xorshift32(global uint *states, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    uint x = states[item];
    for (uint k = 0; k < each; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        out[item * each + k] = x;
    }
    states[item] = x;
}

kernel void xorshift64_star(global ulong *states, global ulong *out, const uint each) {
    const uint item = get_global_id(0);
    ulong x = states[item];
    for (uint k = 0; k < each; k++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        out[item * each + k] = x * 0x2545F4914F6CDD1Dul;
    }
    states[item] = x;
}

kernel void xorshift128(global uint4 *states, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    uint4 s = states[item];
    for (uint k = 0; k < each; k++) {
        const uint t = s.x ^ (s.x << 11);
        s = s.yzww;
        s.w ^= (s.w >> 19) ^ t ^ (t >> 8);
        out[item * each + k] = s.w;
    }
    states[item] = s;
}

kernel void xoshiro128(global uint4 *states, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    uint4 s = states[item];
    for (uint k = 0; k < each; k++) {
        out[item * each + k] = rotate(s.y * 5, 7u) * 9;
        const uint t = s.y << 9;
        s.zw ^= s.xy;
        s.yx ^= s.zw;
        s.z ^= t;
        s.w = (s.w << 11) | (s.w >> 21);
    }
    states[item] = s;
}

kernel void pcg32(global ulong2 *states, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    ulong state = states[item].x;
    const ulong increment = states[item].y | 1;
    for (uint k = 0; k < each; k++) {
        const uint mixed = (uint)((state >> 18 ^ state) >> 27);
        const uint turn = (uint)(state >> 59);
        out[item * each + k] = (mixed >> turn) | (mixed << (-turn & 31));
        state = state * 6364136223846793005ul + increment;
    }
    states[item].x = state;
}

// Numbers from 0 to below a bound without bias, by rejection.
kernel void bounded(global uint *states, const uint bound, global uint *out, const uint each) {
    const uint item = get_global_id(0);
    const uint threshold = -bound % bound;
    uint x = states[item];
    for (uint k = 0; k < each; k++) {
        do {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
        } while (x < threshold);
        out[item * each + k] = x % bound;
    }
}

// Pi by throwing points: counts are added in the group.
kernel void points_in_circle(const uint seed, const uint each, volatile global uint *count) {
    local uint inside;
    if (get_local_id(0) == 0) inside = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = seed + (uint)get_global_id(0) * 2654435761u;
    uint mine = 0;
    for (uint k = 0; k < each; k++) {
        x = x * 1664525u + 1013904223u;
        const uint a = x >> 17;
        x = x * 1664525u + 1013904223u;
        const uint b = x >> 17;
        if (a * a + b * b < 1u << 30) mine++;
    }
    atomic_add(&inside, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) atomic_add(count, inside);
}
