// The nodes of benches/small_nodes.rs.
// clang-15 -target spir64 -cl-std=CL3.0 -O2 -emit-llvm -c -Xclang -finclude-default-header small_nodes.cl -o small_nodes.bc; llvm-spirv-15 small_nodes.bc -o small_nodes.spv

kernel void bump(global float *x, global const float *y)
{
    size_t i = get_global_id(0);
    x[i] = x[i] + 1.0f;
}

kernel void axpy(global float *x, global const float *y)
{
    size_t i = get_global_id(0);
    x[i] = 0.5f * x[i] + y[i];
}

kernel void smooth(global float *x, global const float *y)
{
    size_t i = get_global_id(0), n = get_global_size(0);
    size_t left = i == 0 ? i : i - 1, right = i + 1 == n ? i : i + 1;
    x[i] = 0.25f * y[left] + 0.5f * y[i] + 0.25f * y[right];
}

kernel void polynomial(global float *x, global const float *y)
{
    size_t i = get_global_id(0);
    float v = y[i];
    x[i] = ((v * 0.1f + 0.2f) * v + 0.3f) * v - x[i];
}
