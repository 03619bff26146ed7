// Specialization constants.
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
float __attribute__((overloadable)) __spirv_SpecConstant(int, float);
kernel void spec(global float *out) {
    int n = __spirv_SpecConstant(1, 16);
    float f = __spirv_SpecConstant(2, 0.5f);
    for (int i = 0; i < n; ++i) out[get_global_id(0) * n + i] = f * i;
}
