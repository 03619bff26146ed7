// Names that Rust cannot take as they are.

struct type {
    int self;
    float match;
    uint _padding;
};

struct pick { uchar fn; int impl; };

kernel void type(struct type type, struct pick Pick, global int *self, int KERNEL, int None)
{
    self[0] = type.self + (int)type.match + (int)type._padding + Pick.impl + KERNEL + None;
}

kernel void Pick(global const struct type *in, global int *move)
{
    move[0] = in->self;
}
