// Clusters of points by k-means, with whole numbers.

// The centres come to local memory; each point chooses the nearest.
kernel void assign(global const int2 *points, const int n, global const int2 *centres, const int k, global int *clusters, local int2 *near) {
    for (int c = get_local_id(0); c < k; c += get_local_size(0)) near[c] = centres[c];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i = get_global_id(0);
    if (i >= n) return;
    const int2 p = points[i];
    int best = 0, least = INT_MAX;
    for (int c = 0; c < k; c++) {
        const int2 d = p - near[c];
        const int distance = d.x * d.x + d.y * d.y;
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    clusters[i] = best;
}

// Sums of each group in local memory, then in global memory.
kernel void accumulate(global const int2 *points, const int n, global const int *clusters, const int k, volatile global int *sums, local int *mine) {
    const int lid = get_local_id(0), size = get_local_size(0), i = get_global_id(0);
    for (int c = lid; c < 3 * k; c += size) mine[c] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
        const int c = clusters[i];
        atomic_add(&mine[3 * c], points[i].x);
        atomic_add(&mine[3 * c + 1], points[i].y);
        atomic_inc(&mine[3 * c + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = lid; c < 3 * k; c += size)
        if (mine[c]) atomic_add(&sums[c], mine[c]);
}

// The means; sums start again from zero.
kernel void update(global int2 *centres, const int k, global int *sums) {
    const int c = get_global_id(0);
    if (c >= k) return;
    const int count = sums[3 * c + 2];
    if (count > 0) centres[c] = (int2)(sums[3 * c] / count, sums[3 * c + 1] / count);
    sums[3 * c] = sums[3 * c + 1] = sums[3 * c + 2] = 0;
}
