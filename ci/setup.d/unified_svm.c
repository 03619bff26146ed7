// Shows cl_khr_unified_svm 0.9 on top of what a driver has: an OpenCL library that stands before the real one.
//
// No driver has the extension yet. This library answers for it, with memory of cl_intel_unified_shared_memory and of OpenCL 2.0:
//
//   type    is                                  for drivers with
//   device  clDeviceMemAllocINTEL               USM of devices
//   host    clHostMemAllocINTEL                 USM of the host
//   shared  clSharedMemAllocINTEL               shared USM
//   coarse  clSVMAlloc                          SVM
//   fine    clSVMAlloc, without mapping         fine-grained SVM
//
// A program loads it by OCLAVE_OPENCL_LIBRARY. What is not here comes from libOpenCL.so.1, which it is linked with.
// SHOWN_OPENCL=3.1 makes devices report OpenCL 3.1. What that has in its core is then no extension any more.
//
// UNIFIED_SVM_TYPES=coarse,fine shows these types only. What breaks the rules of the extension is refused: missing devices, unknown
// properties, foreign pointers, mapping of memory that cannot be mapped. The query of the platform is not there.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bits;
typedef void *handle;

enum {
    SUCCESS = 0, OUT_OF_HOST_MEMORY = -6, INVALID_VALUE = -30, INVALID_OPERATION = -59, INVALID_PROPERTY = -64,
    DEVICE_VERSION = 0x102F, DEVICE_EXTENSIONS = 0x1030, DEVICE_SVM_CAPABILITIES = 0x1053,
    DEVICE_EXTENSIONS_WITH_VERSION = 0x1060, DEVICE_SVM_TYPES = 0x1077,
    USM_OF_HOST = 0x4190, USM_OF_DEVICE = 0x4191, USM_SHARED = 0x4192,
    CONTEXT_DEVICES = 0x1081,
    INDIRECT_ACCESS = 0x11BB, SVM_POINTERS = 0x11B6,
    ASSOCIATED_DEVICE = 0x2078, ACCESS_FLAGS = 0x2079, ALIGNMENT = 0x207A,
    INFO_TYPE_INDEX = 0x2088, INFO_CAPABILITIES = 0x2089, INFO_PROPERTIES = 0x208A, INFO_ACCESS_FLAGS = 0x208B,
    INFO_BASE = 0x419B, INFO_SIZE = 0x419C, INFO_DEVICE = 0x419D,
};

// Bits of cl_svm_capabilities_khr.
#define SINGLE_ADDRESS_SPACE (1u << 0)
#define DEVICE_OWNED (1u << 2)
#define DEVICE_UNASSOCIATED (1u << 3)
#define CONTEXT_ACCESS (1u << 4)
#define HOST_OWNED (1u << 5)
#define HOST_ACCESS (1u << 6 | 1u << 7)
#define HOST_MAP (1u << 8)
#define DEVICE_ACCESS (1u << 9 | 1u << 10)
#define DEVICE_ATOMICS (1u << 11)
#define CONCURRENT (1u << 12)
#define INDIRECT (1u << 14)

enum type { DEVICE, HOST, SHARED, COARSE, FINE, TYPES };

static const char *const NAMES[TYPES] = {"device", "host", "shared", "coarse", "fine"};
static const cl_bits CAPABILITIES[TYPES] = {
    SINGLE_ADDRESS_SPACE | DEVICE_OWNED | DEVICE_ACCESS | DEVICE_ATOMICS | INDIRECT,
    SINGLE_ADDRESS_SPACE | DEVICE_UNASSOCIATED | CONTEXT_ACCESS | HOST_OWNED | HOST_ACCESS | DEVICE_ACCESS | INDIRECT,
    SINGLE_ADDRESS_SPACE | HOST_ACCESS | DEVICE_ACCESS | INDIRECT,
    SINGLE_ADDRESS_SPACE | DEVICE_UNASSOCIATED | CONTEXT_ACCESS | HOST_MAP | DEVICE_ACCESS | DEVICE_ATOMICS,
    SINGLE_ADDRESS_SPACE | DEVICE_UNASSOCIATED | CONTEXT_ACCESS | HOST_ACCESS | HOST_MAP | DEVICE_ACCESS | DEVICE_ATOMICS |
        CONCURRENT,
};

static void *real(const char *name)
{
    static void *library;
    if (library == NULL)
        library = dlopen("libOpenCL.so.1", RTLD_NOW);
    return dlsym(library, name);
}

