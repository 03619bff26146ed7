// Breadth-first searches on graphs in CSR form.

// With flags: visit the frontier, and mark what comes next.
kernel void visit(global const int *starts, global const int *edges, global uchar *frontier, global uchar *next, global const uchar *visited, global int *levels, const int n) {
    const int v = get_global_id(0);
    if (v >= n || !frontier[v]) return;
    frontier[v] = 0;
    for (int i = starts[v]; i < starts[v + 1]; i++) {
        const int to = edges[i];
        if (!visited[to]) {
            levels[to] = levels[v] + 1;
            next[to] = 1;
        }
    }
}

kernel void advance(global uchar *frontier, global uchar *next, global uchar *visited, global int *go_on, const int n) {
    const int v = get_global_id(0);
    if (v < n && next[v]) {
        frontier[v] = 1;
        visited[v] = 1;
        *go_on = 1;
        next[v] = 0;
    }
}

// One level, where every vertex of the last level looks at its neighbours.
kernel void level(global const int *starts, global const int *edges, volatile global int *levels, const int depth, const int n) {
    const int v = get_global_id(0);
    if (v >= n || levels[v] != depth) return;
    for (int i = starts[v]; i < starts[v + 1]; i++) atomic_cmpxchg(&levels[edges[i]], -1, depth + 1);
}

// With queues: the first one to claim a vertex appends it.
kernel void expand(global const int *starts, global const int *edges, volatile global int *levels, global const int *queue, global const int *length,
                   global int *next_queue, volatile global int *next_length, const int depth) {
    for (int q = get_global_id(0); q < *length; q += get_global_size(0)) {
        const int v = queue[q];
        for (int i = starts[v]; i < starts[v + 1]; i++) {
            const int to = edges[i];
            if (atomic_cmpxchg(&levels[to], -1, depth + 1) == -1) next_queue[atomic_inc(next_length)] = to;
        }
    }
}

// A graph for each group, in local memory, until no level is new.
kernel void whole_search(global const int *starts, global const int *edges, global int *levels, const int n, local int *mine) {
    local int changed;
    const int lid = get_local_id(0), size = get_local_size(0);
    const int source = get_group_id(0);
    for (int v = lid; v < n; v += size) mine[v] = v == source ? 0 : -1;
    int depth = 0;
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) changed = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int v = lid; v < n; v += size) {
            if (mine[v] != depth) continue;
            for (int i = starts[v]; i < starts[v + 1]; i++) {
                if (atomic_cmpxchg(&mine[edges[i]], -1, depth + 1) == -1) changed = 1;
            }
        }
        depth++;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (changed);
    for (int v = lid; v < n; v += size) levels[get_group_id(0) * n + v] = mine[v];
}
