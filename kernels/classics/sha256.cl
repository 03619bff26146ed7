// SHA-256 of a message for each work-item. Messages start at multiples of the stride.

constant uint roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
#define BIG0(x) (ROTR(x, 2) ^ ROTR(x, 13) ^ ROTR(x, 22))
#define BIG1(x) (ROTR(x, 6) ^ ROTR(x, 11) ^ ROTR(x, 25))
#define SMALL0(x) (ROTR(x, 7) ^ ROTR(x, 18) ^ ((x) >> 3))
#define SMALL1(x) (ROTR(x, 17) ^ ROTR(x, 19) ^ ((x) >> 10))
#define CHOOSE(x, y, z) (((x) & (y)) ^ (~(x) & (z)))
#define MAJORITY(x, y, z) (((x) & (y)) ^ ((x) & (z)) ^ ((y) & (z)))

// A word of the padded message, with the most significant byte first.
uint word_at(global const uchar *message, const uint length, const uint total, const uint at) {
    uint word = 0;
    for (uint i = at; i < at + 4; i++) {
        uint byte = 0;
        if (i < length) byte = message[i];
        else if (i == length) byte = 0x80;
        word = word << 8 | byte;
    }
    return at == total - 4 ? length * 8 : word;
}

kernel void sha256(global const uchar *messages, global const uint *lengths, const uint stride, global uint *digests) {
    const size_t item = get_global_id(0);
    global const uchar *message = messages + item * stride;
    const uint length = lengths[item];
    const uint total = (length + 8) / 64 * 64 + 64;
    uint h[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    for (uint block = 0; block < total; block += 64) {
        uint w[64];
        for (int t = 0; t < 16; t++) w[t] = word_at(message, length, total, block + 4 * t);
        for (int t = 16; t < 64; t++) w[t] = SMALL1(w[t - 2]) + w[t - 7] + SMALL0(w[t - 15]) + w[t - 16];
        uint s[8];
        for (int i = 0; i < 8; i++) s[i] = h[i];
        for (int t = 0; t < 64; t++) {
            const uint t1 = s[7] + BIG1(s[4]) + CHOOSE(s[4], s[5], s[6]) + roots[t] + w[t];
            const uint t2 = BIG0(s[0]) + MAJORITY(s[0], s[1], s[2]);
            for (int i = 7; i > 0; i--) s[i] = s[i - 1];
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) h[i] += s[i];
    }
    for (int i = 0; i < 8; i++) digests[8 * item + i] = h[i];
}

// A chain: each work-item hashes its own digest again and again, with the schedule computed on the way.
kernel void sha256_chain(global uint *digests, const int rounds) {
    const size_t item = get_global_id(0);
    uint w[16];
    for (int i = 0; i < 8; i++) w[i] = digests[8 * item + i];
    for (int round = 0; round < rounds; round++) {
        uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
        uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
        w[8] = (uint)1 << 31;
        for (int i = 9; i < 15; i++) w[i] = 0;
        w[15] = 256;
        for (int t = 0; t < 64; t++) {
            if (t >= 16) w[t & 15] += SMALL1(w[(t + 14) & 15]) + w[(t + 9) & 15] + SMALL0(w[(t + 1) & 15]);
            const uint t1 = h + BIG1(e) + bitselect(g, f, e) + roots[t] + w[t & 15];
            const uint t2 = BIG0(a) + bitselect(a, b, c ^ a);
            h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
        }
        w[0] = a + 0x6a09e667; w[1] = b + 0xbb67ae85; w[2] = c + 0x3c6ef372; w[3] = d + 0xa54ff53a;
        w[4] = e + 0x510e527f; w[5] = f + 0x9b05688c; w[6] = g + 0x1f83d9ab; w[7] = h + 0x5be0cd19;
    }
    for (int i = 0; i < 8; i++) digests[8 * item + i] = w[i];
}
