// Searches for a pattern in a text. Flags say where it starts.

// Each work-item tries one place.
kernel void naive(global const uchar *text, const uint n, constant uchar *pattern, const uint m, global uchar *flags) {
    const uint i = get_global_id(0);
    if (i >= n) return;
    uint k = 0;
    while (k < m && i + k < n && text[i + k] == pattern[k]) k++;
    flags[i] = k == m;
}

// The group loads its part of the text to local memory, and counts what it found.
kernel void tiled(global const uchar *text, const uint n, constant uchar *pattern, const uint m, global uint *counts, local uchar *tile) {
    local uint count;
    const uint lid = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size;
    if (lid == 0) count = 0;
    for (uint i = lid; i < size + m - 1; i += size) tile[i] = base + i < n ? text[base + i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    bool same = true;
    for (uint k = 0; k < m; k++) {
        if (tile[lid + k] != pattern[k]) {
            same = false;
            break;
        }
    }
    if (same) atomic_inc(&count);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) counts[get_group_id(0)] = count;
}

// Knuth, Morris and Pratt: one work-item computes the table; each searches a chunk that overlaps the next.
kernel void kmp(global const uchar *text, const uint n, global const uchar *pattern, const uint m, const uint chunk, global uchar *flags, local int *table) {
    if (get_local_id(0) == 0) {
        table[0] = -1;
        int k = -1;
        for (uint i = 1; i <= m; i++) {
            while (k >= 0 && pattern[k] != pattern[i - 1]) k = table[k];
            table[i] = ++k;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint start = get_global_id(0) * chunk;
    const uint end = min(start + chunk + m - 1, n);
    int k = 0;
    for (uint i = start; i < end; i++) {
        while (k >= 0 && pattern[k] != text[i]) k = table[k];
        k++;
        if (k == (int)m) {
            flags[i + 1 - m] = 1;
            k = table[k];
        }
    }
}

// Horspool: the group fills the table of shifts in local memory.
kernel void horspool(global const uchar *text, const uint n, global const uchar *pattern, const uint m, const uint chunk, global uchar *flags) {
    local uint shifts[256];
    for (uint c = get_local_id(0); c < 256; c += get_local_size(0)) shifts[c] = m;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = get_local_id(0); k + 1 < m; k += get_local_size(0)) atomic_min(&shifts[pattern[k]], m - 1 - k);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = get_global_id(0) * chunk;
    const uint end = min(at + chunk + m - 1, n);
    while (at + m <= end) {
        const uchar last = text[at + m - 1];
        if (last == pattern[m - 1]) {
            int k = (int)m - 2;
            while (k >= 0 && text[at + k] == pattern[k]) k--;
            if (k < 0) flags[at] = 1;
        }
        at += shifts[last];
    }
}

// Several short patterns at once, by a vector of bits (shift-and).
kernel void shift_and(global const uchar *text, const uint n, constant uint *masks, const uint ends, const uint starts, const uint chunk, const uint longest, global uint *hits) {
    const uint start = get_global_id(0) * chunk;
    const uint end = min(start + chunk, n);
    uint state = 0;
    for (uint i = start >= longest ? start - longest : 0; i < end; i++) {
        state = ((state << 1) | starts) & masks[text[i]];
        if (i >= start) hits[i] = state & ends;
    }
}
