// What shared sources have in common.
#ifndef SHARED_H
#define SHARED_H

#include <oclave/oclave.h>

#define step_of_counters 3

#ifdef __OPENCL_CPP_VERSION__
extern "C" {
#endif
// Defined in shared_c.cl.
SHARED int scaled_in_c(int x, int by);
#ifdef __OPENCL_CPP_VERSION__
}
#endif

// Every source that includes it has its own.
SHARED static inline int in_header(int x) { return x ^ 0x55; }

#endif
