/* SPDX-License-Identifier: BSD-3-Clause */
/* Large fronts whose columns are eliminated by one kernel, piece by piece
 * (multifrontal/pivot/queue.cuh), beside kernel after kernel: the same bits, whether columns fail
 * or not. */
#include "support.h"

#include "device_cases.h"
#include <metapack/metapack.h>

/* D, the order of the columns and a solution. */
typedef struct numbers {
    char *d, *x;
    int32_t *perm;
    mpk_factor_info info;
    unsigned long long failed; /* columns */
    int tiles;                 /* that the last front had in a queue */
    int32_t most;              /* its columns */
} numbers;

static void numbers_free(numbers *z) {
    free(z->d), free(z->x), free(z->perm);
}

static numbers of_factor(mpk_context *ctx, mpk_factor *fac, const mpk_problem_view *a,
                         const mpk_options *o) {
    const size_t n = (size_t)a->n, size = mpk_scalar_size(a->scalar);
    const mpki_direct *f = fac->direct;
    numbers z = {.d = calloc(2 * n + 1, size),
                 .x = calloc(n + 1, size),
                 .perm = calloc(n + 1, sizeof *z.perm)};
    mpk_solve_info told;
    mpk_factor_info_get(fac, &z.info);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, z.d, 2 * n * size), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_PERM, z.perm, n * sizeof *z.perm), MPK_OK);
    for (size_t k = 0; k < n; k++) scalar_store(a->scalar, z.x, (int64_t)k, 1 + (int)(k % 5));
    assert_false(mpk_failed(mpk_solve(ctx, fac, 1, z.x, a->n, z.x, a->n, o, &told)));
    z.failed = f->flags.rejected;
    z.most = f->large ? f->large[0].w : 0;
    z.tiles = f->large ? (f->large[0].queue_tile[0].b > 0) + (f->large[0].queue_tile[1].b > 0) : 0;
    return z;
}

/* Without a queue, with one for each front, and without once more. */
static void both(const char *what, mpk_problem *(*make)(mpk_context *, const void *),
                 const void *arg, bool scaled) {
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = make(ctx, arg);
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    if (!scaled) o.scaling = o.matching = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
    mpk_problem_view_get(problem, &a);
    const size_t n = (size_t)a.n, size = mpk_scalar_size(a.scalar);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
    mpki_direct *f = fac->direct;
    f->queued_least = 0;
    numbers of[3];
    for (int k = 0; k < 3; k++) {
        f->queued_most = k == 1 ? MPKI_FRONT_QUEUED : 0;
        assert_false(mpk_failed(mpk_refactorize(ctx, NULL, &o, fac)));
        of[k] = of_factor(ctx, fac, &a, &o);
    }
    if (of[0].tiles > 0 || of[2].tiles > 0) fail_msg("%s: a queue where none was wanted", what);
    if (of[1].tiles == 0) fail_msg("%s: no queue for %d columns", what, of[1].most);
    if (of[1].failed == 0) fail_msg("%s: no column fails", what);
    for (int k = 1; k < 3; k++) {
        assert_int_equal(of[0].info.rejected, of[k].info.rejected);
        assert_int_equal(of[0].failed, of[k].failed);
        assert_memory_equal(of[0].perm, of[k].perm, n * sizeof *of[0].perm);
        assert_memory_equal(of[0].d, of[k].d, 2 * n * size);
        assert_memory_equal(of[0].x, of[k].x, n * size);
    }
    for (int k = 0; k < 3; k++) numbers_free(&of[k]);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A dense matrix of this kind in which many pivots are too small for what lies below them. */
typedef struct kind {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    int n;
} kind;

static mpk_problem *bordered(mpk_context *ctx, const void *arg) {
    const kind *is = arg;
    dense m = dense_new(is->n, is->scalar, is->symmetry);
    const bool real = is->scalar == MPK_S || is->scalar == MPK_D;
    support_state = 11;
    for (int i = 0; i < is->n; i++)
        for (int j = 0; j <= i; j++) {
            const double small = i < is->n / 2 ? 1e-3 : 1;
            const bool flat = real || (i == j && is->symmetry == MPK_HERMITIAN);
            dense_set(&m, i, j, small * (uniform() + (flat ? 0 : uniform()) * I));
        }
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

/* A root in whose columns some fail, of more than one block of columns, in a step with larger
 * fronts of two other trees, whose roots share a step, too. */
static mpk_problem *apart(mpk_context *ctx, const void *arg) {
    enum { TREES = 2, SIDE = 301, TREE = 2 * SIDE + 77, ROOT = 280 };
    (void)arg;
    dense m = dense_new(TREES * TREE + ROOT, MPK_D, MPK_SYMMETRIC);
    support_state = 23;
    for (int at = 0; at < TREES * TREE; at += TREE)
        for (int i = 0; i < TREE; i++)
            for (int j = i < SIDE || i >= 2 * SIDE ? 0 : SIDE; j <= i; j++)
                dense_set(&m, at + i, at + j, (i == j ? 30 : 1) * uniform());
    for (int i = 0; i < ROOT; i++)
        for (int j = 0; j <= i; j++)
            dense_set(&m, TREES * TREE + i, TREES * TREE + j,
                      (i < ROOT / 2 ? 1e-3 : 1) * uniform());
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static void tiles_of_32(void) {
    if (device_is_real()) return;
    setenv("METAPACK_CUDA_HOST_CODE", "86", 1); /* no tiles of 128 */
    small_blocks("13000");
}
static void any_tiles(void) {
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
}

static void test_generated(void **unused) {
    (void)unused;
    if (device_is_real()) return; /* whose fronts are large there has tiles of 128 */
    tiles_of_32();
    both("nlpkkt 7", generated, "nlpkkt 7", true);
    both("stokes mac 16", generated, "stokes mac 16", true);
    any_tiles();
}

static void test_failing(void **unused) {
    (void)unused;
    static const kind kinds[] = {{MPK_D, MPK_SYMMETRIC, 250},
                                 {MPK_S, MPK_SYMMETRIC, 150},
                                 {MPK_Z, MPK_SYMMETRIC, 130},
                                 {MPK_Z, MPK_HERMITIAN, 130},
                                 {MPK_C, MPK_HERMITIAN, 100}};
    if (device_is_real()) return;
    tiles_of_32();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        both("bordered", bordered, &kinds[k], false);
    any_tiles();
}

static void test_apart(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    tiles_of_32();
    both("a root beside larger fronts", apart, NULL, false);
    any_tiles();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated),
                                       cmocka_unit_test(test_failing),
                                       cmocka_unit_test(test_apart)};
    return device_has(DEVICE_DIRECT) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
