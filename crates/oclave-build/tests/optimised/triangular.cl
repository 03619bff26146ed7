// Indices of a packed triangular matrix, whose products of neighbours are halved.
int row_of(int i)
{
    int r = 0;
    while ((r + 1) * (r + 2) / 2 <= i)
        r++;
    return r;
}
kernel void triangular(global float *out, global const float *in, int n)
{
    int i = get_global_id(0);
    int r = row_of(i), start = r * (r + 1) / 2, c = i - start;
    float sum = 0;
    for (int k = 0; k <= c; k++)
        sum += in[start + k] * in[c * (c + 1) / 2 + k];
    out[i] = r == c ? sqrt(in[i] - sum) : (in[i] - sum) / in[c * (c + 3) / 2];
    for (int j = n - 1; j > r; --j)
        out[j * (j + 1) / 2 + r] = i % (j + 1);
}