// REAL(result, name, parameters): a function `real_name` that gives the library's function.
#define REAL(result, name, ...)                                      \
    static result (*real_##name(void))(__VA_ARGS__)                  \
    {                                                                \
        static result (*function)(__VA_ARGS__);                      \
        if (function == NULL)                                        \
            function = (result(*)(__VA_ARGS__))real(#name);          \
        return function;                                             \
    }
REAL(cl_int, clGetDeviceInfo, handle, cl_uint, size_t, void *, size_t *)
REAL(cl_int, clGetContextInfo, handle, cl_uint, size_t, void *, size_t *)
REAL(void *, clGetExtensionFunctionAddressForPlatform, handle, const char *)
REAL(void *, clSVMAlloc, handle, cl_bits, size_t, cl_uint)
REAL(void, clSVMFree, handle, void *)
REAL(cl_int, clSetKernelArgSVMPointer, handle, cl_uint, const void *)
REAL(cl_int, clSetKernelExecInfo, handle, cl_uint, size_t, const void *)
REAL(cl_int, clEnqueueSVMMemcpy, handle, cl_uint, void *, const void *, size_t, cl_uint, const handle *, handle *)
REAL(cl_int, clEnqueueSVMMemFill, handle, void *, const void *, size_t, size_t, cl_uint, const handle *, handle *)
REAL(cl_int, clEnqueueSVMMap, handle, cl_uint, cl_bits, void *, size_t, cl_uint, const handle *, handle *)
REAL(cl_int, clEnqueueSVMMigrateMem, handle, cl_uint, const void **, const size_t *, cl_bits, cl_uint, const handle *, handle *)

// A function of an extension; the program runs on one platform.
static void *extension(const char *name)
{
    static handle platform;
    handle all[1];
    cl_int (*platforms)(cl_uint, handle *, cl_uint *) = (cl_int(*)(cl_uint, handle *, cl_uint *))real("clGetPlatformIDs");
    if (platform == NULL && platforms(1, all, NULL) == SUCCESS)
        platform = all[0];
    return real_clGetExtensionFunctionAddressForPlatform()(platform, name);
}

static int device_has(handle device, enum type type)
{
    static const cl_uint queries[TYPES] = {USM_OF_DEVICE, USM_OF_HOST, USM_SHARED, DEVICE_SVM_CAPABILITIES, DEVICE_SVM_CAPABILITIES};
    const char *only = getenv("UNIFIED_SVM_TYPES");
    cl_bits bits = 0;
    if (only != NULL && strstr(only, NAMES[type]) == NULL)
        return 0;
    if (real_clGetDeviceInfo()(device, queries[type], sizeof bits, &bits, NULL) != SUCCESS)
        return 0;
    // CL_DEVICE_SVM_FINE_GRAIN_BUFFER is 2; the others have 1 for any access.
    return (bits & (type == FINE ? 2 : 1)) != 0;
}

static cl_bits capabilities(handle device, enum type type) { return device_has(device, type) ? CAPABILITIES[type] : 0; }

static cl_int answer(const void *from, size_t length, size_t room, void *value, size_t *size)
{
    if (size != NULL)
        *size = length;
    if (value == NULL)
        return SUCCESS;
    if (room < length)
        return INVALID_VALUE;
    memcpy(value, from, length);
    return SUCCESS;
}

// One allocation of clSVMAllocWithPropertiesKHR.
struct block {
    struct block *next;
    handle context, device;
    char *start;
    size_t size;
    enum type type;
    cl_bits properties[8];
    size_t properties_size;
};

static struct block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The allocation around a pointer, in a copy.
static int find(const void *pointer, struct block *out)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (struct block *block = blocks; block != NULL && !found; block = block->next)
        if ((const char *)pointer >= block->start && (const char *)pointer < block->start + block->size) {
            *out = *block;
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

static int is_usm(const void *pointer)
{
    struct block block;
    return find(pointer, &block) && block.type <= SHARED;
}

// --- The extension's functions ---

static cl_int parse(const cl_bits *list, struct block *block)
{
    int seen[3] = {0};
    size_t length = 0;
    for (; list != NULL && list[length] != 0; length += 2) {
        cl_bits name = list[length], value = list[length + 1];
        if (name < ASSOCIATED_DEVICE || name > ALIGNMENT || seen[name - ASSOCIATED_DEVICE]++)
            return INVALID_PROPERTY;
        if (name == ASSOCIATED_DEVICE)
            block->device = (handle)(uintptr_t)value;
        // At most the size of a long16.
        if (name == ALIGNMENT && ((value & (value - 1)) != 0 || value > 128))
            return INVALID_PROPERTY;
    }
    if (list != NULL) {
        block->properties_size = (length + 1) * sizeof *list;
        memcpy(block->properties, list, block->properties_size);
    }
    return SUCCESS;
}

// The alignment of the largest type is the default everywhere.
static void *allocate(struct block *block, cl_int *code)
{
    typedef void *(*of_device)(handle, handle, const cl_bits *, size_t, cl_uint, cl_int *);
    typedef void *(*of_host)(handle, const cl_bits *, size_t, cl_uint, cl_int *);
    switch (block->type) {
    case DEVICE: return ((of_device)extension("clDeviceMemAllocINTEL"))(block->context, block->device, NULL, block->size, 0, code);
    case SHARED: return ((of_device)extension("clSharedMemAllocINTEL"))(block->context, block->device, NULL, block->size, 0, code);
    case HOST: return ((of_host)extension("clHostMemAllocINTEL"))(block->context, NULL, block->size, 0, code);
    default: break;
    }
    // Read and write, and CL_MEM_SVM_FINE_GRAIN_BUFFER.
    void *start = real_clSVMAlloc()(block->context, 1 | (block->type == FINE ? 1 << 10 : 0), block->size, 0);
    *code = start == NULL ? OUT_OF_HOST_MEMORY : SUCCESS;
    return start;
}

static void *svm_alloc(handle context, const cl_bits *properties, cl_uint type, size_t size, cl_int *code_out)
{
    struct block *block = calloc(1, sizeof *block);
    cl_int code = block == NULL ? OUT_OF_HOST_MEMORY : parse(properties, block);
    handle devices[64] = {NULL};
    if (code == SUCCESS && type >= TYPES)
        code = INVALID_VALUE;
    if (code == SUCCESS) {
        real_clGetContextInfo()(context, CONTEXT_DEVICES, sizeof devices, devices, NULL);
        if (!device_has(block->device != NULL ? block->device : devices[0], type))
            code = INVALID_OPERATION;
        else if (block->device == NULL && !(CAPABILITIES[type] & DEVICE_UNASSOCIATED))
            code = INVALID_PROPERTY;
    }
    if (code == SUCCESS && size > 0) {
        block->context = context, block->type = type, block->size = size;
        block->start = allocate(block, &code);
    }
    if (code_out != NULL)
        *code_out = code;
    if (code != SUCCESS || block->start == NULL) {
        free(block);
        return NULL;
    }
    void *start = block->start;
    pthread_mutex_lock(&lock);
    block->next = blocks;
    blocks = block;
    pthread_mutex_unlock(&lock);
    return start;
}

static cl_int svm_free(handle context, const cl_bits *properties, cl_bits flags, void *pointer)
{
    struct block **at, *block = NULL;
    if (properties != NULL && properties[0] != 0)
        return INVALID_PROPERTY;
    if (flags != 0)
        return INVALID_VALUE;
    if (pointer == NULL)
        return SUCCESS;
    pthread_mutex_lock(&lock);
    for (at = &blocks; *at != NULL && ((*at)->start != pointer || (*at)->context != context); at = &(*at)->next)
        ;
    if (*at != NULL) {
        block = *at;
        *at = block->next;
    }
    pthread_mutex_unlock(&lock);
    if (block == NULL)
        return INVALID_VALUE;
    cl_int code = SUCCESS;
    if (block->type <= SHARED)
        code = ((cl_int(*)(handle, void *))extension("clMemFreeINTEL"))(context, pointer);
    else
        real_clSVMFree()(context, pointer);
    free(block);
    return code;
}

static cl_int pointer_info(handle context, handle device, const void *pointer, cl_uint query, size_t room, void *value, size_t *size)
{
    struct block block;
    int found = find(pointer, &block) && block.context == context;
    cl_uint index = found ? block.type : UINT32_MAX;
    handle of = found ? block.device : NULL;
    cl_bits bits = found ? CAPABILITIES[block.type] : 0, flags = 0;
    size_t bytes = found ? block.size : 0;
    void *base = found ? block.start : NULL;
    (void)device;
    switch (query) {
    case INFO_TYPE_INDEX: return answer(&index, sizeof index, room, value, size);
    case INFO_CAPABILITIES: return answer(&bits, sizeof bits, room, value, size);
    case INFO_PROPERTIES: return answer(block.properties, found ? block.properties_size : 0, room, value, size);
    case INFO_ACCESS_FLAGS: return answer(&flags, sizeof flags, room, value, size);
    case INFO_BASE: return answer(&base, sizeof base, room, value, size);
    case INFO_SIZE: return answer(&bytes, sizeof bytes, room, value, size);
    case INFO_DEVICE: return answer(&of, sizeof of, room, value, size);
    default: return INVALID_VALUE;
    }
}

static cl_int suggested(handle context, cl_bits required, cl_bits desired, const cl_bits *properties, size_t bytes, cl_uint *type)
{
    handle devices[64] = {NULL};
    (void)desired, (void)properties, (void)bytes;
    if (type == NULL)
        return INVALID_VALUE;
    real_clGetContextInfo()(context, CONTEXT_DEVICES, sizeof devices, devices, NULL);
    *type = UINT32_MAX;
    for (cl_uint one = 0; one < TYPES && *type == UINT32_MAX; one++)
        if ((capabilities(devices[0], one) & required) == required)
            *type = one;
    return SUCCESS;
}

// --- Functions of OpenCL that know the extension ---

static const char NAME[] = "cl_khr_unified_svm";
static const char SUGGESTED_SIZE[] = "clGetKernelSuggestedLocalWorkSizeKHR";

struct name_version {
    cl_uint version;
    char name[64];
};

// In the core of OpenCL 3.1.
static int is_core(const char *name)
{
    static const char *const CORE[] = {"cl_khr_device_uuid", "cl_khr_spirv_queries", "cl_khr_suggested_local_work_size"};
    if (getenv("SHOWN_OPENCL") == NULL)
        return 0;
    for (size_t i = 0; i < sizeof CORE / sizeof *CORE; i++)
        if (strcmp(CORE[i], name) == 0)
            return 1;
    return 0;
}

// Takes the extensions of the core out of a list of words.
static void leave_out_words(char *all)
{
    char *to = all, *word = strtok(all, " ");
    for (; word != NULL; word = strtok(NULL, " "))
        if (!is_core(word)) {
            size_t length = strlen(word);
            memmove(to, word, length);
            to += length;
            *to++ = ' ';
        }
    *to = 0;
}

// As leave_out_words, of names with versions; gives what is left in bytes.
static size_t leave_out(struct name_version *all, size_t length)
{
    size_t count = length / sizeof *all, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_core(all[i].name))
            all[kept++] = all[i];
    return kept * sizeof *all;
}

cl_int clGetDeviceInfo(handle device, cl_uint query, size_t room, void *value, size_t *size)
{
    static const struct name_version VERSION = {9u << 12, "cl_khr_unified_svm"};
    if (query == DEVICE_SVM_TYPES) {
        cl_bits all[TYPES];
        for (int type = 0; type < TYPES; type++)
            all[type] = capabilities(device, type);
        return answer(all, sizeof all, room, value, size);
    }
    const char *shown = getenv("SHOWN_OPENCL");
    if (query != DEVICE_EXTENSIONS && query != DEVICE_EXTENSIONS_WITH_VERSION && (query != DEVICE_VERSION || shown == NULL))
        return real_clGetDeviceInfo()(device, query, room, value, size);
    size_t length = 0;
    cl_int code = real_clGetDeviceInfo()(device, query, 0, NULL, &length);
    if (code != SUCCESS)
        return code;
    char *all = calloc(1, length + sizeof VERSION);
    if (all == NULL)
        return OUT_OF_HOST_MEMORY;
    code = real_clGetDeviceInfo()(device, query, length, all, NULL);
    if (query == DEVICE_VERSION) {
        // "OpenCL 3.0 …"
        if (length > 10)
            memcpy(all + 7, shown, 3);
    } else if (query == DEVICE_EXTENSIONS) {
        leave_out_words(all);
        strcat(strcat(all, " "), NAME);
        length = strlen(all) + 1;
    } else {
        length = leave_out((struct name_version *)all, length);
        memcpy(all + length, &VERSION, sizeof VERSION);
        length += sizeof VERSION;
    }
    if (code == SUCCESS)
        code = answer(all, length, room, value, size);
    free(all);
    return code;
}

void *clGetExtensionFunctionAddressForPlatform(handle platform, const char *name)
{
    if (strcmp(name, "clSVMAllocWithPropertiesKHR") == 0)
        return (void *)svm_alloc;
    if (strcmp(name, "clSVMFreeWithPropertiesKHR") == 0)
        return (void *)svm_free;
    if (strcmp(name, "clGetSVMPointerInfoKHR") == 0)
        return (void *)pointer_info;
    if (strcmp(name, "clGetSVMSuggestedTypeIndexKHR") == 0)
        return (void *)suggested;
    // In the core of OpenCL 3.1, it has another name.
    if (strcmp(name, SUGGESTED_SIZE) == 0 && getenv("SHOWN_OPENCL") != NULL)
        return NULL;
    return real_clGetExtensionFunctionAddressForPlatform()(platform, name);
}

cl_int clGetKernelSuggestedLocalWorkSize(handle queue, handle kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
                                         size_t *suggested)
{
    typedef cl_int (*suggest)(handle, handle, cl_uint, const size_t *, const size_t *, size_t *);
    suggest function = (suggest)extension(SUGGESTED_SIZE);
    return function == NULL ? INVALID_OPERATION : function(queue, kernel, dimensions, offset, global, suggested);
}

cl_int clSetKernelArgSVMPointer(handle kernel, cl_uint index, const void *pointer)
{
    if (is_usm(pointer))
        return ((cl_int(*)(handle, cl_uint, const void *))extension("clSetKernelArgMemPointerINTEL"))(kernel, index, pointer);
    return real_clSetKernelArgSVMPointer()(kernel, index, pointer);
}

// A kernel is told of USM by three flags. Memory of the types "coarse" and "fine" it only reaches by the list.
cl_int clSetKernelExecInfo(handle kernel, cl_uint info, size_t size, const void *value)
{
    static const cl_uint of_usm[] = {0x4200, 0x4201, 0x4202};
    if (info == INDIRECT_ACCESS) {
        cl_int code = SUCCESS;
        for (int i = 0; i < 3 && code == SUCCESS; i++)
            code = real_clSetKernelExecInfo()(kernel, of_usm[i], size, value);
        return code;
    }
    if (info != SVM_POINTERS)
        return real_clSetKernelExecInfo()(kernel, info, size, value);
    size_t count = size / sizeof(void *), kept = 0;
    const void *const *all = value;
    const void **others = malloc(size);
    cl_uint yes = 1;
    cl_int code = others == NULL ? OUT_OF_HOST_MEMORY : SUCCESS;
    for (size_t i = 0; i < count && code == SUCCESS; i++)
        if (!is_usm(all[i]))
            others[kept++] = all[i];
    for (int i = 0; i < 3 && kept < count && code == SUCCESS; i++)
        code = real_clSetKernelExecInfo()(kernel, of_usm[i], sizeof yes, &yes);
    if (kept > 0 && code == SUCCESS)
        code = real_clSetKernelExecInfo()(kernel, info, kept * sizeof(void *), others);
    free(others);
    return code;
}

cl_int clEnqueueSVMMemcpy(handle queue, cl_uint blocking, void *to, const void *from, size_t size, cl_uint count, const handle *wait,
                          handle *event)
{
    typedef cl_int (*copy)(handle, cl_uint, void *, const void *, size_t, cl_uint, const handle *, handle *);
    copy function = is_usm(to) || is_usm(from) ? (copy)extension("clEnqueueMemcpyINTEL") : real_clEnqueueSVMMemcpy();
    return function(queue, blocking, to, from, size, count, wait, event);
}

cl_int clEnqueueSVMMemFill(handle queue, void *to, const void *pattern, size_t length, size_t size, cl_uint count, const handle *wait,
                           handle *event)
{
    typedef cl_int (*fill)(handle, void *, const void *, size_t, size_t, cl_uint, const handle *, handle *);
    fill function = is_usm(to) ? (fill)extension("clEnqueueMemFillINTEL") : real_clEnqueueSVMMemFill();
    return function(queue, to, pattern, length, size, count, wait, event);
}

cl_int clEnqueueSVMMap(handle queue, cl_uint blocking, cl_bits flags, void *pointer, size_t size, cl_uint count, const handle *wait,
                       handle *event)
{
    // These types cannot be mapped.
    if (is_usm(pointer))
        return INVALID_VALUE;
    return real_clEnqueueSVMMap()(queue, blocking, flags, pointer, size, count, wait, event);
}

cl_int clEnqueueSVMMigrateMem(handle queue, cl_uint pointers, const void **all, const size_t *sizes, cl_bits flags, cl_uint count,
                              const handle *wait, handle *event)
{
    typedef cl_int (*migrate)(handle, const void *, size_t, cl_bits, cl_uint, const handle *, handle *);
    struct block block;
    if (pointers != 1 || !is_usm(all[0]))
        return real_clEnqueueSVMMigrateMem()(queue, pointers, all, sizes, flags, count, wait, event);
    if (!find(all[0], &block))
        return INVALID_VALUE;
    size_t size = sizes != NULL && sizes[0] != 0 ? sizes[0] : block.size;
    return ((migrate)extension("clEnqueueMigrateMemINTEL"))(queue, all[0], size, flags, count, wait, event);
}
