// Functions in two sets, for programs that provide them, and for others that call them.
#include <oclave/virtual.hpp>

struct shape {
    int size;
    shape(int size) : size(size) {}
    INDIRECTLY_CALLABLE(first) virtual int measure(int x) { return size * x; }
    INDIRECTLY_CALLABLE(second) virtual int weigh(int x) { return size - x; }
};
