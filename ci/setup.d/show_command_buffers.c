// Shows the command buffers of Debian's PoCL 7.1 to the process that this library is preloaded into.
//
// Debian builds PoCL for conformance. That build has the functions of cl_khr_command_buffer and runs them, but its devices
// do not name the extension. So the answers to two queries get the name. Everything else comes from PoCL: its devices say
// that a command buffer may not be pending twice. Mutable dispatch is not in that build.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_EXTENSIONS 0x1030
#define DEVICE_EXTENSIONS_WITH_VERSION 0x1060
#define INVALID_VALUE (-30)
#define OUT_OF_HOST_MEMORY (-6)

typedef int (*get_device_info_fn)(void *, unsigned, size_t, void *, size_t *);

struct name_version {
    unsigned version;
    char name[64];
};

static const char NAME[] = " cl_khr_command_buffer";
// 0.9.6, as in PoCL's sources.
static const struct name_version VERSION = {9u << 12 | 6u, "cl_khr_command_buffer"};

static get_device_info_fn real_device_info;

static int device_info(void *device, unsigned query, size_t room, void *value, size_t *size)
{
    if (query != DEVICE_EXTENSIONS && query != DEVICE_EXTENSIONS_WITH_VERSION)
        return real_device_info(device, query, room, value, size);
    size_t length = 0;
    int code = real_device_info(device, query, 0, NULL, &length);
    if (code != 0)
        return code;
    char *all = calloc(1, length + sizeof VERSION);
    if (all == NULL)
        return OUT_OF_HOST_MEMORY;
    code = real_device_info(device, query, length, all, NULL);
    if (query == DEVICE_EXTENSIONS) {
        strcat(all, NAME);
        length = strlen(all) + 1;
    } else {
        memcpy(all + length, &VERSION, sizeof VERSION);
        length += sizeof VERSION;
    }
    if (size != NULL)
        *size = length;
    if (code == 0 && value != NULL) {
        if (room < length)
            code = INVALID_VALUE;
        else
            memcpy(value, all, length);
    }
    free(all);
    return code;
}

// The loader's functions are found by dlsym.
void *dlsym(void *library, const char *name)
{
    static void *(*real_dlsym)(void *, const char *);
    if (real_dlsym == NULL)
        real_dlsym = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *found = real_dlsym(library, name);
    if (found == NULL || strcmp(name, "clGetDeviceInfo") != 0)
        return found;
    real_device_info = (get_device_info_fn)found;
    return (void *)device_info;
}
