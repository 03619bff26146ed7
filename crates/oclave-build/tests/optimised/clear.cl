// Loops that are recognised as memset and memcpy.
typedef struct { int a[7]; float4 b; char c[3]; } big_t;
kernel void clear(global uchar *out, global uint *words, global const uint *from, ulong n, int value)
{
    for (ulong i = 0; i < n; i++)
        out[i] = 0;
    for (int i = 0; i < value; i++)
        words[i] = 0xffffffff;
    for (int i = 0; i < value; i++)
        words[value + i] = 0x01020304;
}
kernel void copy(global big_t *restrict to, global const big_t *restrict from, global uint *restrict a, global const uint *restrict b, int n)
{
    big_t t = from[get_global_id(0)];
    big_t u = t;
    for (int i = 0; i < 7; i++)
        u.a[i] = 0;
    u.c[1] = t.c[2];
    to[get_global_id(0)] = u;
    for (int i = 0; i < n; i++)
        a[i] = b[i];
}
