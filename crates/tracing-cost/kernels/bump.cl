kernel void bump(global int *value)
{
    value[get_global_id(0)] += 1;
}
