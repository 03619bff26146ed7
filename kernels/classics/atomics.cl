// Atomics of OpenCL C 2.0, whose order and scope are given.

kernel void weak(global atomic_uint *sums, const uint n) {
    const uint id = get_global_id(0);
    uint seen = 0;
    while (!atomic_compare_exchange_weak_explicit(&sums[id % n], &seen, seen + id + 1, memory_order_relaxed,
                                                  memory_order_relaxed, memory_scope_device));
}

kernel void strong(global atomic_int *sums, const uint n) {
    const int id = get_global_id(0);
    int seen = 5;
    while (!atomic_compare_exchange_strong_explicit(&sums[id % n], &seen, seen - id, memory_order_relaxed, memory_order_relaxed,
                                                    memory_scope_device));
}

kernel void combined(global const uint *in, global atomic_uint *out) {
    const uint value = in[get_global_id(0)];
    atomic_fetch_add_explicit(&out[0], value, memory_order_relaxed, memory_scope_device);
    atomic_fetch_sub_explicit(&out[1], value, memory_order_relaxed, memory_scope_device);
    atomic_fetch_or_explicit(&out[2], value & 0xff00, memory_order_relaxed, memory_scope_device);
    atomic_fetch_and_explicit(&out[3], value | 0xff00, memory_order_relaxed, memory_scope_device);
    atomic_fetch_xor_explicit(&out[4], value, memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&out[5], value, memory_order_relaxed, memory_scope_device);
    atomic_fetch_min_explicit(&out[6], value, memory_order_relaxed, memory_scope_device);
}

// How many work-items of the group have a value.
kernel void counts(global uint *data, local atomic_uint *counts) {
    const uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0);
    atomic_store_explicit(&counts[lid], 0, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_add_explicit(&counts[data[id] % size], 1, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    data[id] = atomic_load_explicit(&counts[lid], memory_order_relaxed, memory_scope_work_group);
}
