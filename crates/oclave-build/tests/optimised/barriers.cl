// A perimeter step: halves of a group do different work between barriers.
#define SIZE 16
kernel void perimeter(global float *m, local float *dia, local float *row, local float *col, int n, int offset)
{
    int l = get_local_id(0), k = l < SIZE ? l : l - SIZE, at = offset * n + offset;
    if (l < SIZE) {
        for (int i = 0; i < SIZE / 2; i++) { dia[i * SIZE + k] = m[at + k]; at += n; }
        for (int i = 0; i < SIZE; i++) row[i * SIZE + k] = m[offset * n + (get_group_id(0) + 1) * SIZE + i * n + k];
    } else {
        at = (offset + SIZE / 2) * n + offset;
        for (int i = SIZE / 2; i < SIZE; i++) { dia[i * SIZE + k] = m[at + k]; at += n; }
        for (int i = 0; i < SIZE; i++) col[i * SIZE + k] = m[(offset + (get_group_id(0) + 1) * SIZE + i) * n + offset + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 1; i < SIZE; i++)
        for (int j = 0; j < i; j++)
            if (l < SIZE) row[i * SIZE + k] -= dia[i * SIZE + j] * row[j * SIZE + k];
            else col[k * SIZE + i] -= col[k * SIZE + j] * dia[j * SIZE + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    m[offset * n + get_global_id(0)] = row[k] + col[k];
}
