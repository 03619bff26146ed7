// Philox with four words and ten rounds: the numbers depend on a counter and a key only.

uint4 philox_round(const uint4 c, const uint2 key) {
    const uint high0 = mul_hi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const uint high1 = mul_hi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    return (uint4)(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
}

kernel void with_mul_hi(global const uint4 *counters, global const uint2 *keys, global uint4 *out) {
    const size_t i = get_global_id(0);
    uint4 c = counters[i];
    uint2 key = keys[i];
    for (int round = 0; round < 10; round++) {
        c = philox_round(c, key);
        key += (uint2)(0x9E3779B9, 0xBB67AE85);
    }
    out[i] = c;
}

// The same with products of 64 bits.
kernel void with_wide_products(global const uint4 *counters, global const uint2 *keys, global uint4 *out) {
    const size_t i = get_global_id(0);
    uint4 c = counters[i];
    uint k0 = keys[i].x, k1 = keys[i].y;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const ulong a = (ulong)c.x * 0xD2511F53u, b = (ulong)c.z * 0xCD9E8D57u;
        c = (uint4)((uint)(b >> 32) ^ c.y ^ k0, (uint)b, (uint)(a >> 32) ^ c.w ^ k1, (uint)a);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[i] = c;
}

// Floats from 0 to below 1, which are exact.
kernel void uniform(const uint2 key, global float4 *out) {
    const size_t i = get_global_id(0);
    uint4 c = (uint4)((uint)i, 0, 0, 0);
    uint2 k = key;
    for (int round = 0; round < 10; round++, k += (uint2)(0x9E3779B9, 0xBB67AE85)) c = philox_round(c, k);
    out[i] = convert_float4(c >> 8) * 0x1p-24f;
}
