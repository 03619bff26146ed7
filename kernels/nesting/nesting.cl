// Conditions that are deep inside others, and switches that compilers make such conditions of.

#define TEN(M, n) M((n)) M((n) + 1) M((n) + 2) M((n) + 3) M((n) + 4) M((n) + 5) M((n) + 6) M((n) + 7) M((n) + 8) M((n) + 9)
#define FIFTY(M, n) TEN(M, n) TEN(M, (n) + 10) TEN(M, (n) + 20) TEN(M, (n) + 30) TEN(M, (n) + 40)
#define HUNDRED(M, n) FIFTY(M, n) FIFTY(M, (n) + 50)
/// A few more than the 80 that llvmpipe keeps.
#define DEEP(M) FIFTY(M, 0) TEN(M, 50) TEN(M, 60) TEN(M, 70) M(80) M(81) M(82)

/// What the code of number `n` makes of a value. The loop keeps clang from making a table of cases.
#define STEP(n) for (uint j = 0; j <= a + (n) % 3; j++) r = r * 5 + in[(n) % 64] + j;
/// As much without a loop.
#define PLAIN(n) r = r * 5 + in[(n) % 64] + a;

#define CASE(n) case n: STEP(n) break;
kernel void cases_100(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    switch (r + a) {
    HUNDRED(CASE, 0)
    default: r = 12345;
    }
    out[id] = r;
}

kernel void cases_400(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    switch (r + a) {
    HUNDRED(CASE, 0) HUNDRED(CASE, 100) HUNDRED(CASE, 200) HUNDRED(CASE, 300)
    default: r = 12345;
    }
    out[id] = r;
}

/// Each case goes on with the next. Some have two numbers.
#define FALL(n) case n: case 1000 - (n): STEP(n)
kernel void cases_that_go_on(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    switch (id < 120 ? r + a : 1120 - r + a) {
    HUNDRED(FALL, 0)
    default: r ^= 77;
    }
    out[id] = r;
}

/// Numbers of 64 bits, and of 8 bits with a sign.
#define WIDE(n) case (n) * 0x300000005: STEP(n) break;
#define NARROW(n) case (n) - 25: STEP(n) break;
kernel void cases_of_other_widths(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    switch ((long)(id + a) * 0x300000005) {
    FIFTY(WIDE, 0)
    default: r = 12345;
    }
    switch ((char)(id + a - 25)) {
    FIFTY(NARROW, 0)
    default: r += 1;
    }
    out[id] = r;
}

#define OR_ELSE(n) if (in[(n) % 64] * (n) == in[r % 64] * (uint)id) { PLAIN(n) } else
kernel void chain(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    DEEP(OR_ELSE) r = 12345;
    out[id] = r;
}

#define OR_RETURN(n) if (in[(n) % 64] * (n) == in[id % 64] * (uint)id) { PLAIN(n) out[id] = r; return; }
kernel void returns(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id;
    DEEP(OR_RETURN)
    out[id] = 12345;
}

/// Conditions inside conditions, with code behind the inner ones, in a loop with several ends.
#define INTO(n) if (id + round >= (n)) { r = r * 3 + in[(n) % 64]; if (r % 251 == 7) break;
#define OUT_OF(n) PLAIN(n) }
kernel void inside(global uint *out, global const uint *in, uint a)
{
    size_t id = get_global_id(0);
    uint r = (uint)id, rounds = 0;
    for (uint round = 0; round < a + 3; round++) {
        DEEP(INTO)
        DEEP(OUT_OF)
        if (r % 97 == 5)
            continue;
        rounds += r % 7;
    }
    out[id] = r + rounds;
}

/// A barrier inside conditions that all work-items of a group agree on.
#define INTO_TOGETHER(n) if (a >= (n)) { r = r * 3 + in[(n) % 64]; out[id] = r;
#define OUT_AGAIN(n) }
kernel void around_barrier(global uint *out, global const uint *in, uint a)
{
    local uint all[8];
    size_t id = get_global_id(0), me = get_local_id(0);
    uint r = (uint)id;
    DEEP(INTO_TOGETHER)
    all[me] = r;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = all[7 - me];
    DEEP(OUT_AGAIN)
}
