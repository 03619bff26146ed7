// Device globals for C++ for OpenCL: the class template of sycl_ext_oneapi_device_global.
//
//   #include <oclave/device_global.hpp>
//
//   oclave::device_global<int> counter;                                       // zero until somebody writes it
//   oclave::device_global<int[4], oclave::host_access_read> table{1, 2, 3};   // properties follow the type
//   namespace tuning { static oclave::device_global<float> gain{4.5f}; }
//
//   kernel void k(global int *out) { counter += table[1]; *out = counter; }
//
// Variables are declared at namespace scope or as public static members, with a constant initializer; there are no other
// objects of the class. In OpenCL C, and where a source in OpenCL C shares the variable, see DEVICE_GLOBAL of oclave.h.
#ifndef OCLAVE_DEVICE_GLOBAL_HPP
#define OCLAVE_DEVICE_GLOBAL_HPP

#ifndef __OPENCL_CPP_VERSION__
#error "oclave/device_global.hpp is for C++ for OpenCL (.clcpp); OpenCL C has DEVICE_GLOBAL of oclave/oclave.h"
#endif

// The name of the source; see oclave.h.
#ifndef OCLAVE_UNIT
#define OCLAVE_UNIT ""
#endif

// Version of sycl_ext_oneapi_device_global, like its feature-test macro.
#ifndef OCLAVE_EXT_ONEAPI_DEVICE_GLOBAL
#define OCLAVE_EXT_ONEAPI_DEVICE_GLOBAL 1
#endif

// An opaque way from a variable to its value, so that the optimiser does not think that it sees all writes: the host
// writes, too. Post-link removes the calls.
extern "C" __attribute__((const)) __global void *__oclave_device_global(__global const void *);

#pragma clang diagnostic push
// Initializers are passed through parameters, so the compiler no longer sees that 4.5 fits into a float.
#pragma clang diagnostic ignored "-Wc++11-narrowing"

namespace oclave {

// Keys of the properties, for has_property and get_property.
struct device_image_scope_key {};
struct host_access_key {};
struct init_mode_key {};
struct implement_in_csr_key {};

enum class host_access_enum { none = 0, read = 1, write = 2, readwrite = 3 }; // read_write is a keyword
enum class init_mode_enum { reprogram = 0, reset = 1 };

// The properties. `bits` is what post-link reads: bit 0 device_image_scope; bits 4 to 7 host_access, plus one;
// bits 8 to 11 init_mode, plus one; bits 12 to 15 implement_in_csr, plus one.

// One instance in each program instead of one on each device.
struct device_image_scope {
    using key = device_image_scope_key;
    static constexpr ulong bits = 1;
};

// What the host may do; read_write unless given.
struct host_access_none {
    using key = host_access_key;
    static constexpr host_access_enum value = host_access_enum::none;
    static constexpr ulong bits = 1 << 4;
};
struct host_access_read {
    using key = host_access_key;
    static constexpr host_access_enum value = host_access_enum::read;
    static constexpr ulong bits = 2 << 4;
};
struct host_access_write {
    using key = host_access_key;
    static constexpr host_access_enum value = host_access_enum::write;
    static constexpr ulong bits = 3 << 4;
};
struct host_access_read_write {
    using key = host_access_key;
    static constexpr host_access_enum value = host_access_enum::readwrite;
    static constexpr ulong bits = 4 << 4;
};

// For FPGAs; without effect on other devices.
struct init_mode_reprogram {
    using key = init_mode_key;
    static constexpr init_mode_enum value = init_mode_enum::reprogram;
    static constexpr ulong bits = 1 << 8;
};
struct init_mode_reset {
    using key = init_mode_key;
    static constexpr init_mode_enum value = init_mode_enum::reset;
    static constexpr ulong bits = 2 << 8;
};
struct implement_in_csr_off {
    using key = implement_in_csr_key;
    static constexpr bool value = false;
    static constexpr ulong bits = 1 << 12;
};
struct implement_in_csr_on {
    using key = implement_in_csr_key;
    static constexpr bool value = true;
    static constexpr ulong bits = 2 << 12;
};

template <class T, class... Properties> class device_global;

namespace detail {

// Its annotation tells post-link which source a variable is from; every device global points to it.
static __attribute__((annotate("oclave:unit," OCLAVE_UNIT))) __constant const char unit = 0;

template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_extent { using type = T; };
template <class T, decltype(sizeof(0)) N> struct remove_extent<T[N]> { using type = T; };

template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };

template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };

