// Ten kernels that keep a device busy: ci/ptx-pack times them.

kernel void nbody(global const float4 *position, global float4 *speed, int count, float step) {
    int i = get_global_id(0);
    float4 own = position[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < count; j++) {
        float4 other = position[j];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
        float force = other.w * inverse * inverse * inverse;
        ax += dx * force;
        ay += dy * force;
        az += dz * force;
    }
    speed[i] += (float4)(ax, ay, az, 0) * step;
}

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void matmul(global const float *a, global const float *b,
                                                                    global float *c, int n) {
    local float of_a[16][16], of_b[16][16];
    int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int tile = 0; tile < n / 16; tile++) {
        of_a[y][x] = a[row * n + tile * 16 + x];
        of_b[y][x] = b[(tile * 16 + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum += of_a[y][k] * of_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

kernel void reduce(global const float *in, global float *out, int count, local float *sums) {
    int item = get_local_id(0), size = get_local_size(0);
    float sum = 0;
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        sum += in[i];
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = size / 2; half_size > 0; half_size /= 2) {
        if (item < half_size)
            sums[item] += sums[item + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        out[get_group_id(0)] = sums[0];
}

kernel void stencil(global const float *in, global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        int i = y * width + x;
        out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
    }
}

kernel void histogram(global const uchar *in, global uint *counts, int count) {
    local uint own[256];
    int item = get_local_id(0);
    for (int i = item; i < 256; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        atomic_inc(&own[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < 256; i += get_local_size(0))
        atomic_add(&counts[i], own[i]);
}

kernel void sortstep(global uint *values, uint distance, uint run) {
    uint i = get_global_id(0), other = i ^ distance;
    if (other > i) {
        uint a = values[i], b = values[other];
        bool rises = (i & run) == 0;
        if ((a > b) == rises) {
            values[i] = b;
            values[other] = a;
        }
    }
}

kernel void mandelbrot(global int *out, int width, float left, float top, float step, int limit) {
    int x = get_global_id(0), y = get_global_id(1), n = 0;
    float cr = left + x * step, ci = top + y * step, zr = 0, zi = 0;
    while (n < limit && zr * zr + zi * zi < 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
        n++;
    }
    out[y * width + x] = n;
}

kernel void spmv(global const int *rows, global const int *columns, global const float *values, global const float *x,
                 global float *y, int count) {
    int i = get_global_id(0);
    if (i < count) {
        float sum = 0;
        for (int j = rows[i]; j < rows[i + 1]; j++)
            sum += values[j] * x[columns[j]];
        y[i] = sum;
    }
}

kernel void scan(global const uint *in, global uint *out, local uint *sums) {
    int item = get_local_id(0), size = get_local_size(0), i = get_global_id(0);
    sums[item] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < size; distance *= 2) {
        uint before = item >= distance ? sums[item - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sums[item];
}

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void transpose(global const float *in, global float *out,
                                                                       int width, int height) {
    local float tile[16][17];
    int x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = in[get_global_id(1) * width + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(get_group_id(0) * 16 + y) * height + get_group_id(1) * 16 + x] = tile[x][y];
}
