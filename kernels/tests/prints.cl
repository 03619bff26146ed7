// A kernel whose output is looked at.

kernel void say(int value, global int *said)
{
    printf("the kernel says %d\n", value);
    *said += 1;
}
