constant uint K[16] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
                       0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};
#define ROTATE(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
kernel void sha(global uint *state, global const uchar *message, uint length)
{
    uint w[16], s[8];
    for (int i = 0; i < 8; i++)
        s[i] = state[i];
    for (int i = 0; i < 16; i++) {
        w[i] = 0;
        for (int b = 0; b < 4; b++) {
            uint at = 4 * i + b;
            uchar c = at < length ? message[at] : at == length ? 0x80 : 0;
            w[i] |= (uint)c << (24 - 8 * b);
        }
    }
    for (int r = 0; r < 64; r++) {
        if (r >= 16) {
            uint a = w[(r + 1) & 15], b = w[(r + 14) & 15];
            w[r & 15] += (ROTATE(a, 7) ^ ROTATE(a, 18) ^ (a >> 3)) + w[(r + 9) & 15] + (ROTATE(b, 17) ^ ROTATE(b, 19) ^ (b >> 10));
        }
        uint t = s[7] + (ROTATE(s[4], 6) ^ ROTATE(s[4], 11)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[r & 15] + w[r & 15];
        uint m = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        for (int i = 7; i > 0; i--)
            s[i] = s[i - 1];
        s[4] += t;
        s[0] = t + m;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}
