// Conjugate gradients after Hestenes and Stiefel, for a sparse matrix in compressed rows. All
// numbers stay on the device, so an iteration needs nothing of the host.

/// Places in the memory of scalars.
#define SQUARE 0 // of the residual
#define CURVATURE 1 // direction * matrix * direction
#define NEW_SQUARE 2

/// product = matrix * vector, a row for each work-item.
kernel void multiply(
    global const uint *row_begins, global const uint *columns, global const float *values,
    global const float *vector, global float *product)
{
    size_t row = get_global_id(0);
    float sum = 0.0f;
    for (uint at = row_begins[row]; at < row_begins[row + 1]; at++)
        sum += values[at] * vector[columns[at]];
    product[row] = sum;
}

/// One sum of products for each group.
kernel void dot_groups(global const float *a, global const float *b, global float *sums, local float *shared)
{
    size_t at = get_global_id(0), item = get_local_id(0);
    shared[item] = a[at] * b[at];
    for (size_t reach = get_local_size(0) / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < reach)
            shared[item] += shared[item + reach];
    }
    if (item == 0)
        sums[get_group_id(0)] = shared[0];
}

/// The sum of the groups' sums, by one work-item.
kernel void add_groups(global const float *sums, uint count, global float *scalars, uint place)
{
    float sum = 0.0f;
    for (uint i = 0; i < count; i++)
        sum += sums[i];
    scalars[place] = sum;
}

/// Goes along the direction to the lowest point.
kernel void step_along(
    global const float *scalars, global const float *direction, global const float *product,
    global float *solution, global float *residual)
{
    size_t at = get_global_id(0);
    // All that is left is rounding: stay.
    float length = scalars[CURVATURE] > 0.0f ? scalars[SQUARE] / scalars[CURVATURE] : 0.0f;
    solution[at] += length * direction[at];
    residual[at] -= length * product[at];
}

/// The next direction, conjugate to all before.
kernel void turn(global const float *scalars, global const float *residual, global float *direction)
{
    size_t at = get_global_id(0);
    float part = scalars[SQUARE] > 0.0f ? scalars[NEW_SQUARE] / scalars[SQUARE] : 0.0f;
    direction[at] = residual[at] + part * direction[at];
}

/// The square of the new residual becomes that of the old one.
kernel void advance(global float *scalars)
{
    scalars[SQUARE] = scalars[NEW_SQUARE];
}
