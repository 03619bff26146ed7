// Two conditions on the work-item's id, where one counts up and the other counts down.

// An early return.
kernel void early_return(global int *out, const int n, const int m, const int d) {
    const int i = get_global_id(0), j = d - i;
    if (i > n || j > m) return;
    out[i] = 100 * i + j;
}

// A block with the opposite condition.
kernel void block(global int *out, const int n, const int d) {
    const int i = get_global_id(0), j = d - i;
    if (i <= n && j >= 0) out[i] = 100 * i + j;
}

// Three conditions: inside of a band of a triangle.
kernel void band(global int *out, const int low, const int high, const int d) {
    const int i = get_global_id(0), j = d - i;
    if (i < low) return;
    if (j < low) return;
    if (i - j > high) return;
    out[i] = 100 * i + j;
}

// In two dimensions: the upper right of a matrix.
kernel void triangle(global int *out, const int n) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n || x < y || n - x < 2) return;
    out[y * get_global_size(0) + x] = x - y;
}

// The id is moved by an argument first.
kernel void mirrored(global int *out, const int n, const int size) {
    const int i = (int)get_global_id(0) - n, j = n - i;
    if (j < 0 || i < 0) return;
    out[size - 1 - (i + n)] = j;
}
