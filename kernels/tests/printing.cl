// What kernels print, for programs that take the text themselves.

// Compiled for all kernels that call it.
static void both(int value)
{
    printf("value %#06x, character %c, %s, %p\n", value, value, "a string", (void *)0);
}

kernel void print_items(int rounds)
{
    int id = get_global_id(0);
    if (id % 2 == 1)
        for (int i = 0; i < rounds; i++)
            printf("item %d round %d\n", id, i);
}

kernel void print_vectors(float4 floats)
{
    char4 bytes = (char4)(1, -1, 'x', 127);
    long2 longs = (long2)(1L << 40, -1);
    printf("%v4hhd %v2ld %5.2v4hlf", bytes, longs, floats);
    both(65);
    both(floats.x > 0 ? 66 : 67);
}

// Its text is longer than the buffer.
kernel void print_flood(global int *results)
{
    int id = get_global_id(0);
    results[id] = printf("%d\n", id);
}
