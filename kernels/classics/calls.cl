// Functions that the compiler must not inline.

__attribute__((noinline)) uint group(void) {
    return get_group_id(0);
}

__attribute__((noinline)) uint item(uint factor) {
    return get_local_id(0) * factor + get_global_id(0);
}

__attribute__((noinline)) uint last_of_group(uint value) {
    return get_local_id(0) + 1 == get_local_size(0) ? value + get_num_groups(0) : value;
}

// They read the ids of the work-item.
__kernel void ids_in_calls(__global const uint *in, __global uint *out) {
    const size_t i = get_global_id(0);
    out[i] = last_of_group(in[i] * (group() + 1) + item(3));
}

__attribute__((noinline)) void add_one(__global uint *p) {
    *p += 1;
}

__attribute__((noinline)) void add_two(__global uint *p) {
    add_one(p);
    add_one(p);
}

// They write memory, and call each other.
__kernel void nested_calls(__global uint *data, uint rounds) {
    for (uint i = 0; i < rounds; i++)
        add_two(data + get_global_id(0));
}
