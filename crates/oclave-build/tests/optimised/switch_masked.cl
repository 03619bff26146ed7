// Few bits decide: the orientation of a tile.
kernel void switch_masked(global int *out, uint flags, ulong wide)
{
    int i = get_global_id(0);
    switch (flags & 3) {
    case 0: out[i] = out[2 * i]; break;
    case 1: out[i] += 4; break;
    case 2: out[i + 1] = out[i]; break;
    default: out[i] = -1; break;
    }
    switch (wide >> 58) {
    case 3: out[i] ^= 3; break;
    case 9: out[i] = 9; break;
    case 11: out[i + 2] = 11; break;
    case 40: out[i + 3] = 12; break;
    }
}
