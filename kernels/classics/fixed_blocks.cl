// Kernels whose groups have a fixed size, and local arrays of that size.

#define BLOCK 16

// A product of square matrices, whose width is a multiple of BLOCK. The tiles are arguments.
#define A(y, x) tile_a[(y) * BLOCK + (x)]
#define B(y, x) tile_b[(y) * BLOCK + (x)]

__kernel void product(__global float *c, __global float *a, __global float *b, __local float *tile_a, __local float *tile_b, int width) {
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int first = width * BLOCK * get_group_id(1), last = first + width - 1;
    float sum = 0.0f;
    for (int i = first, j = BLOCK * get_group_id(0); i <= last; i += BLOCK, j += BLOCK * width) {
        A(ty, tx) = a[i + width * ty + tx];
        B(ty, tx) = b[j + width * ty + tx];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < BLOCK; k++)
            sum += A(ty, k) * B(k, tx);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[get_global_id(1) * get_global_size(0) + get_global_id(0)] = sum;
}

// Some steps of the flow of heat, in a block that overlaps its neighbours by as many cells as there are steps.
__kernel void heat(int steps, __global const float *power, __global const float *from, __global float *to, int width, int height) {
    __local float now[BLOCK][BLOCK], next[BLOCK][BLOCK], source[BLOCK][BLOCK];
    const int tx = get_local_id(0), ty = get_local_id(1), inner = BLOCK - 2 * steps;
    const int x0 = (int)get_group_id(0) * inner - steps, y0 = (int)get_group_id(1) * inner - steps;
    const int x = x0 + tx, y = y0 + ty, at = y * width + x;
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    if (inside) {
        now[ty][tx] = from[at];
        source[ty][tx] = power[at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int west = x0 < 0 ? -x0 : 0, north = y0 < 0 ? -y0 : 0;
    int east = x0 + BLOCK > width ? width - 1 - x0 : BLOCK - 1, south = y0 + BLOCK > height ? height - 1 - y0 : BLOCK - 1;
    const int w = max(tx - 1, west), e = min(tx + 1, east), n = max(ty - 1, north), s = min(ty + 1, south);
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= BLOCK - i - 2 && ty >= i + 1 && ty <= BLOCK - i - 2 && inside) {
            computed = true;
            next[ty][tx] = now[ty][tx] + 0.1f * (source[ty][tx] + now[s][tx] + now[n][tx] + now[ty][e] + now[ty][w] - 4.0f * now[ty][tx]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == steps - 1)
            break;
        if (computed)
            now[ty][tx] = next[ty][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        to[at] = next[ty][tx];
}

// LU decomposition by blocks: the block on the diagonal, …
__kernel void lu_diagonal(__global float *m, int width, int offset) {
    __local float block[BLOCK][BLOCK];
    const int tx = get_local_id(0);
    for (int i = 0; i < BLOCK; i++)
        block[i][tx] = m[(offset + i) * width + offset + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < BLOCK - 1; i++) {
        if (tx > i) {
            for (int j = 0; j < i; j++)
                block[tx][i] -= block[tx][j] * block[j][i];
            block[tx][i] /= block[i][i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tx > i) {
            for (int j = 0; j < i + 1; j++)
                block[i + 1][tx] -= block[i + 1][j] * block[j][tx];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 1; i < BLOCK; i++)
        m[(offset + i) * width + offset + tx] = block[i][tx];
}

// … the blocks to its right and below, each by one half of a group, …
__kernel void lu_perimeter(__global float *m, int width, int offset) {
    __local float diagonal[BLOCK][BLOCK], right[BLOCK][BLOCK], below[BLOCK][BLOCK];
    const int half_of = get_local_id(0) / BLOCK, l = get_local_id(0) % BLOCK;
    const int other = offset + (get_group_id(0) + 1) * BLOCK;
    if (half_of == 0) {
        for (int i = 0; i < BLOCK / 2; i++)
            diagonal[i][l] = m[(offset + i) * width + offset + l];
        for (int i = 0; i < BLOCK; i++)
            right[i][l] = m[(offset + i) * width + other + l];
    } else {
        for (int i = BLOCK / 2; i < BLOCK; i++)
            diagonal[i][l] = m[(offset + i) * width + offset + l];
        for (int i = 0; i < BLOCK; i++)
            below[i][l] = m[(other + i) * width + offset + l];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (half_of == 0) {
        for (int i = 1; i < BLOCK; i++)
            for (int j = 0; j < i; j++)
                right[i][l] -= diagonal[i][j] * right[j][l];
    } else {
        for (int i = 0; i < BLOCK; i++) {
            for (int j = 0; j < i; j++)
                below[l][i] -= below[l][j] * diagonal[j][i];
            below[l][i] /= diagonal[i][i];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (half_of == 0) {
        for (int i = 1; i < BLOCK; i++)
            m[(offset + i) * width + other + l] = right[i][l];
    } else {
        for (int i = 0; i < BLOCK; i++)
            m[(other + i) * width + offset + l] = below[i][l];
    }
}

// … and all others.
__kernel void lu_inner(__global float *m, int width, int offset) {
    __local float right[BLOCK][BLOCK], below[BLOCK][BLOCK];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int x = offset + (get_group_id(0) + 1) * BLOCK, y = offset + (get_group_id(1) + 1) * BLOCK;
    right[ty][tx] = m[(offset + ty) * width + x + tx];
    below[ty][tx] = m[(y + ty) * width + offset + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += below[ty][i] * right[i][tx];
    m[(y + ty) * width + x + tx] -= sum;
}

// Particles in cells: each acts on those of its own cell and of the neighbours. The potential is in the fourth component.
#define PER_CELL 50
#define GROUP 64

typedef struct {
    float x, y, z, potential;
} vec;

__kernel void cells(float alpha, __global const int *neighbours, int most, __global const float4 *places, __global const float *charges, __global vec *forces) {
    __local float4 mine[PER_CELL], theirs[PER_CELL];
    __local float their_charges[PER_CELL];
    const int cell = get_group_id(0), lid = get_local_id(0);
    const int first = cell * PER_CELL;
    for (int i = lid; i < PER_CELL; i += GROUP)
        mine[i] = places[first + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < most; k++) {
        const int other = neighbours[cell * most + k];
        for (int j = lid; j < PER_CELL; j += GROUP) {
            theirs[j] = places[other * PER_CELL + j];
            their_charges[j] = charges[other * PER_CELL + j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i < PER_CELL; i += GROUP) {
            for (int j = 0; j < PER_CELL; j++) {
                const float dx = mine[i].x - theirs[j].x, dy = mine[i].y - theirs[j].y, dz = mine[i].z - theirs[j].z;
                const float u = exp(-alpha * (dx * dx + dy * dy + dz * dz));
                const float f = 2.0f * u;
                forces[first + i].potential += their_charges[j] * u;
                forces[first + i].x += their_charges[j] * (f * dx);
                forces[first + i].y += their_charges[j] * (f * dy);
                forces[first + i].z += their_charges[j] * (f * dz);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// Sobel's operator for four channels at once. The border stays as it is.
__kernel void sobel(__global const uchar4 *in, __global uchar4 *out) {
    const uint x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
    const uint at = y * width + x;
    if (x < 1 || x >= width - 1 || y < 1 || y >= height - 1)
        return;
    const float4 a = convert_float4(in[at - 1 - width]), b = convert_float4(in[at - width]), c = convert_float4(in[at + 1 - width]);
    const float4 d = convert_float4(in[at - 1]), f = convert_float4(in[at + 1]);
    const float4 g = convert_float4(in[at - 1 + width]), h = convert_float4(in[at + width]), i = convert_float4(in[at + 1 + width]);
    const float4 gx = a + (float4)(2) * b + c - g - (float4)(2) * h - i;
    const float4 gy = a - c + (float4)(2) * d - (float4)(2) * f + g - i;
    out[at] = convert_uchar4(hypot(gx, gy) / (float4)(8));
}
