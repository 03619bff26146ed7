// Sets with names of all sorts, and many of them.
#include <oclave/virtual.hpp>

struct item {
    int value;
    item(int value) : value(value) {}
    INDIRECTLY_CALLABLE() virtual int a() { return value; }
    INDIRECTLY_CALLABLE(list<int, 4>) virtual int b() { return 2 * value; }
    INDIRECTLY_CALLABLE(tools::pens) virtual int c() { return 3 * value; }
    INDIRECTLY_CALLABLE(a.b-c, 100%, (x, y)) virtual int d() { return 4 * value; }
    INDIRECTLY_CALLABLE(s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16) virtual int e()
    {
        return 5 * value;
    }
};
