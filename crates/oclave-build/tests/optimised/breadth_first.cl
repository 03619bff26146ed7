typedef struct { int start, edges; } vertex_t;
kernel void breadth_first(global const vertex_t *graph, global const int *edges, global char *frontier, global char *next,
                          global char *visited, global int *cost, global char *over, int n)
{
    int i = get_global_id(0);
    if (i < n && frontier[i]) {
        frontier[i] = 0;
        for (int e = graph[i].start; e < graph[i].start + graph[i].edges; e++) {
            int to = edges[e];
            if (!visited[to]) {
                cost[to] = cost[i] + 1;
                next[to] = 1;
                *over = 1;
            }
        }
    }
}
