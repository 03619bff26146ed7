// LU decomposition without pivoting.

// Divides a column by the pivot.
kernel void lu_column(global float *a, const int n, const int k) {
    const int i = k + 1 + get_global_id(0);
    if (i < n) a[i * n + k] /= a[k * n + k];
}

// Subtracts the outer product from the rest.
kernel void lu_rest(global float *a, const int n, const int k) {
    const int left = n - k - 1, at = get_global_id(0);
    if (at >= left * left) return;
    const int i = k + 1 + at / left, j = k + 1 + at % left;
    a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

// A whole matrix for each group, in local memory.
kernel void lu_local(global float *all_matrices, const int n, local float *a) {
    const int lid = get_local_id(0), size = get_local_size(0);
    global float *mine = all_matrices + get_group_id(0) * n * n;
    for (int i = lid; i < n * n; i += size) a[i] = mine[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < n - 1; k++) {
        for (int i = k + 1 + lid; i < n; i += size) a[i * n + k] /= a[k * n + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = k + 1 + lid; i < n; i += size) {
            const float factor = a[i * n + k];
            for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = lid; i < n * n; i += size) mine[i] = a[i];
}
