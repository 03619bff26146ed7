// MD5 of a message for each work-item. Messages start at multiples of the stride.

constant uint sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

constant uchar turns[16] = { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 };

// The byte of the padded message.
uchar padded(global const uchar *message, const uint length, const uint total, const uint i) {
    if (i < length) return message[i];
    if (i == length) return 0x80;
    if (i < total - 8) return 0;
    const ulong bits = (ulong)length * 8;
    return (uchar)(bits >> (8 * (i - (total - 8))));
}

kernel void md5(global const uchar *messages, global const uint *lengths, const uint stride, global uint4 *digests) {
    const size_t item = get_global_id(0);
    global const uchar *message = messages + item * stride;
    const uint length = lengths[item];
    const uint total = (length + 8) / 64 * 64 + 64;
    uint4 state = (uint4)(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
    for (uint block = 0; block < total; block += 64) {
        uint words[16];
        for (uint i = 0; i < 16; i++) {
            words[i] = 0;
            for (uint k = 0; k < 4; k++) words[i] |= (uint)padded(message, length, total, block + 4 * i + k) << (8 * k);
        }
        uint a = state.x, b = state.y, c = state.z, d = state.w;
        for (uint i = 0; i < 64; i++) {
            uint f, g;
            if (i < 16) {
                f = (b & c) | (~b & d);
                g = i;
            } else if (i < 32) {
                f = (d & b) | (~d & c);
                g = (5 * i + 1) % 16;
            } else if (i < 48) {
                f = b ^ c ^ d;
                g = (3 * i + 5) % 16;
            } else {
                f = c ^ (b | ~d);
                g = (7 * i) % 16;
            }
            const uint next = b + rotate(a + f + sines[i] + words[g], (uint)turns[i / 16 * 4 + i % 4]);
            a = d;
            d = c;
            c = b;
            b = next;
        }
        state += (uint4)(a, b, c, d);
    }
    digests[item] = state;
}

// A short key of one block, with unrolled macros, as programs that try passwords have it.
#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, g, i, s) \
    (a) += f((b), (c), (d)) + w[g] + sines[i]; \
    (a) = (((a) << (s)) | ((a) >> (32 - (s)))) + (b);
#define FOUR(f, g0, g1, g2, g3, i, s0, s1, s2, s3) \
    STEP(f, a, b, c, d, g0, i, s0) STEP(f, d, a, b, c, g1, i + 1, s1) \
    STEP(f, c, d, a, b, g2, i + 2, s2) STEP(f, b, c, d, a, g3, i + 3, s3)

kernel void md5_of_number(const uint first, global uint4 *digests) {
    const uint number = first + (uint)get_global_id(0);
    uint w[16] = { number, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0 };
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    FOUR(F, 0, 1, 2, 3, 0, 7, 12, 17, 22) FOUR(F, 4, 5, 6, 7, 4, 7, 12, 17, 22)
    FOUR(F, 8, 9, 10, 11, 8, 7, 12, 17, 22) FOUR(F, 12, 13, 14, 15, 12, 7, 12, 17, 22)
    FOUR(G, 1, 6, 11, 0, 16, 5, 9, 14, 20) FOUR(G, 5, 10, 15, 4, 20, 5, 9, 14, 20)
    FOUR(G, 9, 14, 3, 8, 24, 5, 9, 14, 20) FOUR(G, 13, 2, 7, 12, 28, 5, 9, 14, 20)
    FOUR(H, 5, 8, 11, 14, 32, 4, 11, 16, 23) FOUR(H, 1, 4, 7, 10, 36, 4, 11, 16, 23)
    FOUR(H, 13, 0, 3, 6, 40, 4, 11, 16, 23) FOUR(H, 9, 12, 15, 2, 44, 4, 11, 16, 23)
    FOUR(I, 0, 7, 14, 5, 48, 6, 10, 15, 21) FOUR(I, 12, 3, 10, 1, 52, 6, 10, 15, 21)
    FOUR(I, 8, 15, 6, 13, 56, 6, 10, 15, 21) FOUR(I, 4, 11, 2, 9, 60, 6, 10, 15, 21)
    digests[get_global_id(0)] = (uint4)(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}
