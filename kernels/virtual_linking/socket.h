#include <oclave/virtual.hpp>

struct socket {
    INDIRECTLY_CALLABLE(plugged) virtual int current(int volts) = 0;
};
