// Double precision.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// A dot product with a reduction.
kernel void dot_product(global const double *a, global const double *b, const uint n, global double *out, local double *tmp) {
    const uint lid = get_local_id(0);
    double sum = 0.0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) sum = fma(a[i], b[i], sum);
    tmp[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint left = get_local_size(0); left > 1; ) {
        const uint next = (left + 1) / 2;
        if (lid + next < left) tmp[lid] += tmp[lid + next];
        left = next;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) out[get_group_id(0)] = tmp[0];
}

// Conversions that are exact or truncate.
kernel void conversions(global const long *in, global double *whole, global long *back, global int *narrow, global float *single_precision, global ulong *bits) {
    const size_t i = get_global_id(0);
    const double x = (double)(in[i] >> 12);
    whole[i] = x / 16.0;
    back[i] = (long)(x / 16.0);
    narrow[i] = convert_int_sat_rte(x / 4096.0);
    single_precision[i] = (float)x;
    bits[i] = as_ulong(x);
}

// A polynomial by Horner, and a square root by Newton.
kernel void polynomial(global const double *in, constant double *c, const int degree, global double2 *out) {
    const double x = in[get_global_id(0)];
    double y = c[degree];
    for (int k = degree - 1; k >= 0; k--) y = y * x + c[k];
    double root = x > 1.0 ? x : 1.0;
    for (;;) {
        const double next = 0.5 * (root + x / root);
        if (next >= root) break;
        root = next;
    }
    out[get_global_id(0)] = (double2)(y, root);
}

// Pi by the midpoint rule, a part for each work-item.
kernel void pi_by_midpoints(const uint steps, global double *out) {
    const double width = 1.0 / steps;
    double sum = 0.0;
    for (uint i = get_global_id(0); i < steps; i += get_global_size(0)) {
        const double x = (i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    out[get_global_id(0)] = sum * width;
}
