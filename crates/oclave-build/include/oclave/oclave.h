// Markers for kernels compiled by oclave-build, in OpenCL C and C++ for OpenCL. Each marker leaves one annotation that
// the post-link step reads and removes; without oclave's post-link step they mean nothing.
//
//   #include <oclave/oclave.h>
//
//   DEVICE_GLOBAL() __global int counter;                          // host and kernels share it, across images
//   DEVICE_GLOBAL(host_access_read) static __global float t[4] = {1, 2, 3, 4};
//   DEVICE_GLOBAL(device_image_scope) __global long seen;          // one instance in each program
//   SPEC_CONSTANT(int, WIDTH, 0, 16)                               // SpecId 0, 16 unless the host sets it
//
//   SHARED int twice(int x) { return 2 * x; }                      // for kernels and for the Rust program
//
//   kernel void k(global int *out) { counter += WIDTH(); }
#ifndef OCLAVE_H
#define OCLAVE_H

// Name of the source that is being compiled, as a string literal; oclave-build defines it. It tells apart variables of
// one name that are static in several sources.
#ifndef OCLAVE_UNIT
#define OCLAVE_UNIT ""
#endif

// Version of sycl_ext_oneapi_device_global, like its feature-test macro.
#ifndef OCLAVE_EXT_ONEAPI_DEVICE_GLOBAL
#define OCLAVE_EXT_ONEAPI_DEVICE_GLOBAL 1
#endif

// Before a variable at program scope in __global memory. Properties, separated by commas:
//   device_image_scope                                  one instance in each program instead of one on each device
//   host_access_read, _write, _read_write, _none        what the host may do; host_access_read_write unless given
//   init_mode_reprogram, init_mode_reset                for FPGAs; told to devices that take them
//   implement_in_csr_on, implement_in_csr_off           for FPGAs; told to devices that take them
// See sycl_ext_oneapi_device_global for their meaning.
#ifndef OCLAVE_HOST
#define DEVICE_GLOBAL(...) __attribute__((annotate("oclave:device_global,unit=" OCLAVE_UNIT "," #__VA_ARGS__)))
#else
// By the section oclave-build knows uses in code for the host, which are errors.
#define DEVICE_GLOBAL(...) __attribute__((section("oclave_device_globals")))
#endif

// Before a function: it is also compiled for the host, and the Rust program calls it by name. What it calls is compiled for
// the host as needed; the built-in functions that only devices have belong into `if_device` of oclave/if_device.hpp, or, in
// OpenCL C, between `#ifndef OCLAVE_HOST` and `#endif`. The number is what oclave-build finds in clang's syntax tree.
#define SHARED __attribute__((annotate("oclave:shared", 0x0c1a7e)))

// A specialization constant at program scope, of a scalar type: kernels call `name()`, the host sets it by name before
// the program is built. `id` is its SpecId, unique in the program; the same line in a shared header is one constant.
#ifdef OCLAVE_HOST
#define SPEC_CONSTANT(type, name, id, default_value)                                                          \
    __attribute__((error("the host does not have specialization constants; call it inside oclave::if_device"))) type name(void);
#else
#define SPEC_CONSTANT(type, name, id, default_value)                                                          \
    __attribute__((weak, annotate("oclave:spec_constant,name=" #name ",type=" #type ",id=" #id)))             \
    __constant char oclave_spec_constant_##name = 0;                                                          \
    static inline __attribute__((always_inline)) type name(void)                                              \
    {                                                                                                         \
        return __spirv_SpecConstant(id, (type)(default_value));                                               \
    }
#endif

// The translator makes a call of these, with constant arguments, an OpSpecConstant decorated with the SpecId.
#define OCLAVE_SPEC_CONSTANT_OF(type) type __attribute__((overloadable)) __spirv_SpecConstant(int, type);
OCLAVE_SPEC_CONSTANT_OF(char)
OCLAVE_SPEC_CONSTANT_OF(uchar)
OCLAVE_SPEC_CONSTANT_OF(short)
OCLAVE_SPEC_CONSTANT_OF(ushort)
OCLAVE_SPEC_CONSTANT_OF(int)
OCLAVE_SPEC_CONSTANT_OF(uint)
OCLAVE_SPEC_CONSTANT_OF(long)
OCLAVE_SPEC_CONSTANT_OF(ulong)
OCLAVE_SPEC_CONSTANT_OF(float)
#ifdef cl_khr_fp64
OCLAVE_SPEC_CONSTANT_OF(double)
#endif
#undef OCLAVE_SPEC_CONSTANT_OF

#endif
