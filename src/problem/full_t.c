/* SPDX-License-Identifier: BSD-3-Clause */
/* Both triangles of A by rows, in one precision: filled, multiplied, residuals. */
#include "full.h"
#include "../engines/cpu/isa/cpu.h"

#include <string.h>

static void transpose(const mpk_problem_view *a, int32_t c0, int32_t c1, int32_t *next,
                      mpki_full *full) {
    const T *ax = a->ax;
    T *val = full->val;
    for (int32_t j = c0; j < c1; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int64_t slot = full->ptr[a->ai[k]] + next[a->ai[k]]++;
            full->col[slot] = j;
            if (val) val[slot] = ax[k];
        }
}

static void scatter(const mpk_problem_view *a, int32_t c0, int32_t c1, int32_t *next,
                    mpki_full *full) {
    const T *ax = a->ax;
    T *val = full->val;
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    if (a->symmetry == MPK_GENERAL) {
        transpose(a, c0, c1, next, full);
        return;
    }
    for (int32_t j = c0; j < c1; j++) {
        int64_t end = full->ptr[j + 1] - (a->ap[j + 1] - a->ap[j]);
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            full->col[end] = i;
            if (val) val[end] = i == j ? ax[k] : conj_if(hermitian, ax[k]);
            end++;
            if (i == j) continue;
            const int64_t slot = full->ptr[i] + next[i]++;
            full->col[slot] = j;
            if (val) val[slot] = ax[k];
        }
    }
}

/* Prefetch entries some rows ahead; the hardware's prefetcher misses them where rows are short. */
static inline void fetch(const T *val, const int32_t *col) {
    __builtin_prefetch(val + 2048 / sizeof(T));
    __builtin_prefetch(col + 2 * 2048 / sizeof(T));
}

/* Four sums, so that a long row does not wait for its own additions; their order is fixed. */
static void multiply(const mpki_full *full, int32_t r0, int32_t r1, const void *vx, void *vy) {
    const T *val = full->val, *x = vx;
    const int32_t *col = full->col;
    T *y = vy;
    for (int32_t i = r0; i < r1; i++) {
        int64_t k = full->ptr[i];
        const int64_t end = full->ptr[i + 1];
        T s0 = t_make(0, 0), s1 = s0, s2 = s0, s3 = s0;
        for (; k + 4 <= end; k += 4) {
            fetch(val + k, col + k);
            s0 += t_mul(val[k], x[col[k]]);
            s1 += t_mul(val[k + 1], x[col[k + 1]]);
            s2 += t_mul(val[k + 2], x[col[k + 2]]);
            s3 += t_mul(val[k + 3], x[col[k + 3]]);
        }
        for (; k < end; k++) s0 += t_mul(val[k], x[col[k]]);
        y[i] = (s0 + s1) + (s2 + s3);
    }
}

static void residual(const mpki_full *full, int32_t r0, int32_t r1, const void *x, const void *b,
                     void *r, double *w) {
    FN(cpu_kernels)()->residual_rows(r0, r1, full->ptr, full->col, full->val, x, b, r, w);
}

const mpki_full_table FN(full) = {scatter, multiply, residual};
