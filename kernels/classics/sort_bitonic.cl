// Bitonic sorts: of a group in local memory, and of a whole buffer by many launches.

// Each work-item compares two elements a step.
kernel void bitonic_local(global const uint *in, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), n = 2 * get_local_size(0);
    const uint base = get_group_id(0) * n;
    tmp[lid] = in[base + lid];
    tmp[lid + n / 2] = in[base + lid + n / 2];
    for (uint k = 2; k <= n; k <<= 1) {
        const bool up = (lid & (k / 2)) == 0;
        for (uint j = k / 2; j > 0; j >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint at = 2 * lid - (lid & (j - 1));
            const uint a = tmp[at], b = tmp[at + j];
            if ((a > b) == up) {
                tmp[at] = b;
                tmp[at + j] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + lid] = tmp[lid];
    out[base + lid + n / 2] = tmp[lid + n / 2];
}

// One element a work-item: the lower partner of a pair exchanges.
kernel void bitonic_xor(global int *data, local int *tmp) {
    const int lid = get_local_id(0), n = get_local_size(0);
    tmp[lid] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 2; k <= n; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            const int partner = lid ^ j;
            if (partner > lid) {
                const bool wrong = (lid & k) == 0 ? tmp[lid] > tmp[partner] : tmp[lid] < tmp[partner];
                if (wrong) {
                    const int t = tmp[lid];
                    tmp[lid] = tmp[partner];
                    tmp[partner] = t;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    data[get_global_id(0)] = tmp[lid];
}

// Each work-item reads its partner and keeps the smaller or the larger value.
kernel void bitonic_select(global const uint *keys, global uint *out, local uint *tmp) {
    const uint lid = get_local_id(0), n = get_local_size(0);
    uint mine = keys[get_global_id(0)];
    uint k = 2;
    while (k <= n) {
        uint j = k >> 1;
        do {
            barrier(CLK_LOCAL_MEM_FENCE);
            tmp[lid] = mine;
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint other = tmp[lid ^ j];
            const bool wants_small = ((lid & k) == 0) == ((lid & j) == 0);
            mine = wants_small ? min(mine, other) : max(mine, other);
            j >>= 1;
        } while (j > 0);
        k <<= 1;
    }
    out[get_global_id(0)] = mine;
}

// One step on the whole buffer, with values that follow their keys.
kernel void bitonic_step(global uint *keys, global uint *values, const uint k, const uint j) {
    const uint i = get_global_id(0), partner = i ^ j;
    if (partner <= i) return;
    const uint a = keys[i], b = keys[partner];
    if ((a > b) == ((i & k) == 0) && a != b) {
        keys[i] = b;
        keys[partner] = a;
        const uint v = values[i];
        values[i] = values[partner];
        values[partner] = v;
    }
}
