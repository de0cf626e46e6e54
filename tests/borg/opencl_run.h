/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_OPENCL_RUN_H
#define TESTS_BORG_OPENCL_RUN_H
/** Emitted OpenCL C on the first device that a platform has (PoCL: the processor). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "borg/borg.h"

typedef struct opencl {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
} opencl;

static bool opencl_open(opencl *d) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_int rc;
    memset(d, 0, sizeof *d);
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return false;
    for (cl_uint k = 0; k < count && !d->id; ++k)
        if (clGetDeviceIDs(platforms[k], CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) != CL_SUCCESS)
            d->id = NULL;
    if (!d->id) return false;
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &rc);
    if (rc != CL_SUCCESS) return false;
    d->queue = clCreateCommandQueue(d->context, d->id, 0, &rc);
    return rc == CL_SUCCESS;
}

static void opencl_close(opencl *d) {
    if (d->queue) clReleaseCommandQueue(d->queue);
    if (d->context) clReleaseContext(d->context);
}

/* data[i] NULL: scalar[i]. What an array holds afterwards is copied back. NULL, or what failed. */
static const char *opencl_run(opencl *d, const char *text, const char *name, const borg_module *m,
                              void *const *data, const size_t *bytes, const uint64_t *scalar,
                              int64_t groups) {
    static char log[4096];
    const char *launch = strstr(text, "borg-launch:");
    int threads = 0, each = 0;
    cl_int rc;
    cl_mem memory[16] = {0};
    if (!launch || sscanf(launch, "borg-launch: threads=%d groups=%d", &threads, &each) != 2)
        return "no borg-launch";
    cl_program program = clCreateProgramWithSource(d->context, 1, &text, NULL, &rc);
    if (clBuildProgram(program, 1, &d->id, "-w -cl-std=CL1.2 -cl-opt-disable", NULL, NULL)) {
        clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        return log;
    }
    cl_kernel kernel = clCreateKernel(program, name, &rc);
    if (rc) return "clCreateKernel";
    for (int i = 0; i < m->nparams; ++i) {
        cl_uint at = (cl_uint)i;
        if (data[i]) {
            memory[i] = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       bytes[i], data[i], &rc);
            if (rc || clSetKernelArg(kernel, at, sizeof(cl_mem), &memory[i])) return "a buffer";
        } else if (clSetKernelArg(kernel, at, (size_t)borg_type_bytes(m->params[i].type),
                                  &scalar[i])) {
            return "an argument";
        }
    }
    cl_long range[2] = {0, groups};
    for (int i = 0; i < 2; ++i)
        if (clSetKernelArg(kernel, (cl_uint)(m->nparams + i), sizeof(cl_long), &range[i]))
            return "the range";
    size_t local = (size_t)threads, global = (size_t)((groups + each - 1) / each) * local;
    if (clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL))
        return "the launch";
    for (int i = 0; i < m->nparams; ++i) {
        if (!memory[i]) continue;
        if (clEnqueueReadBuffer(d->queue, memory[i], CL_TRUE, 0, bytes[i], data[i], 0, NULL, NULL))
            return "reading back";
        clReleaseMemObject(memory[i]);
    }
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return NULL;
}

#endif
