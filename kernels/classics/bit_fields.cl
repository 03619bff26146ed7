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
