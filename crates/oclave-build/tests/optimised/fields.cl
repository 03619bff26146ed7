#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
// Packed structs and bit-fields of three and five bytes.
typedef struct { uint r : 10, g : 10, b : 10, a : 2; } packed_t;
typedef struct { uint id : 20; uint kind : 4; uchar last; } node_t;
typedef struct { ulong key : 37; ulong rest : 3; uchar tag; } wide_t;
typedef struct __attribute__((packed)) { uchar tag; int value; short s; } record_t;
kernel void fields(global packed_t *p, global node_t *n, global wide_t *w, global record_t *r)
{
    int i = get_global_id(0);
    p[i].r = p[i].g + p[i].b;
    p[i].a ^= 1;
    n[i].id += n[i].kind;
    n[i].kind = n[i].last;
    w[i].key = w[i].key * 3 + w[i].rest;
    w[i].rest = n[i].id;
    r[i].value += r[i].tag * r[i].s;
}
