// A hash table in global memory with open addressing.

#define EMPTY 0xFFFFFFFFu

uint place(uint key, const uint mask) {
    key ^= key >> 16;
    key *= 0x7feb352d;
    key ^= key >> 15;
    return key & mask;
}

// Claims a slot by compare and exchange, and counts the key there.
kernel void insert(global const uint *keys, const uint n, volatile global uint *slots, volatile global uint *counts, const uint mask) {
    const uint i = get_global_id(0);
    if (i >= n) return;
    const uint key = keys[i];
    uint at = place(key, mask);
    for (;;) {
        const uint found = atomic_cmpxchg(&slots[at], EMPTY, key);
        if (found == EMPTY || found == key) {
            atomic_inc(&counts[at]);
            return;
        }
        at = (at + 1) & mask;
    }
}

kernel void lookup(global const uint *keys, global const uint *slots, global const uint *counts, const uint mask, global uint *out) {
    const uint key = keys[get_global_id(0)];
    uint at = place(key, mask), result = 0;
    while (slots[at] != EMPTY) {
        if (slots[at] == key) {
            result = counts[at];
            break;
        }
        at = (at + 1) & mask;
    }
    out[get_global_id(0)] = result;
}

// A table for each group in local memory counts different keys.
kernel void count_different(global const uint *keys, global uint *out, local uint *slots, const uint mask) {
    local uint different;
    const uint lid = get_local_id(0);
    for (uint i = lid; i <= mask; i += get_local_size(0)) slots[i] = EMPTY;
    if (lid == 0) different = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint key = keys[get_global_id(0)];
    uint at = place(key, mask), found;
    while ((found = atomic_cmpxchg(&slots[at], EMPTY, key)) != EMPTY && found != key) at = (at + 1) & mask;
    if (found == EMPTY) atomic_inc(&different);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) out[get_group_id(0)] = different;
}

// Lists: each node is pushed to the head of its bucket with an exchange.
kernel void push(global const uint *keys, volatile global int *heads, global int *next, const uint mask) {
    const int i = get_global_id(0);
    next[i] = atomic_xchg(&heads[place(keys[i], mask)], i);
}

kernel void walk(global const uint *keys, global const int *heads, global const int *next, const uint mask, global uint *same) {
    const int i = get_global_id(0);
    uint n = 0;
    for (int at = heads[place(keys[i], mask)]; at >= 0; at = next[at]) n += keys[at] == keys[i];
    same[i] = n;
}

// A maximum of floats by compare and exchange of their bits.
kernel void maximum_of_floats(global const float *in, volatile global uint *best) {
    const float mine = in[get_global_id(0)];
    uint old = *best;
    while (as_float(old) < mine) {
        const uint seen = atomic_cmpxchg(best, old, as_uint(mine));
        if (seen == old) break;
        old = seen;
    }
}
