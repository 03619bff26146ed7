kernel void text_search(global const char *text, int length, global const char *pattern, int m, global int *hits, global int *count)
{
    int i = get_global_id(0);
    if (i + m > length)
        return;
    for (int k = 0; k < m; k++) {
        char c = text[i + k], p = pattern[k];
        if (c >= 'A' && c <= 'Z')
            c += 32;
        if (p == '?' || (p == '#' && c >= '0' && c <= '9'))
            continue;
        if (c != p)
            return;
    }
    hits[atomic_inc(count)] = i;
}
kernel void parse_number(global const uchar *text, global int *out, int n)
{
    int at = get_global_id(0) * n, value = 0, sign = 1;
    for (int i = 0; i < n; i++) {
        uchar c = text[at + i];
        switch (c) {
        case '-': sign = -1; break;
        case '+': break;
        case ' ': case '\t': case '\n': case '\r': continue;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
            value = value * 10 + (c - '0'); break;
        default: goto done;
        }
    }
done:
    out[get_global_id(0)] = sign * value;
}
