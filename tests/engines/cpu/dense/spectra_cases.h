/* SPDX-License-Identifier: BSD-3-Clause */
/* LAPACK's generator (dlatms) as the source: spectra of every shape, signs mixed, conditions up to
 * 1/eps, in the precision of the including file. Residuals, |L|, inertia against the eigenvalues,
 * omega after at most one step, pivots against LAPACK's own. */
#include "checks.h"

#if MPKI_PRECISION == 0
#define LATMS LAPACK_slatms
#elif MPKI_PRECISION == 1
#define LATMS LAPACK_dlatms
#elif MPKI_PRECISION == 2
#define LATMS LAPACK_clatms
#else
#define LATMS LAPACK_zlatms
#endif

static const struct {
    int mode;
    const char *name;
} spectra[] = {{1, "one large"},         {2, "one small"}, {3, "geometric"},
               {4, "arithmetic"},        {5, "random"},    {-1, "one small, the others large"},
               {-3, "geometric, rising"}};

static double most_l;        /* of the tile method, over all matrices */
static int made, not_finite; /* by the generator */

static double complex *generated(int n, int mode, double cond, int hermitian) {
    int seed[4] = {7, n % 4096, (mode + 8) * 100, 2 * (int)log10(cond) + 1}, info = 0, all = n - 1;
    const R c = (R)cond, one = 1;
    R *d = calloc((size_t)n, sizeof *d);
    T *a = calloc((size_t)n * n, sizeof *a), *work = calloc(3 * (size_t)n, sizeof *work);
    LATMS(&n, &n, "S", seed, MPKI_COMPLEX && hermitian ? "H" : "S", d, &mode, &c, &one, &all, &all,
          "N", a, &n, work, &info);
    assert_int_equal(info, 0);
    double complex *w = malloc((size_t)n * n * sizeof *w);
    double sum = 0;
    for (int k = 0; k < n * n; k++) {
        w[k] = (double)t_re(a[k]) + (double)t_im(a[k]) * I;
        sum += cabs(w[k]);
    }
    free(d), free(a), free(work);
    made++;
    if (isfinite(sum)) return w;
    not_finite++; /* seen with OpenBLAS 0.3.21's kernels for Prescott, single precision */
    free(w);
    return NULL;
}

/* LAPACK's pivots for the same matrix */
static void lapack_pivots(const matrix *m, mpk_dense_method method, int32_t *ipiv) {
    const char uplo = m->upper ? 'U' : 'L';
    const int rook = method == MPK_DENSE_ROOK;
    T *f = malloc((size_t)m->lda * m->n * sizeof *f + (1 << 16)); /* zgemv of OpenBLAS 0.3.21 reads
                                                                     beyond its matrix */
    memcpy(f, m->a, (size_t)m->lda * m->n * sizeof *f);
#define CALL(name) name(LAPACK_COL_MAJOR, uplo, m->n, f, m->lda, ipiv)
#if MPKI_PRECISION == 0
    assert_int_equal(rook ? CALL(LAPACKE_ssytrf_rook) : CALL(LAPACKE_ssytrf), 0);
#elif MPKI_PRECISION == 1
    assert_int_equal(rook ? CALL(LAPACKE_dsytrf_rook) : CALL(LAPACKE_dsytrf), 0);
#elif MPKI_PRECISION == 2
    if (m->hermitian)
        assert_int_equal(rook ? CALL(LAPACKE_chetrf_rook) : CALL(LAPACKE_chetrf), 0);
    else
        assert_int_equal(rook ? CALL(LAPACKE_csytrf_rook) : CALL(LAPACKE_csytrf), 0);
#else
    if (m->hermitian)
        assert_int_equal(rook ? CALL(LAPACKE_zhetrf_rook) : CALL(LAPACKE_zhetrf), 0);
    else
        assert_int_equal(rook ? CALL(LAPACKE_zsytrf_rook) : CALL(LAPACKE_zsytrf), 0);
#endif
#undef CALL
    free(f);
}

