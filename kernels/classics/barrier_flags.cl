// Loops that a flag in local memory ends.

// All divide their value by two until none is left; the flag says whether another round follows.
kernel void until_all_zero(global const uint *in, global uint *out) {
    local int done;
    uint value = in[get_global_id(0)], rounds = 0, mine = 0;
    if (get_local_id(0) == 0) done = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    while (!done) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0) done = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (value > 0) {
            value /= 2;
            mine++;
            if (value > 0) done = 0;
        }
        rounds++;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = rounds * 1000 + mine;
}

// Odd-even exchange until nothing changed, with a do loop.
kernel void sort_until_unchanged(global const uint *in, global uint *out, local uint *tmp) {
    local int changed;
    const uint lid = get_local_id(0), size = get_local_size(0);
    tmp[lid] = in[get_global_id(0)];
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) changed = 0;
        for (uint parity = 0; parity < 2; parity++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid % 2 == parity && lid + 1 < size && tmp[lid] > tmp[lid + 1]) {
                const uint low = tmp[lid + 1];
                tmp[lid + 1] = tmp[lid];
                tmp[lid] = low;
                changed = 1;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (changed);
    out[get_global_id(0)] = tmp[lid];
}

// Labels of runs of equal elements: the smallest index spreads until a volatile flag stays clear.
kernel void label_runs(global const uchar *in, global uint *labels, local uint *tmp) {
    local volatile int again[1];
    const uint lid = get_local_id(0), size = get_local_size(0), gid = get_global_id(0);
    tmp[lid] = lid;
    for (;;) {
        if (lid == 0) again[0] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint best = tmp[lid];
        if (lid > 0 && in[gid - 1] == in[gid]) best = min(best, tmp[lid - 1]);
        if (lid + 1 < size && in[gid + 1] == in[gid]) best = min(best, tmp[lid + 1]);
        if (best != tmp[lid]) again[0] = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[lid] = best;
        const int go_on = again[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!go_on) break;
    }
    labels[gid] = tmp[lid];
}

// A queue in local memory: work-items take numbers, and add the parts of those that they split.
kernel void work_queue(global const uint *in, global uint *out, const uint capacity, local uint *queue) {
    local uint head, tail, sum;
    const uint lid = get_local_id(0), size = get_local_size(0);
    if (lid == 0) {
        head = 0;
        tail = size;
        sum = 0;
    }
    queue[lid] = in[get_global_id(0)] % 8 + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    while (head < tail) {
        const uint first = head, last = tail;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (first + lid < last) {
            const uint number = queue[first + lid];
            if (number > 1) {
                const uint at = atomic_add(&tail, 2u);
                if (at + 1 < capacity) {
                    queue[at] = number / 2;
                    queue[at + 1] = number - number / 2;
                }
            } else {
                atomic_inc(&sum);
            }
        }
        if (lid == 0) head = min(first + size, last);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = sum;
}

// The first work-item that finds the key raises the flag; all leave together after their chunk.
kernel void find_and_leave(global const uint *in, const uint n, const uint key, global uint *out) {
    local int found;
    local uint at;
    const uint lid = get_local_id(0), size = get_local_size(0);
    global const uint *mine = in + get_group_id(0) * n;
    if (lid == 0) {
        found = 0;
        at = UINT_MAX;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint chunks = 0;
    for (uint i = 0; i < n; i += size) {
        if (i + lid < n && mine[i + lid] == key) {
            atomic_or(&found, 1);
            atomic_min(&at, i + lid);
        }
        chunks++;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found) break;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) {
        out[2 * get_group_id(0)] = at;
        out[2 * get_group_id(0) + 1] = chunks;
    }
}
