constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void pictures(read_only image2d_t in, write_only image2d_t out, global float *sums, int radius)
{
    int2 p = (int2)(get_global_id(0), get_global_id(1)), size = get_image_dim(in);
    float4 sum = 0;
    for (int y = -radius; y <= radius; y++)
        for (int x = -radius; x <= radius; x++)
            sum += read_imagef(in, nearest, p + (int2)(x, y));
    if (p.x < size.x && p.y < size.y)
        write_imagef(out, p, sum / (float)((2 * radius + 1) * (2 * radius + 1)));
    sums[p.y * size.x + p.x] = sum.x;
}
