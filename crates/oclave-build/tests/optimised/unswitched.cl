// Conditions that do not change in a loop.
kernel void unswitched(global float *a, global const float *b, int n, int add, int scale, int limit, float f)
{
    int i = get_global_id(0);
    bool both = add > scale && limit < n;
    for (int k = 0; k < n; k++) {
        float v = b[k * n + i];
        if (add)
            a[k] += v;
        if (scale && k < limit)
            a[k] *= f;
        if (both)
            a[k] = fmin(a[k], v);
        if (f > 3 || (add && !scale))
            a[k] -= 1;
    }
}
kernel void nested(global int *a, int n, int m, int p)
{
    for (int i = 0; i < n; i++)
        for (int j = i; j < m; j++) {
            if (p == j)
                continue;
            int q = p ? (j - i) / p : j / 3;
            for (int k = 0; k < q; k++)
                a[i * m + j] += a[k] % (k + 1);
        }
}
