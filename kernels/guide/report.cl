// Reports what is no number.
kernel void report(global const float *x)
{
    int i = get_global_id(0);
    if (isnan(x[i]))
        printf("x[%d] is %f\n", i, x[i]);
}
