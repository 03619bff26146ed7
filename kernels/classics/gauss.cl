// Gaussian elimination.

// The factors of all rows below row k.
kernel void factors(global const float *a, global float *m, const int n, const int k) {
    const int i = k + 1 + get_global_id(0);
    if (i >= n) return;
    m[i * n + k] = a[i * n + k] / a[k * n + k];
}

// Subtracts row k from those below it; the last column is the right side.
kernel void eliminate(global float *a, global float *b, global const float *m, const int n, const int k) {
    const int columns = n - k, at = get_global_id(0);
    const int i = k + 1 + at / columns, j = k + at % columns;
    if (i >= n) return;
    a[i * n + j] -= m[i * n + k] * a[k * n + j];
    if (j == k) b[i] -= m[i * n + k] * b[k];
}

kernel void substitute(global const float *a, global const float *b, global float *x, const int n) {
    for (int i = n - 1; i >= 0; i--) {
        float sum = b[i];
        for (int j = i + 1; j < n; j++) sum -= a[i * n + j] * x[j];
        x[i] = sum / a[i * n + i];
    }
}

// By Jordan with pivots, a system for each group in local memory. One work-item chooses the pivot.
kernel void jordan_with_pivots(global const float *systems, global float *x, const int n, local float *a) {
    local int pivot;
    const int lid = get_local_id(0), size = get_local_size(0), width = n + 1;
    for (int i = lid; i < n * width; i += size) a[i] = systems[get_group_id(0) * n * width + i];
    for (int k = 0; k < n; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            pivot = k;
            for (int i = k + 1; i < n; i++)
                if (fabs(a[i * width + k]) > fabs(a[pivot * width + k])) pivot = i;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (pivot != k) {
            for (int j = lid; j < width; j += size) {
                const float t = a[k * width + j];
                a[k * width + j] = a[pivot * width + j];
                a[pivot * width + j] = t;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int i = lid; i < n; i += size) {
            if (i == k) continue;
            const float factor = a[i * width + k] / a[k * width + k];
            for (int j = k; j < width; j++) a[i * width + j] -= factor * a[k * width + j];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < n; i += size) x[get_group_id(0) * n + i] = a[i * width + n] / a[i * width + i];
}
