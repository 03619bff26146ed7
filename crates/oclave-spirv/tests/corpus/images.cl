// Images and samplers.
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void copy(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 v = read_imagef(in, nearest, p) + read_imagef(in, s, convert_float2(p));
    write_imagef(out, p, v * (float)get_image_width(in));
}
