// Geometry and convolution on images, by the texture units where a device has some.

constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

/// Turns a picture about its middle. Each pixel of the result is looked up where it comes from,
/// between four pixels. What comes from outside is black.
kernel void rotate_about_middle(
    read_only image2d_t from, sampler_t linear, write_only image2d_t to, float cosine, float sine)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float2 middle = 0.5f * convert_float2(get_image_dim(from));
    float2 way = convert_float2(at) + 0.5f - middle;
    float2 source = (float2)(cosine * way.x + sine * way.y, cosine * way.y - sine * way.x) + middle;
    write_imagef(to, at, read_imagef(from, linear, source));
}

/// Scales a picture to the size of the result. The sampler takes coordinates from 0 to 1.
kernel void resize(read_only image2d_t from, sampler_t linear, write_only image2d_t to)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float2 place = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(to));
    write_imagef(to, at, read_imagef(from, linear, place));
}

/// A square of weights around each pixel, `2 * radius + 1` wide. Pixels at the edge continue
/// outside.
kernel void convolve(
    read_only image2d_t from, write_only image2d_t to, constant float *weights, int radius)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    float4 sum = (float4)(0.0f);
    for (int y = -radius; y <= radius; y++)
        for (int x = -radius; x <= radius; x++)
            sum += *weights++ * read_imagef(from, edge, at + (int2)(x, y));
    sum.w = 1.0f;
    write_imagef(to, at, sum);
}
