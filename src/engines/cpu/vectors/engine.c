/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's engine of vectors: products with A in both triangles, and the true residual. */
#include "problem/columns.h"
#include "problem/full.h"
#include "vectors.h"

#include <math.h>
#include <string.h>

struct mpki_matrix {
    mpki_full full; /* 2^-exponent A */
    mpki_pool *pool;
    int32_t longest; /* entries of a row */
    double *w;       /* n: |A| |x| + |b| */
};

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

static void matrix_free(mpk_context *ctx, mpki_matrix **handle) {
    mpki_matrix *m = *handle;
    if (!m) return;
    mpki_full_free(ctx, &m->full);
    mpki_release(ctx, m->w);
    mpki_release(ctx, m);
    *handle = NULL;
}

static mpk_status matrix_make(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                              mpki_matrix **out) {
    (void)limit;
    mpki_matrix *m = *out = MPKI_ZNEW(ctx, "solve", 1, mpki_matrix);
    if (!m) {
        mpki_full_free(ctx, full);
        return mpki_failed(ctx);
    }
    m->full = *full;
    *full = (mpki_full){0};
    m->pool = pool;
    m->longest = mpki_full_longest(&m->full);
    m->w = MPKI_NEW(ctx, "solve", m->full.n, double);
    if (!m->w) matrix_free(ctx, out);
    return mpki_failed(ctx);
}

static int64_t matrix_bytes(const mpki_matrix *m) {
    (void)m;
    return 0;
}

static mpk_status multiply(mpki_matrix *m, const void *x, void *y) {
    mpki_full_multiply(&m->full, m->pool, x, y);
    return MPK_OK;
}

/* By a product in working precision where its error cannot matter, else as accurately as in twice
 * that precision. */
static mpk_status residual(mpki_matrix *m, double norm, const void *x, const void *b, double wanted,
                           void *r, double *error) {
    const mpk_scalar scalar = m->full.scalar;
    const int32_t n = m->full.n;
    const double unit = single(scalar) ? 0x1p-24 : 0x1p-53, terms = m->longest + 2.0;
    const double x_norm = MPKI_DISPATCH(scalar, column_norm)(n, x);
    const double b_norm = MPKI_DISPATCH(scalar, column_norm)(n, b);
    *error = terms * unit * (norm * x_norm + b_norm);
    if (*error <= 0.1 * wanted) {
        mpki_full_multiply(&m->full, m->pool, x, r);
        MPKI_DISPATCH(scalar, column_subtract)(n, b, r);
        return MPK_OK;
    }
    mpki_full_residual(&m->full, m->pool, x, b, r, m->w);
    *error = 2 * unit * MPKI_DISPATCH(scalar, column_norm)(n, r) +
             terms * 0x1p-53 * (single(scalar) ? 1 : terms * 0x1p-53) * mpki_d_column_norm(n, m->w);
    return MPK_OK;
}

static mpk_status shift(mpki_matrix *m, int exponent, const void *x, void *y) {
    if (y != x) memcpy(y, x, (size_t)m->full.n * mpk_scalar_size(m->full.scalar));
    if (exponent) MPKI_DISPATCH(m->full.scalar, column_shift)(m->full.n, exponent, y);
    return MPK_OK;
}

const mpki_vector_engine mpki_cpu_vectors = {
    .matrix_make = matrix_make,
    .matrix_free = matrix_free,
    .matrix_bytes = matrix_bytes,
    .multiply = multiply,
    .residual = residual,
    .shift = shift,
    .ops = {&mpki_s_vector_ops, &mpki_d_vector_ops, &mpki_c_vector_ops, &mpki_z_vector_ops}};
