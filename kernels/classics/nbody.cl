// Bodies that attract each other.

// All from global memory.
kernel void naive(global const float4 *bodies, global float4 *forces, const int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    const float4 me = bodies[i];
    float3 sum = (float3)(0.0f);
    for (int k = 0; k < n; k++) {
        const float4 other = bodies[k];
        const float3 d = other.xyz - me.xyz;
        const float inverse = 1.0f / sqrt(dot(d, d) + 0.01f);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    forces[i] = (float4)(sum, 0.0f);
}

// Tiles of bodies come to local memory. The number of bodies need not be a multiple of the group.
kernel void tiled(global const float4 *bodies, global float4 *forces, const int n, local float4 *tile) {
    const int lid = get_local_id(0), size = get_local_size(0), i = get_global_id(0);
    const float4 me = bodies[min(i, n - 1)];
    float4 sum = (float4)(0.0f);
    for (int t = 0; t < n; t += size) {
        tile[lid] = t + lid < n ? bodies[t + lid] : (float4)(0.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < size; k++) {
            float4 d = tile[k] - me;
            d.w = 0.0f;
            const float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
            const float inverse = rsqrt(r2);
            sum += d * (tile[k].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) forces[i] = sum;
}

// A step in time; positions and velocities are structures of arrays.
kernel void move(global float *x, global float *y, global float *z, global float4 *velocity, global const float4 *forces, const float dt) {
    const int i = get_global_id(0);
    float4 v = velocity[i];
    v += dt * forces[i];
    x[i] += v.x * dt;
    y[i] += v.y * dt;
    z[i] += v.z * dt;
    velocity[i] = v;
}
