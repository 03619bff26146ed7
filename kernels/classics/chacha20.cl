// ChaCha20: a block of 64 bytes for each work-item.

#define QUARTER(a, b, c, d) \
    a += b; d ^= a; d = rotate(d, 16u); \
    c += d; b ^= c; b = rotate(b, 12u); \
    a += b; d ^= a; d = rotate(d, 8u); \
    c += d; b ^= c; b = rotate(b, 7u);

// With a private array.
kernel void by_words(constant uint *key, constant uint *nonce, const uint counter, global const uint *in, global uint *out) {
    const uint block = get_global_id(0);
    uint first[16], x[16];
    first[0] = 0x61707865; first[1] = 0x3320646e; first[2] = 0x79622d32; first[3] = 0x6b206574;
    for (int i = 0; i < 8; i++) first[4 + i] = key[i];
    first[12] = counter + block;
    for (int i = 0; i < 3; i++) first[13 + i] = nonce[i];
    for (int i = 0; i < 16; i++) x[i] = first[i];
    for (int round = 0; round < 10; round++) {
        QUARTER(x[0], x[4], x[8], x[12])
        QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14])
        QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15])
        QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13])
        QUARTER(x[3], x[4], x[9], x[14])
    }
    for (int i = 0; i < 16; i++) out[16 * block + i] = in[16 * block + i] ^ (x[i] + first[i]);
}

// With rows in vectors, which are turned between the two kinds of rounds.
kernel void by_rows(constant uint4 *key, const uint4 last_row, global const uint4 *in, global uint4 *out) {
    const uint block = get_global_id(0);
    const uint4 a0 = (uint4)(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574);
    uint4 d0 = last_row;
    d0.x += block;
    uint4 a = a0, b = key[0], c = key[1], d = d0;
    for (int round = 0; round < 20; round += 2) {
        a += b; d ^= a; d = d << 16 | d >> 16;
        c += d; b ^= c; b = b << 12 | b >> 20;
        a += b; d ^= a; d = d << 8 | d >> 24;
        c += d; b ^= c; b = b << 7 | b >> 25;
        b = b.yzwx; c = c.zwxy; d = d.wxyz;
        QUARTER(a, b, c, d)
        b = b.wxyz; c = c.zwxy; d = d.yzwx;
    }
    out[4 * block + 0] = in[4 * block + 0] ^ (a + a0);
    out[4 * block + 1] = in[4 * block + 1] ^ (b + key[0]);
    out[4 * block + 2] = in[4 * block + 2] ^ (c + key[1]);
    out[4 * block + 3] = in[4 * block + 3] ^ (d + d0);
}
