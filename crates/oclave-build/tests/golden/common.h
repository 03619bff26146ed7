#include <oclave/oclave.h>

typedef struct {
    uchar kind;
    double weight;
    float3 at;
    int grid[2][3];
} item_t;

extern __global item_t current;
