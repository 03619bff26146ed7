// A switch on a lane that has few bits: of four lanes of 32 bits, clang makes 64 of two bits.
kernel void narrow(global uint *out, int a, int b)
{
    uint id = get_global_id(0), seen = 0;
    uint4 v = (uint4)(b, 0, 0, a) >> (uint4)(31, 0, 0, 0);
    for (int i = 0; i < 1; i++) {
        switch (v.s0) {
        case 0:
        case 1:
        case 2:
            break;
        default:
            seen = 1;
        }
    }
    out[id] = v.s0 + seen;
}
