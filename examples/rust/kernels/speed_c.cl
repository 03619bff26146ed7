// The kernels of speed.rs in OpenCL C. As in Rust, each product is rounded.
#pragma OPENCL FP_CONTRACT OFF

kernel void saxpy_c(float a, global const float *x, global float *y)
{
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}

kernel void bodies_c(uint count, global const float4 *stars, global float4 *out)
{
    float4 me = stars[get_global_id(0)];
    float3 sum = 0;
    for (uint i = 0; i < count; i++) {
        float4 other = stars[i];
        float3 way = other.xyz - me.xyz;
        float squared = way.x * way.x + way.y * way.y + way.z * way.z + 0.01f;
        sum += other.w / (squared * sqrt(squared)) * way;
    }
    out[get_global_id(0)] = (float4)(sum, 0);
}

kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void product_c(uint size, global const float *a, global const float *b, global float *c)
{
    local float tile_a[256], tile_b[256];
    size_t column = get_global_id(0), row = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    float sum = 0;
    for (uint first = 0; first < size; first += 16) {
        tile_a[y * 16 + x] = a[row * size + first + x];
        tile_b[y * 16 + x] = b[(first + y) * size + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++)
            sum += tile_a[y * 16 + k] * tile_b[k * 16 + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * size + column] = sum;
}

kernel void stencil_c(global const float *x, global float *out)
{
    size_t column = get_global_id(0), row = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    size_t at = row * width + column;
    float left = column > 0 ? x[at - 1] : 0;
    float right = column + 1 < width ? x[at + 1] : 0;
    float above = row > 0 ? x[at - width] : 0;
    float below = row + 1 < height ? x[at + width] : 0;
    out[at] = (left + right + above + below) * 0.25f + x[at] * 0.5f;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce_c(global const uint *x, global uint *sums)
{
    local uint tile[256];
    size_t me = get_local_id(0);
    tile[me] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t half_size = 128; half_size > 0; half_size /= 2) {
        if (me < half_size)
            tile[me] += tile[me + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0)
        sums[get_group_id(0)] = tile[0];
}

kernel void histogram_c(uint count, global const uchar *bytes, global atomic_uint *counts)
{
    for (size_t i = get_global_id(0); i < count; i += get_global_size(0))
        atomic_fetch_add_explicit(&counts[bytes[i]], 1, memory_order_relaxed, memory_scope_device);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan_c(global const uint *x, global uint *out)
{
    local uint tile[256];
    size_t me = get_local_id(0);
    tile[me] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t distance = 1; distance < 256; distance *= 2) {
        uint before = me >= distance ? tile[me - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[me] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = tile[me];
}

kernel void mandelbrot_c(uint most, global uint *out)
{
    size_t column = get_global_id(0), row = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    float a = (float)column / (float)width * 3.0f - 2.0f, b = (float)row / (float)height * 2.0f - 1.0f;
    float x = 0, y = 0;
    uint steps = 0;
    while (steps < most && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + a;
        y = 2.0f * x * y + b;
        x = next;
        steps++;
    }
    out[row * width + column] = steps;
}

kernel void sparse_c(global const uint *starts, global const uint *columns, global const float *values,
                     global const float *x, global float *out)
{
    size_t row = get_global_id(0);
    float sum = 0;
    for (uint i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    out[row] = sum;
}

constant uint roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define ROTATED(x, n) rotate((uint)(x), (uint)(32 - (n)))

kernel void sha256_c(global const uint *blocks, global uint *out)
{
    size_t i = get_global_id(0);
    uint w[64];
    for (int t = 0; t < 16; t++)
        w[t] = blocks[16 * i + t];
    for (int t = 16; t < 64; t++) {
        uint a = w[t - 15], b = w[t - 2];
        w[t] = (ROTATED(b, 17) ^ ROTATED(b, 19) ^ b >> 10) + w[t - 7] + (ROTATED(a, 7) ^ ROTATED(a, 18) ^ a >> 3) + w[t - 16];
    }
    const uint start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    uint a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5], g = start[6], h = start[7];
    for (int t = 0; t < 64; t++) {
        uint first = h + (ROTATED(e, 6) ^ ROTATED(e, 11) ^ ROTATED(e, 25)) + ((e & f) ^ (~e & g)) + roots[t] + w[t];
        uint second = (ROTATED(a, 2) ^ ROTATED(a, 13) ^ ROTATED(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    uint end[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; k++)
        out[8 * i + k] = start[k] + end[k];
}
