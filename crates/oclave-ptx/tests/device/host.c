// Runs kernels of the fixtures on the first OpenCL device, and compares results. See ci/ptx-pack.
//
//   host il OUT FILE.spv…      runs each module's kernel on fixed inputs, and writes what it stored to OUT
//   host store OUT FILE.ptx…   the same for PTX
//   host compare EXPECTED FILE.out…  compares such results bit by bit with the files of those names in EXPECTED; needs no device
//   host busy OURS.ptx OTHER.ptx  times the ten kernels of busy.cl in both, in turns
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

#define WORDS (8 * ITEMS)
#define ELEMENTS (1 << 26)
#define ROUNDS 21

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void need(cl_int code, const char *what) {
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(1);
}

static unsigned next_number(void) {
    static unsigned state = 12345;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = calloc(1, 1 << 24);
    *size = fread(bytes, 1, (1 << 24) - 1, file);
    fclose(file);
    return bytes;
}

static cl_program build(const char *path, int is_spirv) {
    size_t size = 0;
    cl_int code = CL_SUCCESS;
    char *bytes = read_file(path, &size);
    need(bytes ? CL_SUCCESS : CL_INVALID_VALUE, path);
    // The driver wants PTX with its terminating zero.
    size_t with_zero = size + 1;
    const unsigned char *binary = (const unsigned char *)bytes;
    cl_program program = is_spirv ? clCreateProgramWithIL(context, bytes, size, &code)
                                  : clCreateProgramWithBinary(context, 1, &device, &with_zero, &binary, NULL, &code);
    if (!code)
        code = clBuildProgram(program, 1, &device, "", NULL, NULL);
    free(bytes);
    if (code) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%.2000s\n", log);
    }
    need(code, path);
    return program;
}

static cl_mem buffer(size_t bytes, void *contents) {
    cl_int code;
    cl_mem memory = clCreateBuffer(context, contents ? CL_MEM_COPY_HOST_PTR : 0, bytes, contents, &code);
    need(code, "clCreateBuffer");
    return memory;
}

// Zeros, ones, numbers at the ends of ranges and floating-point specials against each other, then random numbers.
static unsigned inputs[2][ITEMS];

static void make_inputs(void) {
    static const unsigned special[32] = {
        0, 1, 2, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
        0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x43000000,
        0xc3000000, 0x3f000000, 0x3effffff, 0x7c00, 0x3c00, 0x400, 0x3ff, 0x8000, 0xff, 0x80, 0x7f, 31};
    for (int i = 0; i < ITEMS; i++) {
        inputs[0][i] = i < 1024 ? special[i / 32] : next_number();
        inputs[1][i] = i < 1024 ? special[i % 32] : next_number();
    }
}

// The kernel is named like the file, up to its first dot.
static void kernel_name(const char *path, char name[200]) {
    const char *base = strrchr(path, '/');
    snprintf(name, 200, "%s", base ? base + 1 : path);
    name[strcspn(name, ".")] = 0;
}

// Where results of a file of kernels or results are, in a folder.
static void result_path(const char *folder, const char *path, char result[1000]) {
    const char *base = strrchr(path, '/');
    snprintf(result, 1000, "%s/%.*s.out", folder, (int)(strlen(base + 1) - 4), base + 1);
}

static void store(int is_spirv, const char *folder, int count, char **files) {
    static unsigned result[WORDS];
    cl_mem in[2], out = buffer(sizeof result, NULL);
    cl_int code;
    make_inputs();
    for (int i = 0; i < 2; i++)
        in[i] = buffer(sizeof inputs[i], inputs[i]);
    for (int i = 0; i < count; i++) {
        char name[200], path[1000];
        kernel_name(files[i], name);
        result_path(folder, files[i], path);
        cl_kernel kernel = clCreateKernel(build(files[i], is_spirv), name, &code);
        need(code, name);
        memset(result, 0xaa, sizeof result);
        need(clEnqueueWriteBuffer(queue, out, 1, 0, sizeof result, result, 0, NULL, NULL), "write");
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &in[0]);
        clSetKernelArg(kernel, 1, sizeof(cl_mem), &in[1]);
        need(clSetKernelArg(kernel, 2, sizeof(cl_mem), &out), name);
        size_t global = ITEMS, local = 64;
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), name);
        need(clEnqueueReadBuffer(queue, out, 1, 0, sizeof result, result, 0, NULL, NULL), name);
        FILE *file = fopen(path, "wb");
        need(file && fwrite(result, 1, sizeof result, file) == sizeof result ? CL_SUCCESS : CL_INVALID_VALUE, path);
        fclose(file);
    }
}

