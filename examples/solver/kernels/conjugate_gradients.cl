// Conjugate gradients for Poisson's equation on a square, with zeroes around it.
//
// A vector is an array of rows of `width` numbers: 8 zeroes, the values of a row of the grid, 8 zeroes. There is such a row
// of zeroes above and one below. A work-item has 8 values, so that a core's vector instructions are used in all ways to run.

/// The first value of a work-item.
size_t place(uint width)
{
    return (get_global_id(1) + 1) * width + 8 + 8 * get_global_id(0);
}

/// Eight values from a place on.
float8 at(global const float *vector, size_t i)
{
    return vload8(0, vector + i);
}

void put(float8 values, global float *vector, size_t i)
{
    vstore8(values, 0, vector + i);
}

/// The sum of the products of two vectors, in an order that depends on their size alone. `count` is a multiple of 32.
float dot_of(global const float *a, global const float *b, uint count)
{
    float8 first = 0, second = 0, third = 0, fourth = 0;
    for (uint i = 0; i < count; i += 32) {
        first += at(a, i) * at(b, i);
        second += at(a, i + 8) * at(b, i + 8);
        third += at(a, i + 16) * at(b, i + 16);
        fourth += at(a, i + 24) * at(b, i + 24);
    }
    float8 all = (first + second) + (third + fourth);
    float4 four = all.lo + all.hi;
    float2 two = four.lo + four.hi;
    return two.x + two.y;
}

/// q = A p, where A is the matrix of the five-point formula.
kernel void multiply(global const float *p, global float *q, uint width)
{
    size_t i = place(width);
    put(4 * at(p, i) - (at(p, i - 1) + at(p, i + 1) + at(p, i - width) + at(p, i + width)), q, i);
}

/// One number: a · b.
kernel void dot_product(global const float *a, global const float *b, uint count, global float *result)
{
    result[0] = dot_of(a, b, count);
}

/// How far to go: α = r · r / p · q.
kernel void how_far(global const float *p, global const float *q, uint count, global const float *rr,
                    global float *alpha)
{
    alpha[0] = rr[0] / dot_of(p, q, count);
}

/// x += α p, r -= α q.
kernel void descend(global float *x, global float *r, global const float *p, global const float *q,
                    global const float *alpha, uint width)
{
    size_t i = place(width);
    float far = alpha[0];
    put(at(x, i) + far * at(p, i), x, i);
    put(at(r, i) - far * at(q, i), r, i);
}

/// The new r · r, how much larger it is than the last one, and whether to go on.
kernel void look(global const float *r, uint count, float enough, global float *rr, global float *beta,
                 global uint *go_on, global uint *steps)
{
    float now = dot_of(r, r, count);
    beta[0] = now / rr[0];
    rr[0] = now;
    go_on[0] = now > enough;
    steps[0] += 1;
}

/// p = r + β p.
kernel void turn(global const float *r, global float *p, global const float *beta, uint width)
{
    size_t i = place(width);
    put(at(r, i) + beta[0] * at(p, i), p, i);
}
