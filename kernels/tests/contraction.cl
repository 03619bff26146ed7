// Products that something is added to, which round the same way wherever they run.

kernel void products(global const float *in, global float *out, int rounds, float a, float b)
{
    size_t i = get_global_id(0);
    float v = in[i], w = 1.0f;
    for (int round = 0; round < rounds; round++) {
        v = v * a + b;
        w = mad(v, b, w * a);
        v = v - w * 0.001f;
    }
    out[i] = v + w;
}

kernel void blend(global const float *in, global float *out, int width, float a, float b, float c)
{
    int i = get_global_id(0);
    int left = max(i - 1, 0), right = min(i + 1, width - 1);
    out[i] = in[i] * a + in[left] * b + in[right] * c + 0.1f * in[(i * 7) % width];
}
