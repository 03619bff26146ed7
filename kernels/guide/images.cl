/// Half the size: each pixel is the mean of four.
kernel void halve(read_only image2d_t from, sampler_t linear, write_only image2d_t to)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float2 between = 2.0f * convert_float2(at) + 1.0f; // where four pixels meet
    write_imagef(to, at, read_imagef(from, linear, between));
}
