// Device globals that two sources share.
#include <oclave/oclave.h>

#define HISTOGRAM_BINS 8

extern __global int counter;
extern __global uint histogram[HISTOGRAM_BINS];
