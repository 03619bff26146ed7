// One condition for whole vectors and structs.
typedef struct { float3 position; float radius; int id; } sphere_t;
float3 nearer(float3 a, float3 b, float t) { return t > 0 ? a : b; }
kernel void select_vectors(global float *out, global const sphere_t *in, float t, int flag)
{
    float3 r = nearer(vload3(0, out), vload3(1, out), t);
    vstore3(r, 2, out);
    sphere_t s = flag ? in[0] : in[1];
    out[0] = s.radius + s.position.y;
    int4 k = flag > 3 ? (int4)(1, 2, 3, 4) : (int4)(flag);
    vstore4(convert_float4(k), 3, out);
    double2 d = flag ? (double2)(1.0, t) : (double2)(t, 2.0);
    out[1] = (float)d.x;
}
