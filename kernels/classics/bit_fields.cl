// Bit-fields, which are an extension of clang.

#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

typedef struct {
    uint mantissa : 23;
    uint exponent : 8;
    uint sign : 1;
} FloatBits;

typedef union {
    FloatBits fields;
    uint word;
} Bits;

// Parts of floats, and a value that is built again from changed parts.
kernel void parts_of_floats(global const uint *in, global uint *exponents, global uint *doubled) {
    const size_t i = get_global_id(0);
    Bits b;
    b.word = in[i];
    exponents[i] = b.fields.exponent | b.fields.sign << 8;
    b.fields.exponent++;
    b.fields.sign ^= 1;
    doubled[i] = b.word;
}

// Signed fields, which extend their sign.
typedef struct {
    int a : 5;
    int b : 11;
    int c : 16;
} Signed;

typedef union {
    Signed fields;
    uint word;
} SignedBits;

kernel void signed_fields(global const uint *in, global int4 *out) {
    const size_t i = get_global_id(0);
    SignedBits s;
    s.word = in[i];
    out[i] = (int4)(s.fields.a, s.fields.b, s.fields.c, s.fields.a + s.fields.b + s.fields.c);
}

// Adjoining fields of more than 64 bits, which some compilers access at once.
typedef struct {
    ulong a : 40;
    ulong b : 24;
    ulong c : 8;
    uint d : 24;
} Adjoining;

typedef struct {
    uint a : 20;
    uint b : 12;
    uint c : 17;
    int d : 15;
    uchar e : 8;
} NineBytes;

kernel void adjoining_fields(global const uint *in, global Adjoining *fields, global ulong4 *out) {
    const size_t i = get_global_id(0);
    Adjoining f = fields[i];
    out[i] = (ulong4)(f.a, f.b, f.c, f.d);
    f.b += in[i];
    f.c ^= f.d;
    f.a -= f.b;
    if (in[i] & 1)
        f.d = f.a >> 3;
    else
        f.a = f.d * 5;
    fields[i] = f;
}

kernel void nine_bytes(global const uint *in, global NineBytes *fields, global int *out) {
    const size_t i = get_global_id(0);
    fields[i].c += in[i];
    fields[i].e++;
    NineBytes f = fields[i];
    for (uint k = 0; k < in[i] % 5; k++) {
        f.a = f.b + f.d;
        f.d = f.c - f.e;
        f.e += k;
    }
    out[i] = f.d < 0 ? f.d : f.a == f.e;
    fields[i] = f;
}

// In OpenCL C, literals with this suffix may have 128 bits.
kernel void long_literals(global const ulong *in, global ulong *out) {
    const size_t i = get_global_id(0);
    const ulong x = in[i];
    const uint n = x & 63;
    ulong r = 0xffffffffffULL >> (n / 2);
    r ^= (x + 0x123456789abcdefULL) & 0xff00ff00ff00ff00ULL;
    r += x * 0x9E3779B97F4A7C15ULL;
    r ^= 1ULL << n;
    if (x > 0x7fffffffffULL)
        r -= 77ULL;
    out[i] = r;
}
