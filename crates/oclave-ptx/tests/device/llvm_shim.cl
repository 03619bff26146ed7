// What llvm-spirv calls and libclc's module for NVIDIA lacks, or has under other names: for the comparison with LLVM's PTX
// (ci/ptx-pack). Generic pointers are LLVM's plain ones. With -DPRIVATE, atomic operations are for private variables, of which
// NVIDIA's assembler takes none.
#define NAMED(type, name, mangled, ...) type name(__VA_ARGS__) __asm(mangled); type name(__VA_ARGS__)
#define ALL 0xffffffffu

// Atomic operations. Orders and scopes do not count here: all fences are for the device, and each fixture synchronises by barriers.
#ifdef PRIVATE
#define ATOMIC(type, now, old) type before = *at; *at = now; return before;
#else
#define ATOMIC(type, now, old) return old;
#endif
#define ORDER "12memory_order12memory_scope"
#define OPERATION(name, length, letter, type, now, old)                                                                 \
    NAMED(type, shim_##name##letter, "_Z" #length "atomic_" #name "_explicitPU3AS4VU7_Atomic" #letter #letter ORDER,    \
          volatile generic type *at, type value, uint order, uint scope) { ATOMIC(type, now, old) }
#define OPERATIONS(letter, type)                                                                                        \
    OPERATION(fetch_add, 25, letter, type, before + value, __sync_fetch_and_add(at, value))                             \
    OPERATION(fetch_sub, 25, letter, type, before - value, __sync_fetch_and_sub(at, value))                             \
    OPERATION(fetch_xor, 25, letter, type, before ^ value, __sync_fetch_and_xor(at, value))                             \
    OPERATION(fetch_and, 25, letter, type, before & value, __sync_fetch_and_and(at, value))                             \
    OPERATION(fetch_or, 24, letter, type, before | value, __sync_fetch_and_or(at, value))                               \
    OPERATION(exchange, 24, letter, type, value, __sync_lock_test_and_set(at, value))                                   \
    NAMED(type, shim_load##letter, "_Z20atomic_load_explicitPU3AS4VU7_Atomic" #letter ORDER, volatile generic type *at, \
          uint order, uint scope) { return *at; }                                                                       \
    NAMED(void, shim_store##letter, "_Z21atomic_store_explicitPU3AS4VU7_Atomic" #letter #letter ORDER,                  \
          volatile generic type *at, type value, uint order, uint scope) { *at = value; }                               \
    NAMED(bool, shim_exchange_if##letter,                                                                               \
          "_Z39atomic_compare_exchange_strong_explicitPU3AS4VU7_Atomic" #letter "PU3AS4" #letter #letter                \
          "12memory_orderS4_12memory_scope", volatile generic type *at, generic type *expected, type value, uint order, \
          uint failure, uint scope)                                                                                     \
    {                                                                                                                   \
        type wanted = *expected, before = swapped_if(at, wanted, value);                                                \
        *expected = before;                                                                                             \
        return before == wanted;                                                                                        \
    }
#define EXTREMES(letter, type, smaller, larger)                                                                         \
    OPERATION(fetch_min, 25, letter, type, min(before, value), smaller(at, value))                                      \
    OPERATION(fetch_max, 25, letter, type, max(before, value), larger(at, value))
#define SWAPPED_IF(type)                                                                                                \
    static type __attribute__((overloadable)) swapped_if(volatile generic type *at, type wanted, type value) SWAP(type)
#ifdef PRIVATE
#define SWAP(type) { type before = *at; if (before == wanted) *at = value; return before; }
#else
#define SWAP(type) { return __sync_val_compare_and_swap(at, wanted, value); }
#endif
SWAPPED_IF(uint)
SWAPPED_IF(ulong)
OPERATIONS(i, uint)
OPERATIONS(l, ulong)
// clang has these of 32 bits alone, and NVIDIA's assembler those of 64, too.
EXTREMES(i, int, __sync_fetch_and_min, __sync_fetch_and_max)
EXTREMES(j, uint, __sync_fetch_and_umin, __sync_fetch_and_umax)
#ifndef PRIVATE
NAMED(long, shim_fetch_minl, "_Z25atomic_fetch_min_explicitPU3AS4VU7_Atomicll" ORDER, volatile generic long *at, long value, uint order,
      uint scope)
{
    long before;
    __asm volatile("atom.min.s64 %0, [%1], %2;" : "=l"(before) : "l"(at), "l"(value) : "memory");
    return before;
}
#endif
NAMED(void, shim_fence, "_Z22atomic_work_item_fencej12memory_order12memory_scope", uint flags, uint order, uint scope) { __nvvm_membar_gl(); }

