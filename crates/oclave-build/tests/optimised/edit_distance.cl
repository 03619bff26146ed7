// A private table, and unrolled loops.
#define MAX 32
kernel void edit_distance(global const uchar *a, global const uchar *b, global int *out, int n, int m)
{
    int row[MAX + 1];
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int up = row[j], best = min(up, row[j - 1]) + 1;
            row[j] = min(best, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
        }
    }
    int3 least = (int3)(row[m]);
#pragma unroll
    for (int k = 0; k < 3; k++)
        least = min(least, (int3)(row[k]));
    out[get_global_id(0)] = row[m] * 100 + least.y;
}
