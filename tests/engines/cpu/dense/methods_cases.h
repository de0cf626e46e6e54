/* SPDX-License-Identifier: BSD-3-Clause */
/* Every method on the matrices that kill pivoting, in the precision of the including file: P A P^T
 * against L D L^T, |L| against its bound, inertia against the eigenvalues, solutions against omega,
 * LAPACK's own solver on our factors; both triangles, in place and not, padding untouched. */
#include "checks.h"

static matrix make(enum family family, int n, int upper, int hermitian) {
    return make_of(family_matrix(family, n, MPKI_COMPLEX, hermitian), n, upper, hermitian);
}

static void check_method(enum family family, int n, int upper, int hermitian,
                         mpk_dense_method method) {
    char what[96];
    snprintf(what, sizeof what, "%s n=%d %s%s %s", family_names[family], n,
             upper ? "upper" : "lower", hermitian ? " hermitian" : "",
             mpk_dense_method_name(method));
    state = 7 + (uint64_t)n;
    matrix m = make(family, n, upper, hermitian);
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_dense d = dense_of(&m, method);
    mpk_dense_sizes sizes;
    assert_int_equal(mpk_dense_query(ctx, &d, 3, &sizes), MPK_OK);
    const size_t bytes = (size_t)m.lda * n * sizeof(T);
    T *f = malloc(bytes + 1), *again = malloc(bytes + 1), *kept = malloc(bytes + 1);
    memcpy(f, m.a, bytes), memcpy(again, m.a, bytes), memcpy(kept, m.a, bytes);
    mpk_dense_factor fac = {.struct_size = sizeof fac, .f = f, .ldf = m.lda};
    fac.pivots = calloc((size_t)sizes.pivots + 1, sizeof(int32_t));
    fac.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    mpk_dense_info info;
    mpk_status status = mpk_dense_factorize(ctx, &d, m.a, m.lda, &fac, NULL, 0, &info);
    if (method == MPK_DENSE_NONE && status == MPK_ERR_NUMERIC && !family_strong(family) && n > 0)
        goto done;
    if (method == MPK_DENSE_BUTTERFLY && status == MPK_ERR_NUMERIC &&
        (family_singular(family, n) || family == SINGULAR || n < 4))
        goto done; /* likely to factor, not sure to */
    if (mpk_failed(status)) fail_msg("%s: status %d", what, status);
    assert_memory_equal(m.a, kept, bytes);
    if (!outside_untouched(&m, f)) fail_msg("%s: wrote outside its triangle", what);

    /* in place: the same bits, whatever the number of threads */
    mpk_dense_factor place = fac;
    place.f = again;
    place.pivots = calloc((size_t)sizes.pivots + 1, sizeof(int32_t));
    place.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    d.threads = 1;
    assert_int_equal(mpk_dense_factorize(ctx, &d, again, m.lda, &place, NULL, 0, NULL), status);
    assert_memory_equal(again, f, bytes);
    assert_memory_equal(place.pivots, fac.pivots, (size_t)sizes.pivots * sizeof(int32_t));
    free(place.pivots), free(place.extra);
    d.threads = 2;

    const double most = largest(&m), eps = (double)R_EPS;
    double max_l = 0;
    const double growth = fmax(info.growth, 1);
    if (method == MPK_DENSE_TILE || method == MPK_DENSE_NONE) {
        double r = factor_residual(&m, f, fac.pivots, &max_l);
        double l_bound = method == MPK_DENSE_TILE ? 1 : fmax(max_l, 1);
        if (!(r <= 50 * n * eps * growth * most * l_bound * l_bound))
            fail_msg("%s: |PAP' - LDL'| = %g, max |A| = %g, growth %g", what, r, most, growth);
        if (method == MPK_DENSE_TILE && !(max_l <= 1.5 / d.pivot_threshold))
            fail_msg("%s: max |L| = %g", what, max_l);
        if (info.max_l > 0 && !(fabs(info.max_l - max_l) <= 0.5 * max_l + eps)) /* |re| + |im| */
            fail_msg("%s: told max |L| %g, is %g", what, info.max_l, max_l);
    }
    if ((!MPKI_COMPLEX || hermitian) && method != MPK_DENSE_NONE && family_definitive(family) &&
        !(method == MPK_DENSE_BUTTERFLY && family == SINGULAR)) {
        mpk_inertia got, want = family_inertia(m.w, n, most * n * eps);
        assert_int_equal(mpk_dense_inertia(ctx, &d, &fac, NULL, 0, &got), MPK_OK);
        if (got.positive != want.positive || got.negative != want.negative || got.zero != want.zero)
            fail_msg("%s: inertia %lld %lld %lld, want %lld %lld %lld", what,
                     (long long)got.positive, (long long)got.negative, (long long)got.zero,
                     (long long)want.positive, (long long)want.negative, (long long)want.zero);
    }
    if (method == MPK_DENSE_BUTTERFLY && (family_singular(family, n) || family == SINGULAR))
        goto done;
    if (family_singular(family, n)) {
        assert_int_equal(status, MPK_SINGULAR);
        assert_true(info.zero_pivots > 0);
        goto done;
    }
    if (family == LATE_IPM && sizeof(R) == 4) goto done; /* below what its roundings leave */
    assert_int_equal(status, MPK_OK);
    if (method == MPK_DENSE_NONE && !family_strong(family) && n > 0) goto done;
    const double bound = 45 * eps; /* 1e-14 in double */
    check_solutions(ctx, &d, &m, &fac, 1, bound, what);
    check_solutions(ctx, &d, &m, &fac, 3, bound, what);
    check_solutions(ctx, &d, &m, &fac, 11, bound, what);
    if (n == 150) check_solutions(ctx, &d, &m, &fac, 140, bound, what);
    if (n > 0 && (method == MPK_DENSE_BUNCH_KAUFMAN || method == MPK_DENSE_ROOK)) {
        T *b = calloc((size_t)n, sizeof(T)), *x = calloc((size_t)n, sizeof(T)),
          *y = calloc((size_t)n, sizeof(T));
        for (int k = 0; k < n; k++)
            x[k] = y[k] = b[k] = t_make((R)uniform(), MPKI_COMPLEX ? (R)uniform() : 0);
        assert_int_equal(lapack_solve(&m, method, f, fac.pivots, x), 0);
        assert_int_equal(mpk_dense_solve(ctx, &d, NULL, 1, &fac, 1, y, n, y, n, NULL, 0, NULL),
                         MPK_OK);
        double theirs = omega_of(&m, x, b), ours = omega_of(&m, y, b);
        if (!(theirs <= 10 * ours + 100 * n * eps))
            fail_msg("%s: LAPACK solves with our factors to %g, we to %g", what, theirs, ours);
        free(b), free(x), free(y);
    }
done:
    free(f), free(again), free(kept), free(fac.pivots), free(fac.extra);
    mpk_context_destroy(&ctx);
    drop(&m);
}

