/// The least work that can be seen: for measuring what a launch costs.
kernel void bump(global int *value)
{
    value[get_global_id(0)] += 1;
}

kernel void bump_by(global int *value, int step)
{
    value[get_global_id(0)] += step;
}

kernel void bump_local(global int *value, local int *part)
{
    part[get_local_id(0)] = 1;
    value[get_global_id(0)] += part[get_local_id(0)];
}
