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
