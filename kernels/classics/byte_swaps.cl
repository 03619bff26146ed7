// Byte and bit reversals with shifts, masks, swizzles and builtin functions.

kernel void shifts(global const ulong *in, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const ushort h = (ushort)x;
    const uint w = (uint)(x >> 16);
    o16[i] = (ushort)((h << 8) | (h >> 8));
    o32[i] = (w << 24) | ((w & 0xFF00) << 8) | ((w >> 8) & 0xFF00) | (w >> 24);
    o64[i] = (x << 56) | ((x & 0xFF00ul) << 40) | ((x & 0xFF0000ul) << 24) | ((x & 0xFF000000ul) << 8)
        | ((x >> 8) & 0xFF000000ul) | ((x >> 24) & 0xFF0000ul) | ((x >> 40) & 0xFF00ul) | (x >> 56);
}

kernel void swizzles(global const ulong *in, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    o16[i] = as_ushort(as_uchar2((ushort)x).s10);
    o32[i] = as_uint(as_uchar4((uint)(x >> 16)).wzyx);
    o64[i] = as_ulong(as_uchar8(x).s76543210);
}

// Two rotations under masks swap the bytes of a word.
kernel void masked_rotations(global const ulong *in, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const uint w = (uint)(x >> 16);
    o16[i] = rotate((ushort)x, (ushort)8);
    o32[i] = (rotate(w, 8u) & 0x00FF00FF) | (rotate(w, 24u) & 0xFF00FF00);
    ulong y = ((x & 0x00FF00FF00FF00FFul) << 8) | ((x >> 8) & 0x00FF00FF00FF00FFul);
    y = ((y & 0x0000FFFF0000FFFFul) << 16) | ((y >> 16) & 0x0000FFFF0000FFFFul);
    o64[i] = (y << 32) | (y >> 32);
}

kernel void from_bytes(global const uchar *in, global uint *big, global uint *little) {
    const size_t i = get_global_id(0);
    global const uchar *p = in + 4 * i;
    big[i] = ((uint)p[0] << 24) | ((uint)p[1] << 16) | ((uint)p[2] << 8) | p[3];
    little[i] = p[0] | (p[1] << 8) | (p[2] << 16) | ((uint)p[3] << 24);
}

kernel void to_bytes(global const uint *in, global uchar *big, global uchar *little) {
    const size_t i = get_global_id(0);
    const uint x = in[i];
    for (int k = 0; k < 4; k++) {
        big[4 * i + k] = (uchar)(x >> (24 - 8 * k));
        little[4 * i + k] = (uchar)(x >> (8 * k));
    }
}

// The bits in the opposite order, and counts of bits by hand and by builtin functions.
kernel void bits(global const uint *in, global uint *reversed, global uchar *reversed_bytes, global uint4 *counts) {
    const size_t i = get_global_id(0);
    uint x = in[i];
    uint r = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
    r = ((r >> 2) & 0x33333333) | ((r & 0x33333333) << 2);
    r = ((r >> 4) & 0x0F0F0F0F) | ((r & 0x0F0F0F0F) << 4);
    r = ((r >> 8) & 0x00FF00FF) | ((r & 0x00FF00FF) << 8);
    reversed[i] = (r >> 16) | (r << 16);
    uchar byte = (uchar)x, turned = 0;
    for (int k = 0; k < 8; k++) {
        turned = (uchar)((turned << 1) | (byte & 1));
        byte >>= 1;
    }
    reversed_bytes[i] = turned;
    uint c = x - ((x >> 1) & 0x55555555);
    c = (c & 0x33333333) + ((c >> 2) & 0x33333333);
    c = (((c + (c >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24;
    uint lowest = 0;
    while (lowest < 32 && !(x >> lowest & 1)) lowest++;
    counts[i] = (uint4)(c, popcount(x), clz(x), lowest);
}
