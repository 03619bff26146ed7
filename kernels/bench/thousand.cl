// A program with a thousand device globals. The kernel reads ten of them: what the driver's compiler makes of a thousand
// loads is not the library's to measure.
#include <oclave/oclave.h>

#define TEN(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7) of(n##8) of(n##9)
#define TENS(of, n) TEN(of, n##0) TEN(of, n##1) TEN(of, n##2) TEN(of, n##3) TEN(of, n##4) \
    TEN(of, n##5) TEN(of, n##6) TEN(of, n##7) TEN(of, n##8) TEN(of, n##9)
#define THOUSAND(of) TENS(of, 1) TENS(of, 2) TENS(of, 3) TENS(of, 4) TENS(of, 5) \
    TENS(of, 6) TENS(of, 7) TENS(of, 8) TENS(of, 9) TENS(of, 0)

#define DECLARE(n) DEVICE_GLOBAL() __global int of_thousand_##n = 1;
#define ADD(n) + of_thousand_##n

THOUSAND(DECLARE)

kernel void thousand_sum(global int *out)
{
    *out = 0 TEN(ADD, 10);
}
