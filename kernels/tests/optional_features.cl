// Kernels with different optional features in one source: they end in different images, and the plain one runs anywhere.

kernel void square_float(global float *x)
{
    size_t i = get_global_id(0);
    x[i] *= x[i];
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

double third(double x)
{
    return x / 3.0;
}

/// Needs fp64 only through what it calls.
kernel void third_double(global double *x)
{
    size_t i = get_global_id(0);
    x[i] = third(x[i]);
}

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void twice_half(global half *x)
{
    size_t i = get_global_id(0);
    x[i] = x[i] * 2.0h;
}
