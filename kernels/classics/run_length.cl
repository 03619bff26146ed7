// Run-length coding.

// A group encodes its part: flags of first elements, a scan for their places, then values and lengths.
kernel void encode(global const uchar *in, global uchar *values, global uint *lengths, global uint *counts, local uint *sums, local uint *starts) {
    const uint lid = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size;
    const bool is_first = lid == 0 || in[base + lid] != in[base + lid - 1];
    sums[lid] = is_first;
    for (uint d = 1; d < size; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint add = lid >= d ? sums[lid - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[lid] += add;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint run = sums[lid] - 1, runs = sums[size - 1];
    if (is_first) {
        values[base + run] = in[base + lid];
        starts[run] = lid;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < runs) lengths[base + lid] = (lid + 1 < runs ? starts[lid + 1] : size) - starts[lid];
    if (lid == 0) counts[get_group_id(0)] = runs;
}

// A group decodes its runs: each work-item searches the run that it belongs to.
kernel void decode(global const uchar *values, global const uint *lengths, global const uint *counts, global uchar *out, local uint *ends) {
    const uint lid = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * size;
    const uint runs = counts[get_group_id(0)];
    if (lid == 0) {
        uint sum = 0;
        for (uint r = 0; r < runs; r++) {
            sum += lengths[base + r];
            ends[r] = sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint low = 0, high = runs - 1;
    while (low < high) {
        const uint middle = (low + high) / 2;
        if (ends[middle] <= lid) low = middle + 1;
        else high = middle;
    }
    out[base + lid] = values[base + low];
}

// Each work-item packs a line: literals and runs with a signed count in front, as PackBits has it.
kernel void pack_bits(global const uchar *in, const uint n, global uchar *out, const uint room, global uint *lengths) {
    const uint item = get_global_id(0);
    global const uchar *line = in + item * n;
    global uchar *to = out + item * room;
    uint at = 0, used = 0;
    while (at < n) {
        uint run = 1;
        while (at + run < n && run < 128 && line[at + run] == line[at]) run++;
        if (run >= 3) {
            to[used++] = (uchar)(257 - run);
            to[used++] = line[at];
            at += run;
            continue;
        }
        uint literals = 0;
        while (at + literals < n && literals < 128) {
            if (at + literals + 2 < n && line[at + literals] == line[at + literals + 1] && line[at + literals] == line[at + literals + 2]) break;
            literals++;
        }
        to[used++] = (uchar)(literals - 1);
        for (uint k = 0; k < literals; k++) to[used++] = line[at + k];
        at += literals;
    }
    lengths[item] = used;
}

kernel void unpack_bits(global const uchar *in, const uint room, global const uint *lengths, global uchar *out, const uint n) {
    const uint item = get_global_id(0);
    global const uchar *from = in + item * room;
    global const uchar *const end = from + lengths[item];
    uint at = item * n;
    while (from < end) {
        const char head = as_char(*from++);
        if (head >= 0) {
            for (int k = 0; k <= head; k++) out[at++] = *from++;
        } else if (head != -128) {
            const uchar value = *from++;
            for (int k = head; k <= 0; k++) out[at++] = value;
        }
    }
}