static const mpk_dense_method methods[] = {TESTED_METHODS};

static void test_families(void **unused) {
#if defined(__has_feature)
    enum { SLOW = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) };
#else
    enum { SLOW = 0 };
#endif
    static const int all[] = {0, 1, 2, 3, 31, 33, 64, 97, 150}, some[] = {0, 1, 2, 33, 97};
    const int *sizes = SLOW ? some : all; /* sanitizers look at the same lines with fewer */
    const char *wish = getenv("METAPACK_KERNEL_SIZES");
    /* the largest takes three quarters of the time; what is not double, the same lines, leaves it to
     * test_larger() and to METAPACK_KERNEL_SIZES=all (tools/check-all) */
    const int whole = MPKI_PRECISION == 1 || (wish && !strcmp(wish, "all"));
    const size_t count = SLOW ? sizeof some / sizeof *some : sizeof all / sizeof *all - !whole;
    (void)unused;
    for (int family = 0; family < FAMILIES; family++)
        for (size_t k = 0; k < count; k++)
            for (size_t h = 0; h < sizeof methods / sizeof *methods; h++)
                for (int shape = 0; shape < (MPKI_COMPLEX ? 4 : 2); shape++)
                    check_method((enum family)family, sizes[k], shape % 2, shape / 2, methods[h]);
}

static void test_larger(void **unused) {
    (void)unused;
    for (size_t h = 0; h < sizeof methods / sizeof *methods; h++) {
        check_method(RANDOM, 517, 0, 0, methods[h]);
        check_method(ZERO_DIAGONAL, 300, 1, MPKI_COMPLEX, methods[h]);
        check_method(LATE_IPM, 301, 0, MPKI_COMPLEX, methods[h]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_larger)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
