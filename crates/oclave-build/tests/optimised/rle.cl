// Nested loops that are left in the middle, with conditions that are known early.
kernel void rle(global const uchar *in, global uchar *out, global int *sizes, int n, int mode)
{
    int at = 0, i = 0;
    while (i < n) {
        int run = 1;
        while (i + run < n && run < 255) {
            if (in[i + run] != in[i])
                break;
            run++;
        }
        if (mode == 1 || (mode == 2 && run > 3)) {
            out[at++] = run;
            out[at++] = in[i];
        } else {
            for (int k = 0; k < run; k++)
                out[at++] = mode ? in[i] : ~in[i];
        }
        i += run;
    }
    sizes[get_global_id(0)] = at;
}
