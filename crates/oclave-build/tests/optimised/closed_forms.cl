// Sums that become products of integers of twice the width.
kernel void sum_int(global int *out, int n)
{
    int t = 0;
    for (int i = 0; i < n; i++)
        t += i;
    out[0] = t;
}
kernel void sum_unsigned(global uint *out, uint n)
{
    uint t = 0;
    for (uint i = 1; i <= n; i++)
        t += i * i;
    out[0] = t;
}
kernel void sum_short(global short *out, short n)
{
    short t = 0;
    for (short i = 0; i < n; i++)
        t += i;
    out[0] = t;
}
