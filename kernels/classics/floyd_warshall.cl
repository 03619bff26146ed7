// Shortest paths between all vertices.

// One launch for each vertex in between.
kernel void through(global int *distances, global int *via, const int n, const int k) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n) return;
    const int there = distances[y * n + k] + distances[k * n + x];
    if (there < distances[y * n + x]) {
        distances[y * n + x] = there;
        via[y * n + x] = k;
    }
}

// A small graph for each group, in local memory.
kernel void all_in_one(global int *graphs, const int n, local int *d) {
    const int lid = get_local_id(0), size = get_local_size(0);
    global int *mine = graphs + get_group_id(0) * n * n;
    for (int i = lid; i < n * n; i += size) d[i] = mine[i];
    for (int k = 0; k < n; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i < n * n; i += size) {
            const int y = i / n, x = i - y * n;
            if (x == k || y == k) continue;
            d[i] = min(d[i], d[y * n + k] + d[k * n + x]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < n * n; i += size) mine[i] = d[i];
}

// Bellman and Ford: each round relaxes all edges, until nothing changes.
kernel void relax(global const int4 *edges, const int count, volatile global int *distances, volatile global int *changed) {
    const int i = get_global_id(0);
    if (i >= count) return;
    const int from = distances[edges[i].x];
    if (from == INT_MAX) return;
    const int there = from + edges[i].z;
    if (atomic_min(&distances[edges[i].y], there) > there) *changed = 1;
}
