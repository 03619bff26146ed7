// UTF-8.

// Decodes valid text of a line for each work-item.
kernel void decode(global const uchar *text, global const uint *starts, global uint *points, const uint room, global uint *counts) {
    const uint item = get_global_id(0);
    uint at = starts[item], count = 0;
    while (at < starts[item + 1]) {
        const uchar first = text[at++];
        uint point;
        int more;
        if (first < 0x80) {
            point = first;
            more = 0;
        } else if ((first & 0xE0) == 0xC0) {
            point = first & 0x1F;
            more = 1;
        } else if ((first & 0xF0) == 0xE0) {
            point = first & 0x0F;
            more = 2;
        } else {
            point = first & 0x07;
            more = 3;
        }
        while (more-- > 0) point = (point << 6) | (text[at++] & 0x3F);
        points[item * room + count++] = point;
    }
    counts[item] = count;
}

kernel void encode(global const uint *points, const uint n, global uchar *text, const uint room, global uint *lengths) {
    const uint item = get_global_id(0);
    global uchar *to = text + item * room;
    uint used = 0;
    for (uint k = 0; k < n; k++) {
        const uint p = points[item * n + k];
        if (p < 0x80) {
            to[used++] = (uchar)p;
            continue;
        }
        const int more = p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
        to[used++] = (uchar)((0xFF00 >> (more + 1) & 0xFF) | (p >> (6 * more)));
        for (int i = more - 1; i >= 0; i--) to[used++] = (uchar)(0x80 | ((p >> (6 * i)) & 0x3F));
    }
    lengths[item] = used;
}

// The number of bytes before the first invalid sequence.
kernel void validate(global const uchar *text, const uint n, global uint *valid) {
    const uint item = get_global_id(0);
    global const uchar *line = text + item * n;
    uint at = 0;
    while (at < n) {
        const uchar a = line[at];
        uint length = 1;
        uchar low = 0x80, high = 0xBF;
        if (a >= 0x80) {
            if (a < 0xC2 || a > 0xF4) break;
            length = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
            switch (a) {
            case 0xE0: low = 0xA0; break;
            case 0xED: high = 0x9F; break;
            case 0xF0: low = 0x90; break;
            case 0xF4: high = 0x8F; break;
            default: break;
            }
            if (at + length > n) break;
            bool good = line[at + 1] >= low && line[at + 1] <= high;
            for (uint k = 2; good && k < length; k++) good = (line[at + k] & 0xC0) == 0x80;
            if (!good) break;
        }
        at += length;
    }
    valid[item] = at;
}

// The group numbers the characters of its part together.
kernel void positions(global const uchar *text, global uint *numbers, local uint *sums) {
    const uint lid = get_local_id(0), size = get_local_size(0), gid = get_global_id(0);
    sums[lid] = (text[gid] & 0xC0) != 0x80;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 1; d < size; d <<= 1) {
        uint sum = sums[lid];
        if (lid >= d) sum += sums[lid - d];
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    numbers[gid] = sums[lid];
}
