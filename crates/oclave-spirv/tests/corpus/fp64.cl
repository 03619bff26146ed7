// Two kernels with different optional features.
kernel void in_double(global double *x) { x[get_global_id(0)] = sqrt(x[get_global_id(0)]) + 1.5; }
kernel void in_float(global float *x) { x[get_global_id(0)] = sqrt(x[get_global_id(0)]) + 1.5f; }
