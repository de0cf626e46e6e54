/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_OPERATORS_H
#define TEST_OPERATORS_H
/** Dense matrices as operators, and a Krylov task around one. */
#include "support.h"

#include <stdbool.h>

typedef struct dense_operator {
    const double complex *a; /* n x n by columns */
    int n;
    mpk_scalar scalar;
    int calls, fail_at; /* from this call on (counted from 1): NaN; 0: never */
    mpk_status error;   /* returned instead of NaN when not 0 */
} dense_operator;

static inline mpk_status dense_apply(void *self, const void *x, void *y) {
    dense_operator *op = self;
    const int n = op->n;
    op->calls++;
    if (op->fail_at && op->calls >= op->fail_at && op->error) return op->error;
    for (int i = 0; i < n; i++) {
        double complex sum = 0;
        for (int j = 0; j < n; j++) sum += op->a[i + (size_t)j * n] * scalar_load(op->scalar, x, j);
        scalar_store(op->scalar, y, i, sum);
    }
    if (op->fail_at && op->calls >= op->fail_at) scalar_store(op->scalar, y, n / 2, NAN);
    return MPK_OK;
}

/* ||b - A x||_2 / ||b||_2 in double */
static inline double true_residual(const dense *m, const void *b, const void *x) {
    double rr = 0, bb = 0;
    for (int i = 0; i < m->n; i++) {
        double complex bi = scalar_load(m->scalar, b, i), r = bi;
        for (int j = 0; j < m->n; j++) r -= dense_get(m, i, j) * scalar_load(m->scalar, x, j);
        rr += creal(r * conj(r));
        bb += creal(bi * conj(bi));
    }
    return sqrt(rr / bb);
}

/* Q diag(w) Q^H (or Q diag(w) Q^T, Q real orthogonal) by n random reflections: known eigenvalues.
 */
static inline dense with_spectrum(int n, mpk_scalar scalar, mpk_symmetry symmetry,
                                  const double complex *w) {
    dense m = dense_new(n, scalar, symmetry);
    double complex *a = calloc((size_t)n * n, sizeof *a), *v = malloc((size_t)n * sizeof *v),
                   *t = malloc((size_t)n * sizeof *t);
    for (int i = 0; i < n; i++) a[i + (size_t)i * n] = w[i];
    for (int k = 0; k < 3; k++) { /* three reflections mix everything */
        double norm = 0;
        for (int i = 0; i < n; i++) {
            v[i] = uniform() + (symmetry == MPK_HERMITIAN ? uniform() * I : 0);
            norm += creal(v[i] * conj(v[i]));
        }
        for (int side = 0; side < 2; side++) { /* H A H, H = I - 2 v v^H / v^H v */
            for (int j = 0; j < n; j++) {
                t[j] = 0;
                for (int i = 0; i < n; i++)
                    t[j] += side ? a[j + (size_t)i * n] * v[i] : conj(v[i]) * a[i + (size_t)j * n];
            }
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++)
                    a[i + (size_t)j * n] -= 2 / norm * (side ? t[i] * conj(v[j]) : v[i] * t[j]);
        }
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) dense_set(&m, i, j, a[i + (size_t)j * n]);
    free(a), free(v), free(t);
    return m;
}

static inline mpk_krylov_task task_for(const dense *m, dense_operator *a, mpk_krylov method) {
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    *a = (dense_operator){.a = m->a, .n = m->n, .scalar = m->scalar};
    task.method = method;
    task.scalar = m->scalar;
    task.symmetry = m->symmetry;
    task.n = m->n;
    task.a = (mpk_operator){dense_apply, a};
    return task;
}

static inline void *random_vector(int n, mpk_scalar scalar) {
    void *b = calloc((size_t)n + 1, mpk_scalar_size(scalar));
    for (int k = 0; k < n; k++) scalar_store(scalar, b, k, uniform() + uniform() * I);
    return b;
}

/* The kinds of matrices and the methods that take them. */
static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
enum { KINDS = 6 };

static inline int complex_symmetric(int kind) {
    return kinds[kind].scalar >= MPK_C && kinds[kind].symmetry == MPK_SYMMETRIC;
}
static inline int single_precision(int kind) {
    return kinds[kind].scalar == MPK_S || kinds[kind].scalar == MPK_C;
}
/* cg is not for indefinite matrices, the Lanczos three not for complex symmetric ones */
static inline int takes(mpk_krylov method, int kind, int definite) {
    if (complex_symmetric(kind) && method >= MPK_KRYLOV_MINRES && method <= MPK_KRYLOV_CG) return 0;
    return definite || method != MPK_KRYLOV_CG;
}

#endif
