/* SPDX-License-Identifier: BSD-3-Clause */
/* ---- what the solver calls: managed memory, one launch for each batch ------------------------ */

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

void *kernel_memory(size_t bytes) {
    void *p = NULL;
    if (cudaMallocManaged(&p, bytes ? bytes : 1) != cudaSuccess) return NULL;
    memset(p, 0, bytes);
    return p;
}

void kernel_release(void *p) {
    cudaFree(p);
}

#define LAUNCH(name, ...)                                                                          \
    do {                                                                                           \
        if (count > 0) {                                                                           \
            const int64_t groups = name##_groups;                                                  \
            name<<<(unsigned)((count + groups - 1) / groups), name##_threads>>>(__VA_ARGS__, 0,    \
                                                                                count);            \
            check(cudaGetLastError());                                                             \
            check(cudaDeviceSynchronize());                                                        \
        }                                                                                          \
    } while (0)

void run_factorize(int64_t count, double **block, double **other, double **diag, double small,
                   int32_t *trouble, double *largest) {
    LAUNCH(factorize, block, other, diag, small, trouble, largest);
}

void run_solve(int64_t count, double **block, const double **tri, const double **diag,
               const double **order, double *largest) {
    LAUNCH(solve, block, tri, diag, order, largest);
}

void run_downdate(int64_t count, double **block, const double **a, const double **b,
                  const double **diag) {
    LAUNCH(downdate, block, a, b, diag);
}
