// Many kernels in one source: an image whose size matters when a program starts.
#define STEP(n)                                                                                               \
    x = x * (1.0f + n * 0.125f) + sin(x * n) / (fabs(x) + n);                                                 \
    x += (i & n) ? cos(x + n) : sqrt(fabs(x) + n);
#define STEPS(n) STEP(n) STEP(n + 1) STEP(n + 2) STEP(n + 3) STEP(n + 4) STEP(n + 5) STEP(n + 6) STEP(n + 7)
#define WIDE(n)                                                                                               \
    kernel void wide_##n(global float *data)                                                                  \
    {                                                                                                         \
        uint i = (uint)get_global_id(0);                                                                      \
        float x = data[i];                                                                                    \
        STEPS(n + 1) STEPS(n + 9)                                                                             \
        data[i] = x;                                                                                          \
    }

WIDE(1) WIDE(2) WIDE(3) WIDE(4) WIDE(5) WIDE(6) WIDE(7) WIDE(8)
WIDE(11) WIDE(12) WIDE(13) WIDE(14) WIDE(15) WIDE(16) WIDE(17) WIDE(18)
