// Program-scope variables: constants, tables, pointers into arrays, annotated globals.
constant float weights[5] = { 0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f };
__attribute__((annotate("device_global=counter,host_access_read"))) global int counter;
global int table[4] = { 1, 2, 3, 4 };
global int *cursor = &table[2];
typedef struct { char tag; double value; int grid[2][3]; } record_t;
global record_t records[2] = { { 1, 2.5, { { 1, 2, 3 }, { 4, 5, 6 } } }, { 2, -1.0, { { 0 } } } };
constant char message[] = "hello";

__attribute__((annotate("kernel_mark"))) kernel void blur(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += weights[k] * in[i + k];
    out[i] = sum;
    atomic_inc((volatile global int *)&counter);
}

kernel void bump(global double *out) {
    table[get_global_id(0) & 3] += *cursor;
    counter += 2;
    out[get_global_id(0)] = records[get_global_id(0) & 1].value + message[get_global_id(0) % 5];
}
