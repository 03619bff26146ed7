// A chain of branches by architecture, which the host names before the program is built.
#include <oclave/oclave.h>

SPEC_CONSTANT(int, ARCHITECTURE, 77, 0)

kernel void by_architecture(global int *out)
{
    int architecture = ARCHITECTURE();
    if (architecture == 1)
        out[0] += 1;
    else if (architecture == 2 || architecture == 3)
        out[0] += 10;
    else if (architecture == 3)
        out[0] += 100;
    else
        out[0] += 1000;
}
