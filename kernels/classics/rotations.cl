// Rotations of all widths, written with shifts and with the builtin function.

#define ROTL(x, n, bits) (((x) << (n)) | ((x) >> ((bits) - (n))))
#define ROTR(x, n, bits) (((x) >> (n)) | ((x) << ((bits) - (n))))

// By constant amounts, with shifts. Narrow types are cut after the shift.
kernel void constant_shifts(global const ulong *in, global uchar *o8, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const uchar x8 = (uchar)x;
    const ushort x16 = (ushort)x;
    const uint x32 = (uint)x;
    o8[4 * i + 0] = (uchar)ROTL(x8, 1, 8);
    o8[4 * i + 1] = (uchar)ROTL(x8, 4, 8);
    o8[4 * i + 2] = (uchar)ROTR(x8, 3, 8);
    o8[4 * i + 3] = (uchar)ROTR(x8, 7, 8);
    o16[4 * i + 0] = (ushort)ROTL(x16, 1, 16);
    o16[4 * i + 1] = (ushort)ROTL(x16, 8, 16);
    o16[4 * i + 2] = (ushort)ROTR(x16, 5, 16);
    o16[4 * i + 3] = (ushort)ROTR(x16, 15, 16);
    o32[4 * i + 0] = ROTL(x32, 1, 32);
    o32[4 * i + 1] = ROTL(x32, 16, 32);
    o32[4 * i + 2] = ROTR(x32, 13, 32);
    o32[4 * i + 3] = ROTR(x32, 31, 32);
    o64[4 * i + 0] = ROTL(x, 1, 64);
    o64[4 * i + 1] = ROTL(x, 32, 64);
    o64[4 * i + 2] = ROTR(x, 41, 64);
    o64[4 * i + 3] = ROTR(x, 63, 64);
}

// By amounts from memory, from 0 to one less than the width. The masks keep shifts by the full width away.
kernel void variable_shifts(global const ulong *in, global const uint *amounts, global uchar *o8, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const uint n = amounts[i];
    const uchar x8 = (uchar)x;
    const ushort x16 = (ushort)x;
    const uint x32 = (uint)x;
    o8[2 * i] = (uchar)((x8 << (n & 7)) | (x8 >> (-n & 7)));
    o8[2 * i + 1] = (uchar)((x8 >> (n & 7)) | (x8 << (-n & 7)));
    o16[2 * i] = (ushort)((x16 << (n & 15)) | (x16 >> (-n & 15)));
    o16[2 * i + 1] = (ushort)((x16 >> (n & 15)) | (x16 << (-n & 15)));
    o32[2 * i] = (x32 << (n & 31)) | (x32 >> (-n & 31));
    o32[2 * i + 1] = (x32 >> (n & 31)) | (x32 << (-n & 31));
    o64[2 * i] = (x << (n & 63)) | (x >> (-n & 63));
    o64[2 * i + 1] = (x >> (n & 63)) | (x << (-n & 63));
}

// The builtin function takes any amount, and rotates to the left.
kernel void builtin(global const ulong *in, global const uint *amounts, global uchar *o8, global ushort *o16, global uint *o32, global ulong *o64) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const uint n = amounts[i];
    o8[2 * i] = rotate((uchar)x, (uchar)n);
    o8[2 * i + 1] = rotate((uchar)x, (uchar)(8 - (n & 7)));
    o16[2 * i] = rotate((ushort)x, (ushort)n);
    o16[2 * i + 1] = rotate((ushort)x, (ushort)(16 - (n & 15)));
    o32[2 * i] = rotate((uint)x, n);
    o32[2 * i + 1] = rotate((uint)x, 32 - (n & 31));
    o64[2 * i] = rotate(x, (ulong)n);
    o64[2 * i + 1] = rotate(x, (ulong)(64 - (n & 63)));
}

// Vectors with shifts and an amount for each element.
kernel void vectors(global const uint4 *in, global const uint4 *amounts, global uint4 *shifted, global uint4 *built_in, global uchar16 *bytes) {
    const size_t i = get_global_id(0);
    const uint4 x = in[i], n = amounts[i] & 31;
    shifted[i] = (x << n) | (x >> ((32 - n) & 31));
    built_in[i] = rotate(x, n);
    bytes[i] = rotate(as_uchar16(x), (uchar16)(0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 5, 7, 2, 4, 6, 0));
}

// Wide vectors by one constant amount.
kernel void wide_vectors(global const ulong *in, global ulong *out, global ushort *narrow) {
    const size_t i = get_global_id(0);
    const ulong8 x = vload8(i, in);
    vstore8((x << 19) | (x >> 45), i, out);
    const ushort8 y = convert_ushort8(x);
    vstore8((ushort8)((y >> (ushort8)3) | (y << (ushort8)13)), i, narrow);
}

// 64 bits out of two words of 32, as devices without wide integers do it.
uint2 rotate_pair(const uint2 x, const uint n) {
    const uint low = n & 31;
    const uint2 y = n & 32 ? x.yx : x;
    if (low == 0) return y;
    return (uint2)((y.x << low) | (y.y >> (32 - low)), (y.y << low) | (y.x >> (32 - low)));
}

kernel void pairs(global const uint2 *in, global const uint *amounts, global uint2 *out) {
    const size_t i = get_global_id(0);
    out[i] = rotate_pair(in[i], amounts[i] & 63);
}

// A state of four words goes round after round, as in ARX ciphers.
kernel void mixing(global const uint4 *in, global uint4 *out, const int rounds) {
    const size_t i = get_global_id(0);
    uint4 s = in[i];
    for (int r = 0; r < rounds; r++) {
        s.x += s.y; s.w ^= s.x; s.w = (s.w << 16) | (s.w >> 16);
        s.z += s.w; s.y ^= s.z; s.y = rotate(s.y, 12u);
        s.x += s.y; s.w ^= s.x; s.w = (s.w >> 24) | (s.w << 8);
        s.z += s.w; s.y ^= s.z; s.y = (s.y << (r & 31)) | (s.y >> ((32 - r) & 31));
    }
    out[i] = s;
}
