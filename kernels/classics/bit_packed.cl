// Integers that are packed with a fixed number of bits, across the limits of words.

kernel void unpack(global const uint *words, const uint bits, global uint *out) {
    const uint i = get_global_id(0);
    const uint at = i * bits, word = at / 32, shift = at % 32;
    uint value = words[word] >> shift;
    if (shift + bits > 32) value |= words[word + 1] << (32 - shift);
    out[i] = bits < 32 ? value & ((1u << bits) - 1) : value;
}

// The same with a window of 64 bits; the sign is extended.
kernel void unpack_signed(global const uint *words, const uint bits, global int *out) {
    const uint i = get_global_id(0);
    const uint at = i * bits;
    const ulong window = words[at / 32] | (ulong)words[at / 32 + 1] << 32;
    const uint value = (uint)(window >> (at % 32)) << (32 - bits);
    out[i] = (int)value >> (32 - bits);
}

// Each work-item gathers the values that touch its word.
kernel void pack(global const uint *in, const uint n, const uint bits, global uint *words) {
    const uint w = get_global_id(0);
    uint word = 0;
    for (uint i = 32 * w / bits; i < n && i * bits < 32 * (w + 1); i++) {
        const uint value = bits < 32 ? in[i] & ((1u << bits) - 1) : in[i];
        const int shift = (int)(i * bits) - (int)(32 * w);
        word |= shift >= 0 ? value << shift : value >> -shift;
    }
    words[w] = word;
}

// Differences of neighbours: a group unpacks and adds them up.
kernel void unpack_differences(global const uint *words, global const uint *firsts, const uint bits, global uint *out, local uint *sums) {
    const uint lid = get_local_id(0), size = get_local_size(0), i = get_global_id(0);
    const uint at = i * bits;
    uint value = words[at >> 5] >> (at & 31);
    if ((at & 31) + bits > 32) value |= words[(at >> 5) + 1] << (32 - (at & 31));
    value &= (1u << bits) - 1;
    // Odd numbers are negative differences.
    const uint difference = (value >> 1) ^ -(value & 1);
    uint sum = lid == 0 ? firsts[get_group_id(0)] : difference;
    sums[lid] = sum;
    for (uint d = 1; d < size; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint before = lid >= d ? sums[lid - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += before;
        sums[lid] = sum;
    }
    out[i] = sum;
}

// Bits of two numbers take turns (Morton's order), and the way back.
uint spread(uint x) {
    x &= 0xFFFF;
    x = (x | (x << 8)) & 0x00FF00FF;
    x = (x | (x << 4)) & 0x0F0F0F0F;
    x = (x | (x << 2)) & 0x33333333;
    return (x | (x << 1)) & 0x55555555;
}

uint gathered(uint x) {
    x &= 0x55555555;
    x = (x | (x >> 1)) & 0x33333333;
    x = (x | (x >> 2)) & 0x0F0F0F0F;
    x = (x | (x >> 4)) & 0x00FF00FF;
    return (x | (x >> 8)) & 0xFFFF;
}

kernel void morton(global const ushort2 *in, global uint *codes, global ushort2 *back, global uint *gray) {
    const size_t i = get_global_id(0);
    const uint code = spread(in[i].x) | (spread(in[i].y) << 1);
    codes[i] = code;
    back[i] = (ushort2)((ushort)gathered(code), (ushort)gathered(code >> 1));
    gray[i] = code ^ (code >> 1);
}

// Ranks in a set of bits: how many are set before a place, and where the n-th one is.
kernel void rank_select(global const uint *words, global const uint *sums, global const uint *places, global uint2 *out) {
    const size_t i = get_global_id(0);
    const uint place = places[i], word = place / 32, bit = place % 32;
    const uint rank = sums[word] + popcount(words[word] & ((1u << bit) - 1));
    // The place of the first bit that is set from here on, or ~0 in this word.
    const uint rest = words[word] & (~0u << bit);
    out[i] = (uint2)(rank, rest ? 32 * word + ctz(rest) : ~0u);
}
