// xxHash with 32 and with 64 bits of a message for each work-item.

#define P1 2654435761u
#define P2 2246822519u
#define P3 3266489917u
#define P4 668265263u
#define P5 374761393u

uint load32(global const uchar *p) {
    return p[0] | (uint)p[1] << 8 | (uint)p[2] << 16 | (uint)p[3] << 24;
}

uint round32(const uint sum, const uint word) {
    return rotate(sum + word * P2, 13u) * P1;
}

kernel void xxh32(global const uchar *messages, global const uint *lengths, const uint stride, const uint seed, global uint *out) {
    const size_t item = get_global_id(0);
    global const uchar *p = messages + item * stride;
    const uint length = lengths[item];
    uint left = length;
    uint h = seed + P5;
    if (left >= 16) {
        uint4 v = (uint4)(seed + P1 + P2, seed + P2, seed, seed - P1);
        do {
            v.x = round32(v.x, load32(p));
            v.y = round32(v.y, load32(p + 4));
            v.z = round32(v.z, load32(p + 8));
            v.w = round32(v.w, load32(p + 12));
            p += 16;
            left -= 16;
        } while (left >= 16);
        h = rotate(v.x, 1u) + rotate(v.y, 7u) + rotate(v.z, 12u) + rotate(v.w, 18u);
    }
    h += length;
    for (; left >= 4; left -= 4, p += 4) h = rotate(h + load32(p) * P3, 17u) * P4;
    while (left > 0) {
        h = rotate(h + *p++ * P5, 11u) * P1;
        left--;
    }
    h = (h ^ h >> 15) * P2;
    h = (h ^ h >> 13) * P3;
    out[item] = h ^ h >> 16;
}

#define Q1 11400714785074694791ul
#define Q2 14029467366897019727ul
#define Q3 1609587929392839161ul
#define Q4 9650029242287828579ul
#define Q5 2870177450012600261ul

ulong load64(global const uchar *p) {
    return load32(p) | (ulong)load32(p + 4) << 32;
}

ulong round64(ulong sum, const ulong word) {
    sum += word * Q2;
    sum = sum << 31 | sum >> 33;
    return sum * Q1;
}

kernel void xxh64(global const uchar *messages, global const uint *lengths, const uint stride, const ulong seed, global ulong *out) {
    const size_t item = get_global_id(0);
    global const uchar *p = messages + item * stride;
    global const uchar *const end = p + lengths[item];
    ulong h;
    if (end - p >= 32) {
        ulong v[4] = { seed + Q1 + Q2, seed + Q2, seed, seed - Q1 };
        while (end - p >= 32) {
            for (int i = 0; i < 4; i++, p += 8) v[i] = round64(v[i], load64(p));
        }
        h = rotate(v[0], 1ul) + rotate(v[1], 7ul) + rotate(v[2], 12ul) + rotate(v[3], 18ul);
        for (int i = 0; i < 4; i++) h = (h ^ round64(0, v[i])) * Q1 + Q4;
    } else {
        h = seed + Q5;
    }
    h += lengths[item];
    for (; p + 8 <= end; p += 8) h = rotate(h ^ round64(0, load64(p)), 27ul) * Q1 + Q4;
    if (p + 4 <= end) {
        h = rotate(h ^ load32(p) * Q1, 23ul) * Q2 + Q3;
        p += 4;
    }
    for (; p < end; p++) h = rotate(h ^ *p * Q5, 11ul) * Q1;
    h ^= h >> 33;
    h *= Q2;
    h ^= h >> 29;
    h *= Q3;
    out[item] = h ^ h >> 32;
}
