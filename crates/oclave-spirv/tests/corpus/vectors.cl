// Vectors, shuffles, conversions, vload/vstore, half storage, math builtins, printf.
kernel void vectors(global const float *x, global float *y, global const char4 *c, global half *h, global uint8 *u) {
    size_t i = get_global_id(0);
    float4 a = vload4(i, x);
    float3 b = a.zyx;
    float4 s = shuffle(a, (uint4)(3, 2, 1, 0));
    a = fma(a, s, (float4)(dot(b, b)));
    vstore4(a, i, y);
    vstore_half4_rte(a, i, h);
    a += vload_half4(i, h);
    uint8 w = u[i];
    w.s0246 = convert_uint4_sat(convert_float4(c[i]) * a);
    u[i] = rotate(w, (uint8)(3)) + popcount(w);
    if (i == 0) printf("%d %f\n", (int)i, a.x);
}
