// Integers of variable length: seven bits a byte.

kernel void decode(global const uchar *in, global const uint *starts, global ulong *out, const uint n) {
    const uint item = get_global_id(0);
    uint at = starts[item];
    for (uint k = 0; k < n; k++) {
        ulong value = 0;
        uint shift = 0;
        uchar byte;
        do {
            byte = in[at++];
            value |= (ulong)(byte & 0x7F) << shift;
            shift += 7;
        } while (byte & 0x80);
        out[item * n + k] = value;
    }
}

kernel void encode(global const ulong *in, const uint n, global uchar *out, const uint room, global uint *lengths) {
    const uint item = get_global_id(0);
    uint used = 0;
    for (uint k = 0; k < n; k++) {
        ulong value = in[item * n + k];
        while (value >= 0x80) {
            out[item * room + used++] = (uchar)(value | 0x80);
            value >>= 7;
        }
        out[item * room + used++] = (uchar)value;
    }
    lengths[item] = used;
}

// Signed numbers in zigzag order, and with an extended sign.
kernel void decode_signed(global const uchar *zigzag, global const uint *zigzag_starts, global const uchar *extended, global const uint *extended_starts,
                          global long *from_zigzag, global long *from_extended) {
    const uint item = get_global_id(0);
    ulong value = 0;
    for (uint at = zigzag_starts[item], shift = 0; ; at++, shift += 7) {
        value |= (ulong)(zigzag[at] & 0x7F) << shift;
        if (zigzag[at] < 0x80) break;
    }
    from_zigzag[item] = (long)(value >> 1) ^ -(long)(value & 1);
    value = 0;
    uint at = extended_starts[item], shift = 0;
    uchar byte;
    for (;;) {
        byte = extended[at++];
        value |= (ulong)(byte & 0x7F) << shift;
        shift += 7;
        if (!(byte & 0x80)) break;
    }
    if (shift < 64 && (byte & 0x40)) value |= ~0ul << shift;
    from_extended[item] = (long)value;
}