template <class Key, class... Properties> struct count { static constexpr int value = 0; };
template <class Key, class First, class... Rest> struct count<Key, First, Rest...> {
    static constexpr int value = (is_same<Key, typename First::key>::value ? 1 : 0) + count<Key, Rest...>::value;
};

template <class Key, class... Properties> struct find {
    static_assert(sizeof(Key) == 0, "the device_global does not have this property");
};
template <bool Same, class Key, class First, class... Rest> struct find_from : find<Key, Rest...> {};
template <class Key, class First, class... Rest> struct find_from<true, Key, First, Rest...> {
    using type = First;
};
template <class Key, class First, class... Rest>
struct find<Key, First, Rest...> : find_from<is_same<Key, typename First::key>::value, Key, First, Rest...> {};

// Numbers and vectors by value: a reference is a generic pointer, which a kernel would not need otherwise.
template <class T, bool = __is_class(T) || __is_union(T)> struct parameter { using type = T; };
template <class T> struct parameter<T, true> { using type = const T &; };

template <class Key> struct is_key { static constexpr bool value = false; };
template <> struct is_key<device_image_scope_key> { static constexpr bool value = true; };
template <> struct is_key<host_access_key> { static constexpr bool value = true; };
template <> struct is_key<init_mode_key> { static constexpr bool value = true; };
template <> struct is_key<implement_in_csr_key> { static constexpr bool value = true; };

template <class T> struct is_device_global { static constexpr bool value = false; };
template <class T, class... Properties> struct is_device_global<device_global<T, Properties...>> {
    static constexpr bool value = true;
};

} // namespace detail

// host_access<host_access_enum::read> is host_access_read, and so on.
namespace detail {
template <host_access_enum> struct host_access;
template <> struct host_access<host_access_enum::none> { using type = host_access_none; };
template <> struct host_access<host_access_enum::read> { using type = host_access_read; };
template <> struct host_access<host_access_enum::write> { using type = host_access_write; };
template <> struct host_access<host_access_enum::readwrite> { using type = host_access_read_write; };
template <init_mode_enum> struct init_mode;
template <> struct init_mode<init_mode_enum::reprogram> { using type = init_mode_reprogram; };
template <> struct init_mode<init_mode_enum::reset> { using type = init_mode_reset; };
template <bool> struct implement_in_csr { using type = implement_in_csr_off; };
template <> struct implement_in_csr<true> { using type = implement_in_csr_on; };
} // namespace detail
template <host_access_enum Access> using host_access = typename detail::host_access<Access>::type;
template <init_mode_enum Trigger> using init_mode = typename detail::init_mode<Trigger>::type;
template <bool Enable> using implement_in_csr = typename detail::implement_in_csr<Enable>::type;

