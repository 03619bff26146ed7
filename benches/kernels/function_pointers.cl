// Functions by pointer, which only Intel's runtime has: the reference of benches/virtual_call.rs.
//
//   clang-15 -x cl -target spir64 -cl-std=CL1.2 -O2 -emit-llvm -c function_pointers.cl -o function_pointers.bc \
//     -Xclang -finclude-default-header -fno-vectorize -fno-slp-vectorize -I ../../kernels/bench_virtual
//   llvm-spirv-15 --spirv-ext=+SPV_INTEL_function_pointers function_pointers.bc -o function_pointers.spv
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#include "operations.h"

// Intel's runtime finds no static functions by pointer.
#define FUNCTION(N) int function_##N(int k, int x) { return apply_##N(k, x); }
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4) FUNCTION(5) FUNCTION(6) FUNCTION(7)

typedef int (*function)(int k, int x);

struct object {
    /// Address of a function: clang has no members that are pointers to functions here.
    ulong apply;
    int k;
};
kernel void make_objects(global struct object *objects)
{
    objects[0].apply = (ulong)function_0;
    objects[1].apply = (ulong)function_1;
    objects[2].apply = (ulong)function_2;
    objects[3].apply = (ulong)function_3;
    objects[4].apply = (ulong)function_4;
    objects[5].apply = (ulong)function_5;
    objects[6].apply = (ulong)function_6;
    objects[7].apply = (ulong)function_7;
    for (int i = 0; i < 8; i++)
        objects[i].k = i + 1;
}
kernel void call_pointers(global struct object *objects, global int *out, int types, int rounds)
{
    size_t i = get_global_id(0);
    global struct object *own = objects + i % types;
    int x = (int)i;
    for (int round = 0; round < rounds; round++)
        x = ((function)own->apply)(own->k, x);
    out[i] = x;
}
