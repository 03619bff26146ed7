// Two levels of sets: functions of `outer` call functions of `inner` and `inner_fp64`.
#include <oclave/virtual.hpp>

struct rate {
    int factor;
    rate(int factor) : factor(factor) {}
    INDIRECTLY_CALLABLE(inner) virtual int of(int x) const { return factor * x; }
};
struct price {
    const rate *by;
    price(const rate *by) : by(by) {}
    INDIRECTLY_CALLABLE(outer) virtual int total(int x) const { return by->of(x) + 1000; }
};