#ifdef PRIVATE
NAMED(bool, shim_flag_set, "_Z33atomic_flag_test_and_set_explicitPU3AS4VU7_Atomici12memory_order12memory_scope", volatile generic uint *at, uint order,
      uint scope)
{
    uint before = *at;
    *at = 1;
    return before != 0;
}
NAMED(void, shim_flag_clear, "_Z26atomic_flag_clear_explicitPU3AS4VU7_Atomici12memory_order12memory_scope", volatile generic uint *at, uint order, uint scope)
{
    *at = 0;
}
#endif

NAMED(void, shim_barrier, "_Z18work_group_barrierj12memory_scope", uint flags, uint scope)
{
    if (flags & CLK_GLOBAL_MEM_FENCE) __nvvm_membar_gl();
    __nvvm_bar_sync(0);
}

// Asynchronous copies.
NAMED(event_t, shim_copy, "_Z29async_work_group_strided_copyPU3AS3jPU3AS1Kjmm9ocl_event", local uint *to, const global uint *from,
      ulong count, ulong stride, event_t event)
{
    for (ulong i = get_local_id(0); i < count; i += get_local_size(0)) to[i] = from[i * stride];
    return event;
}
NAMED(void, shim_wait, "_Z17wait_group_eventsiPU3AS49ocl_event", uint count, generic event_t *events) { __nvvm_bar_sync(0); }

// Pointers.
NAMED(global char *, shim_to_global, "__to_global", generic char *p)
{
    uint is;
    __asm("{ .reg .pred %%p; isspacep.global %%p, %1; selp.u32 %0, 1, 0, %%p; }" : "=r"(is) : "l"(p));
    return is ? (global char *)p : 0;
}
NAMED(private char *, shim_to_private, "__to_private", generic char *p)
{
    uint is;
    __asm("{ .reg .pred %%p; isspacep.local %%p, %1; selp.u32 %0, 1, 0, %%p; }" : "=r"(is) : "l"(p));
    return is ? (private char *)p : 0;
}

