/// Each pixel is the mean of its neighbours and itself; beyond the edge, the edge goes on.
kernel void soften(global const uchar *from, global uchar *to)
{
    int x = get_global_id(0), y = get_global_id(1), columns = get_global_size(0), rows = get_global_size(1);
    uint sum = 0;
    for (int row = y - 1; row <= y + 1; row++)
        for (int column = x - 1; column <= x + 1; column++)
            sum += from[clamp(row, 0, rows - 1) * columns + clamp(column, 0, columns - 1)];
    to[y * columns + x] = (sum + 4) / 9;
}
