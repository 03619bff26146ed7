// Built-in functions of vectors of halves.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// Only the lowest bits of a mask count.
kernel void shuffle_half4(global const half4 *in, global const ushort4 *mask, global half4 *out) {
    const size_t i = get_global_id(0);
    out[i] = shuffle(in[i], mask[i]);
}

kernel void shuffle2_half8(global const half8 *in, global const ushort8 *mask, global half8 *out) {
    const size_t i = get_global_id(0);
    out[i] = shuffle2(in[i], in[i] + (half8)(1), mask[i]);
}

// Sums and extremes of a group, and the value of its last work-item.
kernel void collectives(global const half *in, global half4 *out) {
    const size_t i = get_global_id(0);
    const half sum = work_group_scan_inclusive_add(in[i]);
    const half least = work_group_reduce_min(in[i]), most = work_group_scan_inclusive_max(in[i]);
    out[i] = (half4)(sum, least, most, work_group_broadcast(in[i], get_local_size(0) - 1));
}

kernel void step_half2(global const half2 *edge, global const half2 *x, global half2 *out) {
    const size_t i = get_global_id(0);
    out[i] = step(edge[i], x[i]);
}
