// Alignments of two sequences by Needleman and Wunsch, diagonal by diagonal.

// The whole table of a pair in local memory, with a barrier for each diagonal.
kernel void in_local_memory(global const uchar *a, global const uchar *b, const int n, const int m, const int gap, constant int *similarity, global int *tables, local int *t) {
    const int lid = get_local_id(0), size = get_local_size(0), width = m + 1, pair = get_group_id(0);
    for (int i = lid; i <= n; i += size) t[i * width] = -gap * i;
    for (int j = lid; j <= m; j += size) t[j] = -gap * j;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 2; d <= n + m; d++) {
        const int first = max(1, d - m), last = min(n, d - 1);
        for (int i = first + lid; i <= last; i += size) {
            const int j = d - i;
            const int s = similarity[a[pair * n + i - 1] * 4 + b[pair * m + j - 1]];
            const int both = t[(i - 1) * width + j - 1] + s;
            t[i * width + j] = max(both, max(t[(i - 1) * width + j], t[i * width + j - 1]) - gap);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = lid; i < (n + 1) * width; i += size) tables[pair * (n + 1) * width + i] = t[i];
}

// By Smith and Waterman, with three diagonals that take turns, and the best score of the pair.
kernel void best_local_score(global const uchar *a, global const uchar *b, const int n, const int m, const int gap, constant int *similarity, global int *scores, local int *diagonals) {
    local int best;
    const int lid = get_local_id(0), size = get_local_size(0), pair = get_group_id(0);
    if (lid == 0) best = 0;
    for (int i = lid; i < 3 * (n + 1); i += size) diagonals[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int mine = 0;
    for (int d = 2; d <= n + m; d++) {
        local int *now = diagonals + d % 3 * (n + 1);
        local const int *last = diagonals + (d + 2) % 3 * (n + 1);
        local const int *before = diagonals + (d + 1) % 3 * (n + 1);
        for (int i = lid; i <= n; i += size) {
            const int j = d - i;
            int score = 0;
            if (i >= 1 && j >= 1 && j <= m) {
                score = before[i - 1] + similarity[a[pair * n + i - 1] * 4 + b[pair * m + j - 1]];
                score = max(max(score, 0), max(last[i - 1], last[i]) - gap);
            }
            now[i] = score;
            mine = max(mine, score);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    atomic_max(&best, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) scores[pair] = best;
}
