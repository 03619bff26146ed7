// Copies by the whole group between global and local memory.

// There and back, reversed in between.
kernel void there_and_back(global const int *in, global int *out, local int *a, local int *b) {
    const size_t size = get_local_size(0), base = get_group_id(0) * size, lid = get_local_id(0);
    event_t event = async_work_group_copy(a, in + base, size, 0);
    wait_group_events(1, &event);
    b[lid] = a[size - 1 - lid] + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    event = async_work_group_copy(out + base, b, size, 0);
    wait_group_events(1, &event);
}

// Two copies with one event, of which one is strided.
kernel void columns(global const int *in, global int *out, const uint width, local int *rows, local int *column) {
    const size_t size = get_local_size(0), lid = get_local_id(0), group = get_group_id(0);
    event_t event = async_work_group_strided_copy(column, in + group, size, (size_t)width, 0);
    event = async_work_group_copy(rows, in + group * size, size, event);
    wait_group_events(1, &event);
    out[group * size + lid] = 3 * column[lid] + rows[lid];
}

// Scattered with a stride on the way back.
kernel void scattered(global const float4 *in, global float4 *out, local float4 *tmp) {
    const size_t size = get_local_size(0), group = get_group_id(0), groups = get_num_groups(0);
    event_t event = async_work_group_copy(tmp, in + group * size, size, 0);
    wait_group_events(1, &event);
    tmp[get_local_id(0)] *= 2.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    event = async_work_group_strided_copy(out + group, tmp, size, groups, 0);
    wait_group_events(1, &event);
}

// The next chunk is loaded while the group works on this one.
kernel void double_buffered(global const uint *in, const uint chunks, global uint *out, local uint *buffers) {
    const size_t size = get_local_size(0), lid = get_local_id(0);
    global const uint *mine = in + get_group_id(0) * size * chunks;
    event_t events[2];
    uint sum = 0;
    events[0] = async_work_group_copy(buffers, mine, size, 0);
    for (uint k = 0; k < chunks; k++) {
        if (k + 1 < chunks)
            events[(k + 1) & 1] = async_work_group_copy(buffers + ((k + 1) & 1) * size, mine + (k + 1) * size, size, 0);
        wait_group_events(1, &events[k & 1]);
        sum = sum * 31 + buffers[(k & 1) * size + (lid + k) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = sum;
}

// Several events in one wait, narrow elements, and a prefetch.
kernel void several_events(global const uchar *a, global const ushort *b, global uint *out, local uchar *x, local ushort *y) {
    const size_t size = get_local_size(0), base = get_group_id(0) * size, lid = get_local_id(0);
    prefetch(b + base, size);
    event_t events[2];
    events[0] = async_work_group_copy(x, a + base, size, 0);
    events[1] = async_work_group_copy(y, b + base, size, 0);
    wait_group_events(2, events);
    out[base + lid] = (uint)x[size - 1 - lid] << 16 | y[(lid + 1) % size];
}
