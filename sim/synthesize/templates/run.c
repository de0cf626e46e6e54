/* SPDX-License-Identifier: BSD-3-Clause */
/* ---- what the solver calls ------------------------------------------------------------------- */

#include <stdlib.h>
#include "solver.h"

void *kernel_memory(size_t bytes) {
    return calloc(bytes ? bytes : 1, 1);
}

void kernel_release(void *p) {
    free(p);
}

void kernel_send(void *values, size_t bytes) {
    (void)values, (void)bytes; /* kernels run here */
}

void kernel_fetch(void *values, size_t bytes) {
    (void)values, (void)bytes;
}

void run_factorize(int64_t count, double **block, double **other, double **diag, double small,
                   int32_t *trouble, double *largest) {
    factorize(0, count, block, other, diag, small, trouble, largest);
}

void run_solve(int64_t count, double **block, const double **tri, const double **diag,
               const double **order, double *largest) {
    solve(0, count, block, tri, diag, order, largest);
}

void run_downdate(int64_t count, const int64_t *first, double **block, const double **a,
                  const double **b, const double **diag) {
    downdate(0, first[count], block, a, b, diag);
}
