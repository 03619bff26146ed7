// Structs by value, results, nested arrays and pointers to pointers.
typedef struct { float3 o, d; float near, far; } ray_t;
typedef struct { int first, count; float3 low, high; } box_t;
typedef struct { box_t boxes[4]; int links[4][2]; } tree_t;
typedef struct { float t; int id; bool hit; } hit_t;
hit_t meet(ray_t r, global const box_t *b, int id)
{
    float3 inv = 1.0f / r.d, t0 = (b->low - r.o) * inv, t1 = (b->high - r.o) * inv;
    float3 a = fmin(t0, t1), z = fmax(t0, t1);
    float enter = fmax(fmax(a.x, a.y), fmax(a.z, r.near)), leave = fmin(fmin(z.x, z.y), fmin(z.z, r.far));
    hit_t h = {enter, id, enter <= leave};
    return h;
}
kernel void structs(global const tree_t *tree, global float *out, ray_t r)
{
    int stack[16], top = 0;
    stack[top++] = 0;
    hit_t best = {INFINITY, -1, false};
    while (top > 0) {
        int i = stack[--top];
        hit_t h = meet(r, &tree->boxes[i & 3], i);
        if (!h.hit)
            continue;
        if (h.t < best.t)
            best = h;
        for (int k = 0; k < 2; k++)
            if (tree->links[i & 3][k] && top < 16)
                stack[top++] = tree->links[i & 3][k];
    }
    out[get_global_id(0)] = best.hit ? best.t + best.id : -1;
}
