// Negated numbers that are needed behind a barrier.

kernel void negated(global const uint *in, global uint *out, local float *tmp) {
    const size_t i = get_global_id(0), l = get_local_id(0);
    const float v = -(float)(in[i] & 0xff);
    tmp[l] = 1.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = as_uint(v * 2.0f + tmp[l]);
}

// A rotation of two numbers, twice: one factor is on both sides of the barrier, once negated.
kernel void rotated_pair(global const uint *in, global uint *out, local float *tmp) {
    const size_t i = get_global_id(0), l = get_local_id(0);
    const float c = (float)(in[i] & 7);
    float a = (float)(in[i] >> 3 & 15), b = (float)(in[i] >> 7 & 15), t = a;
    a = fma(c, b, t);
    b = fma(-c, b, t);
    tmp[l] = b;
    barrier(CLK_LOCAL_MEM_FENCE);
    t = a;
    a = fma(c, b, t);
    b = fma(-c, b, t);
    out[i] = as_uint(a + b * 4.0f + tmp[l]);
}

// What depends on the work-item by negations only.
kernel void least_of_negated(global const uint *in, global uint *out, local float *tmp) {
    const size_t i = get_global_id(0), l = get_local_id(0);
    const float a = (float)(in[i] & 0xff), b = (float)(in[i] >> 8 & 0xff);
    const float v = fmin(-a, -b), size = fabs(-a), sum = -(a + b);
    tmp[l] = 1.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = as_uint(v + size * 2.0f + sum * 4.0f + tmp[l]);
}

// Vectors, and halves of the range in a loop.
kernel void negated_vectors(global const uint *in, global uint *out, local float *tmp) {
    const size_t i = get_global_id(0), l = get_local_id(0);
    const float4 v = -convert_float4((uint4)(in[i]) >> (uint4)(0, 3, 5, 7) & 15);
    float sum = 0.0f;
    for (int round = 0; round < 3; round++) {
        tmp[l] = round;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += v.x + v.y * 2.0f + v.z * 4.0f + v.w * 8.0f + tmp[l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = as_uint(sum);
}
