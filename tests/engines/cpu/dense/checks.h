/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CHECKS_H
#define TEST_CHECKS_H
/** Factors and solutions of one dense matrix against their definitions, in the precision of the
 *  including file. */
#include "families.h"

#include "core/precision.h"

typedef struct matrix {
    int n, lda, upper, hermitian;
    T *a;              /* lda x n, one triangle; sentinels elsewhere */
    double complex *w; /* n x n, whole */
} matrix;

static const R sentinel = 12345;

/* of w (n x n, whole, taken over): what the precision holds of it */
static matrix make_of(double complex *given, int n, int upper, int hermitian) {
    matrix m = {n, n + 3, upper, hermitian, NULL, given};
    m.a = calloc((size_t)m.lda * n + 1, sizeof(T));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m.lda; i++) {
            int inside = i < n && (upper ? i <= j : i >= j);
            T x = t_make(sentinel, 0);
            if (inside) {
                double complex w = m.w[i + (size_t)j * n];
                x = t_make((R)creal(w), (R)cimag(w));
                w = (double)t_re(x) + (double)t_im(x) * I;
                m.w[i + (size_t)j * n] = w;
                m.w[j + (size_t)i * n] = hermitian ? conj(w) : w;
            }
            m.a[i + (size_t)j * m.lda] = x;
        }
    return m;
}

static void drop(matrix *m) {
    free(m->a), free(m->w);
}

static mpk_dense dense_of(const matrix *m, mpk_dense_method method) {
    mpk_dense d;
    mpk_dense_init(&d);
    d.scalar = (mpk_scalar)MPKI_PRECISION;
    d.symmetry = m->hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    d.uplo = m->upper ? MPK_UPPER : MPK_LOWER;
    d.n = m->n;
    d.method = method;
    d.threads = 2;
    return d;
}

static inline int outside_untouched(const matrix *m, const T *f) {
    for (int j = 0; j < m->n; j++)
        for (int i = 0; i < m->lda; i++)
            if (!(i < m->n && (m->upper ? i <= j : i >= j)) &&
                t_re(f[i + (size_t)j * m->lda]) != sentinel)
                return 0;
    return 1;
}

/* entry (i, j), i >= j, of the lower factor (upper factors are those of the reversed matrix) */
static double complex factor_at(const matrix *m, const T *f, int i, int j) {
    T x = m->upper ? f[m->n - 1 - i + (size_t)(m->n - 1 - j) * m->lda] : f[i + (size_t)j * m->lda];
    return (double)t_re(x) + (double)t_im(x) * I;
}

static double largest(const matrix *m) {
    double most = 0;
    for (int k = 0; k < m->n * m->n; k++) most = fmax(most, cabs(m->w[k]));
    return most;
}

/* ||P A P^T - L D L^T||_max for methods whose pivots are an order; max |L| */
static double factor_residual(const matrix *m, const T *f, const int32_t *pivots, double *max_l) {
    const int n = m->n;
    double complex *l = calloc((size_t)n * n + 1, sizeof *l),
                   *ld = calloc((size_t)n * n + 1, sizeof *l);
    int *place = calloc((size_t)n + 1, sizeof *place),
        *first = calloc((size_t)n + 1, sizeof *first);
    char *seen = calloc((size_t)n + 1, 1);
    double worst = 0;
    *max_l = 0;
    for (int k = 0; k < n; k++) {
        int p = pivots[m->upper ? n - 1 - k : k];
        int pair = p < 0;
        if (pair) p = ~p;
        assert_in_range(p, 0, n - 1);
        assert_false(seen[p]);
        seen[p] = 1;
        place[k] = p;
        if (pair && (k == 0 || first[k - 1] == 0)) first[k] = 1;
    }
    for (int j = 0; j < n; j++) {
        l[j + (size_t)j * n] = 1;
        for (int i = j + 1 + first[j]; i < n; i++) {
            l[i + (size_t)j * n] = factor_at(m, f, i, j);
            *max_l = fmax(*max_l, cabs(l[i + (size_t)j * n]));
        }
    }
    for (int k = 0; k < n; k++)
        for (int i = k; i < n; i++) { /* L D; column by column of D */
            double complex lik = l[i + (size_t)k * n];
            if (first[k]) {
                double complex d21 = factor_at(m, f, k + 1, k),
                               d12 = m->hermitian ? conj(d21) : d21;
                double complex next = l[i + (size_t)(k + 1) * n];
                ld[i + (size_t)k * n] += lik * factor_at(m, f, k, k) + next * d21;
                ld[i + (size_t)(k + 1) * n] += lik * d12 + next * factor_at(m, f, k + 1, k + 1);
            } else if (k == 0 || !first[k - 1]) {
                ld[i + (size_t)k * n] += lik * factor_at(m, f, k, k);
            }
        }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double complex sum = m->w[place[i] + (size_t)place[j] * n];
            for (int k = 0; k <= i; k++) {
                double complex r = l[j + (size_t)k * n];
                sum -= ld[i + (size_t)k * n] * (m->hermitian ? conj(r) : r);
            }
            if (!(cabs(sum) <= worst)) worst = cabs(sum);
        }
    free(l), free(ld), free(place), free(first), free(seen);
    return worst;
}

