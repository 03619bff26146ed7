// Products of matrices, which are stored by rows: c = a * b, with a of m by k and b of k by n.

kernel void naive(global const float *a, global const float *b, global float *c, const int m, const int n, const int k) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;
}

// Square tiles of both factors in local memory.
kernel void tiled(global const float *a, global const float *b, global float *c, const int m, const int n, const int k, local float *ta, local float *tb) {
    const int size = get_local_size(0);
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int t = 0; t < k; t += size) {
        ta[ly * size + lx] = y < m && t + lx < k ? a[y * k + t + lx] : 0.0f;
        tb[ly * size + lx] = x < n && t + ly < k ? b[(t + ly) * n + x] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < size; i++) sum += ta[ly * size + i] * tb[i * size + lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

// Tiles of any shape: the depth of a tile is fixed, and all work-items share the loads.
#define DEPTH 8

kernel void tiled_any_shape(global const int *a, global const int *b, global int *c, const int m, const int n, const int k, local int *ta, local int *tb) {
    const int w = get_local_size(0), h = get_local_size(1);
    const int l = get_local_id(1) * w + get_local_id(0), items = w * h;
    const int x = get_global_id(0), y = get_global_id(1);
    const int x0 = get_group_id(0) * w, y0 = get_group_id(1) * h;
    int sum = 0;
    for (int t = 0; t < k; t += DEPTH) {
        for (int i = l; i < h * DEPTH; i += items) {
            const int row = y0 + i / DEPTH, column = t + i % DEPTH;
            ta[i] = row < m && column < k ? a[row * k + column] : 0;
        }
        for (int i = l; i < w * DEPTH; i += items) {
            const int row = t + i / w, column = x0 + i % w;
            tb[i] = row < k && column < n ? b[row * n + column] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < DEPTH; i++) sum += ta[get_local_id(1) * DEPTH + i] * tb[i * w + get_local_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

// Each work-item computes a block of 4 by 2 in registers; a tile of both factors is in local memory.
#define TILE 16
#define ROWS 4
#define COLUMNS 2

kernel void register_blocked(global const float *a, global const float *b, global float *c, const int m, const int n, const int k) {
    local float ta[TILE * ROWS / 4][TILE];
    local float tb[TILE][TILE];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int l = ly * (TILE / COLUMNS) + lx, items = TILE / COLUMNS * TILE / ROWS;
    const int x0 = get_group_id(0) * TILE, y0 = get_group_id(1) * TILE;
    float sums[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLUMNS; q++) sums[r][q] = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        for (int i = l; i < TILE * TILE; i += items) {
            const int row = i / TILE, column = i % TILE;
            ta[row][column] = y0 + row < m && t + column < k ? a[(y0 + row) * k + t + column] : 0.0f;
            tb[row][column] = t + row < k && x0 + column < n ? b[(t + row) * n + x0 + column] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++) {
            float left[ROWS], right[COLUMNS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) left[r] = ta[ly * ROWS + r][i];
#pragma unroll
            for (int q = 0; q < COLUMNS; q++) right[q] = tb[i][lx * COLUMNS + q];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int q = 0; q < COLUMNS; q++) sums[r][q] += left[r] * right[q];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < COLUMNS; q++) {
            const int x = x0 + lx * COLUMNS + q, y = y0 + ly * ROWS + r;
            if (x < n && y < m) c[y * n + x] = sums[r][q];
        }
}

// Four columns at once with float4. The number of columns is a multiple of four.
kernel void vectors(global const float4 *a, global const float4 *b, global float4 *c, const int n4, const int k4) {
    const int x = get_global_id(0), y = get_global_id(1);
    float4 sum = (float4)(0.0f);
    for (int i = 0; i < k4; i++) {
        const float4 row = a[y * k4 + i];
        sum += row.x * b[(4 * i + 0) * n4 + x];
        sum += row.y * b[(4 * i + 1) * n4 + x];
        sum = mad(row.zzzz, b[(4 * i + 2) * n4 + x], sum);
        sum = fma((float4)(row.w), b[(4 * i + 3) * n4 + x], sum);
    }
    c[y * n4 + x] = sum;
}

// A matrix times a vector: each group computes one row.
kernel void times_vector(global const float *a, global const float *v, global float *out, const int k, local float *tmp) {
    const int lid = get_local_id(0), size = get_local_size(0);
    float sum = 0.0f;
    for (int i = lid; i < k; i += size) sum += a[get_group_id(0) * k + i] * v[i];
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = size; left > 1;) {
        const int s = (left + 1) / 2;
        if (lid + s < left) tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
        left = s;
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}
