// A tree of sums and maxima: each launch leaves one value for each group.

/// A value that can be combined with others in any order.
typedef struct {
    ulong sum;
    uint lowest, highest;
} summary_t;

summary_t combined(summary_t a, summary_t b)
{
    summary_t both = { a.sum + b.sum, min(a.lowest, b.lowest), max(a.highest, b.highest) };
    return both;
}

/// The leaves: a summary of one number each.
kernel void summarize(global const uint *numbers, global summary_t *out)
{
    size_t at = get_global_id(0);
    uint number = numbers[at];
    summary_t leaf = { number, number, number };
    out[at] = leaf;
}

/// A level of the tree. The last group may be of fewer values than work-items.
kernel void combine(global const summary_t *in, uint count, global summary_t *out, local summary_t *shared)
{
    uint at = (uint)get_global_id(0), item = (uint)get_local_id(0);
    const summary_t nothing = { 0, UINT_MAX, 0 };
    shared[item] = at < count ? in[at] : nothing;
    for (uint reach = (uint)get_local_size(0) / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < reach)
            shared[item] = combined(shared[item], shared[item + reach]);
    }
    if (item == 0)
        out[get_group_id(0)] = shared[0];
}
