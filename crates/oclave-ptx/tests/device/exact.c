// Results of fixtures, calculated: those where LLVM's library or Intel's compiler differs from the PTX, since it is wrong or OpenCL
// leaves it open.
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exact.h"

typedef __int128 wide;

static float as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static unsigned bits_of(float value) {
    unsigned bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static wide within(wide value, wide least, wide most) { return value < least ? least : value > most ? most : value; }

static wide as_signed(wide value, int bits) { return within(value, -((wide)1 << (bits - 1)), ((wide)1 << (bits - 1)) - 1); }

static wide as_unsigned(wide value, int bits) { return within(value, 0, ((wide)1 << bits) - 1); }

// What convert_T_sat makes of a number before it is cut to T's range; NaN becomes 0.
static wide whole(float value) {
    if (isnan(value))
        return 0;
    return fabsf(value) > 0x1p100f ? (wide)copysignf(0x1p100f, value) : (wide)value;
}

static unsigned half_of(uint64_t value, unsigned result) { return (unsigned)(value >> 32 * (result & 1)); }

// conv: saturated conversions.
static unsigned conversion(unsigned result, unsigned x, unsigned y) {
    float fx = as_float(x), fy = as_float(y);
    int sx = (int)x;
    switch (result) {
    case 0: return (unsigned)as_unsigned(whole(fx), 32) ^ (unsigned)as_signed(whole(fx), 32);
    case 1:
        return (unsigned)as_unsigned(whole(fx), 8) | (unsigned)(uint8_t)as_signed(whole(fx), 8) << 8 |
               (unsigned)as_unsigned(whole(fy), 16) << 16;
    case 2: return (unsigned)as_signed(whole(fy), 16);
    case 3: return (unsigned)as_unsigned(sx, 8) | (unsigned)as_signed(x, 8) << 8 | (unsigned)as_unsigned(sx, 16) << 16;
    case 4: return bits_of((float)sx);
    case 5: return bits_of((float)x);
    default: return half_of((uint64_t)as_signed(whole(fx), 64), result);
    }
}

// intfn64: mad_sat, and counts of bits.
static uint64_t multiplied(unsigned x, unsigned y) {
    uint64_t p = (uint64_t)x << 32 | y, q = (uint64_t)y << 32 | x * 2654435761u;
    unsigned __int128 sum = (unsigned __int128)p * y + q;
    uint64_t value = sum >> 64 ? UINT64_MAX : (uint64_t)sum;
    value ^= (uint64_t)as_signed((wide)(int64_t)p * (int)y + (int64_t)q, 64);
    value ^= (uint64_t)(p ? __builtin_clzll(p) : 64) ^ (uint64_t)__builtin_popcountll(q) << 8;
    return value ^ (uint64_t)(p ? __builtin_ctzll(p) : 64) << 16;
}

// The fixtures' MIX.
static unsigned mix(unsigned hash, uint64_t value) { return hash * 31 + (unsigned)value + (unsigned)(value >> 32) * 7; }

// widths: numbers of 24 bits, upsample, mad_sat, sub_sat and rotate. Items with an odd number have smaller numbers.
static unsigned last_of_widths(unsigned x, unsigned y, int is_odd) {
    uint64_t p = is_odd ? x : (uint64_t)x << 32 | y, q = is_odd ? y : (uint64_t)y << 32 | x * 2654435761u;
    int s = (int)x, t = (int)y;
    unsigned low = x & 0xffffff, other = y & 0xffffff, hash = 1;
    // Multiplication drops the upper bits of the products.
    hash = mix(hash, (uint64_t)(int64_t)(int)((unsigned)((int)(x << 8) >> 8) * (unsigned)((int)(y << 8) >> 8)));
    hash = mix(hash, low * other);
    hash = mix(hash, low * other + x);
    hash = mix(hash, (uint64_t)x << 32 | y);
    hash = mix(hash, (uint64_t)(int64_t)(int)((x & 0xffff) << 16 | (y & 0xffff)));
    hash = mix(hash, (x & 0xff) << 8 | (y & 0xff));
    hash = mix(hash, (uint64_t)as_signed((wide)s * t + s, 32));
    hash = mix(hash, (uint64_t)as_unsigned((wide)x * y + x, 32));
    hash = mix(hash, (uint64_t)as_signed((wide)(short)s * (short)t + 7, 16));
    hash = mix(hash, (uint64_t)as_unsigned((wide)(uint8_t)x * (uint8_t)y + 7, 8));
    hash = mix(hash, (unsigned)as_signed((wide)s - t, 32) ^ (unsigned)as_unsigned((wide)x + y, 32));
    hash = mix(hash, (uint64_t)as_signed((wide)(int64_t)p - (int64_t)q, 64));
    return mix(hash, q % 64 ? p << q % 64 | p >> (64 - q % 64) : p);
}

// modes: integers as floating-point numbers, by all roundings; and `number`, which is one already.
static const int ROUNDINGS[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};

static unsigned by_all_roundings(unsigned hash, wide value, int is_double) {
    for (int i = 0; i < 4; i++) {
        fesetround(ROUNDINGS[i]);
        // Read when the rounding is set.
        volatile int64_t negative = (int64_t)value;
        volatile uint64_t positive = (uint64_t)value;
        if (is_double)
            hash = mix(hash, bits_of_double(value < 0 ? (double)negative : (double)positive));
        else
            hash = mix(hash, bits_of(value < 0 ? (float)negative : (float)positive));
    }
    fesetround(FE_TONEAREST);
    return hash;
}

static unsigned rounded(unsigned result, unsigned x, unsigned y) {
    uint64_t p = (uint64_t)x << 32 | y;
    unsigned hash = 1;
    if (result == 4) {
        const wide values[6] = {(int)x, x, (int64_t)p, p, (short)x, (uint8_t)y};
        for (int i = 0; i < 6; i++)
            hash = by_all_roundings(hash, values[i], 0);
        return hash;
    }
    const wide values[4] = {(int)x, x, (int64_t)p, p};
    for (int i = 0; i < 4; i++)
        hash = by_all_roundings(hash, values[i], 1);
    float number = isnan(as_float(x)) ? 2.5f : as_float(x);
    for (int i = 0; i < 4; i++)
        hash = mix(hash, bits_of_double(number));
    return hash;
}

// floats: functions without an error.
static unsigned of(float value) { return isnan(value) ? 0x7fc00000 : bits_of(value); }

static unsigned of_double(double value) {
    uint64_t bits = isnan(value) ? 0x7ff8000000000000 : bits_of_double(value);
    return (unsigned)bits ^ (unsigned)(bits >> 32) * 31;
}

// A quiet NaN for others, as in the kernel.
static float number(unsigned bits) { return isnan(as_float(bits)) ? NAN : as_float(bits); }

static unsigned last_of_floats(unsigned x, unsigned y) {
    float f = number(x), g = number(y), h = f == 0 ? 3 : g + 1;
    uint64_t bits = (uint64_t)x << 32 | y;
    double p = f, s;
    memcpy(&s, &bits, 8);
    float sign = isnan(f) || f == 0 ? (isnan(f) ? 0 : f) : copysignf(1, f);
    return of(fmaxf(f, h)) * 31 + of(fminf(f, h)) + of(sign) * 3 + of((float)s) * 5 + of_double(fmax(s, p + 1)) * 7 +
           of(nextafterf(f, g)) * 11;
}

// geo: normalize has a limit of 2 + n ulp, and says nothing of a vector without a length.
static int is_normalized(unsigned result, unsigned x, unsigned y, unsigned got) {
    int sx = (int)x, sy = (int)y;
    double v[4] = {sx % 1000 * 0.125, sy % 1000 * 0.125, (sx >> 8) % 100 * 0.125, (sy >> 9) % 77 * 0.125};
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
    if (length == 0)
        return 1;
    double expected = v[result == 3 ? 0 : 3] / length, unit = ldexp(1, (expected == 0 ? -149 : ilogb(expected)) - 23);
    return fabs((double)as_float(got) - expected) <= 6 * unit;
}

int is_right(const char *kernel, unsigned item, unsigned result, unsigned x, unsigned y, unsigned got) {
    if (!strcmp(kernel, "conv"))
        return got == conversion(result, x, y);
    if (!strcmp(kernel, "intfn64") && result >= 6)
        return got == half_of(multiplied(x, y), result);
    if (!strcmp(kernel, "widths") && result == 7)
        return got == last_of_widths(x, y, item & 1);
    if (!strcmp(kernel, "modes") && (result == 4 || result == 5))
        return got == rounded(result, x, y);
    if (!strcmp(kernel, "floats") && result == 7)
        return got == last_of_floats(x, y);
    if (!strcmp(kernel, "geo") && (result == 3 || result == 4))
        return is_normalized(result, x, y, got);
    // generic_: which memory a pointer leads to.
    if (!strcmp(kernel, "generic_") && result == 4)
        return got == (x & 2 ? 1 : 2);
    return -1;
}
