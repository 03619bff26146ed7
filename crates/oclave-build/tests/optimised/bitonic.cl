kernel void bitonic(global uint *data, uint stage, uint pass, uint up)
{
    uint i = get_global_id(0), distance = 1u << (stage - pass), block = distance * 2;
    uint left = (i % distance) + (i / distance) * block, right = left + distance;
    uint a = data[left], b = data[right];
    bool direction = up ? ((i / (1u << stage)) % 2 == 1) : ((i / (1u << stage)) % 2 == 0);
    uint small = a < b ? a : b, large = a < b ? b : a;
    data[left] = direction ? small : large;
    data[right] = direction ? large : small;
}
