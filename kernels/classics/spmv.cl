// Sparse matrices times vectors.

// CSR, a row for each work-item.
kernel void csr_scalar(global const int *starts, global const int *columns, global const float *values, global const float *x, global float *y, const int rows) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

// CSR, a row for each group, with a reduction in local memory.
kernel void csr_vector(global const int *starts, global const int *columns, global const float *values, global const float *x, global float *y, local float *tmp) {
    const int lid = get_local_id(0), row = get_group_id(0);
    const int end = starts[row + 1];
    float sum = 0.0f;
    for (int i = starts[row] + lid; i < end; i += get_local_size(0)) sum += values[i] * x[columns[i]];
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = get_local_size(0); left > 1; ) {
        const int next = (left + 1) >> 1;
        if (lid + next < left) tmp[lid] += tmp[lid + next];
        left = next;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) y[row] = tmp[0];
}

// ELL: all rows have as many places; columns below zero are empty.
kernel void ell(global const int *columns, global const float *values, global const float *x, global float *y, const int rows, const int width) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        const int column = columns[k * rows + row];
        if (column < 0) break;
        sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}

// COO with integers: each entry is added atomically.
kernel void coo(global const int4 *entries, const int n, global const int *x, volatile global int *y) {
    const int i = get_global_id(0);
    if (i < n) atomic_add(&y[entries[i].x], entries[i].z * x[entries[i].y]);
}
