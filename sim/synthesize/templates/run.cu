/* SPDX-License-Identifier: BSD-3-Clause */
/* ---- what the solver calls. The device has a twin of all values, and gets a batch as one copy of its
 * lists and one launch. The host waits where it asks for results. --------------------------------- */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern "C" {
#include "solver.h"
}

static void check(cudaError_t e) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "solve: %s\n", cudaGetErrorString(e));
    exit(7);
}

/* ---- values ---------------------------------------------------------------------------------- */

enum { TWINS = 8 };
static struct twin {
    char *host, *device;
    size_t bytes;
} twins[TWINS];

/* Where the device has what the host has at p. */
static char *there(const void *p) {
    for (int k = 0; k < TWINS; ++k)
        if ((char *)p >= twins[k].host && (char *)p < twins[k].host + twins[k].bytes)
            return twins[k].device + ((char *)p - twins[k].host);
    return NULL;
}

void *kernel_memory(size_t bytes) {
    int k = 0;
    while (k < TWINS && twins[k].host) ++k;
    if (k == TWINS) return NULL;
    const size_t size = bytes ? bytes : 1;
    char *host = (char *)calloc(size, 1), *device = NULL;
    if (!host || cudaMalloc((void **)&device, size) != cudaSuccess) {
        free(host);
        return NULL;
    }
    twins[k].host = host, twins[k].device = device, twins[k].bytes = size;
    return host;
}

void kernel_release(void *p) {
    for (int k = 0; p && k < TWINS; ++k) {
        if (twins[k].host != p) continue;
        check(cudaFree(twins[k].device));
        free(p);
        twins[k].host = twins[k].device = NULL, twins[k].bytes = 0;
    }
}

void kernel_send(void *values, size_t bytes) {
    if (bytes) check(cudaMemcpy(there(values), values, bytes, cudaMemcpyHostToDevice));
}

void kernel_fetch(void *values, size_t bytes) {
    if (bytes) check(cudaMemcpy(values, there(values), bytes, cudaMemcpyDeviceToHost));
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Page-locked memory for the lists of a call and what it finds, and the same on the device. Two of them:
 * one is filled while the other is read. */
static struct lists {
    char *host, *device;
    size_t room, used;
    cudaEvent_t read;
    int busy;
} lists[2];

static struct lists *begin_lists(size_t bytes) {
    static int at;
    struct lists *l = &lists[at ^= 1];
    if (l->busy) check(cudaEventSynchronize(l->read));
    l->busy = 0, l->used = 0;
    if (l->room < bytes) {
        if (l->host) check(cudaFreeHost(l->host));
        if (l->device) check(cudaFree(l->device));
        if (!l->read) check(cudaEventCreateWithFlags(&l->read, cudaEventDisableTiming));
        check(cudaMallocHost((void **)&l->host, 2 * bytes));
        check(cudaMalloc((void **)&l->device, 2 * bytes));
        l->room = 2 * bytes;
    }
    return l;
}

/* A list of places of values. */
static double **put(struct lists *l, const void *list, int64_t count) {
    char **to = (char **)(l->host + l->used);
    for (int64_t k = 0; k < count; ++k) to[k] = there(((const void *const *)list)[k]);
    l->used += (size_t)count * sizeof *to;
    return (double **)(l->device + ((char *)to - l->host));
}

static void send(struct lists *l) {
    check(cudaMemcpyAsync(l->device, l->host, l->used, cudaMemcpyHostToDevice, 0));
}

/* The device may read them until now. */
static void end_lists(struct lists *l) {
    check(cudaGetLastError());
    check(cudaEventRecord(l->read, 0));
    l->busy = 1;
}

/* What a kernel left behind its lists. */
static void find(const struct lists *l, void *to, size_t at, size_t bytes) {
    check(cudaMemcpyAsync(l->host + at, l->device + at, bytes, cudaMemcpyDeviceToHost, 0));
    check(cudaStreamSynchronize(0));
    memcpy(to, l->host + at, bytes);
}

__global__ void __launch_bounds__(factorize_threads)
    factorize_kernel(int64_t count, double **block, double **other, double **diag, double small,
                     int32_t *trouble, double *largest) {
    factorize(block, other, diag, small, trouble, largest, 0, count);
}

__global__ void __launch_bounds__(solve_threads)
    solve_kernel(int64_t count, double **block, const double **tri, const double **diag,
                 const double **order, double *largest) {
    solve(block, tri, diag, order, largest, 0, count);
}

/* A group has all updates of its block, in the order in which they were found: the bits of target c. */
__global__ void __launch_bounds__(downdate_threads)
    downdate_kernel(int64_t count, const int64_t *first, double **block, const double **a,
                    const double **b, const double **diag) {
    const int lanes = downdate_threads / downdate_groups;
    const int64_t group = (int64_t)blockIdx.x * downdate_groups + threadIdx.x / lanes;
    if (group >= count) return;
    const int64_t end = first[group + 1];
    for (int64_t e = first[group]; e < end; ++e) {
        downdate(block, a, b, diag, e - group, e + 1);
        __syncwarp((lanes == 32 ? ~0u : (1u << lanes % 32) - 1)
                   << threadIdx.x % 32 / lanes * lanes);
    }
}

#ifndef LAUNCH
#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
#endif
#define RUN(name, ...)                                                                             \
    LAUNCH(name##_kernel, (unsigned)((count + name##_groups - 1) / name##_groups), name##_threads, \
           count, __VA_ARGS__)

void run_factorize(int64_t count, double **block, double **other, double **diag, double small,
                   int32_t *trouble, double *largest) {
    if (count == 0) return;
    const size_t n = (size_t)count;
    struct lists *l = begin_lists(n * (3 * sizeof *block + sizeof *largest + sizeof *trouble));
    double **const x = put(l, block, count), **const y = put(l, other, count),
                   **const d = put(l, diag, count);
    double *const most = (double *)(l->device + l->used);
    int32_t *const bad = (int32_t *)(most + count);
    send(l);
    RUN(factorize, x, y, d, small, bad, most);
    end_lists(l);
    find(l, largest, l->used, n * sizeof *largest);
    find(l, trouble, l->used + n * sizeof *largest, n * sizeof *trouble);
}

void run_solve(int64_t count, double **block, const double **tri, const double **diag,
               const double **order, double *largest) {
    if (count == 0) return;
    const size_t n = (size_t)count;
    struct lists *l = begin_lists(n * (4 * sizeof *block + sizeof *largest));
    double **const x = put(l, block, count);
    const double **const t = (const double **)put(l, tri, count),
                         **const d = (const double **)put(l, diag, count),
                         **const o = (const double **)put(l, order, count);
    send(l);
    RUN(solve, x, t, d, o, (double *)(l->device + l->used));
    end_lists(l);
    find(l, largest, l->used, n * sizeof *largest);
}

void run_downdate(int64_t count, const int64_t *first, double **block, const double **a,
                  const double **b, const double **diag) {
    if (count == 0) return;
    const int64_t items = first[count];
    const size_t ends = (size_t)(count + 1) * sizeof *first;
    struct lists *l = begin_lists((size_t)items * 4 * sizeof *block + ends);
    double **const x = put(l, block, items);
    const double **const p = (const double **)put(l, a, items),
                         **const q = (const double **)put(l, b, items),
                         **const d = (const double **)put(l, diag, items);
    const int64_t *const f = (const int64_t *)(l->device + l->used);
    memcpy(l->host + l->used, first, ends);
    l->used += ends;
    send(l);
    RUN(downdate, f, x, p, q, d);
    end_lists(l);
}
