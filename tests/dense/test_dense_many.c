/* SPDX-License-Identifier: BSD-3-Clause */
/* Many right-hand sides are refined together: columns of all sizes beside each other, zero ones,
 * ones that are done at once and ones that need GMRES; each is as good as alone, is told as it is,
 * has the same bits for any number of threads, and nothing reads the other triangle. */
#include "../sanitized.h"
#include "support.h"

#include <metapack/dense.h>
#include <stdbool.h>

typedef struct many {
    mpk_context *ctx;
    mpk_dense d;
    mpk_dense_factor f;
    dense m;
    char *a, *b, *x;
    int n, nrhs, lda, ldb;
    size_t size;
    void *f_memory;
} many;

static double scale_of(const many *t, int c) {
    const double far = t->size == 4 || t->d.scalar == MPK_C ? 1e12 : 1e120;
    return c % 7 == 0 ? 0 : c % 7 == 1 ? far : c % 7 == 2 ? 1 / far : 1;
}

static many open_many(int n, int nrhs, mpk_scalar scalar, mpk_symmetry symmetry, mpk_triangle uplo,
                      mpk_dense_method method, mpk_dense_precision precision, double near) {
    many t = {.n = n, .nrhs = nrhs, .lda = n + 3, .ldb = n + 2, .size = mpk_scalar_size(scalar)};
    mpk_dense_sizes sizes;
    assert_int_equal(mpk_context_create(NULL, &t.ctx), MPK_OK);
    mpk_dense_init(&t.d);
    t.d.n = n, t.d.scalar = scalar, t.d.symmetry = symmetry, t.d.uplo = uplo;
    t.d.method = method, t.d.precision = precision, t.d.threads = 2;
    t.d.zero_tolerance = 1e-12;
    assert_int_equal(mpk_dense_query(t.ctx, &t.d, nrhs, &sizes), MPK_OK);
    t.m = dense_new(n, scalar, symmetry);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            dense_set(&t.m, i, j, uniform() + uniform() * I + (i == j ? 2 : 0));
    for (int j = 0; j < n && near > 0; j++) /* two rows that are nearly the same */
        dense_set(&t.m, n - 1, j, dense_get(&t.m, 0, j == n - 1 ? 0 : j) + (j == n - 1 ? near : 0));
    t.a = malloc((size_t)t.lda * (size_t)n * t.size);
    t.b = malloc((size_t)t.ldb * (size_t)nrhs * t.size);
    t.x = malloc((size_t)t.ldb * (size_t)nrhs * t.size);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < t.lda; i++) {
            const bool inside = i < n && (uplo == MPK_UPPER ? i <= j : i >= j);
            scalar_store(scalar, t.a, i + (int64_t)j * t.lda,
                         inside ? dense_get(&t.m, i, j) : NAN + NAN * I);
        }
    for (int c = 0; c < nrhs; c++)
        for (int i = 0; i < t.ldb; i++)
            scalar_store(scalar, t.b, i + (int64_t)c * t.ldb,
                         (uniform() + uniform() * I) * scale_of(&t, c));
    t.f = (mpk_dense_factor){.struct_size = sizeof t.f, .ldf = n};
    t.f.f = t.f_memory = malloc((size_t)sizes.factor_bytes);
    t.f.pivots = malloc((size_t)sizes.pivots * sizeof(int32_t) + 8);
    t.f.extra = aligned_alloc(64, ((size_t)sizes.extra_bytes + 127) / 64 * 64);
    assert_int_equal(mpk_dense_factorize(t.ctx, &t.d, t.a, t.lda, &t.f, NULL, 0, NULL), MPK_OK);
    return t;
}

static void close_many(many *t) {
    free(t->a), free(t->b), free(t->x), free(t->f_memory), free(t->f.pivots), free(t->f.extra);
    free(t->m.a);
    mpk_context_destroy(&t->ctx);
}

/* the componentwise error of column c, in double throughout */
static double omega(const many *t, const void *x, int c) {
    double worst = 0;
    for (int i = 0; i < t->n; i++) {
        double complex r = scalar_load(t->d.scalar, t->b, i + (int64_t)c * t->ldb);
        double w = cabs(r);
        for (int j = 0; j < t->n; j++) {
            const double complex a = dense_get(&t->m, i, j),
                                 xj = scalar_load(t->d.scalar, x, j + (int64_t)c * t->ldb);
            r -= a * xj, w += cabs(a) * cabs(xj);
        }
        const double q = cabs(r) == 0 ? 0 : cabs(r) / w;
        if (!(q <= worst)) worst = q;
    }
    return worst;
}

