// Work taken by atomics of OpenCL 2.
kernel void queue_kernel(global atomic_int *head, global atomic_uint *done, global int *items, int n)
{
    for (;;) {
        int at = atomic_fetch_add_explicit(head, 1, memory_order_relaxed, memory_scope_device);
        if (at >= n)
            break;
        int v = items[at];
        while (v != 1 && v > 0)
            v = v % 2 ? 3 * v + 1 : v / 2;
        items[at] = v;
        atomic_fetch_or_explicit(done, 1u << (at & 31), memory_order_release, memory_scope_device);
    }
    uint expected = 0;
    while (!atomic_compare_exchange_weak(done, &expected, 5u) && expected < 9)
        expected = 0;
}
