// Atomics of OpenCL 2.0, generic pointers, sub-groups, work-group collectives.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__attribute__((noinline)) static void add(int *p, int v) { *p += v; }
kernel void reduce(global atomic_int *total, global int *data, local int *scratch, volatile global long *wide) {
    int v = work_group_reduce_add(data[get_global_id(0)]);
    int s = sub_group_reduce_add(v);
    add(&data[0], s);
    add(&scratch[get_local_id(0)], v);
    atomic_fetch_add_explicit(total, v, memory_order_relaxed, memory_scope_device);
    atom_add(wide, (long)v);
    int old = 3;
    atomic_compare_exchange_strong(total, &old, v);
    barrier(CLK_GLOBAL_MEM_FENCE);
}
kernel void gather(global const int *x, global int *y) {
    local int tile[64];
    event_t e = async_work_group_copy(tile, x, 64, 0);
    wait_group_events(1, &e);
    y[get_global_id(0)] = tile[get_local_id(0) ^ 1];
}