static mpk_status solve(many *t, const void *b, void *x, mpk_dense_info *info) {
    return mpk_dense_solve(t->ctx, &t->d, t->a, t->lda, &t->f, t->nrhs, b, t->ldb, x, t->ldb, NULL,
                           0, info);
}

/* Solve, and look at some of the columns. */
static void check(many *t, mpk_dense_info *info) {
    const size_t bytes = (size_t)t->ldb * (size_t)t->nrhs * t->size;
    const bool single = t->d.scalar == MPK_S || t->d.scalar == MPK_C;
    const double eps = single ? 0x1p-23 : 0x1p-52,
                 bound = fmax(2 * sqrt(t->n) * eps, t->d.accuracy);
    char *again = malloc(bytes);
    double worst = 0;
    memcpy(t->x, t->b, bytes);
    assert_int_equal(solve(t, t->b, t->x, info), MPK_OK);
    for (int c = 0; c < t->nrhs; c += c < 16 ? 1 : t->nrhs / 5) {
        const double is = omega(t, t->x, c);
        if (!(is <= bound)) fail_msg("column %d of %d: omega %g", c, t->nrhs, is);
        if (c % 7 == 0 && c < 16) assert_true(is == 0);
        worst = fmax(worst, is);
    }
    if (!(info->componentwise >= 0.5 * worst - eps && info->componentwise <= bound))
        fail_msg("told omega %g, is %g", info->componentwise, worst);
    /* over b, and by one thread: the same bits */
    memcpy(again, t->b, bytes);
    t->d.threads = 1;
    assert_int_equal(solve(t, again, again, NULL), MPK_OK);
    t->d.threads = 2;
    assert_memory_equal(again, t->x, bytes);
    free(again);
}

static void test_all_kinds(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{1, 5}, {9, 4}, {130, 3}, {131, 16}, {300, 33}};
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int hermitian = 0; hermitian <= (scalar >= MPK_C); hermitian++)
            for (int upper = 0; upper < 2; upper++)
                for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                    if (TEST_SANITIZED && k == 4 && (scalar + hermitian + upper) % 4) continue;
                    const mpk_dense_method method = k % 2 ? MPK_DENSE_ROOK : MPK_DENSE_TILE;
                    mpk_dense_info info;
                    many t = open_many(sizes[k][0], sizes[k][1], (mpk_scalar)scalar,
                                       hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC,
                                       upper ? MPK_UPPER : MPK_LOWER, method, MPK_DENSE_WORKING, 0);
                    check(&t, &info);
                    close_many(&t);
                }
}

/* more than are refined at once */
static void test_blocks(void **unused) {
    (void)unused;
    mpk_dense_info info;
    many t =
        open_many(60, 531, MPK_D, MPK_SYMMETRIC, MPK_LOWER, MPK_DENSE_TILE, MPK_DENSE_WORKING, 0);
    check(&t, &info);
    close_many(&t);
}

/* A moves away from its factors by an entry, so that refinement alone contracts by 0.6 a step. */
static void move_away(many *t) {
    double complex *column = calloc((size_t)t->ldb, 16);
    scalar_store(t->d.scalar, column, 0, 1);
    assert_int_equal(mpk_dense_solve(t->ctx, &t->d, NULL, t->lda, &t->f, 1, column, t->ldb, column,
                                     t->ldb, NULL, 0, NULL),
                     MPK_OK);
    const double complex moved = dense_get(&t->m, 0, 0) + 0.6 / scalar_load(t->d.scalar, column, 0);
    free(column);
    dense_set(&t->m, 0, 0, moved);
    scalar_store(t->d.scalar, t->a, 0, moved);
}

/* factors in single precision: columns contract at their own pace, and some by GMRES alone */
static void test_mixed(void **unused) {
    (void)unused;
    static const double near[] = {0, 1e-3, 2e-5, 0};
    for (int k = 0; k < 8; k++) {
        const bool away = k / 2 == 3;
        if (TEST_SANITIZED && k < 6 && k != 2 && k != 5) continue;
        mpk_dense_info info;
        many t = open_many(150, 21, k % 2 ? MPK_Z : MPK_D, MPK_SYMMETRIC, MPK_LOWER, MPK_DENSE_TILE,
                           MPK_DENSE_SINGLE, near[k / 2]);
        if (away) move_away(&t);
        t.d.accuracy = 1e-14;
        check(&t, &info);
        assert_true(info.iterations > 0);
        assert_true(!away || info.gmres >= 18); /* every column that is not zero */
        t.d.refinement = MPK_DENSE_REFINE_GMRES;
        check(&t, &info);
        assert_true(info.gmres > 0);
        close_many(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_kinds),
                                       cmocka_unit_test(test_blocks), cmocka_unit_test(test_mixed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
