// Histograms of bytes and of wider numbers.

#define BINS 256

// Atomic additions in global memory.
kernel void global_atomics(global const uchar *in, const uint n, volatile global uint *bins) {
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[in[i]]);
}

// Atomic additions in local memory; each group adds its bins at the end.
kernel void local_atomics(global const uchar *in, const uint n, volatile global uint *bins) {
    local uint mine[BINS];
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint b = lid; b < BINS; b += size) mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = lid; b < BINS; b += size) {
        if (mine[b] != 0) atomic_add(&bins[b], mine[b]);
    }
}

// The bins of each group go to memory, and a second launch adds them.
kernel void parts(global const uchar4 *in, const uint each, global uint *all_bins, local uint *mine) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint b = lid; b < BINS; b += size) mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < each; k++) {
        const uchar4 pixel = in[get_group_id(0) * size * each + k * size + lid];
        atomic_inc(&mine[pixel.x]);
        atomic_inc(&mine[pixel.y]);
        atomic_inc(&mine[pixel.z]);
        atomic_inc(&mine[pixel.w]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = lid; b < BINS; b += size) all_bins[get_group_id(0) * BINS + b] = mine[b];
}

kernel void add_parts(global const uint *all_bins, const uint groups, global uint *bins) {
    const uint b = get_global_id(0);
    uint sum = 0;
    for (uint g = 0; g < groups; g++) sum += all_bins[g * BINS + b];
    bins[b] = sum;
}

// Each work-item has bins of its own, of a byte each, in local memory.
#define FEW 16

kernel void private_bins(global const uchar *in, const uint each, volatile global uint *bins, local uchar *mine) {
    const uint lid = get_local_id(0), size = get_local_size(0);
    for (uint b = 0; b < FEW; b++) mine[b * size + lid] = 0;
    for (uint k = 0; k < each; k++) {
        const uchar value = in[get_global_id(0) * each + k];
        mine[(value >> 4) * size + lid]++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = lid; b < FEW; b += size) {
        uint sum = 0;
        for (uint i = 0; i < size; i++) sum += mine[b * size + i];
        atomic_add(&bins[b], sum);
    }
}

// Bins in a private array, which is indexed by data.
kernel void private_array(global const uint *in, const uint each, global uint *out) {
    uint bins[FEW];
    for (int b = 0; b < FEW; b++) bins[b] = 0;
    for (uint k = 0; k < each; k++) bins[in[get_global_id(0) * each + k] % FEW]++;
    for (int b = 0; b < FEW; b++) out[get_global_id(0) * FEW + b] = bins[b];
}

// Bins whose limits are found by a search in constant memory.
kernel void by_limits(global const float *in, constant float *limits, const int n, volatile global uint *bins) {
    const float value = in[get_global_id(0)];
    int b = 0;
    while (b < n && value >= limits[b]) b++;
    atomic_inc(&bins[b]);
}
