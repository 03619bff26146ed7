// SHA-1 of a message for each work-item. Messages start at multiples of the stride.

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

kernel void sha1(global const uchar *messages, global const uint *lengths, const uint stride, global uint *digests) {
    const size_t item = get_global_id(0);
    global const uchar *message = messages + item * stride;
    const uint length = lengths[item];
    const uint total = (length + 8) / 64 * 64 + 64;
    uint h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    for (uint block = 0; block < total; block += 64) {
        uint w[80];
        for (int t = 0; t < 16; t++) w[t] = word_at(message, length, total, block + 4 * t);
        for (int t = 16; t < 80; t++) w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1u);
        uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
        for (int t = 0; t < 80; t++) {
            uint f;
            switch (t / 20) {
            case 0: f = ((b & c) | (~b & d)) + 0x5a827999; break;
            case 1: f = (b ^ c ^ d) + 0x6ed9eba1; break;
            case 2: f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc; break;
            default: f = (b ^ c ^ d) + 0xca62c1d6; break;
            }
            const uint next = ((a << 5) | (a >> 27)) + f + e + w[t];
            e = d;
            d = c;
            c = (b << 30) | (b >> 2);
            b = a;
            a = next;
        }
        h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e;
    }
    for (int i = 0; i < 5; i++) digests[5 * item + i] = h[i];
}

// The same with a ring of sixteen words.
kernel void sha1_ring(global const uchar *messages, global const uint *lengths, const uint stride, global uint *digests) {
    const size_t item = get_global_id(0);
    global const uchar *message = messages + item * stride;
    const uint length = lengths[item];
    const uint total = (length + 8) / 64 * 64 + 64;
    uint h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    for (uint block = 0; block < total; block += 64) {
        uint w[16], s[5];
        for (int i = 0; i < 5; i++) s[i] = h[i];
        for (int t = 0; t < 80; t++) {
            if (t < 16)
                w[t] = word_at(message, length, total, block + 4 * t);
            else
                w[t & 15] = rotate(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1u);
            uint f;
            if (t < 20) f = bitselect(s[3], s[2], s[1]) + 0x5a827999;
            else if (t < 40) f = (s[1] ^ s[2] ^ s[3]) + 0x6ed9eba1;
            else if (t < 60) f = bitselect(s[1], s[2], s[1] ^ s[3]) + 0x8f1bbcdc;
            else f = (s[1] ^ s[2] ^ s[3]) + 0xca62c1d6;
            const uint next = rotate(s[0], 5u) + f + s[4] + w[t & 15];
            s[4] = s[3];
            s[3] = s[2];
            s[2] = rotate(s[1], 30u);
            s[1] = s[0];
            s[0] = next;
        }
        for (int i = 0; i < 5; i++) h[i] += s[i];
    }
    for (int i = 0; i < 5; i++) digests[5 * item + i] = h[i];
}
