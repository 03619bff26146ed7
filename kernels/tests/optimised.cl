// What clang's optimiser writes and llvm-spirv 15 does not take: freeze, integers of odd widths, saturating sums, reversed
// bits, selects of whole vectors. The results must be those of the source.

/// Quotient and remainder: freeze.
kernel void quotients(global int *out, global const int *in, int n)
{
    int i = get_global_id(0);
    out[2 * i] = in[i] / n;
    out[2 * i + 1] = in[i] % n;
}

/// A switch over a counter: 31 bits. Few bits decide: 3 bits.
kernel void counters(global int *out, int n)
{
    int i = get_global_id(0), t = 0;
    for (int k = 0; k < n + i; k++) {
        switch (k) {
        case 0: t += 3; break;
        case 1: t ^= 5; break;
        case 2: t -= out[i]; break;
        case 7: t *= 3; break;
        default: t += k; break;
        }
    }
    switch (i & 7) {
    case 0: t += out[i]; break;
    case 3: t -= 7; break;
    case 4: t *= out[i]; break;
    case 6: t ^= 99; break;
    }
    out[i] = t;
}

/// A sum over a counter: 33 bits.
kernel void sums(global int *out, int n)
{
    int i = get_global_id(0), t = 0;
    for (int k = 0; k < n * i; k++)
        t += k;
    out[i] = t;
}

