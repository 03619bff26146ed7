// Longest common subsequences and edit distances.

// A pair for each group; three diagonals change roles with a barrier between them.
kernel void longest(global const uchar *a, global const uchar *b, const int n, const int m, global int *lengths, local int *x, local int *y, local int *z) {
    const int lid = get_local_id(0), size = get_local_size(0), pair = get_group_id(0);
    local int *before = x, *last = y, *now = z;
    for (int i = lid; i <= n; i += size) before[i] = last[i] = 0;
    for (int d = 2; d <= n + m; d++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i <= n; i += size) {
            const int j = d - i;
            if (i == 0 || j <= 0 || j > m) {
                now[i] = 0;
                continue;
            }
            now[i] = a[pair * n + i - 1] == b[pair * m + j - 1] ? before[i - 1] + 1 : max(last[i - 1], last[i]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        local int *const t = before;
        before = last;
        last = now;
        now = t;
    }
    if (lid == 0) lengths[pair] = last[n];
}

// The same row by row: each work-item owns some columns, and waits for those to its left in steps.
kernel void longest_by_rows(global const uchar *a, global const uchar *b, const int n, const int m, global int *lengths, local int *row) {
    const int lid = get_local_id(0), size = get_local_size(0), pair = get_group_id(0);
    const int columns = (m + size - 1) / size, low = 1 + lid * columns, high = min(low + columns, m + 1);
    for (int j = lid; j <= m; j += size) row[j] = 0;
    int corner = 0;
    // In step s, work-item l computes its part of row s - l.
    for (int step = 1; step < n + size; step++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int i = step - lid;
        const bool active = i >= 1 && i <= n && low <= m;
        const int left_now = active ? row[low - 1] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (active) {
            int left = left_now, diagonal = corner;
            for (int j = low; j < high; j++) {
                const int above = row[j];
                row[j] = a[pair * n + i - 1] == b[pair * m + j - 1] ? diagonal + 1 : max(above, left);
                diagonal = above;
                left = row[j];
            }
            corner = left_now;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) lengths[pair] = row[m];
}

// The edit distance of a pair for each work-item, with one row in private memory.
#define LONGEST 20

kernel void edit_distance(global const uchar *a, global const uchar *b, const int n, const int m, global int *distances) {
    const int pair = get_global_id(0);
    int row[LONGEST + 1];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int replaced = diagonal + (a[pair * n + i - 1] != b[pair * m + j - 1]);
            diagonal = row[j];
            row[j] = min(replaced, min(row[j], row[j - 1]) + 1);
        }
    }
    distances[pair] = row[m];
}

// A knapsack for each group: each item is a round with a barrier.
kernel void knapsack(global const int2 *items, const int count, const int capacity, global int *best, local int *values) {
    const int lid = get_local_id(0), size = get_local_size(0);
    local int *from = values, *to = values + capacity + 1;
    for (int w = lid; w <= capacity; w += size) from[w] = 0;
    for (int k = 0; k < count; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int2 item = items[get_group_id(0) * count + k];
        for (int w = lid; w <= capacity; w += size)
            to[w] = w >= item.x ? max(from[w], from[w - item.x] + item.y) : from[w];
        local int *const t = from;
        from = to;
        to = t;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) best[get_group_id(0)] = from[capacity];
}
