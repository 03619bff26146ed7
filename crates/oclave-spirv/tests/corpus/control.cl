// Loops, switches of 32 and 64 bits, phi, nested conditions, calls.
__attribute__((noinline)) static int collatz(ulong n) {
    int steps = 0;
    while (n != 1 && steps < 1000) {
        n = (n & 1) ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

__attribute__((noinline)) static long pick(long k, int j) {
    switch (k) {
    case 0x100000000L: return 1;
    case 5: return 2 + j;
    case -7: return 3;
    case 0x7fffffffffffffffL: j++; break;
    default: return k;
    }
    return j;
}

__attribute__((noinline)) static int small(int k) {
    switch (k) {
    case 1: return 10;
    case 2: return 20;
    case 30: return 30;
    case 400: return 7;
    default: return -1;
    }
}

kernel void control(global const long *in, global long *out, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    long sum = 0;
    for (int j = 0; j < i; ++j) {
        if (j % 3 == 0) continue;
        if (sum > 1000000) break;
        sum += pick(in[j], j) + small((int)in[j]);
    }
    out[i] = sum + collatz((ulong)i + 1);
}
