// Images of every kind, and samplers: each kernel reads or writes the whole of one image.
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void read_1d(read_only image1d_t picture, global float4 *out)
{
    int x = (int)get_global_id(0);
    out[x] = read_imagef(picture, nearest, x);
}

kernel void read_1d_buffer(read_only image1d_buffer_t picture, global float4 *out)
{
    int x = (int)get_global_id(0);
    out[x] = read_imagef(picture, x);
}

kernel void read_1d_array(read_only image1d_array_t picture, global float4 *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}

kernel void read_2d(read_only image2d_t picture, global float4 *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}

kernel void read_2d_array(read_only image2d_array_t picture, global float4 *out)
{
    int4 at = (int4)((int)get_global_id(0), (int)get_global_id(1), (int)get_global_id(2), 0);
    out[(at.z * (int)get_global_size(1) + at.y) * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}

kernel void read_3d(read_only image3d_t picture, global float4 *out)
{
    int4 at = (int4)((int)get_global_id(0), (int)get_global_id(1), (int)get_global_id(2), 0);
    out[(at.z * (int)get_global_size(1) + at.y) * (int)get_global_size(0) + at.x] = read_imagef(picture, nearest, at);
}

kernel void read_signed(read_only image2d_t picture, global int4 *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imagei(picture, nearest, at);
}

kernel void read_unsigned(read_only image2d_t picture, global uint4 *out)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    out[at.y * (int)get_global_size(0) + at.x] = read_imageui(picture, nearest, at);
}

kernel void write_1d(write_only image1d_t picture, float step)
{
    int x = (int)get_global_id(0);
    write_imagef(picture, x, (float4)(step * x, 0.0f, 0.0f, 1.0f));
}

kernel void write_1d_buffer(write_only image1d_buffer_t picture, float step)
{
    int x = (int)get_global_id(0);
    write_imagef(picture, x, (float4)(step * x, 0.0f, 0.0f, 1.0f));
}

kernel void write_1d_array(write_only image1d_array_t picture, float step)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(picture, at, (float4)(step * at.x, step * at.y, 0.0f, 1.0f));
}

kernel void write_2d(write_only image2d_t picture, float step)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(picture, at, (float4)(step * at.x, step * at.y, 0.0f, 1.0f));
}

kernel void write_2d_array(write_only image2d_array_t picture, float step)
{
    int4 at = (int4)((int)get_global_id(0), (int)get_global_id(1), (int)get_global_id(2), 0);
    write_imagef(picture, at, (float4)(step * at.x, step * at.y, step * at.z, 1.0f));
}

kernel void write_3d(write_only image3d_t picture, float step)
{
    int4 at = (int4)((int)get_global_id(0), (int)get_global_id(1), (int)get_global_id(2), 0);
    write_imagef(picture, at, (float4)(step * at.x, step * at.y, step * at.z, 1.0f));
}

// Adds to each pixel what the kernel is given.
kernel void add_to(read_write image2d_t picture, float4 more)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(picture, at, read_imagef(picture, at) + more);
}

// Copies pixels, twice as bright.
kernel void brighten(read_only image2d_t from, write_only image2d_t to)
{
    int2 at = (int2)((int)get_global_id(0), (int)get_global_id(1));
    write_imagef(to, at, 2.0f * read_imagef(from, nearest, at));
}

// The picture at positions between pixels.
kernel void sample(read_only image2d_t picture, sampler_t sampler, global const float2 *at, global float4 *out)
{
    size_t i = get_global_id(0);
    out[i] = read_imagef(picture, sampler, at[i]);
}

// Every number that a kernel can ask an image for.
kernel void describe(read_only image3d_t picture, global int *out)
{
    out[0] = get_image_width(picture);
    out[1] = get_image_height(picture);
    out[2] = get_image_depth(picture);
    out[3] = get_image_channel_data_type(picture);
    out[4] = get_image_channel_order(picture);
}
