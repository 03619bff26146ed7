// Groups that take one item after the other. For each, the group runs a loop with barriers, which a value in local memory ends.

// Places of keys in sorted numbers. The work-items split the range in each iteration.
kernel void searches(global const int *sorted, const uint n, global const int *keys, const uint count, global uint *out) {
    local uint low, high, below;
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint k = get_group_id(0); k < count; k += get_num_groups(0)) {
        if (lid == 0) {
            low = 0;
            high = n;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        while (low < high) {
            const uint from = low, length = high - low;
            if (lid == 0) below = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (sorted[from + (lid + 1) * length / (size + 1)] < keys[k]) atomic_inc(&below);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid == 0) {
                const uint parts = below;
                if (parts < size) high = from + (parts + 1) * length / (size + 1);
                if (parts > 0) low = from + parts * length / (size + 1) + 1;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0) out[k] = low;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// How often neighbours of each row must exchange their numbers until the row is sorted.
kernel void exchanges(global uint *rows, const uint count, global uint *out, local uint *row) {
    local uint changes, sum;
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint r = get_group_id(0); r < count; r += get_num_groups(0)) {
        row[lid] = rows[r * size + lid];
        if (lid == 0) sum = 0;
        do {
            if (lid == 0) changes = 0;
            for (uint parity = 0; parity < 2; parity++) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (lid % 2 == parity && lid + 1 < size && row[lid] > row[lid + 1]) {
                    const uint larger = row[lid];
                    row[lid] = row[lid + 1];
                    row[lid + 1] = larger;
                    atomic_inc(&changes);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint seen = changes;
            if (lid == 0) sum += seen;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (seen == 0) break;
        } while (true);
        rows[r * size + lid] = row[lid];
        if (lid == 0) out[r] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// How many vertices of a binary tree each root reaches by branches that are not cut. A level is a queue in local memory.
kernel void reached(global const uchar *cut, const uint n, const uint count, global uint *out, local uint *queue) {
    local uint first, last;
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint r = get_group_id(0); r < count; r += get_num_groups(0)) {
        if (lid == 0) {
            queue[0] = r;
            first = 0;
            last = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        while (first != last) {
            const uint from = first, to = last;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = from + lid; i < to; i += size) {
                const uint left = 2 * queue[i] + 1;
                if (left < n && !cut[left]) queue[atomic_inc(&last)] = left;
                if (left + 1 < n && !cut[left + 1]) queue[atomic_inc(&last)] = left + 1;
            }
            if (lid == 0) first = to;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0) out[r] = last;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// The greatest common divisor of each row, in halves, while more than one number is left.
kernel void divisors(global const uint *rows, const uint length, const uint count, global uint *out, local uint *row) {
    local uint left;
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint r = get_group_id(0); r < count; r += get_num_groups(0)) {
        for (uint i = lid; i < length; i += size) row[i] = rows[r * length + i];
        if (lid == 0) left = length;
        barrier(CLK_LOCAL_MEM_FENCE);
        while (left > 1) {
            const uint half_left = (left + 1) / 2, pairs = left / 2;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = lid; i < pairs; i += size) {
                uint a = row[i], b = row[i + half_left];
                while (b) {
                    const uint rest = a % b;
                    a = b;
                    b = rest;
                }
                row[i] = a;
            }
            if (lid == 0) left = half_left;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0) out[r] = row[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