/* omega of x for the right-hand side b, by plain sums in double */
static double omega_of(const matrix *m, const T *x, const T *b) {
    const int n = m->n;
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double complex r = (double)t_re(b[i]) + (double)t_im(b[i]) * I;
        double w = cabs(r);
        for (int j = 0; j < n; j++) {
            double complex xj = (double)t_re(x[j]) + (double)t_im(x[j]) * I;
            r -= m->w[i + (size_t)j * n] * xj;
            w += cabs(m->w[i + (size_t)j * n]) * cabs(xj);
        }
        double q = cabs(r) == 0 ? 0 : cabs(r) / w;
        if (!(q <= worst)) worst = q;
    }
    return worst;
}

/* LAPACK's solver reads Bunch-Kaufman and rook factors as its own. */
static inline int lapack_solve(const matrix *m, mpk_dense_method method, const T *f,
                               const int32_t *ipiv, T *x) {
    const char uplo = m->upper ? 'U' : 'L';
    const int rook = method == MPK_DENSE_ROOK;
#define CALL(name) name(LAPACK_COL_MAJOR, uplo, m->n, 1, f, m->lda, ipiv, x, m->n)
#if MPKI_PRECISION == 0
    return rook ? CALL(LAPACKE_ssytrs_rook) : CALL(LAPACKE_ssytrs);
#elif MPKI_PRECISION == 1
    return rook ? CALL(LAPACKE_dsytrs_rook) : CALL(LAPACKE_dsytrs);
#elif MPKI_PRECISION == 2
    if (m->hermitian) return rook ? CALL(LAPACKE_chetrs_rook) : CALL(LAPACKE_chetrs);
    return rook ? CALL(LAPACKE_csytrs_rook) : CALL(LAPACKE_csytrs);
#else
    if (m->hermitian) return rook ? CALL(LAPACKE_zhetrs_rook) : CALL(LAPACKE_zhetrs);
    return rook ? CALL(LAPACKE_zsytrs_rook) : CALL(LAPACKE_zsytrs);
#endif
#undef CALL
}

static void check_solutions(mpk_context *ctx, const mpk_dense *given, const matrix *m,
                            const mpk_dense_factor *f, int nrhs, double bound, const char *what) {
    const int n = m->n;
    mpk_dense d = *given;
    T *b = calloc((size_t)(n + 2) * nrhs + 1, sizeof(T)),
      *x = calloc((size_t)(n + 1) * nrhs + 1, sizeof(T));
    mpk_dense_info info;
    for (int k = 0; k < (n + 2) * nrhs; k++)
        b[k] = t_make((R)uniform(), MPKI_COMPLEX ? (R)uniform() : 0);
    if (d.method != MPK_DENSE_BUTTERFLY) d.refine = 1;
    mpk_status status =
        mpk_dense_solve(ctx, &d, m->a, m->lda, f, nrhs, b, n + 2, x, n + 1, NULL, 0, &info);
    assert_false(mpk_failed(status)); /* singular, too: some are, to working precision */
    for (int c = 0; c<nrhs; c += nrhs> 4 ? nrhs / 3 : 1) {
        double omega = omega_of(m, x + c * (n + 1), b + c * (n + 2));
        if (!(omega <= bound))
            fail_msg("%s: omega %g > %g (rhs %d of %d)", what, omega, bound, c, nrhs);
        if (!(fabs(info.componentwise) >= 0.5 * omega - 2 * R_EPS))
            fail_msg("%s: told omega %g, is %g", what, info.componentwise, omega);
    }
    free(b), free(x);
}

#endif
