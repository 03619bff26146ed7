// Literals without a suffix: floats on devices without fp64, doubles on others. One kernel has doubles of its own.

kernel void above_literal(global const float *x, global int *above)
{
    size_t i = get_global_id(0);
    above[i] = x[i] > 0.3;
}

kernel void move_by_literals(global float *x, float by)
{
    size_t i = get_global_id(0);
    x[i] = x[i] * 0.5 + by * 0.25;
}

kernel void print_literals(float x, int i)
{
    printf("%f %.2f %d %g\n", x, 0.25, i, x * 0.5);
    printf("%.1f %f\n", i > 2 ? x : 2.5f, (float)(i & 255));
    if (i > 2)
        printf("large %.1f\n", x + 1.0f);
    else
        printf("small %.1f\n", 7.5f);
}

kernel void sum_in_double(global float *x, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i];
    // With a float for the literal, this call is ambiguous.
    x[0] = (float)fmax(sum, 0.0);
}
