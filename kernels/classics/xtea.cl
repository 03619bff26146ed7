// XTEA and RC4.

kernel void encrypt(constant uint *key, global uint2 *blocks) {
    uint2 v = blocks[get_global_id(0)];
    uint sum = 0;
    for (int i = 0; i < 32; i++) {
        v.x += (((v.y << 4) ^ (v.y >> 5)) + v.y) ^ (sum + key[sum & 3]);
        sum += 0x9E3779B9;
        v.y += (((v.x << 4) ^ (v.x >> 5)) + v.x) ^ (sum + key[(sum >> 11) & 3]);
    }
    blocks[get_global_id(0)] = v;
}

kernel void decrypt(constant uint *key, global uint2 *blocks) {
    uint2 v = blocks[get_global_id(0)];
    uint sum = 0x9E3779B9u * 32;
    while (sum != 0) {
        v.y -= (((v.x << 4) ^ (v.x >> 5)) + v.x) ^ (sum + key[(sum >> 11) & 3]);
        sum -= 0x9E3779B9;
        v.x -= (((v.y << 4) ^ (v.y >> 5)) + v.y) ^ (sum + key[sum & 3]);
    }
    blocks[get_global_id(0)] = v;
}

// RC4 with a key for each work-item; its permutation is in private memory.
kernel void rc4(global const uchar *keys, const uint key_length, global uchar *out, const uint length) {
    const size_t item = get_global_id(0);
    uchar s[256];
    for (int i = 0; i < 256; i++) s[i] = (uchar)i;
    uchar j = 0;
    for (int i = 0; i < 256; i++) {
        j += s[i] + keys[item * key_length + i % key_length];
        const uchar t = s[i];
        s[i] = s[j];
        s[j] = t;
    }
    uchar i = 0;
    j = 0;
    for (uint k = 0; k < length; k++) {
        i++;
        j += s[i];
        const uchar t = s[i];
        s[i] = s[j];
        s[j] = t;
        out[item * length + k] = s[(uchar)(s[i] + s[j])];
    }
}
