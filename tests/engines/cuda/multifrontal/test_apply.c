/* SPDX-License-Identifier: BSD-3-Clause */
/* Applications of a direct factor on a device where every kind of piece occurs: warps for small
 * fronts, many children, strips of wide fronts, slices of what lies beyond them; one and several
 * right-hand sides, against the processor. */
#include "support.h"

#include "engines/cuda/multifrontal/solve/lists.h"
#include "factor/factor.h"

#include <metapack/metapack.h>

/* Two dense groups without entries in the rest's first rows, two smaller ones of few rows, and so
 * many single columns that a helper adds some of them up, all beside one dense rest. */
enum { LEAVES = 80, REST = 400, APART = 130, LAST = 160, GROUPS = 4, N = LEAVES + 214 + REST };

static const int32_t group_end[GROUPS] = {LEAVES + 70, LEAVES + 140, LEAVES + 164, LEAVES + 214};

static int32_t group_of(int32_t i) {
    int32_t g = 0;
    while (g < GROUPS && i >= group_end[g]) g++;
    return g;
}

static bool joined(int32_t i, int32_t j) { /* i >= j */
    const int32_t rest = N - REST, g = group_of(j);
    if (i == j || j >= rest) return true;
    if (j < LEAVES) return i == rest || (i > rest && (i + j) % 45 == 0);
    return group_of(i) == g || (g < 2 ? i >= rest + APART : i >= N - LAST && i % 3 >= g - 1);
}

static mpk_problem *star(mpk_context *ctx, mpk_scalar scalar, mpk_symmetry symmetry) {
    mpk_problem *problem = NULL;
    const size_t most = (size_t)N * (N + 1) / 2;
    int64_t ap[N + 1], nnz = 0;
    int32_t *ai = malloc(most * sizeof *ai);
    char *ax = malloc(most * 16);
    assert_true(ai && ax);
    for (int32_t j = 0; j < N; j++) {
        ap[j] = nnz;
        for (int32_t i = j; i < N; i++) {
            if (!joined(i, j)) continue;
            const double re = uniform(), im = scalar >= MPK_C ? uniform() : 0;
            ai[nnz] = i;
            scalar_store(scalar, ax, nnz++, i == j ? (j % 3 ? 9 : -9) + re : re + im * I);
        }
    }
    ap[N] = nnz;
    assert_int_equal(
        mpk_problem_from_csc(ctx, N, scalar, symmetry, MPK_LOWER, ap, ai, ax, &problem), MPK_OK);
    free(ai), free(ax);
    return problem;
}

/* Which kinds of pieces a factor's sweeps have. Returns whether some chain is one piece forward. */
static bool find_kinds(mpk_context *ctx, const mpki_direct *f, bool *kinds) {
    mpki_cuda_sweep_lists l;
    bool single = false;
    assert_int_equal(mpki_cuda_sweep_lists_make(ctx, f, &l), MPK_OK);
    for (int32_t k = 0; k < l.chains; k++) single |= l.chain[k].single;
    for (int32_t k = 0; k < l.downs; k++) kinds[l.down[k].kind] = true;
    for (int32_t k = 0; k < l.ups; k++) kinds[l.up[k].kind] = true;
    mpki_cuda_sweep_lists_free(ctx, &l);
    return single;
}

/* A problem and its factors on the processor and the device: x = A^-1 b agrees to `bound`, and
 * comes with the same bits again. The problem is destroyed. Returns as find_kinds(). */
