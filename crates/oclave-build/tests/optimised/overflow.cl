// Checks for overflow, as allocators and hash tables have.
kernel void overflow(global uint *out, uint a, uint b)
{
    ulong product = (ulong)a * b;
    out[0] = product > 0xffffffff ? 0 : (uint)product;
    uint sum = a + b;
    out[1] = sum < a;
    out[2] = sum;
    long s = (long)(int)a * (int)b;
    out[3] = s != (int)s;
}
kernel void carry(global ulong *out, global const ulong *a, global const ulong *b, int words)
{
    ulong carried = 0;
    for (int i = 0; i < words; i++) {
        ulong s = a[i] + carried;
        carried = s < carried;
        s += b[i];
        carried += s < b[i];
        out[i] = s;
    }
}
kernel void borrow(global uint *out, uint a, uint b, uint c)
{
    uint d = a - b;
    uint under = a < b;
    out[0] = d - c;
    out[1] = under + (d < c);
}
