// Pointers in memory.

/// Stores the address of memory.
kernel void keep_address(global int *of, global ulong *where)
{
    *where = (ulong)of;
}

/// Reads behind a stored address.
kernel void follow_address(global const ulong *where, global int *out)
{
    *out = *(global const int *)*where;
}

/// As `follow_address`, after a long time.
kernel void follow_address_late(global const ulong *where, global int *out, uint loops)
{
    uint x = out[0];
    for (uint i = 0; i < loops; i++)
        x = x * 1664525u + 1013904223u + (x >> 7);
    // The loops must have run to know this.
    *out = x == 0x12345u ? 0 : *(global const int *)*where;
}
