// MT19937 with the state in local memory. The work-items of a group compute the next state together.

#define N 624
#define M 397

uint twisted(const uint high, const uint low, const uint far) {
    const uint y = (high & 0x80000000) | (low & 0x7FFFFFFF);
    return far ^ (y >> 1) ^ (y & 1 ? 0x9908B0DF : 0);
}

uint tempered(uint y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680;
    y ^= (y << 15) & 0xEFC60000;
    return y ^ (y >> 18);
}

kernel void mt19937(global const uint *seeds, global uint *out, const uint count) {
    local uint states[2][N];
    const uint lid = get_local_id(0), size = get_local_size(0);
    global uint *mine = out + get_group_id(0) * count;
    local uint *state = states[0], *next = states[1];
    if (lid == 0) {
        uint x = seeds[get_group_id(0)];
        for (uint i = 0; i < N; i++) {
            state[i] = x;
            x = 1812433253u * (x ^ (x >> 30)) + i + 1;
        }
    }
    for (uint done = 0; done < count; done += N) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = lid; i < N - M; i += size) next[i] = twisted(state[i], state[i + 1], state[i + M]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = N - M + lid; i < 2 * (N - M); i += size) next[i] = twisted(state[i], state[i + 1], next[i + M - N]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 2 * (N - M) + lid; i < N; i += size)
            next[i] = twisted(state[i], i + 1 < N ? state[i + 1] : next[0], next[i + M - N]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = lid; i < N && done + i < count; i += size) mine[done + i] = tempered(next[i]);
        local uint *const t = state;
        state = next;
        next = t;
    }
}

// An additive feedback generator with a ring of 31 words in private memory.
#define RING 31

kernel void additive_feedback(global const uint *seeds, global uint *out, const uint count) {
    int ring[RING];
    const size_t item = get_global_id(0);
    ring[0] = seeds[item] & 0x7FFFFFFF;
    if (ring[0] == 0) ring[0] = 1;
    for (int i = 1; i < RING; i++) {
        const long x = 16807l * ring[i - 1] % 2147483647;
        ring[i] = (int)(x < 0 ? x + 2147483647 : x);
    }
    int at = 3, behind = 0;
    for (uint k = 0; k < 310 + count; k++) {
        const uint sum = (uint)ring[at] + (uint)ring[behind];
        ring[at] = (int)sum;
        if (k >= 310) out[item * count + k - 310] = sum >> 1;
        at = at + 1 == RING ? 0 : at + 1;
        behind = (behind + 1) % RING;
    }
}
