// Alignments of two sequences by Needleman and Wunsch, in global memory: a launch for each diagonal.

kernel void diagonal(global const uchar *a, global const uchar *b, const int n, const int m, const int gap, constant int *similarity, global int *t, const int d) {
    const int i = max(0, d - m) + get_global_id(0), j = d - i;
    if (i > n || j < 0) return;
    const int width = m + 1;
    if (i == 0 || j == 0) {
        t[i * width + j] = -gap * d;
        return;
    }
    const int both = t[(i - 1) * width + j - 1] + similarity[a[i - 1] * 4 + b[j - 1]];
    t[i * width + j] = max(both, max(t[(i - 1) * width + j], t[i * width + j - 1]) - gap);
}
