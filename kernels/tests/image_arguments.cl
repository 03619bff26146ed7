// Kernels with and without images in one source: they end in images of their own, as a device may
// have none.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void brightness(read_only image2d_t picture, global float *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at).x;
}

kernel void without_images(global float *out)
{
    out[get_global_id(0)] = 1.0f;
}