static void check_spectrum(int n, int which, double cond, int upper, int hermitian,
                           mpk_dense_method method) {
    const double eps = (double)R_EPS;
    char what[128];
    snprintf(what, sizeof what, "%s, condition %.0e, n=%d %s%s %s", spectra[which].name, cond, n,
             upper ? "upper" : "lower", hermitian ? " hermitian" : "",
             mpk_dense_method_name(method));
    double complex *w = generated(n, spectra[which].mode, cond, hermitian);
    if (!w) {
        print_message("%s: the generator's matrix is not finite, left out\n", what);
        return;
    }
    matrix m = make_of(w, n, upper, hermitian);
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_dense d = dense_of(&m, method);
    d.zero_tolerance = 0; /* small is not zero */
    mpk_dense_sizes sizes;
    assert_int_equal(mpk_dense_query(ctx, &d, 3, &sizes), MPK_OK);
    T *f = malloc((size_t)m.lda * n * sizeof(T));
    memcpy(f, m.a, (size_t)m.lda * n * sizeof(T));
    mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = m.lda};
    fac.pivots = calloc((size_t)sizes.pivots, sizeof(int32_t));
    fac.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    mpk_dense_info info;
    mpk_status status = mpk_dense_factorize(ctx, &d, m.a, m.lda, &fac, NULL, 0, &info);
    if (status != MPK_OK) fail_msg("%s: status %d", what, status);

    if (method == MPK_DENSE_TILE) {
        double max_l, r = factor_residual(&m, f, fac.pivots, &max_l), most = largest(&m);
        if (!(r <= 50 * n * eps * fmax(info.growth, 1) * most))
            fail_msg("%s: |PAP' - LDL'| = %g, max |A| = %g, growth %g", what, r, most, info.growth);
        if (!(max_l <= (MPKI_COMPLEX ? 1.5 : 1 + 4 * eps) / d.pivot_threshold))
            fail_msg("%s: max |L| = %g", what, max_l);
        most_l = fmax(most_l, max_l);
    }
    if (!MPKI_COMPLEX || hermitian) {
        mpk_inertia got, want = family_inertia(m.w, n, 0);
        assert_int_equal(mpk_dense_certify(ctx, &d, m.a, m.lda, &fac, NULL, 0, NULL), MPK_OK);
        assert_int_equal(mpk_dense_inertia(ctx, &d, &fac, NULL, 0, &got), MPK_OK);
        assert_true(got.examined);
        if (cond * n * eps < 1e-6 && !got.certified && method != MPK_DENSE_AASEN)
            fail_msg("%s: not certified", what);
        if ((cond * n * eps < 1e-3 || got.certified) &&
            (got.positive != want.positive || got.negative != want.negative))
            fail_msg("%s: inertia %lld %lld%s, want %lld %lld", what, (long long)got.positive,
                     (long long)got.negative, got.certified ? " (certified)" : "",
                     (long long)want.positive, (long long)want.negative);
    }
    /* after one step at most: 1e-14 in double; Aasen, whose growth is larger, misses that by a
     * little where the condition is 1/eps */
    const double bound = (sizeof(R) == 4 ? 128 : 45) * eps;
    const int hard = method == MPK_DENSE_AASEN && cond * n * eps > 1e-3;
    check_solutions(ctx, &d, &m, &fac, 3, hard ? 3 * bound : bound, what);
    if ((method == MPK_DENSE_BUNCH_KAUFMAN || method == MPK_DENSE_ROOK) && cond * n * eps < 1e-6) {
        /* beyond, what is left at the end is rounding errors, and so are its pivots */
        int32_t *theirs = calloc((size_t)n, sizeof *theirs);
        lapack_pivots(&m, method, theirs);
        for (int k = 0; k < n; k++)
            if (theirs[k] != fac.pivots[k])
                fail_msg("%s: pivot %d is %d, LAPACK's %d", what, k, fac.pivots[k], theirs[k]);
        free(theirs);
    }
    free(f), free(fac.pivots), free(fac.extra);
    mpk_context_destroy(&ctx);
    drop(&m);
}

static void test_spectra(void **unused) {
    static const mpk_dense_method methods[] = {MPK_DENSE_TILE, MPK_DENSE_BUNCH_KAUFMAN,
                                               MPK_DENSE_ROOK, MPK_DENSE_AASEN};
    static const double exponents[] = {2, 5, 8, 11, 14};
    int turn = 0;
    (void)unused;
    for (size_t which = 0; which < sizeof spectra / sizeof *spectra; which++)
        for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
            const double cond = pow(10, exponents[e] * (sizeof(R) == 4 ? 0.5 : 1));
            for (int hermitian = 0; hermitian <= MPKI_COMPLEX; hermitian++, turn++)
                for (size_t h = 0; h < sizeof methods / sizeof *methods; h++)
                    check_spectrum(turn % 3 ? 101 : 150, (int)which, cond, turn % 2, hermitian,
                                   methods[h]);
        }
    print_message("max |L| of the tile method: %.3g\n", most_l);
    assert_true(10 * not_finite <= made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spectra)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