// Vectors in memory, and halves.
#define LOAD3(letter, type) \
    NAMED(type##3, shim_load3##letter, "_Z6vload3mPU3AS4K" #letter, ulong i, const generic type *p) \
    { return (type##3)(p[3 * i], p[3 * i + 1], p[3 * i + 2]); }
LOAD3(i, uint)
LOAD3(c, uchar)
#define STORE(n, letter, type, length, ...) \
    NAMED(void, shim_store##n##letter, "_Z7vstore" #n "Dv" #n "_" #letter "mPU3AS4" #letter, type##n v, ulong i, generic type *p) \
    { const type parts[] = {__VA_ARGS__}; for (int k = 0; k < n; k++) p[n * i + k] = parts[k]; }
STORE(2, i, uint, 7, v.x, v.y)
STORE(4, i, uint, 7, v.x, v.y, v.z, v.w)
STORE(3, c, uchar, 7, v.x, v.y, v.z)
STORE(4, s, ushort, 7, v.x, v.y, v.z, v.w)

static float of_half(ushort h)
{
    float f;
    __asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
static ushort to_half(float f)
{
    ushort h;
    __asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
NAMED(void, shim_store_half, "_Z11vstore_halffmPU3AS4Dh", float f, ulong i, generic ushort *p) { p[i] = to_half(f); }
NAMED(void, shim_store_half_rtz, "_Z15vstore_half_rtzfmPU3AS4Dh", float f, ulong i, generic ushort *p)
{
    ushort h;
    __asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    p[i] = h;
}
NAMED(void, shim_store_half4, "_Z12vstore_half4Dv4_fmPU3AS4Dh", float4 f, ulong i, generic ushort *p)
{
    p[4 * i] = to_half(f.x), p[4 * i + 1] = to_half(f.y), p[4 * i + 2] = to_half(f.z), p[4 * i + 3] = to_half(f.w);
}
NAMED(void, shim_store_half3, "_Z13vstorea_half3Dv3_fmPU3AS4Dh", float3 f, ulong i, generic ushort *p)
{
    p[4 * i] = to_half(f.x), p[4 * i + 1] = to_half(f.y), p[4 * i + 2] = to_half(f.z);
}
NAMED(float4, shim_load_half4, "_Z11vload_half4mPU3AS4KDh", ulong i, const generic ushort *p)
{
    return (float4)(of_half(p[4 * i]), of_half(p[4 * i + 1]), of_half(p[4 * i + 2]), of_half(p[4 * i + 3]));
}
NAMED(float3, shim_load_half3, "_Z12vloada_half3mPU3AS4KDh", ulong i, const generic ushort *p)
{
    return (float3)(of_half(p[4 * i]), of_half(p[4 * i + 1]), of_half(p[4 * i + 2]));
}
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
NAMED(half, shim_fma_half, "_Z3fmaDhDhDh", half a, half b, half c)
{
    ushort h;
    __asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(h) : "h"(as_ushort(a)), "h"(as_ushort(b)), "h"(as_ushort(c)));
    return as_half(h);
}
NAMED(int, shim_is_infinite, "_Z5isinfDh", half a) { return (as_ushort(a) & 0x7fff) == 0x7c00; }
NAMED(int, shim_is_normal, "_Z8isnormalDh", half a)
{
    uint exponent = as_ushort(a) >> 10 & 31;
    return exponent != 0 && exponent != 31;
}

#define CTZ(letter, type, bits) \
    NAMED(type, shim_ctz##letter, "_Z3ctz" #letter, type v) { return v ? popcount((type)(~v & (v - 1))) : bits; }
CTZ(c, uchar, 8)
CTZ(h, uchar, 8)
CTZ(s, ushort, 16)
CTZ(t, ushort, 16)
CTZ(i, uint, 32)
CTZ(j, uint, 32)
CTZ(l, ulong, 64)
CTZ(m, ulong, 64)

#define MAD_HI(letter, type) \
    NAMED(type, shim_mad_hi##letter, "_Z6mad_hi" #letter #letter #letter, type a, type b, type c) { return mul_hi(a, b) + c; }
MAD_HI(c, char)
MAD_HI(h, uchar)
MAD_HI(s, short)
MAD_HI(t, ushort)
MAD_HI(i, int)
MAD_HI(j, uint)
MAD_HI(l, long)
MAD_HI(m, ulong)

// Work-group functions, of groups of up to 1024 work-items: everyone writes, and reads what others have written.
local uint *shim_scratch(void);
#define FOLD(mangled, name, type, from, until, start, next)                                                            \
    NAMED(type, shim_##name, mangled, type value)                                                                      \
    {                                                                                                                  \
        local uint *all = shim_scratch();                                                                              \
        uint own = get_local_id(0), size = get_local_size(0);                                                          \
        __nvvm_bar_sync(0);                                                                                            \
        all[own] = value;                                                                                              \
        __nvvm_bar_sync(0);                                                                                            \
        type result = start;                                                                                           \
        for (uint i = 0; i < until; i++) {                                                                             \
            type other = all[i];                                                                                       \
            result = next;                                                                                             \
        }                                                                                                              \
        return result;                                                                                                 \
    }
FOLD("_Z21work_group_reduce_addi", reduce_add, uint, 0, size, 0, result + other)
FOLD("_Z21work_group_reduce_maxj", reduce_max, uint, 0, size, 0, max(result, other))
FOLD("_Z21work_group_reduce_mini", reduce_min, int, 0, size, INT_MAX, min(result, other))
FOLD("_Z29work_group_scan_inclusive_addi", inclusive_add, uint, 0, own + 1, 0, result + other)
FOLD("_Z29work_group_scan_exclusive_addi", exclusive_add, uint, 0, own, 0, result + other)
FOLD("_Z29work_group_scan_exclusive_maxj", exclusive_max, uint, 0, own, 0, max(result, other))
FOLD("_Z14work_group_alli", all, int, 0, size, 1, result && other)
FOLD("_Z14work_group_anyi", any, int, 0, size, 0, result || other)
NAMED(uint, shim_broadcast, "_Z20work_group_broadcastjm", uint value, ulong from)
{
    local uint *all = shim_scratch();
    __nvvm_bar_sync(0);
    all[get_local_id(0)] = value;
    __nvvm_bar_sync(0);
    return all[from];
}

// Sub-groups are warps. Each function gathers the values of the work-items that are active.
static uint lane(void) { return __nvvm_read_ptx_sreg_laneid(); }
static uint active(void)
{
    uint mask;
    __asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
#define GATHER(mangled, name, type, of, start, counts, next)                                                           \
    NAMED(type, shim_##name, mangled, type value)                                                                      \
    {                                                                                                                  \
        uint mask = active(), own = lane();                                                                            \
        type result = start;                                                                                           \
        for (uint i = 0; i < 32; i++) {                                                                                \
            if (!(mask >> i & 1)) continue;                                                                            \
            type other = of(mask, value, i);                                                                           \
            if (counts) result = next;                                                                                 \
        }                                                                                                              \
        return result;                                                                                                 \
    }
static uint from_lane(uint mask, uint value, uint i) { return __nvvm_shfl_sync_idx_i32(mask, value, i, 31); }
static double double_from_lane(uint mask, double value, uint i)
{
    uint2 parts = as_uint2(value);
    return as_double((uint2)(from_lane(mask, parts.x, i), from_lane(mask, parts.y, i)));
}
GATHER("_Z32sub_group_non_uniform_reduce_addi", add, uint, from_lane, 0, true, result + other)
GATHER("_Z40sub_group_non_uniform_scan_inclusive_maxj", scan_max, uint, from_lane, 0, i <= own, max(result, other))
GATHER("_Z40sub_group_non_uniform_scan_exclusive_addi", scan_add, uint, from_lane, 0, i < own, result + other)
GATHER("_Z25sub_group_non_uniform_anyi", sub_any, int, from_lane, 0, true, result || other)
GATHER("_Z31sub_group_non_uniform_all_equali", all_equal, int, from_lane, 1, true, result && other == value)
GATHER("_Z40sub_group_non_uniform_reduce_logical_andi", logical_and, int, from_lane, 1, true, result && other)
GATHER("_Z32sub_group_non_uniform_reduce_maxd", max_double, double, double_from_lane, -INFINITY, true, fmax(result, other))
NAMED(uint, shim_elect, "_Z15sub_group_electv", void) { return lane() == 31 - clz(active() & -active()); }
NAMED(uint, shim_first, "_Z25sub_group_broadcast_firstj", uint value)
{
    uint mask = active();
    return from_lane(mask, value, 31 - clz(mask & -mask));
}
NAMED(uint4, shim_ballot, "_Z16sub_group_balloti", int is) { return (uint4)(__nvvm_vote_ballot_sync(active(), is), 0, 0, 0); }
NAMED(uint, shim_shuffle_up, "_Z20sub_group_shuffle_upij", uint value, uint by)
{
    return __nvvm_shfl_sync_idx_i32(ALL, value, (lane() - by) & 31, 31);
}
NAMED(uint, shim_shuffle_xor, "_Z21sub_group_shuffle_xorij", uint value, uint by) { return from_lane(ALL, value, lane() ^ by); }
NAMED(uint, shim_lane, "_Z22get_sub_group_local_idv", void) { return lane(); }
NAMED(int, shim_inverse, "_Z24sub_group_inverse_ballotDv4_j", uint4 bits) { return bits.x >> lane() & 1; }
NAMED(uint, shim_lsb, "_Z25sub_group_ballot_find_lsbDv4_j", uint4 bits) { return 31 - clz(bits.x & -bits.x); }
NAMED(uint, shim_msb, "_Z25sub_group_ballot_find_msbDv4_j", uint4 bits) { return 31 - clz(bits.x); }
NAMED(uint, shim_count, "_Z26sub_group_ballot_bit_countDv4_j", uint4 bits) { return popcount(bits.x); }
NAMED(uint, shim_count_to, "_Z31sub_group_ballot_inclusive_scanDv4_j", uint4 bits) { return popcount(bits.x & ALL >> (31 - lane())); }
#define CLUSTER(mangled, name, start, next)                                                                            \
    NAMED(uint, shim_##name, mangled, uint value, uint size)                                                           \
    {                                                                                                                  \
        uint result = start, first = lane() / size * size;                                                             \
        for (uint i = 0; i < size; i++) {                                                                              \
            uint other = from_lane(ALL, value, first + i);                                                             \
            result = next;                                                                                             \
        }                                                                                                              \
        return result;                                                                                                 \
    }
CLUSTER("_Z30sub_group_clustered_reduce_addij", cluster_add, 0, result + other)
CLUSTER("_Z30sub_group_clustered_reduce_minjj", cluster_min, ALL, min(result, other))
