// Generators, and modular arithmetic of 64 bits.
ulong next(ulong *state)
{
    ulong x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dul;
}
uint modular(uint a, uint b, uint m) { return (uint)((ulong)a * b % m); }
uint power(uint base, uint e, uint m)
{
    uint r = 1;
    for (; e; e >>= 1, base = modular(base, base, m))
        if (e & 1)
            r = modular(r, base, m);
    return r;
}
kernel void random(global float *out, global ulong *states, int n, uint m)
{
    ulong s = states[get_global_id(0)];
    uint inside = 0;
    for (int i = 0; i < n; i++) {
        float x = (next(&s) >> 40) * 0x1p-24f, y = (next(&s) >> 40) * 0x1p-24f;
        inside += x * x + y * y < 1;
    }
    states[get_global_id(0)] = s;
    out[get_global_id(0)] = 4.0f * inside / n + power(3, n, m) + mul_hi(s, s) % 7;
}
