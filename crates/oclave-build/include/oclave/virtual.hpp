// Virtual functions for C++ for OpenCL, as in sycl_ext_oneapi_virtual_functions.
//
//   #include <oclave/virtual.hpp>
//
//   class shape {
//   public:
//       INDIRECTLY_CALLABLE(shapes) virtual float area() const = 0;
//   };
//   class square : public shape {
//       float side;
//   public:
//       square(float side) : side(side) {}
//       INDIRECTLY_CALLABLE(shapes) float area() const override { return side * side; }
//   };
//   kernel void make(global char *memory) { new (memory) square(3); }
//   CALLS_INDIRECTLY(shapes) kernel void use(global char *memory, global float *out) { *out = ((shape *)memory)->area(); }
//
// Objects are made by kernels: as variables, in constant initializers, or by placement new in memory that the host
// allocated; then any kernel of any program may call them. Kernel parameters are not of such types, which clang refuses,
// but pointers to plain memory. What devices do not have: pointers to functions and to member functions.
#ifndef OCLAVE_VIRTUAL_HPP
#define OCLAVE_VIRTUAL_HPP

#ifndef __OPENCL_CPP_VERSION__
#error "oclave/virtual.hpp is for C++ for OpenCL (.clcpp)"
#endif

// Version of sycl_ext_oneapi_virtual_functions, like its feature-test macro.
#ifndef OCLAVE_EXT_ONEAPI_VIRTUAL_FUNCTIONS
#define OCLAVE_EXT_ONEAPI_VIRTUAL_FUNCTIONS 1
#endif

// Clang takes virtual functions for pointers to functions, which C++ for OpenCL does not have by itself.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

// Before a virtual member function: it may be called through its slot by kernels that call one of these sets. Without
// arguments it belongs to the default set. A set has a name only, of any characters; commas separate sets.
// Overrides do not inherit it. Destructors have no marker: a virtual one belongs to the sets of its class.
#ifdef OCLAVE_HOST
// An annotation keeps the function, and the host may lack built-in functions that it calls.
#define INDIRECTLY_CALLABLE(...)
#else
#define INDIRECTLY_CALLABLE(...) __attribute__((annotate("oclave:indirectly_callable," #__VA_ARGS__)))
#endif

// Before a kernel: it calls virtual functions of these sets, without arguments of the default set. Two more things
// may stand in the list:
//   depth=N        virtual calls of the kernel that may nest in a cycle do so at most N deep (a tree of that many levels);
//                  deeper ones are reported
//   extern NAME    a set that another program or a bundle provides, and perhaps not this one
#ifdef OCLAVE_HOST
#define CALLS_INDIRECTLY(...)
#else
#define CALLS_INDIRECTLY(...) __attribute__((annotate("oclave:calls_indirectly," #__VA_ARGS__)))
#endif

// Makes an object in memory that is there: new (pointer) type(arguments). The pointer is not null (C++17, expr.new).
// These are not noexcept, as clang would then test for null. Mesa's llvmpipe crashes on such a test where a virtual call
// of the object follows.
inline void *operator new(size_t, void *pointer)
{
    return pointer;
}
inline void *operator new[](size_t, void *pointer)
{
    return pointer;
}

// Virtual destructors make clang look for this, and crash where there is none. Objects are destroyed by calling the
// destructor, p->~type(), and nothing ever calls this.
#ifdef OCLAVE_HOST
// The host's virtual tables hold functions that would.
void operator delete(__private void *) noexcept { __builtin_trap(); }
#else
void operator delete(__private void *) noexcept;
#endif

#endif
