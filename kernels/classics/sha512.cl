// SHA-512 of a message for each work-item. Messages start at multiples of the stride.

constant ulong roots[80] = {
    0x428a2f98d728ae22ul, 0x7137449123ef65cdul, 0xb5c0fbcfec4d3b2ful, 0xe9b5dba58189dbbcul,
    0x3956c25bf348b538ul, 0x59f111f1b605d019ul, 0x923f82a4af194f9bul, 0xab1c5ed5da6d8118ul,
    0xd807aa98a3030242ul, 0x12835b0145706fbeul, 0x243185be4ee4b28cul, 0x550c7dc3d5ffb4e2ul,
    0x72be5d74f27b896ful, 0x80deb1fe3b1696b1ul, 0x9bdc06a725c71235ul, 0xc19bf174cf692694ul,
    0xe49b69c19ef14ad2ul, 0xefbe4786384f25e3ul, 0x0fc19dc68b8cd5b5ul, 0x240ca1cc77ac9c65ul,
    0x2de92c6f592b0275ul, 0x4a7484aa6ea6e483ul, 0x5cb0a9dcbd41fbd4ul, 0x76f988da831153b5ul,
    0x983e5152ee66dfabul, 0xa831c66d2db43210ul, 0xb00327c898fb213ful, 0xbf597fc7beef0ee4ul,
    0xc6e00bf33da88fc2ul, 0xd5a79147930aa725ul, 0x06ca6351e003826ful, 0x142929670a0e6e70ul,
    0x27b70a8546d22ffcul, 0x2e1b21385c26c926ul, 0x4d2c6dfc5ac42aedul, 0x53380d139d95b3dful,
    0x650a73548baf63deul, 0x766a0abb3c77b2a8ul, 0x81c2c92e47edaee6ul, 0x92722c851482353bul,
    0xa2bfe8a14cf10364ul, 0xa81a664bbc423001ul, 0xc24b8b70d0f89791ul, 0xc76c51a30654be30ul,
    0xd192e819d6ef5218ul, 0xd69906245565a910ul, 0xf40e35855771202aul, 0x106aa07032bbd1b8ul,
    0x19a4c116b8d2d0c8ul, 0x1e376c085141ab53ul, 0x2748774cdf8eeb99ul, 0x34b0bcb5e19b48a8ul,
    0x391c0cb3c5c95a63ul, 0x4ed8aa4ae3418acbul, 0x5b9cca4f7763e373ul, 0x682e6ff3d6b2b8a3ul,
    0x748f82ee5defb2fcul, 0x78a5636f43172f60ul, 0x84c87814a1f0ab72ul, 0x8cc702081a6439ecul,
    0x90befffa23631e28ul, 0xa4506cebde82bde9ul, 0xbef9a3f7b2c67915ul, 0xc67178f2e372532bul,
    0xca273eceea26619cul, 0xd186b8c721c0c207ul, 0xeada7dd6cde0eb1eul, 0xf57d4f7fee6ed178ul,
    0x06f067aa72176fbaul, 0x0a637dc5a2c898a6ul, 0x113f9804bef90daeul, 0x1b710b35131c471bul,
    0x28db77f523047d84ul, 0x32caab7b40c72493ul, 0x3c9ebe0a15c9bebcul, 0x431d67c49c100d4cul,
    0x4cc5d4becb3e42b6ul, 0x597f299cfc657e2aul, 0x5fcb6fab3ad6faecul, 0x6c44198c4a475817ul,
};

#define ROTR(x, n) (((x) >> (n)) | ((x) << (64 - (n))))
#define BIG0(x) (ROTR(x, 28) ^ ROTR(x, 34) ^ ROTR(x, 39))
#define BIG1(x) (ROTR(x, 14) ^ ROTR(x, 18) ^ ROTR(x, 41))
#define SMALL0(x) (ROTR(x, 1) ^ ROTR(x, 8) ^ ((x) >> 7))
#define SMALL1(x) (ROTR(x, 19) ^ ROTR(x, 61) ^ ((x) >> 6))
#define CHOOSE(x, y, z) (((x) & (y)) ^ (~(x) & (z)))
#define MAJORITY(x, y, z) (((x) & (y)) ^ ((x) & (z)) ^ ((y) & (z)))

