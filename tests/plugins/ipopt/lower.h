/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_IPOPT_LOWER_H
#define TEST_IPOPT_LOWER_H
/** Small matrices in the form that Ipopt hands over, and their truth by LAPACK. */
#include "../../../plugins/ipopt/abi.h"
#include "support.h"

/** The lower triangle by columns, indices from `base`. */
typedef struct lower {
    int n, base;
    int *ptr, *row;
    double *val;
} lower;

static inline void lower_free(lower *a) {
    free(a->ptr), free(a->row), free(a->val);
    *a = (lower){0};
}

/* From a full matrix by rows: the diagonal and what is not zero. */
static inline lower lower_make(int n, int base, const double *full) {
    lower a = {n, base, calloc((size_t)n + 1, sizeof(int)), calloc((size_t)n * n + 1, sizeof(int)),
               calloc((size_t)n * n + 1, sizeof(double))};
    int k = 0;
    for (int j = 0; j < n; j++) {
        a.ptr[j] = k + base;
        for (int i = j; i < n; i++)
            if (i == j || full[i * n + j] != 0) {
                a.row[k] = i + base;
                a.val[k++] = full[i * n + j];
            }
    }
    a.ptr[n] = k + base;
    return a;
}

/* [H B^T; B 0] with n variables and m constraints, random and full; by rows, (n + m)^2. */
static inline double *kkt_full(int n, int m) {
    const int size = n + m;
    double *full = calloc((size_t)size * size + 1, sizeof *full);
    for (int i = 0; i < size; i++)
        for (int j = 0; j <= i && j < n; j++)
            full[i * size + j] = full[j * size + i] = uniform() + (i == j ? 3 : 0);
    return full;
}

static inline int negative_eigenvalues(int n, const double *full) {
    double *a = calloc((size_t)n * n + 1, sizeof *a), *w = calloc((size_t)n + 1, sizeof *w);
    memcpy(a, full, (size_t)n * n * sizeof *a);
    if (n > 0) assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', n, a, n, w), 0);
    int count = 0;
    for (int i = 0; i < n; i++) count += w[i] < 0;
    free(a), free(w);
    return count;
}

/* max |b - A x| over the columns */
static inline double residual(const lower *a, int nrhs, const double *x, int ldx, const double *b) {
    double worst = 0;
    for (int r = 0; r < nrhs; r++) {
        double *s = calloc((size_t)a->n + 1, sizeof *s);
        for (int i = 0; i < a->n; i++) s[i] = b[r * ldx + i];
        for (int j = 0; j < a->n; j++)
            for (int k = a->ptr[j] - a->base; k < a->ptr[j + 1] - a->base; k++) {
                const int i = a->row[k] - a->base;
                s[i] -= a->val[k] * x[r * ldx + j];
                if (i != j) s[j] -= a->val[k] * x[r * ldx + i];
            }
        for (int i = 0; i < a->n; i++) worst = fmax(worst, fabs(s[i]));
        free(s);
    }
    return worst;
}

#endif
