// Base64: three bytes become four letters.

constant uchar letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

kernel void encode(global const uchar *in, const uint n, global uchar4 *out) {
    const uint i = get_global_id(0);
    const uint at = 3 * i;
    if (at >= n) return;
    uint bits = (uint)in[at] << 16;
    if (at + 1 < n) bits |= (uint)in[at + 1] << 8;
    if (at + 2 < n) bits |= in[at + 2];
    uchar4 four = (uchar4)(letters[bits >> 18], letters[bits >> 12 & 63], letters[bits >> 6 & 63], letters[bits & 63]);
    if (at + 2 >= n) four.w = '=';
    if (at + 1 >= n) four.z = '=';
    out[i] = four;
}

// The group turns the alphabet around into local memory.
kernel void decode(global const uchar4 *in, const uint groups, global uchar *out, const uint n) {
    local uchar values[256];
    for (uint c = get_local_id(0); c < 256; c += get_local_size(0)) values[c] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint v = get_local_id(0); v < 64; v += get_local_size(0)) values[letters[v]] = (uchar)v;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint i = get_global_id(0);
    if (i >= groups) return;
    const uchar4 four = in[i];
    const uint bits = (uint)values[four.x] << 18 | (uint)values[four.y] << 12 | (uint)values[four.z] << 6 | values[four.w];
    for (uint k = 0; k < 3 && 3 * i + k < n; k++) out[3 * i + k] = (uchar)(bits >> (16 - 8 * k));
}

// Without a table: ranges of letters, and hexadecimal digits on the way.
uchar value_of(const uchar c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : 63;
}

kernel void to_hexadecimal(global const uchar4 *in, global uchar *out) {
    const uint i = get_global_id(0);
    uint bits = 0;
    const uchar4 four = in[i];
    bits = bits << 6 | value_of(four.s0);
    bits = bits << 6 | value_of(four.s1);
    bits = bits << 6 | value_of(four.s2);
    bits = bits << 6 | value_of(four.s3);
    for (int k = 0; k < 6; k++) {
        const uint digit = bits >> (20 - 4 * k) & 15;
        out[6 * i + k] = (uchar)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
}
