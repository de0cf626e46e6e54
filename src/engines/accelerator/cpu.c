/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor as an accelerator: what each kernel means, in plain loops. The order of operations
 * on an entry is that of the systolic programs and of the kernels for pipelines; each rounds by
 * itself. */
#include <metapack/accelerator.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128 };

static mpk_status allocate(void *self, int64_t bytes, void **p) {
    (void)self;
    *p = malloc((size_t)bytes);
    return *p ? MPK_OK : MPK_ERR_MEMORY;
}

static void release(void *self, void *p) {
    (void)self;
    free(p);
}

static mpk_status copy(void *self, void *to, const void *from, int64_t bytes) {
    (void)self;
    memcpy(to, from, (size_t)bytes);
    return MPK_OK;
}

/* The larger modulus; a NaN stays. */
static double larger(double most, double x) {
    const double size = fabs(x);
    return most != most || size <= most ? most : size;
}

/* ---- factorize ------------------------------------------------------------------------------- */

/* Rows and columns i and j change places. */
static void exchange(int n, double *a, int i, int j) {
    for (int k = 0; k < n; k++) {
        const double t = a[i * n + k];
        a[i * n + k] = a[j * n + k], a[j * n + k] = t;
    }
    for (int k = 0; k < n; k++) {
        const double t = a[k * n + i];
        a[k * n + i] = a[k * n + j], a[k * n + j] = t;
    }
}

/* 0, or 1 + the row of a pivot that is too small. perm NULL: no pivoting. */
static int32_t factor(int n, double *a, double small, int32_t *perm, double *largest) {
    *largest = 0;
    for (int k = 0; perm && k < n; k++) perm[k] = k;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; perm && i < n; i++)
            if (fabs(a[i * n + i]) > fabs(a[best * n + best])) best = i;
        if (best != k) {
            const int32_t t = perm[k];
            perm[k] = perm[best], perm[best] = t;
            exchange(n, a, k, best);
        }
        const double d = a[k * n + k];
        if (!(fabs(d) > small && isfinite(d))) return k + 1;
        for (int j = k + 1; j < n; j++) a[k * n + j] /= d;
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        for (int i = k + 1; i < n; i++) {
            double *l = &a[i * n + k];
            *l /= d;
            *largest = larger(*largest, *l);
        }
    }
    return 0;
}

static mpk_status run_factor(const mpk_accelerator_batch *b, bool pivoting) {
    double work[MOST * MOST];
    const size_t bytes = (size_t)b->n * (size_t)b->n * sizeof(double);
    for (int64_t i = 0; i < b->count; i++) {
        memcpy(work, b->block[0][i], bytes);
        b->trouble[i] = factor(b->n, work, b->small, pivoting ? b->perm[i] : NULL, &b->largest[i]);
        if (!b->trouble[i]) memcpy(b->block[0][i], work, bytes);
    }
    return MPK_OK;
}

static mpk_status factorize(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    return run_factor(b, b->perm != NULL);
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Each row x of the block: (L D) x = row, forward; L D is formed first. */
static mpk_status solve(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    const int n = b->n;
    double m[MOST * MOST];
    for (int64_t i = 0; i < b->count; i++) {
        const double *f = b->pivot[i];
        double *c = b->block[0][i], most = 0;
        for (int r = 0; r < n; r++)
            for (int k = 0; k <= r; k++)
                m[r * n + k] = k == r ? f[r * n + r] : f[r * n + k] * f[k * n + k];
        for (int row = 0; row < n; row++, c += n)
            for (int r = 0; r < n; r++) {
                double s = c[r];
                for (int k = 0; k < r; k++) s -= m[r * n + k] * c[k];
                c[r] = s / m[r * n + r];
                most = larger(most, c[r]);
            }
        b->largest[i] = most;
    }
    return MPK_OK;
}

static mpk_status downdate(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    const int n = b->n;
    double w[MOST * MOST];
    for (int64_t i = 0; i < b->count; i++) {
        const double *x = b->block[1][i], *y = b->block[2][i], *f = b->pivot[i];
        double *c = b->block[0][i];
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) w[k * n + j] = f[k * n + k] * y[j * n + k];
        for (int r = 0; r < n; r++)
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++) c[r * n + j] -= x[r * n + k] * w[k * n + j];
    }
    return MPK_OK;
}

static mpk_status transpose(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    const int n = b->n;
    for (int64_t i = 0; i < b->count; i++) {
        double *c = b->block[0][i];
        for (int r = 0; r < n; r++)
            for (int k = 0; k < r; k++) {
                const double t = c[r * n + k];
                c[r * n + k] = c[k * n + r], c[k * n + r] = t;
            }
    }
    return MPK_OK;
}

static mpk_status zero_out(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    for (int64_t i = 0; i < b->count; i++)
        memset(b->block[0][i], 0, (size_t)b->n * (size_t)b->n * sizeof(double));
    return MPK_OK;
}

static mpk_status permute(void *self, const mpk_accelerator_batch *b) {
    (void)self;
    const int n = b->n;
    double row[MOST];
    for (int64_t i = 0; i < b->count; i++) {
        double *c = b->block[0][i];
        for (int r = 0; r < n; r++, c += n) {
            memcpy(row, c, (size_t)n * sizeof *row);
            for (int k = 0; k < n; k++) c[k] = row[b->perm[i][k]];
        }
    }
    return MPK_OK;
}

const mpk_accelerator *mpk_accelerator_cpu(void) {
    static const mpk_accelerator table = {.struct_size = sizeof table,
                                          .name = "cpu, by the accelerator interface",
                                          .atomics = 1,
                                          .pivoting = 1,
                                          .precisions = 1u << MPK_D,
                                          .largest_block = MOST,
                                          .allocate = allocate,
                                          .release = release,
                                          .upload = copy,
                                          .download = copy,
                                          .factorize = factorize,
                                          .solve = solve,
                                          .downdate = downdate,
                                          .transpose = transpose,
                                          .zero_out = zero_out,
                                          .permute = permute};
    return &table;
}
