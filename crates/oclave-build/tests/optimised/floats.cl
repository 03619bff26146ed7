// Classification, conversion and special functions.
kernel void floats(global float *out, global const float *in, global int *k)
{
    int i = get_global_id(0), e;
    float x = in[i], whole, part = modf(x, &whole), m = frexp(x, &e);
    out[i] = isnan(x) ? 0 : isinf(x) ? copysign(1e30f, x) : fabs(x) < 1e-3f ? part : ldexp(m, e + 1);
    out[i + 1] = x != x || x == INFINITY ? whole : fma(x, x, pown(x, k[i]));
    k[i] = (int)x + convert_int_sat_rte(x) + (x > 0.5f) - signbit(x);
    out[i + 2] = mad(x, 2.0f, -x) + native_exp(x) + fmod(x, 3.0f) + (float)(uchar)k[i];
    out[i + 3] = x < 0 ? -x : x;
    out[i + 4] = max(min(x, 1.0f), 0.0f) + fmax(x, fmin(part, whole));
}
kernel void doubles(global double *out, global const double *in)
{
    int i = get_global_id(0);
    double x = in[i];
    long l = (long)x;
    out[i] = l > 4 ? sqrt(x) : (double)(ulong)l + rint(x) + trunc(x / 7);
    out[i + 1] = in[0] == 0 ? x : floor(x) * ceil(x);
}
