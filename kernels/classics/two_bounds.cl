// Two conditions on the work-item's id, where one counts up and the other counts down.

// An early return.
kernel void early_return(global int *out, const int n, const int m, const int d) {
    const int i = get_global_id(0), j = d - i;
    if (i > n || j > m) return;
    out[i] = 100 * i + j;
}

// The usual guard. What comes before it in the program must not matter.
kernel void usual(global int *out, const int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    out[i] = i;
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

// A band whose bounds have negative numbers. For low = -4, high = -1 and d = 1, only item 0 is inside.
kernel void shifted_band(global int *out, const int low, const int high, const int d) {
    const int i = get_global_id(0);
    if (i - d > high || i - d <= low) return;
    out[i] = i + 1;
}

// A vector, also through a variable of two branches.
kernel void lanes(global int *out, const int n, const int d, const int is_mirrored) {
    const int i = get_global_id(0);
    const int2 both = (int2)(d) - (int2)(i, i + 1);
    int at = i;
    if (is_mirrored) at = both.y;
    if (both.x < n || at < n) return;
    out[i] = both.x;
}

// The id is moved by an argument first.
kernel void mirrored(global int *out, const int n, const int size) {
    const int i = (int)get_global_id(0) - n, j = n - i;
    if (j < 0 || i < 0) return;
    out[size - 1 - (i + n)] = j;
}
