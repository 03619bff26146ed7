// Structs: packed, aligned, nested, in local memory, as arguments; unions and enumerations.

typedef struct __attribute__((packed)) {
    uchar kind;
    ushort length;
    uint offset;
    ulong id;
} Record;

// Fields of a packed record of 15 bytes.
kernel void read_packed(global const Record *in, global uint *lengths, global uint *offsets, global ulong *ids) {
    const size_t i = get_global_id(0);
    lengths[i] = in[i].kind * 100000u + in[i].length;
    offsets[i] = in[i].offset;
    ids[i] = in[i].id;
}

kernel void write_packed(global Record *out, const uint seed) {
    const uint i = get_global_id(0);
    Record r;
    r.kind = (uchar)i;
    r.length = (ushort)(i * 3);
    r.offset = seed ^ i;
    r.id = (ulong)seed << 32 | i;
    out[i] = r;
}

// Padding between the fields follows from their alignment: 24 bytes.
typedef struct {
    char tag;
    int value;
    short small[3];
    ulong big;
} Natural;

kernel void change_natural(global Natural *data, const int add) {
    const size_t i = get_global_id(0);
    Natural n = data[i];
    n.tag = (char)-n.tag;
    n.value += add;
    n.small[i % 3] ^= 0x55;
    n.big = n.big * 3 + n.small[0];
    data[i] = n;
}

// A struct as an argument, with a vector and an array in it: 48 bytes.
typedef struct {
    float4 scale;
    int offsets[4];
    uchar flags;
} __attribute__((aligned(16))) Parameters;

kernel void by_value(global const float4 *in, global float4 *out, const Parameters p) {
    const size_t i = get_global_id(0);
    float4 x = in[i];
    if (p.flags & 1) x *= p.scale;
    if (p.flags & 2) x += convert_float4(vload4(0, p.offsets));
    out[i] = x;
}

// The place of the smallest value: pairs in local memory.
typedef struct {
    int value;
    uint place;
} Least;

Least smaller(const Least a, const Least b) {
    if (b.value < a.value || (b.value == a.value && b.place < a.place)) return b;
    return a;
}

kernel void place_of_least(global const int *in, global Least *out, local Least *tmp) {
    const uint lid = get_local_id(0);
    tmp[lid].value = in[get_global_id(0)];
    tmp[lid].place = (uint)get_global_id(0);
    for (uint left = get_local_size(0); left > 1; ) {
        const uint next = (left + 1) / 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid + next < left) tmp[lid] = smaller(tmp[lid], tmp[lid + next]);
        left = next;
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// The bytes of words and floats through a union.
typedef union {
    uint word;
    float number;
    ushort halves[2];
    uchar bytes[4];
} Word;

kernel void through_union(global const uint *in, global uint *out, global float *absolute) {
    const size_t i = get_global_id(0);
    Word a, b;
    a.word = in[i];
    b.halves[0] = a.halves[1];
    b.halves[1] = a.halves[0];
    const uchar t = b.bytes[0];
    b.bytes[0] = b.bytes[3];
    b.bytes[3] = t;
    out[i] = b.word;
    a.word &= 0x7FFFFFFF;
    absolute[i] = a.number;
}

// A tagged union: shapes of three kinds.
enum Kind { SQUARE, RECTANGLE, TRIANGLE };

typedef struct {
    enum Kind kind;
    union {
        int side;
        struct { int width, height; } box;
        int3 sides;
    } of;
} Shape;

kernel void areas(global const int4 *in, global int *out, global uint *sizes) {
    const size_t i = get_global_id(0);
    Shape shape;
    switch (in[i].x) {
    case 0:
        shape.kind = SQUARE;
        shape.of.side = in[i].y;
        break;
    case 1:
        shape.kind = RECTANGLE;
        shape.of.box.width = in[i].y;
        shape.of.box.height = in[i].z;
        break;
    default:
        shape.kind = TRIANGLE;
        shape.of.sides = in[i].yzw;
    }
    int result = -1;
    switch (shape.kind) {
    case SQUARE: result = shape.of.side * shape.of.side; break;
    case RECTANGLE: result = shape.of.box.width * shape.of.box.height; break;
    case TRIANGLE: result = shape.of.sides.x + shape.of.sides.y + shape.of.sides.z; break;
    }
    out[i] = result;
    if (i == 0) sizes[0] = sizeof(Record) | sizeof(Natural) << 8 | sizeof(Parameters) << 16 | sizeof(Word) << 24;
}

// Particles as structures of arrays of a tile each.
#define TILE 8

typedef struct {
    float x[TILE], y[TILE];
    int age[TILE];
} Tile;

kernel void age_particles(global Tile *tiles, const float dx) {
    const size_t tile = get_global_id(0) / TILE, k = get_global_id(0) % TILE;
    tiles[tile].x[k] += dx * tiles[tile].age[k];
    tiles[tile].y[k] = -tiles[tile].y[k];
    tiles[tile].age[k]++;
}
