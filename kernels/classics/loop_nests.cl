// Loops in loops without barriers, whose bounds are the same for all work-items.

kernel void coils_1d(global float *out, const int coils, const int scans) {
    const size_t n = get_global_size(0), id = get_global_id(0);
    for (int scan = 0; scan < scans; scan++)
        for (int coil = 0; coil < coils; coil++) out[(scan * coils + coil) * n + id] = id * 3 + 1;
}

kernel void coils_2d(global float *out, global const float *in, const int coils, const int scans) {
    const size_t x = get_global_id(1), width = get_global_size(1);
    const size_t y = get_global_id(0), height = get_global_size(0);
    for (int scan = 0; scan < scans; scan++)
        for (int coil = 0; coil < coils; coil++)
            out[(scan * coils + coil) * width * height + y * width + x] = in[scan * width * height + y * width + x] * 3.0f;
}

kernel void coils_3d(global float *out, const int coils, const int scans) {
    const size_t width = get_global_size(2), height = get_global_size(1), depth = get_global_size(0);
    const size_t id = (get_global_id(0) * height + get_global_id(1)) * width + get_global_id(2);
    for (int scan = 0; scan < scans; scan++)
        for (int coil = 0; coil < coils; coil++) out[(scan * coils + coil) * width * height * depth + id] = id;
}

// Values of the branch that leads to the loops.
kernel void after_barrier(global float *out, const int inner, const int outer) {
    const size_t n = get_global_size(0), id = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (outer > 0) {
        const float value = id * 3 + 1;
        int i = 0;
        do {
            for (int j = 0; j < inner; j++) out[(i * inner + j) * n + id] = value;
        } while (++i < outer);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Loops one after the other, with hints for the compiler.
kernel void hinted(global uint *out) {
    uint a[8];
    const uint id = get_global_id(0);
#pragma unroll
    for (int k = 0; k < 8; k++) a[k] = id * 7 + k * k;
    __attribute__((opencl_unroll_hint(4))) for (int k = 0; k < 7; k++) a[k + 1] += a[k] * 3;
    __attribute__((opencl_unroll_hint(1))) for (int k = 7; k > 0; k--) a[k - 1] ^= a[k] << 1;
    out[id] = a[0] + a[7];
}
