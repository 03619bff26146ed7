// A state machine over a loop counter.
kernel void switch_counter(global int *out, global const int *in, int n)
{
    int t = 0;
    for (int i = 0; i < n; i++) {
        switch (i) {
        case 0: t += 3; break;
        case 1: t ^= 5; break;
        case 2: t -= in[1]; break;
        case 7: t *= 3; break;
        default: t += i; break;
        }
    }
    out[get_global_id(0)] = t;
}
kernel void chain_counter(global float *out, int n)
{
    float t = 0;
    for (int i = 0; i < n; ++i) {
        if (i == 0) t += out[3];
        else if (i == 1) t *= out[2];
        else if (i == 5) t -= out[1];
        else if (i == 6) t /= 3;
        else t += i;
    }
    out[0] = t;
}
