// Arguments of every small type, and conversions between them.
kernel void inputs(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, char4 j, ushort8 k)
{
    long s = a + b + c + d + e + f + g + (long)h + (long)i;
    s += j.x * j.w + k.s7 + convert_char_sat(e) + convert_ushort_sat(c) + abs_diff(a, (char)3) + hadd(e, (int)f) + rotate(d, (ushort)5);
    s = s % 1000 / (b + 1);
    out[get_global_id(0)] = s * (a > 0 ? 1 : -1) + (s >> (f & 63)) + (h << (b & 63)) + upsample(e, f);
}
