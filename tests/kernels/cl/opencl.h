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

/* ---- sources with the shim ---------------------------------------------------------------------
 *
 * OpenCL C has local memory in kernels alone, so the shim's is declared where a kernel begins, and
 * each function takes it as one more parameter. */
enum { MOST_FUNCTIONS = 256 }; /* a header counts each time it is included */

typedef struct shimmed {
    char *text;
    size_t length, capacity;
    char names[MOST_FUNCTIONS][32]; /* of the functions */
    int count;
} shimmed;

static inline void put_part(shimmed *s, const char *part, size_t length) {
    if (s->length + length + 1 > s->capacity) {
        s->capacity = 2 * (s->length + length + 1);
        s->text = realloc(s->text, s->capacity);
        assert_non_null(s->text);
    }
    memcpy(s->text + s->length, part, length);
    s->length += length;
    s->text[s->length] = 0;
}

static inline bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A source with what it includes in its place; the names of its functions. */
static inline void put_source(shimmed *s, const char *file) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", METAPACK_KERNELS, file);
    char *source = text_of(path);
    for (const char *line = source, *next; *line; line = next) {
        next = strchr(line, '\n');
        next = next ? next + 1 : line + strlen(line);
        if (strncmp(line, "#include \"", 10) == 0) {
            char name[128];
            assert_int_equal(sscanf(line + 10, "%127[^\"]", name), 1);
            put_source(s, name);
            continue;
        }
        const char *open = strncmp(line, "static ", 7) == 0 ? memchr(line, '(', next - line) : NULL;
        const char *from = open;
        while (from && in_name(from[-1])) --from;
        if (open) {
            assert_true(s->count < MOST_FUNCTIONS && open - from < 32);
            snprintf(s->names[s->count++], 32, "%.*s", (int)(open - from), from);
        }
        put_part(s, line, (size_t)(next - line));
    }
    free(source);
}

static inline bool is_function(const shimmed *s, const char *name, size_t length) {
    for (int k = 0; k < s->count; ++k)
        if (strlen(s->names[k]) == length && memcmp(s->names[k], name, length) == 0) return true;
    return false;
}

/* Behind the parenthesis that closes the one before `at`. */
static inline const char *behind(const char *at) {
    for (int depth = 1; depth > 0; ++at) {
        assert_true(*at != 0);
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    }
    return at;
}

/* The text from `at` to `end`, the shim's memory given to each function that is defined or called.
 */
static inline void put_calls(const shimmed *s, shimmed *out, const char *at, const char *end) {
    while (at < end) {
        const char *name = at;
        while (at < end && in_name(*at)) ++at;
        if (at == name) {
            put_part(out, at++, 1);
            continue;
        }
        put_part(out, name, (size_t)(at - name));
        if (*at != '(' || !is_function(s, name, (size_t)(at - name))) continue;
        const char *close = behind(at + 1) - 1, *line = name;
        while (line > s->text && line[-1] != '\n') --line;
        bool defined = strncmp(line, "static ", 7) == 0, none = close == at + 1;
        put_part(out, "(", 1);
        put_calls(s, out, at + 1, close);
        if (!none) put_part(out, ", ", 2);
        if (defined) put_part(out, "__local double *", 16);
        put_part(out, "shim_memory)", 12);
        at = close + 1;
    }
}

static inline char *with_shim(const char *file) {
    static const char memory[] = " __local double shim_memory[WG_SIZE];";
    shimmed s = {0}, calls = {0}, all = {0};
    char name[128], *shim = text_of(METAPACK_SHIM);
    snprintf(name, sizeof name, "%s.cl", file);
    put_source(&s, name);
    put_calls(&s, &calls, s.text, s.text + s.length);
    put_part(&all, shim, strlen(shim));
    const char *rest = calls.text;
    for (const char *k = rest; (k = strstr(k, "__kernel void ")); ++k) { /* into each of the file */
        const char *body = strchr(k, '{');
        assert_non_null(body);
        put_part(&all, rest, (size_t)(body + 1 - rest));
        put_part(&all, memory, sizeof memory - 1);
        rest = body + 1;
    }
    assert_true(rest != calls.text);
    put_part(&all, rest, strlen(rest));
    free(s.text), free(calls.text), free(shim);
    return all.text;
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
    snprintf(options, sizeof options, "-w -cl-std=CL1.2 -cl-opt-disable -D WG_SIZE=%d%s", wg_size,
             single ? " -D SINGLE" : "");
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