// A variable of type T in global memory that kernels and the host share. Behaves as a reference to T.
template <class T, class... Properties> class device_global {
    static_assert(__is_trivially_destructible(T), "the type of a device_global must be trivially destructible");
    static_assert(__is_trivially_copyable(T), "the host copies a device_global as bytes, so its type must be trivially copyable");
    static_assert(!detail::is_device_global<T>::value, "a device_global in a device_global is not allowed");
    static_assert(detail::count<device_image_scope_key, Properties...>::value <= 1, "device_image_scope stands twice");
    static_assert(detail::count<host_access_key, Properties...>::value <= 1,
                  "the host_access properties contradict each other");
    static_assert(detail::count<init_mode_key, Properties...>::value <= 1,
                  "the init_mode properties contradict each other");
    static_assert(detail::count<implement_in_csr_key, Properties...>::value <= 1,
                  "the implement_in_csr properties contradict each other");

    // The order is known to post-link.
    T value_;
    ulong properties_ = (ulong{0} | ... | Properties::bits);
    __constant const char *unit_ = &detail::unit;

    template <class, class...> friend class device_global;

public:
    using element_type = typename detail::remove_extent<T>::type;

    // All constructors are for global memory, so there are no objects elsewhere.

    // The value begins as zeros.
    constexpr device_global() __global : value_{} {}

    // The value is initialized with the list of arguments.
    template <class First, class... Rest,
              class = typename detail::enable_if<!detail::is_device_global<First>::value>::type>
    constexpr explicit device_global(First first, Rest... rest) __global : value_{first, rest...} {}

    // The value begins as a copy of another one's initial value.
    constexpr device_global(const __global device_global &other) __global : value_{}
    {
        static_assert(!has_property<device_image_scope_key>(), "a device_global with device_image_scope cannot be copied");
        copy(value_, other.value_);
    }
    template <class U, class... Others>
    constexpr device_global(const __global device_global<U, Others...> &other) __global : value_{}
    {
        static_assert(!has_property<device_image_scope_key>(), "a device_global with device_image_scope cannot be copied");
        copy(value_, other.value_);
    }

    device_global(const __global device_global &&) __global = delete;
    __global device_global &operator=(const __global device_global &) __global = delete;
    __global device_global &operator=(const __global device_global &&) __global = delete;

    __global T *get_ptr() __global noexcept
    {
        return (__global T *)__oclave_device_global(&value_);
    }
    const __global T *get_ptr() const __global noexcept
    {
        return (const __global T *)__oclave_device_global(&value_);
    }

    __global T &get() __global noexcept { return *get_ptr(); }
    const __global T &get() const __global noexcept { return *get_ptr(); }

    operator __global T &() __global noexcept { return get(); }
    operator const __global T &() const __global noexcept { return get(); }

    __global device_global &operator=(typename detail::parameter<T>::type value) __global noexcept
    {
        get() = value;
        return *this;
    }

    // The compiler finds the other operators of T by itself.
    template <class U = T> __global U &operator++() __global noexcept { return ++get(); }
    template <class U = T> __global U &operator--() __global noexcept { return --get(); }
    template <class U = T> U operator++(int) __global noexcept { return get()++; }
    template <class U = T> U operator--(int) __global noexcept { return get()--; }

    // Where T has the operator.
    template <class Index> __global auto &operator[](Index index) __global noexcept { return get()[index]; }
    template <class Index> const __global auto &operator[](Index index) const __global noexcept { return get()[index]; }

    // Where T is a pointer or has the operator.
    template <class U = T> __global U &operator->() __global noexcept { return get(); }
    template <class U = T> const __global U &operator->() const __global noexcept { return get(); }

    template <class Key> static constexpr bool has_property()
    {
        static_assert(detail::is_key<Key>::value, "this is no key of a property of device_global");
        return detail::count<Key, Properties...>::value != 0;
    }

    // An object whose type is the property; `value` is its value where it has one.
    template <class Key> static constexpr auto get_property()
    {
        static_assert(detail::is_key<Key>::value, "this is no key of a property of device_global");
        return typename detail::find<Key, Properties...>::type{};
    }

private:
    template <class To, class From> static constexpr void copy(__global To &to, const __global From &from) { to = from; }
    template <class To, class From, decltype(sizeof(0)) N>
    static constexpr void copy(__global To (&to)[N], const __global From (&from)[N])
    {
        for (decltype(sizeof(0)) i = 0; i < N; i++)
            copy(to[i], from[i]);
    }
};

} // namespace oclave
#pragma clang diagnostic pop
#endif
