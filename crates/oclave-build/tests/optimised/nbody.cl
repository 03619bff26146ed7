kernel void nbody(global float4 *position, global float4 *velocity, local float4 *near, int n, float dt)
{
    float4 p = position[get_global_id(0)];
    float3 a = (float3)(0);
    for (int tile = 0; tile < n / (int)get_local_size(0); tile++) {
        near[get_local_id(0)] = position[tile * get_local_size(0) + get_local_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < (int)get_local_size(0); j++) {
            float3 d = near[j].xyz - p.xyz;
            float inv = rsqrt(dot(d, d) + 1e-6f);
            a += d * (near[j].w * inv * inv * inv);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 v = velocity[get_global_id(0)];
    v.xyz += a * dt;
    velocity[get_global_id(0)] = v;
    position[get_global_id(0)] = (float4)(p.xyz + v.xyz * dt, p.w);
}
