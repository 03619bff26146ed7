// The cheapest way down a grid: each row adds the least of three neighbours above.

// One row a launch.
kernel void row(global const int *costs, global const int *from, global int *to, const int width, const int y) {
    const int x = get_global_id(0);
    if (x >= width) return;
    int best = from[x];
    if (x > 0) best = min(best, from[x - 1]);
    if (x < width - 1) best = min(best, from[x + 1]);
    to[x] = best + costs[y * width + x];
}

// Several rows a launch: the part that is right shrinks by one on both sides in each row.
kernel void rows(global const int *costs, global const int *from, global int *to, const int width, const int first, const int count, local int *before, local int *after) {
    const int lid = get_local_id(0), size = get_local_size(0);
    const int useful = size - 2 * count;
    const int x = (int)get_group_id(0) * useful - count + lid;
    const bool inside = x >= 0 && x < width;
    if (inside) before[lid] = from[x];
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed = false;
    for (int i = 0; i < count; i++) {
        computed = false;
        if (lid > i && lid < size - 1 - i && inside) {
            computed = true;
            const int left = x > 0 ? before[lid - 1] : INT_MAX;
            const int right = x < width - 1 ? before[lid + 1] : INT_MAX;
            after[lid] = min(min(left, right), before[lid]) + costs[(first + i) * width + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == count - 1) break;
        if (computed) before[lid] = after[lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed) to[x] = after[lid];
}

// A small grid for each group, all rows at once, and then the way back by one work-item.
kernel void way(global const int *costs, const int width, const int height, global int *ways, local int *sums) {
    const int lid = get_local_id(0), size = get_local_size(0);
    global const int *mine = costs + get_group_id(0) * width * height;
    for (int x = lid; x < width; x += size) sums[x] = mine[x];
    for (int y = 1; y < height; y++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int x = lid; x < width; x += size) {
            local const int *above = sums + (y - 1) * width;
            int best = above[x];
            if (x > 0 && above[x - 1] < best) best = above[x - 1];
            if (x + 1 < width && above[x + 1] < best) best = above[x + 1];
            sums[y * width + x] = best + mine[y * width + x];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid != 0) return;
    global int *to = ways + get_group_id(0) * height;
    int x = 0;
    for (int k = 1; k < width; k++)
        if (sums[(height - 1) * width + k] < sums[(height - 1) * width + x]) x = k;
    to[height - 1] = x;
    for (int y = height - 2; y >= 0; y--) {
        const int low = max(x - 1, 0), high = min(x + 1, width - 1);
        x = low;
        for (int k = low + 1; k <= high; k++)
            if (sums[y * width + k] < sums[y * width + x]) x = k;
        to[y] = x;
    }
}
