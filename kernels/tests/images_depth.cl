// Images of depths, whose pixels are single floats.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void read_depth(read_only image2d_depth_t picture, global float *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}

kernel void write_depth(write_only image2d_depth_t picture, float step)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(picture, at, step * (at.y * (int)get_global_size(0) + at.x));
}

kernel void read_depth_array(read_only image2d_array_depth_t picture, global float *out)
{
    int4 at = (int4)((int)get_global_id(0), (int)get_global_id(1), (int)get_global_id(2), 0);
    out[(at.z * (int)get_global_size(1) + at.y) * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}
