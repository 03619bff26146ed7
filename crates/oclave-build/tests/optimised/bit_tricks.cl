// Reversal, population, rotation and leading zeros by hand.
uint reverse_bits(uint v)
{
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1);
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2);
    v = ((v >> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
    v = ((v >> 8) & 0x00ff00ff) | ((v & 0x00ff00ff) << 8);
    return (v >> 16) | (v << 16);
}
uint swap_bytes(uint v) { return (v >> 24) | ((v >> 8) & 0xff00) | ((v << 8) & 0xff0000) | (v << 24); }
uint count_bits(uint v)
{
    v = v - ((v >> 1) & 0x55555555);
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333);
    return (((v + (v >> 4)) & 0xf0f0f0f) * 0x1010101) >> 24;
}
int loop_bits(ulong v)
{
    int n = 0;
    while (v) {
        v &= v - 1;
        n++;
    }
    return n;
}
int log_two(uint v)
{
    int n = 0;
    while (v >>= 1)
        n++;
    return n;
}
uchar reverse_byte(uchar b)
{
    b = (b & 0xf0) >> 4 | (b & 0x0f) << 4;
    b = (b & 0xcc) >> 2 | (b & 0x33) << 2;
    return (b & 0xaa) >> 1 | (b & 0x55) << 1;
}
kernel void bit_tricks(global uint *out, global const uint *in, uint k)
{
    int i = get_global_id(0);
    uint v = in[i];
    out[6 * i] = reverse_bits(v);
    out[6 * i + 1] = swap_bytes(v) + count_bits(v);
    out[6 * i + 2] = (v << k) | (v >> (32 - k));
    out[6 * i + 3] = loop_bits(((ulong)v << 32) | in[i + 1]);
    out[6 * i + 4] = log_two(v) + reverse_byte(v);
    out[6 * i + 5] = popcount(v) + clz(v);
}
