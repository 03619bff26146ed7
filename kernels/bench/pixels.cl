// What the benchmark `images` launches, on both sides.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void invert(read_only image2d_t from, write_only image2d_t to)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(to, at, 1.0f - read_imagef(from, nearest, at));
}