static int compare(const char *folder, int count, char **files) {
    int differ = 0, by_calculation = 0;
    make_inputs();
    for (int i = 0; i < count; i++) {
        char name[200], path[1000];
        size_t size, other;
        kernel_name(files[i], name);
        result_path(folder, files[i], path);
        unsigned *result = (unsigned *)read_file(files[i], &size), *expected = (unsigned *)read_file(path, &other);
        need(result && expected && size == other && size == WORDS * 4 ? CL_SUCCESS : CL_INVALID_VALUE, files[i]);
        int words = 0, first = -1, exact = 0, of[8] = {0};
        for (int w = 0; w < WORDS; w++) {
            unsigned item = w / 8;
            // What can be calculated counts, whatever the other compiler makes of it.
            int known = is_right(name, item, w % 8, inputs[0][item], inputs[1][item], result[w]);
            exact += known >= 0 && result[w] != expected[w];
            if (known >= 0 ? !known : result[w] != expected[w]) {
                of[w % 8] = 1;
                first = words++ ? first : w;
            }
        }
        differ += words > 0;
        by_calculation += !words && exact;
        if (words) {
            printf("BAD %s: %d words differ, of results ", files[i], words);
            for (int r = 0; r < 8; r++)
                printf(of[r] ? "%d" : "", r);
            printf(", first of item %d: %08x, expected %08x\n", first / 8, result[first], expected[first]);
        } else if (exact) {
            printf("ok %s: %d words differ, and are right by calculation\n", files[i], exact);
        }
        free(result);
        free(expected);
    }
    printf("# %d fixtures: %d equal bit by bit, %d differ in words that are calculated and right, %d differ otherwise\n", count,
           count - differ - by_calculation, by_calculation, differ);
    return differ;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// One kernel of busy.cl: sizes, and its arguments as letters: i the input, o the output, r and c the sparse matrix, l local
// memory of 1 KiB, and numbers from `n` (n) and `f` (f).
struct busy {
    const char *name, *arguments;
    cl_uint dimensions;
    size_t global[2], local[2], bytes;
    int n[2];
    float f[3];
};

static const struct busy KERNELS[10] = {
    {"nbody", "ionf", 1, {65536}, {256}, 65536 * 16, {65536}, {0.01f}},
    {"matmul", "iion", 2, {4096, 4096}, {16, 16}, (size_t)4096 * 4096 * 4, {4096}, {0}},
    {"reduce", "ionl", 1, {1 << 18}, {256}, 4096, {ELEMENTS}, {0}},
    {"stencil", "ionn", 2, {8192, 8192}, {64, 4}, (size_t)ELEMENTS * 4, {8192, 8192}, {0}},
    {"histogram", "ion", 1, {1 << 18}, {256}, 1024, {ELEMENTS * 4 - 1}, {0}},
    {"sortstep", "onn", 1, {ELEMENTS}, {256}, (size_t)ELEMENTS * 4, {1 << 12, 1 << 20}, {0}},
    {"mandelbrot", "onfffn", 2, {4096, 4096}, {32, 8}, (size_t)4096 * 4096 * 4, {4096, 1000}, {-2, -1.25f, 0.0006f}},
    {"spmv", "rciion", 1, {1 << 20}, {256}, (size_t)4 << 20, {1 << 20}, {0}},
    {"scan", "iol", 1, {ELEMENTS}, {256}, (size_t)ELEMENTS * 4, {0}, {0}},
    {"transpose", "ionn", 2, {8192, 8192}, {16, 16}, (size_t)ELEMENTS * 4, {8192, 8192}, {0}},
};

static void set_arguments(cl_kernel kernel, const struct busy *busy, cl_mem in, cl_mem out, cl_mem rows, cl_mem columns) {
    int n = 0, f = 0;
    for (cl_uint i = 0; busy->arguments[i]; i++) {
        cl_int code = CL_SUCCESS;
        switch (busy->arguments[i]) {
        case 'i': code = clSetKernelArg(kernel, i, sizeof in, &in); break;
        case 'o': code = clSetKernelArg(kernel, i, sizeof out, &out); break;
        case 'r': code = clSetKernelArg(kernel, i, sizeof rows, &rows); break;
        case 'c': code = clSetKernelArg(kernel, i, sizeof columns, &columns); break;
        case 'l': code = clSetKernelArg(kernel, i, 1024, NULL); break;
        case 'n': code = clSetKernelArg(kernel, i, sizeof(int), &busy->n[n++]); break;
        default: code = clSetKernelArg(kernel, i, sizeof(float), &busy->f[f++]);
        }
        need(code, busy->name);
    }
}

static double microseconds(cl_kernel kernel, const struct busy *busy, cl_mem in, cl_mem out) {
    cl_event event;
    cl_ulong begin, end;
    need(clEnqueueCopyBuffer(queue, in, out, 0, 0, busy->bytes, 0, NULL, NULL), busy->name);
    need(clEnqueueNDRangeKernel(queue, kernel, busy->dimensions, NULL, busy->global, busy->local, 0, NULL, &event),
         busy->name);
    need(clFinish(queue), busy->name);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(event);
    return (double)(end - begin) * 1e-3;
}

static int busy(const char *ours, const char *other) {
    cl_program programs[2] = {build(ours, 0), build(other, 0)};
    float *values = malloc((size_t)ELEMENTS * 4), *results[2];
    int rows = 1 << 20, count = rows * 24, at = 0, *row = malloc((rows + 1) * 4), *column = malloc((size_t)count * 4);
    double ratios[10];
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = (float)(next_number() & 0xffff) * 1e-4f;
    for (int i = 0; i < rows; i++) {
        row[i] = at;
        for (int left = 8 + (int)(next_number() % 32); left > 0 && at < count; left--)
            column[at++] = (int)((i + next_number() % 4096) % rows);
    }
    row[rows] = at;
    cl_mem in = buffer((size_t)ELEMENTS * 4, values), mrow = buffer((rows + 1) * 4, row);
    cl_mem mcolumn = buffer((size_t)count * 4, column), out[2];
    for (int side = 0; side < 2; side++) {
        out[side] = buffer((size_t)ELEMENTS * 4, NULL);
        results[side] = malloc((size_t)ELEMENTS * 4);
    }
    puts("name,device,n,ours_us,reference_us,ratio");
    for (int k = 0; k < 10; k++) {
        const struct busy *busy = &KERNELS[k];
        cl_kernel kernels[2];
        double times[2][ROUNDS];
        cl_int code;
        for (int side = 0; side < 2; side++) {
            kernels[side] = clCreateKernel(programs[side], busy->name, &code);
            need(code, busy->name);
            set_arguments(kernels[side], busy, in, out[side], mrow, mcolumn);
        }
        for (int round = -3; round < ROUNDS; round++)
            for (int turn = 0; turn < 2; turn++) {
                int side = (round + 3 + turn) & 1;
                double time = microseconds(kernels[side], busy, in, out[side]);
                if (round >= 0)
                    times[side][round] = time;
            }
        size_t differ = 0;
        for (int side = 0; side < 2; side++) {
            qsort(times[side], ROUNDS, sizeof(double), by_size);
            need(clEnqueueReadBuffer(queue, out[side], 1, 0, busy->bytes, results[side], 0, NULL, NULL), "read");
        }
        double most = 0;
        for (size_t i = 0; i < busy->bytes / 4; i++) {
            double x = results[0][i], y = results[1][i];
            if (memcmp(&results[0][i], &results[1][i], 4) == 0)
                continue;
            differ++;
            most = fmax(most, fabs(x - y) / fmax(fabs(x), fabs(y)));
        }
        ratios[k] = times[0][ROUNDS / 2] / times[1][ROUNDS / 2];
        printf("ptx_%s,gpu,%zu,%.1f,%.1f,%.3f\n# %zu words differ, as floats by %.2g of their value at most\n", busy->name, busy->bytes,
               times[0][ROUNDS / 2], times[1][ROUNDS / 2], ratios[k], differ, most);
    }
    qsort(ratios, 10, sizeof(double), by_size);
    printf("# median ratio %.3f, worst %.3f\n", (ratios[4] + ratios[5]) / 2, ratios[9]);
    return 0;
}

int main(int count, char **arguments) {
    cl_platform_id platform;
    cl_int code;
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    if (count < 4) {
        fprintf(stderr, "usage: host il OUT FILE.spv… | store OUT FILE.ptx… | compare EXPECTED FILE.out… | busy OURS.ptx OTHER.ptx\n");
        return 2;
    }
    if (!strcmp(arguments[1], "compare"))
        return compare(arguments[2], count - 3, arguments + 3) > 0;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, properties, &code);
    need(code, "clCreateCommandQueueWithProperties");
    if (!strcmp(arguments[1], "busy"))
        return busy(arguments[2], arguments[3]);
    store(!strcmp(arguments[1], "il"), arguments[2], count - 3, arguments + 3);
    return 0;
}
