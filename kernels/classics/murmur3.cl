// MurmurHash3 with 32 bits, FNV-1a and Jenkins' hash of a message for each work-item.

kernel void murmur3(global const uchar *messages, global const uint *lengths, const uint stride, const uint seed, global uint *out) {
    const size_t item = get_global_id(0);
    global const uchar *p = messages + item * stride;
    const uint length = lengths[item];
    uint h = seed;
    for (uint i = 0; i < length / 4; i++) {
        uint k = as_uint(vload4(i, p));
        k *= 0xcc9e2d51;
        k = (k << 15) | (k >> 17);
        k *= 0x1b873593;
        h ^= k;
        h = (h << 13) | (h >> 19);
        h = h * 5 + 0xe6546b64;
    }
    p += length & ~3u;
    uint k = 0;
    switch (length & 3) {
    case 3:
        k ^= (uint)p[2] << 16;
        // fall through
    case 2:
        k ^= (uint)p[1] << 8;
        // fall through
    case 1:
        k ^= p[0];
        k *= 0xcc9e2d51;
        k = rotate(k, 15u) * 0x1b873593;
        h ^= k;
    }
    h ^= length;
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    out[item] = h ^ (h >> 16);
}

kernel void fnv1a(global const uchar *messages, global const uint *lengths, const uint stride, global uint *narrow, global ulong *wide) {
    const size_t item = get_global_id(0);
    uint h = 2166136261u;
    ulong w = 14695981039346656037ul;
    for (uint i = 0; i < lengths[item]; i++) {
        const uchar byte = messages[item * stride + i];
        h = (h ^ byte) * 16777619u;
        w = (w ^ byte) * 1099511628211ul;
    }
    narrow[item] = h;
    wide[item] = w;
}

kernel void one_at_a_time(global const uchar *messages, global const uint *lengths, const uint stride, global uint *out) {
    const size_t item = get_global_id(0);
    uint h = 0;
    for (uint i = 0; i < lengths[item]; i++) {
        h += messages[item * stride + i];
        h += h << 10;
        h ^= h >> 6;
    }
    h += h << 3;
    h ^= h >> 11;
    h += h << 15;
    out[item] = h;
}
