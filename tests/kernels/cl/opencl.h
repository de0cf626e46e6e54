/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_OPENCL_H
#define TEST_OPENCL_H
/** Run a source of src/kernels/cl through an OpenCL platform (PoCL, on the processor), as it
 * stands.
 */
#include "../../support.h"

#include <stdbool.h>

#ifdef METAPACK_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
} device;

/* false: there is none */
static inline bool device_open(device *d) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    memset(d, 0, sizeof *d);
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return false;
    for (cl_uint k = 0; k < count && !d->id; k++)
        if (clGetDeviceIDs(platforms[k], CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) != CL_SUCCESS)
            d->id = NULL;
    if (!d->id) return false;
    cl_int rc;
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &rc);
    if (rc != CL_SUCCESS) return false;
    d->queue = clCreateCommandQueue(d->context, d->id, 0, &rc);
    return rc == CL_SUCCESS;
}

static inline void device_close(device *d) {
    if (d->queue) clReleaseCommandQueue(d->queue);
    if (d->context) clReleaseContext(d->context);
}

static inline char *text_of(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc((size_t)size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    return text;
}

/* the shim, then the source, with the shim's memory declared where a kernel begins */
static inline char *with_shim(const char *file) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.cl", METAPACK_KERNELS, file);
    char *source = text_of(path), *shim = text_of(METAPACK_SHIM);
    static const char memory[] = " __local double shim_memory[WG_SIZE];";
    size_t size = strlen(shim) + strlen(source) + 2, at;
    for (const char *k = source; (k = strstr(k, "__kernel")); ++k) size += sizeof memory;
    char *all = malloc(size);
    const char *rest = source;
    at = (size_t)snprintf(all, size, "%s\n", shim);
    for (const char *k = source; (k = strstr(k, "__kernel")); ++k) { /* into each of the file */
        const char *body = strchr(k, '{');
        assert_non_null(body);
        at += (size_t)snprintf(all + at, size - at, "%.*s%s", (int)(body + 1 - rest), rest, memory);
        rest = body + 1;
    }
    assert_true(rest != source);
    snprintf(all + at, size - at, "%s", rest);
    free(source), free(shim);
    return all;
}

typedef struct buffer {
    void *data;
    size_t bytes;
} buffer;

/* One argument of a kernel: a buffer that comes back, or a value. */
typedef struct argument {
    buffer memory; /* data NULL: a value */
    size_t size;
    union {
        int i;
        cl_long l;
        float f;
        double d;
    } value;
} argument;

#define MEMORY(pointer, count) ((argument){{pointer, (size_t)(count) * sizeof *(pointer)}, 0, {0}})
#define BYTES(pointer, bytes) ((argument){{pointer, (size_t)(bytes)}, 0, {0}})
#define INT(x) ((argument){{NULL, 0}, sizeof(int), {.i = (x)}})
#define LONG(x) ((argument){{NULL, 0}, sizeof(cl_long), {.l = (x)}})
#define REAL(single, x)                                                                            \
    ((single) ? (argument){{NULL, 0}, sizeof(float), {.f = (float)(x)}}                            \
              : (argument){{NULL, 0}, sizeof(double), {.d = (x)}})

/* order: of matrices whose rows wg_size work-items share (ORDER), 0: each has one */
static inline void run_shared(device *d, const char *file, const char *name, int wg_size, int order,
                              bool single, int64_t groups, argument *arguments, int count) {
    char options[640], *text = with_shim(file);
    cl_int rc;
    cl_mem memory[16] = {0};
    snprintf(options, sizeof options, "-w -cl-std=CL1.2 -cl-opt-disable -I %s -D WG_SIZE=%d%s",
             METAPACK_KERNELS, wg_size, single ? " -D SINGLE" : "");
    if (order)
        snprintf(options + strlen(options), sizeof options - strlen(options), " -D ORDER=%d",
                 order);
    cl_program program = clCreateProgramWithSource(d->context, 1, (const char **)&text, NULL, &rc);
    assert_int_equal(rc, CL_SUCCESS);
    if (clBuildProgram(program, 1, &d->id, options, NULL, NULL) != CL_SUCCESS) {
        static char log[8192];
        clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail_msg("%s.cl %s: %s", file, options, log);
    }
    cl_kernel kernel = clCreateKernel(program, name, &rc);
    assert_int_equal(rc, CL_SUCCESS);
    for (int k = 0; k < count; k++) {
        argument *a = &arguments[k];
        if (a->memory.data) {
            memory[k] = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       a->memory.bytes, a->memory.data, &rc);
            assert_int_equal(rc, CL_SUCCESS);
            assert_int_equal(clSetKernelArg(kernel, (cl_uint)k, sizeof(cl_mem), &memory[k]), 0);
        } else {
            assert_int_equal(clSetKernelArg(kernel, (cl_uint)k, a->size, &a->value), 0);
        }
    }
    size_t global = (size_t)(groups * wg_size), local = (size_t)wg_size;
    assert_int_equal(
        clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), 0);
    for (int k = 0; k < count; k++)
        if (memory[k]) {
            assert_int_equal(clEnqueueReadBuffer(d->queue, memory[k], CL_TRUE, 0,
                                                 arguments[k].memory.bytes,
                                                 arguments[k].memory.data, 0, NULL, NULL),
                             0);
            clReleaseMemObject(memory[k]);
        }
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    free(text);
}

static inline void run_kernel(device *d, const char *file, const char *name, int wg_size,
                              bool single, int64_t groups, argument *arguments, int count) {
    run_shared(d, file, name, wg_size, 0, single, groups, arguments, count);
}

#else
typedef int device;
static inline bool device_open(device *d) {
    *d = 0;
    return false;
}
static inline void device_close(device *d) {
    (void)d;
}
#endif
#endif
