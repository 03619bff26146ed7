// Iterations in local memory with a shrinking border.
kernel void pathfinder(global int *out, global const int *wall, global const int *from, local int *prev, local int *result,
                       int iterations, int cols, int start, int border)
{
    int size = get_local_size(0), bx = get_group_id(0), tx = get_local_id(0);
    int block = size - iterations * 2, x0 = block * bx - border, xmax = x0 + size - 1;
    int x = x0 + tx;
    int low = x0 < 0 ? -x0 : 0, high = xmax > cols - 1 ? size - 1 - (xmax - cols + 1) : size - 1;
    int w = max(tx - 1, low), e = min(tx + 1, high);
    bool valid = tx >= low && tx <= high;
    if (x >= 0 && x <= cols - 1)
        prev[tx] = from[x];
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed = false;
    for (int i = 0; i < iterations; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= size - i - 2 && valid) {
            computed = true;
            int shortest = min(min(prev[w], prev[tx]), prev[e]);
            result[tx] = shortest + wall[cols * (start + i) + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == iterations - 1)
            break;
        if (computed)
            prev[tx] = result[tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        out[x] = result[tx];
}
