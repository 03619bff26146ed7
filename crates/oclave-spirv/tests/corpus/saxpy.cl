// Scalars, by-value struct, local memory, required work-group size.
typedef struct { float a; int b[3]; } params_t;

kernel void saxpy(float alpha, global const float *x, global float *y, params_t p, local float *scratch) {
    size_t i = get_global_id(0);
    scratch[get_local_id(0)] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] += alpha * scratch[get_local_id(0)] + p.a * p.b[i % 3];
}

__attribute__((reqd_work_group_size(8, 4, 1)))
kernel void tiles(global uint *out, ushort step) {
    local uint tile[32];
    size_t l = get_local_linear_id();
    tile[l] = (uint)l * step;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_linear_id()] = tile[31 - l];
}
