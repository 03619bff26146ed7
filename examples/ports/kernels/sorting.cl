// Batcher's bitonic sort: runs of a power of two that rise and fall in turn are merged until one
// rising run is left.

/// Exchanges two numbers that are in the wrong order.
#define EXCHANGE(a, b, rising) \
    do { \
        uint of_a = (a), of_b = (b); \
        if ((of_a > of_b) == (rising)) { \
            (a) = of_b; \
            (b) = of_a; \
        } \
    } while (0)

/// The lower of the two places that a work-item compares, `distance` apart.
uint lower(uint item, uint distance)
{
    return 2 * item - (item & (distance - 1));
}

/// One step of a merge: compares numbers that are `distance` apart in runs of `run` numbers.
kernel void merge_step(global uint *keys, uint run, uint distance)
{
    uint at = lower((uint)get_global_id(0), distance);
    EXCHANGE(keys[at], keys[at + distance], (at & run) == 0);
}

/// All steps of a merge that stay within one group's numbers, from `distance` down to 1.
kernel void merge_rest(global uint *keys, uint run, uint distance, local uint *shared)
{
    uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint first = 2 * items * (uint)get_group_id(0);
    shared[item] = keys[first + item];
    shared[item + items] = keys[first + item + items];
    for (; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint at = lower(item, distance);
        EXCHANGE(shared[at], shared[at + distance], ((first + at) & run) == 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[first + item] = shared[item];
    keys[first + item + items] = shared[item + items];
}
