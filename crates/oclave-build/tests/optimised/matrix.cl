#define TILE 16
kernel void matrix(global float *c, global const float *a, global const float *b, int m, int n, int k)
{
    local float x[TILE][TILE], y[TILE][TILE + 1];
    int col = get_local_id(0), row = get_local_id(1);
    int gc = get_global_id(0), gr = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        x[row][col] = gr < m && t * TILE + col < k ? a[gr * k + t * TILE + col] : 0;
        y[row][col] = gc < n && t * TILE + row < k ? b[(t * TILE + row) * n + gc] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++)
            sum += x[row][i] * y[i][col];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (gr < m && gc < n)
        c[gr * n + gc] = sum;
}
