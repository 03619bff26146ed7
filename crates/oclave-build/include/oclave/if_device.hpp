// Code for one side only, in functions that kernels and the host share (sycl_ext_oneapi_if_device), for C++ for OpenCL.
//
//   #include <oclave/if_device.hpp>
//   #include <oclave/oclave.h>
//
//   SHARED int twice_and_log(int x)
//   {
//       oclave::if_device([&] { x += get_global_id(0); });                                      // devices only
//       oclave::if_host([&] { x *= 3; }).otherwise([&] { x *= 2; });                            // one of the two
//       return x + oclave::if_device([] { return 1; }).otherwise([] { return 2; });             // with a result
//   }
//
// A body may be any callable without parameters; captures by reference see and change the variables around it, bodies nest,
// and the two bodies of a result have one type. A body may `return` from itself only, not from the function around it.
//
// A program is compiled once for each side, and each side has its own bodies alone. With oclave-build's `single_pass` it is
// compiled once, with the bodies of both sides, and the post-link step makes an image for devices and one for a device
// that serves as the host.
#ifndef OCLAVE_IF_DEVICE_HPP
#define OCLAVE_IF_DEVICE_HPP

#ifndef __OPENCL_CPP_VERSION__
#error "oclave/if_device.hpp is for C++ for OpenCL (.clcpp); OpenCL C has the macro OCLAVE_HOST"
#endif

// Version of sycl_ext_oneapi_if_device, like its feature-test macro.
#ifndef OCLAVE_EXT_ONEAPI_IF_DEVICE
#define OCLAVE_EXT_ONEAPI_IF_DEVICE 1
#endif

#ifdef OCLAVE_SINGLE_PASS
// Whether the code runs on that side: post-link puts the answer in their place, and drops the functions that call the one
// of the other side. To the compiler they may say either, so it assumes nothing of what the bodies do.
extern "C" __attribute__((const)) bool __oclave_on_device(void);
extern "C" __attribute__((const)) bool __oclave_on_host(void);
#endif

namespace oclave {
namespace if_device_detail {

template <class A, class B> inline constexpr bool is_same = false;
template <class A> inline constexpr bool is_same<A, A> = true;

#ifdef OCLAVE_SINGLE_PASS

// Not inlined, so that nothing of a body moves out before post-link has made its choice.
template <class F> __attribute__((noinline)) void call_on_device(F fn)
{
    if (__oclave_on_device())
        fn();
}
template <class F> __attribute__((noinline)) void call_on_host(F fn)
{
    if (__oclave_on_host())
        fn();
}

// What `otherwise` completes. The body of the other side leaves `result` as it is.
template <bool OnHost, class R> class choice {
  public:
    template <class F> explicit choice(F fn) { call<OnHost>(fn); }
    template <class F> R otherwise(F fn)
    {
        static_assert(is_same<R, decltype(fn())>, "the bodies of if_device or if_host and otherwise have one result type");
        call<!OnHost>(fn);
        return result;
    }

  private:
    template <bool Host, class F> void call(F fn)
    {
        if constexpr (Host)
            call_on_host([&] { result = fn(); });
        else
            call_on_device([&] { result = fn(); });
    }
    R result;
};

template <bool OnHost> class choice<OnHost, void> {
  public:
    template <class F> explicit choice(F fn) { call<OnHost>(fn); }
    template <class F> void otherwise(F fn) { call<!OnHost>(fn); }

  private:
    template <bool Host, class F> void call(F fn)
    {
        if constexpr (Host)
            call_on_host(fn);
        else
            call_on_device(fn);
    }
};

#else

#ifdef OCLAVE_HOST
inline constexpr bool on_host = true;
#else
inline constexpr bool on_host = false;
#endif

// The body was for this side and ran; `otherwise` gives its result.
template <class R> class chosen {
  public:
    template <class F> explicit chosen(F fn) : result(fn()) {}
    template <class F> R otherwise(F fn) const
    {
        static_assert(is_same<R, decltype(fn())>, "the bodies of if_device or if_host and otherwise have one result type");
        return result;
    }

  private:
    R result;
};
template <> class chosen<void> {
  public:
    template <class F> explicit chosen(F fn) { fn(); }
    template <class F> void otherwise(F) const {}
};

// The body was for the other side; `otherwise` runs.
template <class R> class passed_over {
  public:
    template <class F> R otherwise(F fn) const
    {
        static_assert(is_same<R, decltype(fn())>, "the bodies of if_device or if_host and otherwise have one result type");
        return fn();
    }
};

template <bool OnHost, class F> auto choose(F fn)
{
    if constexpr (OnHost == on_host)
        return chosen<decltype(fn())>(fn);
    else
        return passed_over<decltype(fn())>();
}

#endif

} // namespace if_device_detail

// Calls `fn` on devices. `.otherwise(other)` calls `other` on the host, and gives the result of the one that was called.
template <class F> auto if_device(F fn)
{
#ifdef OCLAVE_SINGLE_PASS
    return if_device_detail::choice<false, decltype(fn())>(fn);
#else
    return if_device_detail::choose<false>(fn);
#endif
}

// Calls `fn` on the host. `.otherwise(other)` calls `other` on devices, and gives the result of the one that was called.
template <class F> auto if_host(F fn)
{
#ifdef OCLAVE_SINGLE_PASS
    return if_device_detail::choice<true, decltype(fn())>(fn);
#else
    return if_device_detail::choose<true>(fn);
#endif
}

} // namespace oclave

#endif
