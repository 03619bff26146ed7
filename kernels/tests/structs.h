// Structs that several sources share.
#ifndef STRUCTS_H
#define STRUCTS_H

typedef struct {
    float first;
    float second;
} pair_t;

struct sample {
    pair_t at;
    float weight;
    uchar flag;
    float matrix[2][3];
};

enum mode { MODE_FIRST, MODE_SECOND = 7 };

struct padded {
    uchar small;
    long wide;
    float3 axis;
    enum mode mode;
    short tail;
};

typedef struct __attribute__((packed)) {
    uchar tag;
    float value;
} packed_t;

union either {
    float as_float;
    uint as_bits;
};

#endif