/// Sums that end at the largest number, and bits in the opposite order.
kernel void bits(global uint *out, global const uint *in, uint add)
{
    int i = get_global_id(0);
    uint v = in[i], sum = v + add;
    out[2 * i] = sum < v ? 0xffffffffu : sum;
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1);
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2);
    v = ((v >> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
    v = ((v >> 8) & 0x00ff00ff) | ((v & 0x00ff00ff) << 8);
    out[2 * i + 1] = (v >> 16) | (v << 16);
}

/// One condition for three lanes.
kernel void wholes(global float *out, global const float *in)
{
    int i = get_global_id(0);
    float3 a = vload3(2 * i, in), b = vload3(2 * i + 1, in);
    float3 c = a.x > b.y ? a : b;
    vstore3(c, i, out);
}

/// Built-in functions of values that depend on the path, in loops of one work-item. `out` has 8 words.
kernel void joined(global uint *out, global const uint *in, global const float *floats, uint a, uint b, uint n)
{
    uint sums[7] = {0};
    float roots = 0;
    for (uint i = 0; i < n; i++) {
        uint r = i < a ? in[i] : b;
        sums[0] += rotate(r, 9u);
    }
    for (uint i = 0; i < n; i++) {
        uint r = i < a ? in[i] : b;
        sums[1] += min(r, 1000u);
    }
    for (uint i = 0; i < n; i++) {
        uint r = i < a ? in[i] : b;
        sums[2] += popcount(r);
    }
    for (uint i = 0; i < n; i++) {
        uint r = i < a ? in[i] : b;
        sums[3] += convert_uchar_sat(r);
    }
    for (uint i = 0; i < n; i++) {
        float r = i < a ? floats[i] : 9.0f;
        roots += sqrt(r);
    }
    uint least = 5000;
    for (uint i = 0; i < n; i++) {
        uint m = b == n ? 7 : least;
        uint r = i < a ? in[i] : b;
        least = min(m, r);
    }
    for (int k = 0; k < 4; k++)
        out[k] = sums[k];
    out[4] = (uint)roots;
    out[5] = least;
}

/// The same kind of loop, in some work-items only: the first of each group, those below a bound, the
/// first in two dimensions, and one whose number the compiler knows.
kernel void joined_in_some(global uint *out, global const uint *in, uint a, uint b, uint n)
{
    if (get_local_id(0) == 0) {
        uint sum = 0;
        for (uint i = 0; i < n; i++) {
            uint r = i < a ? in[i] : b;
            sum += rotate(r, 9u);
        }
        out[get_group_id(0)] = sum;
    }
}

kernel void joined_below(global uint *out, global const uint *in, uint a, uint b, uint n)
{
    if (get_global_id(0) < b) {
        uint sum = 0;
        for (uint i = 0; i < n; i++) {
            uint r = i < a ? in[i] : b;
            sum += rotate(r, 9u);
        }
        *out = sum;
    }
}

kernel void joined_in_corner(global uint *out, global const uint *in, uint a, uint b, uint n)
{
    if (get_global_id(0) != 0 || get_global_id(1) != 0)
        return;
    uint sum = 0;
    for (uint i = 0; i < n; i++) {
        uint r = i < a ? in[i] : b;
        sum += rotate(r, 9u);
    }
    *out = sum;
}

kernel void joined_in_second(global uint *out, global const uint *in, uint a, uint b, uint n)
{
    uint id = get_local_id(0);
    if (id == 1) {
        uint sum = 0;
        for (uint i = 0; i < n; i++) {
            uint r = i < a ? in[i + id] : b;
            sum += rotate(r, 9u);
        }
        out[id] = sum;
    }
}

// A loop inside a loop, by whose counter it decides: right for every size of work-groups.
kernel void rounds(global uint *out, int a, int b)
{
    uint id = get_local_id(0), v = 9;
    for (int i = 0; i < b; i++) {
        v = id + i;
        for (int j = 0; j < a; j++)
            if (i & 1)
                v = 9 + j;
    }
    out[get_global_id(0)] = v;
}

/// Work-items go different ways with a loop each. On each way the values are the same for all of them.
kernel void ways(global uint *out, global uint *sums, uint b)
{
    uint id = get_global_id(0), i = 0, v;
    float f;
    uint4 w;
    global uint *p;
    if (id & 1) {
        v = 1;
        f = 2.5f;
        w = (uint4)(3, 4, 5, 6);
        p = out;
        do
            sums[id] = sums[id] * 3 + i;
        while (++i < b);
    } else {
        v = 10;
        f = 20.5f;
        w = (uint4)(30, 40, 50, 60);
        p = out + 1;
        do
            sums[id] = sums[id] * 5 + i;
        while (++i < b);
    }
    out += 8 * id;
    out[v & 1 ? 6 : 7] = 77;
    out[2] = v;
    out[3] = (uint)(2 * f);
    out[4] = w.x + w.y;
    out[5] = w.z + w.w;
    p[8 * id] = 99;
}

/// As above. The compiler makes such loops of conditions that a loop does not change.
kernel void carried(global uint *out, global uint *sums, uint a, uint b)
{
    uint id = get_global_id(0), v = 0, w = 4, c = 0;
    for (uint i = 0; i < b; i++) {
        if (id % 32 == 0)
            v = 1;
        w = id % 32 > a ? b : w;
        if (id % 3 == 1)
            c += 2;
        sums[id] = sums[id] * 3 + i;
    }
    out[3 * id] = v;
    out[3 * id + 1] = w;
    out[3 * id + 2] = c;
}

/// As above, with a loop on one way of several.
kernel void one_way(global uint *out, global uint *sums, uint b)
{
    uint id = get_global_id(0), v = 0;
    if (id & 1) {
        if (id & 2) {
            uint i = 0;
            v = 1;
            do
                sums[id] = sums[id] * 3 + i;
            while (++i < b);
        } else
            v = 2;
    }
    out[id] = v;
}

/// What was read before a barrier is used behind it, and the memory holds something else then.
kernel void kept(global uint *out, global uint *words, uint a)
{
    local uint shared[64];
    uint item = get_local_id(0), items = get_local_size(0), id = get_global_id(0);
    uint own[4] = {1, 2, 3, a};
    shared[item] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint v = shared[item], w = words[id], next = shared[(item + 1) % items] * 2 + w, p = own[item & 3];
    own[item & 3] = 9;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    shared[item] = 100;
    words[id] = 200;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[4 * id] = v;
    out[4 * id + 1] = w;
    out[4 * id + 2] = next;
    out[4 * id + 3] = p + 10 * own[1];
}

/// Adds up what the work-items before a work-item in the circle have, in steps of 1, 2, 4, …
kernel void circle(global uint *out, uint steps)
{
    local uint shared[64];
    uint item = get_local_id(0), items = get_local_size(0);
    shared[item] = item + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 1; step < steps; step *= 2) {
        uint other = shared[(item + items - step % items) % items];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[item] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = shared[item];
}

/// As `kept`, with a vector that a built-in function loads.
kernel void kept_vectors(global uint *out, global uint *words)
{
    uint id = get_global_id(0);
    uint4 v = vload4(id, words);
    barrier(CLK_GLOBAL_MEM_FENCE);
    vstore4((uint4)(7), id, words);
    barrier(CLK_GLOBAL_MEM_FENCE);
    vstore4(v, id, out);
}

/// The largest of an id and a number, in dimensions that the kernel uses for nothing else.
kernel void maxima(global uint *out, int least)
{
    size_t id = get_global_id(0);
    out[2 * id] = max((uint)get_local_id(1), 1u);
    out[2 * id + 1] = max((int)get_local_id(2), least);
}

/// Code before a loop that all work-items of a group run as often, and a barrier behind it.
kernel void before_a_loop(global uint *out, global const uint *words, uint rounds)
{
    local uint shared[64];
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    uint id = get_group_id(0) * items + item;
    uint v = item;
    out[2 * id] = out[2 * id] * 3 + 1;
    for (uint i = 0; i < rounds % 3; i++) {
        shared[item] = words[i] ^ v;
        v = v * 5 + i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[2 * id + 1] = v + shared[(item + 1) % items];
}

/// Complements and negations beside minima and maxima, behind a barrier.
kernel void complements(global uint *out, global const uint *in, uint b)
{
    uint id = get_global_id(0), x = in[id], y = in[id + 1];
    uint least = ~min(x, b), most = max(x, ~b), narrow = min(~x >> 3, y);
    float negative = fmax(-(float)(x >> 8), -(float)(y >> 8));
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[4 * id] = least;
    out[4 * id + 1] = most;
    out[4 * id + 2] = narrow;
    out[4 * id + 3] = as_uint(negative);
}

/// A condition in a loop, of which a part stays the same.
kernel void in_part(global uint *out, global const uint *steps, uint end)
{
    uint id = get_global_id(0), item = get_local_id(0), v = 0, i = 0;
    while (i < end) {
        i += steps[i] % 6 + 1;
        if (i != 0)
            if (item > 3)
                v = 31;
    }
    out[id] = v * 1000 + i;
}

/// Two ways in a loop, behind a condition that is the same for all work-items.
kernel void ways_in_a_loop(global uint *out, uint a, uint step)
{
    uint id = get_global_id(0), v = 0, w = 0;
    for (uint i = 0; i < 16;) {
        i += step % 6 + 1;
        if (a != 0) {
            if (id % 3 == 0)
                v = v * 31 + 3;
            else
                w = w * 31 + a;
        }
    }
    out[2 * id] = v;
    out[2 * id + 1] = w;
}

/// Products of vectors with lanes that are zero.
kernel void zero_lanes(global uint *out, uint a, uint b)
{
    uint item = get_local_id(0), id = get_global_id(0), zero = get_local_id(1);
    uint4 v = (uint4)(item, zero, 0, 3) * (uint4)(zero, id, 0, 670219777) ^ (uint4)(0, id, 16, 0);
    uint4 x = select((uint4)(0, a, 0, a), v, v < (uint4)(id, b, 3, 1676520105));
    out[id] = select(x, (uint4)(3), (uint4)(0, item, 0, 0) < v).s1;
}

/// Two loops, one in the other, behind code that must run once.
kernel void loops_in_loops(global uint *out, uint outer, uint inner)
{
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = 1;
    out[2 * id] = out[2 * id] * 3 + 1;
    for (uint i = 0; i < outer; i++)
        for (uint j = 0; j < inner; j++)
            v = v * 5 + (id ^ j) + i;
    out[2 * id + 1] = v;
}

/// A loop in one branch of a condition, code in the other, and code that must run once around both.
kernel void loop_in_a_branch(global uint *out, uint limit, uint rounds)
{
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = 1;
    out[2 * id] = out[2 * id] * 3 + 1;
    if (rounds > limit)
        v = id;
    else
        for (uint i = 0; i < rounds; i++)
            v = v * 5 + (id ^ i);
    out[2 * id] = out[2 * id] * 5 + 2;
    out[2 * id + 1] = v;
}

/// A loop with barriers behind a condition, and code behind both that must run once.
kernel void behind_a_loop(global uint *out, global const uint *words, uint rounds, uint limit)
{
    local uint shared[64];
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    uint id = get_group_id(0) * items + item, v = 1;
    shared[item] = item;
    if (rounds > limit)
        for (uint i = 0; i < words[rounds % 2] % 5; i++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            v = v * 31 + shared[items - 1 - item];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    out[2 * id] = out[2 * id] * 3 + 7;
    shared[item] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[2 * id + 1] = v + shared[items - 1 - item];
}

/// What was read before a loop, and written, is needed behind it.
kernel void read_before_a_loop(global uint *out, global const uint *words, uint rounds)
{
    uint id = get_global_id(0), v = 0;
    out[id] = out[id] * 3 + 1;
    for (uint i = 0; i < rounds; i++)
        v = v * 31 + (uint)get_local_id(0);
    out[id] = out[id] * 3 + (v == rounds ? 7 : words[1]);
}

/// A selection by a condition that a loop before it has, too.
kernel void selected_behind(global uint *out, global const uint *in, global uint *sums, uint below, uint rounds)
{
    ulong item = get_local_id(0), divisor = get_local_id(1) | 1;
    uint id = get_global_id(0), bits = 0;
    bool is_below = item < below;
    for (uint i = 0; i < 2; i++) {
        uint sum = sums[id], j = 0;
        do {
            sum = is_below ? sum * 3 + (uint)item / divisor : sum * 3;
            sums[id] = sum;
        } while (++j < rounds);
        bits += popcount(in[i]);
    }
    out[id] = (is_below ? 5 : 11) + bits;
}

/// A selection between a constant and a value that is the same for all work-items.
kernel void kept_behind(global uint *out, uint a, uint b)
{
    uint item = get_local_id(0), kept = 0, step = 0;
    bool is_zero = false;
    do {
        step += 3;
        do {
            for (uint i = 0; i < b; i++)
                kept += step % 8 + 1;
            is_zero = item > 0;
        } while (kept < a);
    } while (step < 17);
    for (uint i = 0; i < 18; i += clz(step) % 3 + 1)
        if (is_zero)
            kept = 0;
    out[get_global_id(0)] = kept;
}

/// A value of the first work-item, beside one that differs, but never comes.
kernel void first_in_rounds(global uint *out, global const uint *in, uint a, uint b)
{
    local uint room[64];
    uint item = get_local_id(0), v = a, zeroes[4] = {0, 0, 0, 0};
    room[item] = in[item];
    for (int i = (int)b - 1; i >= 0; i--)
        if (item < 1) {
            v = v * 31 + b;
            for (uint j = 0; j < zeroes[i % 4u] % 3u; j++)
                if (v % 5u < 2u)
                    v = v * 31 + (char)room[item];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = v;
}

/// Loops that the first two work-items leave in other rounds. Their condition stays the same.
kernel void rounds_of_the_first(global uint *out, uint b)
{
    uint item = get_local_id(0), v = b, kept = 23, sum = 5;
    while (sum < 17) {
        sum += v % 5 + 1;
        if (item < 2) {
            v *= 31;
            kept = 0;
        }
    }
    sum = kept % 9;
    while (sum < 17) {
        sum += v % 5 + 1;
        if (item < 2) {
            v = v * 31 + 2;
            kept = 0;
        }
    }
    out += 3 * get_global_id(0);
    out[0] = v;
    out[1] = kept;
    out[2] = sum;
}

/// Loads that no work-item asks for, as `far` is beyond all memory.
kernel void guarded_loads(global uint *out, global const uint *in, ulong far, uint a)
{
    global const uint *from = in + far;
    uint id = get_global_id(0), v = 5, i = a, rounds = 0;
    if (a == 77)
        v = *from;
    for (;;) {
        out[2 * id] = ++rounds;
        if (i >= 16)
            break;
        i = in[i] | 0x40000000;
    }
    out[2 * id + 1] = v + (uint)((ulong)from >> 63);
}

/// Two loops, one behind the other, in a loop that work-items leave in different rounds.
kernel void two_inner_loops(global uint *out, uint rounds)
{
    local uint l[64];
    uint item = get_local_id(0), v = item, w = item * 7, p = 0, i = 0;
    l[item] = item * 3 + 1;
    do {
        for (uint j = 0; j < rounds; j++) {
            w = w * 3 + j;
            p += l[item] + j;
        }
        for (uint j = 0; j < rounds; j++)
            v = v * 5 + j;
        w ^= v + i;
    } while (++i < 1 + item % 7);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = v + w * 31 + p;
}

/// A loop in one way of a switch. The other ways write, too.
kernel void loop_in_a_switch(global uint *out, uint which, uint rounds)
{
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = id;
    switch (which) {
    case 0: out[2 * id] = v * 3 + 1; break;
    case 1:
        v = v * 3;
        for (uint i = 0; i < 70; i++)
            v = v * 5 + (id ^ rounds) * i;
        break;
    case 2: v += 2; break;
    default: v = 8; break;
    }
    out[2 * id + 1] = v;
}

/// Two loops, one in the other, in one way of a switch.
kernel void loops_in_a_switch(global uint *out, uint which, uint rounds)
{
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = id;
    switch (which) {
    case 0: out[2 * id] = v * 3 + 1; break;
    case 1:
        for (uint i = 0; i < rounds; i++)
            for (uint j = 0; j < i; j++)
                v = v * 5 + (id ^ i) + j;
        break;
    case 2: out[2 * id] = v ^ 7; v = id + 9; break;
    default: break;
    }
    out[2 * id + 1] = v;
}

/// A condition behind a loop, which the way past the loop leads past as well.
kernel void ways_behind_a_loop(global uint *out, uint rounds, uint limit)
{
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = 0, w = 0;
    if (rounds > limit)
        for (uint i = 0; i < rounds; i++)
            v = v * 5 + (id ^ i);
    if (v & 1)
        w = rotate(id + 1, rounds) / (id + 3);
    if (id & 2)
        out[2 * id] = 5 / (id + 1);
    out[2 * id + 1] = v * 31 + w;
}

/// Two choices, one in the other, behind a loop with barriers. Their ways and the way past the loop meet
/// at the end.
kernel void choices_behind_barriers(global uint *out, uint rounds)
{
    local uint l[64];
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    uint items = get_local_size(0) * get_local_size(1);
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = 0;
    if (rounds > 0) {
        do {
            l[item] = v * 3 + 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            v += l[items - 1 - item] % 5 + 1;
            barrier(CLK_LOCAL_MEM_FENCE);
        } while (v < rounds);
        if (id % 5 != 0) {
            if (id % 3 == 1)
                out[2 * id] = rotate(id, rounds);
            else if (id % 3 == 2)
                out[2 * id] = 9 / id;
        }
    }
    out[2 * id + 1] = v;
}

/// As `ways_behind_a_loop`, with barriers in the loop.
kernel void ways_behind_barriers(global uint *out, uint rounds)
{
    local uint l[64];
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    uint items = get_local_size(0) * get_local_size(1);
    uint id = get_global_id(1) * get_global_size(0) + get_global_id(0), v = 0, w = 0;
    for (uint i = 0; i < rounds; i++) {
        l[item] = v ^ i;
        barrier(CLK_LOCAL_MEM_FENCE);
        v = v * 5 + l[(item + 1) % items] + id;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (v & 1)
        w = rotate(id + 1, rounds) / (id + 3);
    if (id & 2)
        out[2 * id] = 5 / (id + 1);
    out[2 * id + 1] = v * 31 + w;
}

typedef struct __attribute__((packed)) {
    char a;
    int b;
    short c;
    long d;
} packed_fields;

/// Fields of packed structs in local memory: accessed, copied and cast.
kernel void packed_in_local(global uint *out)
{
    local packed_fields room[64], copies[64];
    uint item = get_local_id(0), other = get_local_size(0) - 1 - item;
    room[item].a = item;
    room[item].b = item * 0x01020304;
    room[item].c = item * 257;
    room[item].d = item * 0x0102030405060708L;
    barrier(CLK_LOCAL_MEM_FENCE);
    copies[item] = room[other];
    barrier(CLK_LOCAL_MEM_FENCE);
    local uchar *b = (local uchar *)&copies[item].b, *d = (local uchar *)&copies[item].d;
    out += 6 * get_global_id(0);
    out[0] = room[other].a + room[other].b;
    out[1] = room[other].c;
    out[2] = room[other].d >> 20;
    out[3] = copies[item].a + copies[item].d;
    out[4] = b[0] + (b[1] << 8) + (d[0] << 16) + (d[1] << 24);
    out[5] = copies[item].b ^ copies[item].c;
}

constant uint first_digits[4] = {3, 1, 4, 1}, last_digits[4] = {5, 9, 2, 6};
constant struct {
    uint a;
    constant uint *digits;
    ulong b;
} with_addresses[3] = {{1, first_digits, 10}, {2, last_digits + 1, 20}, {3, &first_digits[2], 30}};

/// A constant with addresses of others.
kernel void addresses_in_constants(global uint *out, uint from)
{
    uint id = get_global_id(0), entry = (from + id) % 3;
    out[id] = with_addresses[entry].digits[id & 1] * 100 + with_addresses[entry].a + with_addresses[entry].b;
}

/// Rounds of a loop that leave its value as it is, if the number is not above 0.
kernel void idle_rounds(global uint *out, global const uint *in, int a, int b)
{
    local uint l[64];
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0), id = get_group_id(0) * items + item;
    uint v = item % 9;
    l[item] = in[id];
    while (true) {
        if (b <= 0) continue;
        int i = 0;
        do v += in[max(a, i)] % 5 + 1;
        while (++i < b);
        if (v >= 27) break;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = v + l[items - 1 - item];
}

/// A loop around another one that has no rounds, in a loop that work-items leave one by one.
kernel void emptied_loop(global uint *out, global const uint *in, uint a, uint b)
{
    local uint l[64];
    uint none[4] = {0, 0, 0, 0};
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0), id = get_group_id(0) * items + item;
    uint v = in[2] % 9, w = item, x = item;
    l[item] = in[id];
    do {
        for (int i = 0; i < 40; i++) {
            v += w % 3 + 1;
            w = (w * 31 + l[item]) % 9;
            while (w < none[abs_diff(v, b) % 4] % 31) w += a % 6 + 1;
        }
        for (uint i = 0; i < b; i++) w = w * 31 + in[max(i, b)];
        x = popcount(x * 31 + w);
    } while (v < 170);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = x * 1000 + v + w + l[items - 1 - item] + none[1];
}

/// A loop under a condition. Behind it, work-items take ways that meet where the condition's do.
kernel void ways_to_a_join(global uint *out, global const uint *in, uint b)
{
    local uint l[64];
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0), id = get_group_id(0) * items + item;
    uint v = 100, w = ~item, x = 2;
    l[item] = in[id];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(0) < b) {
        while (x < b) {
            x += 4;
            w = w * 31 + max(5u, w);
        }
        if (id <= 1 || w > ~item) {
            v = x ^ item;
            if (item < 16) v = v * 31 + l[(item + 28) % items];
            else w = w * 31 + x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = v * 31 + w * 7 + x + l[items - 1 - item];
}

/// The value of a loop chooses the way behind it. Where the loop has no rounds, another value does.
kernel void way_of_a_phi(global uint *out, global const uint *in, uint b)
{
    local uint l[256];
    uint items = get_local_size(0) * get_local_size(1);
    uint item = get_local_id(1) * get_local_size(0) + get_local_id(0);
    uint count = get_global_size(0) * get_global_size(1), id = get_group_id(0) * items + item;
    uint v = 0;
    bool is_odd = false;
    for (uint i = 0; i < 4; i++) l[item * 4 + i] = 7 + i;
    for (uint i = b; i > 0; i--) {
        for (uint j = 0; j < get_group_id(0) % 7; j++) {
            is_odd = (item & 1) != 0;
            v = v * 31 + in[in[id + j] % count];
            out[count + id] = out[count + id] * 3 + i;
        }
        l[item * 4 + item % 4] = is_odd ? i : l[item * 4 + id % 4];
        for (uint j = 5; j > 0; j--) {
            v = (i + id) % 9;
            l[item * 4 + l[item * 4 + b % 4] % 4] = j;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = v * 2 + is_odd + l[item] * 31;
}

/// A loop that is endless if the number is not above 0, and does nothing then.
kernel void idle_or_endless(global uint *out, global const uint *in, uint a, int b)
{
    local uint l[64];
    uint item = get_local_id(0), group = get_group_id(0), id = get_global_id(0), v = in[1];
    l[item] = in[id];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(get_local_size(0) & 1)) {
        v %= 9;
        do
            for (int i = 0; i < b; i++) v++;
        while (v < 17);
        for (int i = b - 1; i >= 0; i--) {
            v = id % 9;
            while (v < 6) v += get_local_size(0) % 9 + 1;
        }
        if (item < 5)
            for (v = group % 9; v < a;) v += (uint)(a * b) % (group * 3 | 1) % 7 + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = v + l[get_local_size(0) - 1 - item];
}

/// One way leads into an endless loop. No work-item takes it.
kernel void endless_way(global uint *out, global const uint *in, uint a, int b)
{
    local uint l[64];
    uint item = get_local_id(0), id = get_global_id(0);
    l[item] = in[id];
    for (int i = 0; i < b; i++) {
        if (in[id] == a)
            while (true) l[item]++;
        else
            barrier(CLK_LOCAL_MEM_FENCE);
        l[item] += i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = l[get_local_size(0) - 1 - item];
}

/// Elements that go round, each beside a base.
kernel void masked_counters(global uint *out, global const uint *in, uint a, uint b)
{
    uint id = get_global_id(0), s = 0;
    for (uint i = 0; i < b; i++) s = s * 31 + in[4 * a + (i & 3)];
    out[5 * id + 4] = s + in[8 * a + (id & 7)];
    if (in[id] != 77)
        for (uint i = 0; i < b; i++) out[5 * id + (i & 3)] = a + i;
}

/// A loop that does nothing if the number is not above 0. It stands between a store and a barrier.
kernel void idle_before_barrier(global uint *out, global const uint *in, int a, int b)
{
    local uint l[64];
    uint item = get_local_id(0), id = get_global_id(0), items = get_local_size(0), v = 1, w = 0;
    l[item] = in[id];
    do
        for (int i = 0; i < b; i++) v += v % 4 + 1;
    while (v < 7);
    for (int i = 0; i < b; i++) w = w * 31 + v + i;
    if ((int)(items & (uint)a) < 0) {
        out[id] = l[item];
        return;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = v + w + l[items - 1 - item];
}