static bool check(mpk_context *ctx, mpk_problem *problem, mpk_options *o, int32_t nrhs,
                  double bound, bool *kinds) {
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *here = NULL, *there = NULL;
    mpk_problem_view_get(problem, &a);
    const int32_t n = a.n;
    const mpk_scalar scalar = a.scalar;
    const size_t all = (size_t)nrhs * (size_t)n * mpk_scalar_size(scalar);
    char *x = malloc(all), *y = malloc(all), *z = malloc(all);
    assert_true(x && y && z);
    assert_int_equal(mpk_analyse(ctx, problem, o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, o, &here), MPK_OK);
    o->device = MPK_ON_CUDA;
    assert_int_equal(mpk_factorize(ctx, an, NULL, o, &there), MPK_OK);
    const bool single = find_kinds(ctx, there->direct, kinds);
    for (int32_t i = 0; i < nrhs * n; i++) scalar_store(scalar, x, i, uniform());
    memcpy(y, x, all), memcpy(z, x, all);
    assert_int_equal(mpk_solve_part(ctx, here, MPK_PART_ALL, nrhs, y, n), MPK_OK);
    assert_int_equal(mpk_solve_part(ctx, there, MPK_PART_ALL, nrhs, z, n), MPK_OK);
    double most = 0;
    for (int32_t i = 0; i < nrhs * n; i++) most = fmax(most, cabs(scalar_load(scalar, y, i)));
    for (int32_t i = 0; i < nrhs * n; i++) {
        const double error = cabs(scalar_load(scalar, y, i) - scalar_load(scalar, z, i));
        if (!(error <= bound * most)) fail_msg("entry %d: %g of %g", i, error, most);
    }
    memcpy(y, x, all); /* and once more, with inverses of strips that were kept */
    assert_int_equal(mpk_solve_part(ctx, there, MPK_PART_ALL, nrhs, y, n), MPK_OK);
    assert_memory_equal(y, z, all);
    memcpy(y, x, all); /* and where sheets have the same values on both ways */
    ((mpki_direct *)there->direct)->apart_most = 0;
    assert_int_equal(mpk_solve_part(ctx, there, MPK_PART_ALL, nrhs, y, n), MPK_OK);
    assert_memory_equal(y, z, all);
    memcpy(y, x, all); /* and where another solve has what is idle between factorizations */
    atomic_bool *taken = &((mpki_direct *)there->direct)->idle_taken;
    assert_false(atomic_exchange(taken, true));
    assert_int_equal(mpk_solve_part(ctx, there, MPK_PART_ALL, nrhs, y, n), MPK_OK);
    assert_memory_equal(y, z, all);
    assert_true(atomic_exchange(taken, false)); /* it has not given back what is not its own */
    free(x), free(y), free(z);
    mpk_factor_destroy(&here);
    mpk_factor_destroy(&there);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    return single;
}

static void test_pieces(void **unused) {
    (void)unused;
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
        int32_t nrhs;
        double bound;
    } kind[] = {
        /* columns of a sheet that are nobody's; several sheets; more than go at once */
        {MPK_D, MPK_SYMMETRIC, 7, 1e-11},
        {MPK_D, MPK_SYMMETRIC, 21, 1e-11},
        {MPK_D, MPK_SYMMETRIC, 45, 1e-11}, /* sheets that blocks take together, and more of them */
        {MPK_C, MPK_HERMITIAN, 3, 2e-2},
        {MPK_Z, MPK_SYMMETRIC, 67, 1e-11}};
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        mpk_context *ctx = NULL;
        mpk_options o;
        bool kinds[MPKI_CUDA_SLICE + 4] = {false};
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.matching = MPK_OFF, o.ordering = MPK_ORDERING_NATURAL;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        const bool single = check(ctx, star(ctx, kind[k].scalar, kind[k].symmetry), &o,
                                  kind[k].nrhs, kind[k].bound, kinds);
        assert_true(single);
        if (kind[k].scalar == MPK_Z) { /* cut in another way */
            mpk_context_destroy(&ctx);
            continue;
        }
        for (int q = MPKI_CUDA_TASK; q <= MPKI_CUDA_SLICE + 1; q++)
            if (q != MPKI_CUDA_SLICE && !kinds[q])
                fail_msg("no piece of kind %d", q); /* the first slice is the strip's */
        mpk_context_destroy(&ctx);
    }
}

/* Of a block with little shared memory, whose fronts are large ones. */
static void test_small_blocks(void **unused) {
    (void)unused;
    static const int32_t sides[] = {1, 2, 45};
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_options o;
        bool kinds[MPKI_CUDA_SLICE + 64] = {false};
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        setenv("METAPACK_CUDA_HOST_SHARED", "13000", 1);
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 6", 1, &problem), MPK_OK);
        check(ctx, problem, &o, sides[k], 1e-8, kinds);
        unsetenv("METAPACK_CUDA_HOST_SHARED");
        assert_true(kinds[MPKI_CUDA_STRIP]);
        mpk_context_destroy(&ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_small_blocks)};
    const char *must = getenv("METAPACK_TEST_DEVICE");
#ifdef METAPACK_CUDA_HOST
    if (!must || strcmp(must, "1")) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#else
    if (!must) return 0; /* neither a GPU nor the module without one */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
