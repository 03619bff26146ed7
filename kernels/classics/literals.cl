// Literals without a suffix. They are doubles on devices with fp64, and floats on the others.

// Arithmetic, all of whose results both types hold exactly.
kernel void arithmetic(global const float *in, global float *out) {
    const size_t i = get_global_id(0);
    const float x = in[i];
    float y = x * 0.5 + 2.25;
    y -= 1.0 / 4.0;
    out[i] = y / 2.0;
}

// Sums with literals that no binary type holds exactly.
kernel void rounding(global const float *in, global float *out) {
    const size_t i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 10; k++) x = 0.9 * x + 0.1;
    out[i] = x - 1e-3;
}

// Comparisons and conditional expressions. No input is close to a literal.
kernel void comparisons(global const float *in, global int *out) {
    const size_t i = get_global_id(0);
    const float x = in[i];
    int kind = x < 0.3 ? 1 : 0;
    if (x >= 0.7) kind |= 2;
    kind |= (x > 0.1 && x < 0.9) << 2;
    kind |= (int)((x < 0.55 ? 0.25 : 0.75) * 64.0);
    out[i] = kind;
}

float scaled(const float x, const float by) { return x * by + 0.125; }

// Arguments of functions, built-in and own.
kernel void calls(global const float *in, global float *out) {
    const size_t i = get_global_id(0);
    const float x = in[i];
    const float power = pow(x, (float)2.0);
    const float root = sqrt(x * 0.25 + 1.0);
    const float angle = sin(0.5 * x) + exp(-1.0 * x);
    out[i] = scaled(power, 0.3) + fmax(root, 1.0f) + angle;
}

constant float TABLE[5] = {0.1, 0.2, 0.3, 1.0 / 3.0, 2.5e-1};

// Tables of the program and of the function.
kernel void tables(global const float *in, global float *out) {
    const float own[4] = {0.7, 1.5, -0.25, 3.0 / 7.0};
    const size_t i = get_global_id(0);
    out[i] = in[i] * TABLE[i % 5] + own[(i / 5) % 4];
}

// Vectors, and literals in a reduction with barriers.
kernel void vectors(global const float4 *in, global float *out, local float *sums) {
    const uint lid = get_local_id(0);
    const float4 v = in[get_global_id(0)] * (float4)(0.5, 1.5, 2.0, 0.1) + (float4)(0.2);
    sums[lid] = (v.x + v.y + v.z + v.w) * 0.25;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        float sum = 0.0;
        for (uint k = 0; k < get_local_size(0); k++) sum += 0.5 * sums[k];
        out[get_group_id(0)] = sum;
    }
}