// A word of the padded message, with the most significant byte first.
ulong word_at(global const uchar *message, const uint length, const uint total, const uint at) {
    ulong word = 0;
    for (uint i = at; i < at + 8; i++) {
        uint byte = 0;
        if (i < length) byte = message[i];
        else if (i == length) byte = 0x80;
        word = word << 8 | byte;
    }
    return at == total - 8 ? (ulong)length * 8 : word;
}

kernel void sha512(global const uchar *messages, global const uint *lengths, const uint stride, global ulong *digests) {
    const size_t item = get_global_id(0);
    global const uchar *message = messages + item * stride;
    const uint length = lengths[item];
    const uint total = (length + 16) / 128 * 128 + 128;
    ulong h[8] = {
    0x6a09e667f3bcc908ul, 0xbb67ae8584caa73bul, 0x3c6ef372fe94f82bul, 0xa54ff53a5f1d36f1ul,
    0x510e527fade682d1ul, 0x9b05688c2b3e6c1ful, 0x1f83d9abfb41bd6bul, 0x5be0cd19137e2179ul,
    };
    for (uint block = 0; block < total; block += 128) {
        ulong w[80];
        for (int t = 0; t < 16; t++) w[t] = word_at(message, length, total, block + 8 * t);
        for (int t = 16; t < 80; t++) w[t] = SMALL1(w[t - 2]) + w[t - 7] + SMALL0(w[t - 15]) + w[t - 16];
        ulong s[8];
        for (int i = 0; i < 8; i++) s[i] = h[i];
        for (int t = 0; t < 80; t++) {
            const ulong t1 = s[7] + BIG1(s[4]) + CHOOSE(s[4], s[5], s[6]) + roots[t] + w[t];
            const ulong t2 = BIG0(s[0]) + MAJORITY(s[0], s[1], s[2]);
            for (int i = 7; i > 0; i--) s[i] = s[i - 1];
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) h[i] += s[i];
    }
    for (int i = 0; i < 8; i++) digests[8 * item + i] = h[i];
}

// A chain: each work-item hashes its own digest again and again, with the schedule computed on the way.
kernel void sha512_chain(global ulong *digests, const int rounds) {
    const size_t item = get_global_id(0);
    ulong w[16];
    for (int i = 0; i < 8; i++) w[i] = digests[8 * item + i];
    for (int round = 0; round < rounds; round++) {
        ulong a = 0x6a09e667f3bcc908ul, b = 0xbb67ae8584caa73bul, c = 0x3c6ef372fe94f82bul, d = 0xa54ff53a5f1d36f1ul;
        ulong e = 0x510e527fade682d1ul, f = 0x9b05688c2b3e6c1ful, g = 0x1f83d9abfb41bd6bul, h = 0x5be0cd19137e2179ul;
        w[8] = (ulong)1 << 63;
        for (int i = 9; i < 15; i++) w[i] = 0;
        w[15] = 512;
        for (int t = 0; t < 80; t++) {
            if (t >= 16) w[t & 15] += SMALL1(w[(t + 14) & 15]) + w[(t + 9) & 15] + SMALL0(w[(t + 1) & 15]);
            const ulong t1 = h + BIG1(e) + bitselect(g, f, e) + roots[t] + w[t & 15];
            const ulong t2 = BIG0(a) + bitselect(a, b, c ^ a);
            h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
        }
        w[0] = a + 0x6a09e667f3bcc908ul; w[1] = b + 0xbb67ae8584caa73bul; w[2] = c + 0x3c6ef372fe94f82bul; w[3] = d + 0xa54ff53a5f1d36f1ul;
        w[4] = e + 0x510e527fade682d1ul; w[5] = f + 0x9b05688c2b3e6c1ful; w[6] = g + 0x1f83d9abfb41bd6bul; w[7] = h + 0x5be0cd19137e2179ul;
    }
    for (int i = 0; i < 8; i++) digests[8 * item + i] = w[i];
}
