// Conjugate gradients for Poisson's equation on a square, with zeroes around it.
//
// A vector is an array of rows of `width` numbers: 8 zeroes, the values of a row of the grid, 8 zeroes. There is such a row
// of zeroes above and one below. A work-item has 8 values, so that a core's vector instructions are used in all ways to run.

/// The first value of a work-item.
size_t place(uint width)
{
    return (get_global_id(1) + 1) * width + 8 + 8 * get_global_id(0);
}

/// The sum of the products of two vectors, in an order that depends on their size alone. `count` is a multiple of 16.
float dot_of(global const float *a, global const float *b, uint count)
{
    float8 even = 0, odd = 0;
    for (uint i = 0; i < count / 8; i += 2) {
        even += vload8(i, a) * vload8(i, b);
        odd += vload8(i + 1, a) * vload8(i + 1, b);
    }
    float8 all = even + odd;
    float4 four = all.lo + all.hi;
    float2 two = four.lo + four.hi;
    return two.x + two.y;
}

/// q = A p, where A is the matrix of the five-point formula.
kernel void multiply(global const float *p, global float *q, uint width)
{
    size_t i = place(width);
    float8 around = vload8(0, p + i - 1) + vload8(0, p + i + 1) + vload8(0, p + i - width) + vload8(0, p + i + width);
    vstore8(4 * vload8(0, p + i) - around, 0, q + i);
}

/// One number: a · b.
kernel void dot_product(global const float *a, global const float *b, uint count, global float *result)
{
    result[0] = dot_of(a, b, count);
}

/// x += α p, r -= α q, with α = r · r / p · q.
kernel void descend(global float *x, global float *r, global const float *p, global const float *q,
                    global const float *rr, global const float *pq, uint width)
{
    size_t i = place(width);
    float alpha = rr[0] / pq[0];
    vstore8(vload8(0, x + i) + alpha * vload8(0, p + i), 0, x + i);
    vstore8(vload8(0, r + i) - alpha * vload8(0, q + i), 0, r + i);
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
    vstore8(vload8(0, r + i) + beta[0] * vload8(0, p + i), 0, p + i);
}
