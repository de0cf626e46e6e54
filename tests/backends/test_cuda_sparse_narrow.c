/* SPDX-License-Identifier: BSD-3-Clause */
/* What solves on a device keep beside the factor. Corrections that read L in half the precision: the answer is as good as
 * without, has the same bits in each run, and a bad copy, an old one or none at all costs steps at most. Bridges from strip to strip
 * of a chain: likewise, and in each direction by itself. */
#include "../support.h"

#include "../../src/backends/cuda/direct_sweep.h"
#include "../../src/backends/cuda/engine.h"
#include "../../src/factor/factor.h"
#include "device_there.h"
#include <metapack/metapack.h>

typedef struct system_ {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    mpk_problem_view a;
    size_t bytes;     /* of a vector */
    char *b, *x;      /* host */
    void *there, *to; /* device */
    mpk_solve_info info;
} system_;

/* shared: bytes that a block may have on the host: by that there are large fronts, beside such as are cut into several */
static void open_system(system_ *s, const char *what, double accuracy, const char *shared) {
    *s = (system_){0};
    if (!device_is_real()) setenv("METAPACK_CUDA_HOST_SHARED", shared, 1);
    mpk_options_init(&s->o);
    s->o.method = MPK_METHOD_LDLT;
    s->o.device = MPK_ON_CUDA;
    s->o.accuracy = accuracy;
    assert_int_equal(mpk_context_create(NULL, &s->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s->ctx, what, 1, &s->problem), MPK_OK);
    assert_int_equal(mpk_analyse(s->ctx, s->problem, &s->o, &s->an), MPK_OK);
    assert_int_equal(mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac), MPK_OK);
    mpk_problem_view_get(s->problem, &s->a);
    s->bytes = (size_t)s->a.n * mpk_scalar_size(s->a.scalar);
    s->b = calloc(s->bytes, 1), s->x = calloc(s->bytes, 1);
    assert_true(s->b && s->x);
    for (int32_t k = 0; k < s->a.n; k++) scalar_store(s->a.scalar, s->b, k, 1 + k % 5);
    assert_int_equal(mpk_device_alloc(s->ctx, 0, (int64_t)s->bytes, &s->there), MPK_OK);
    assert_int_equal(mpk_device_alloc(s->ctx, 0, (int64_t)s->bytes, &s->to), MPK_OK);
    assert_int_equal(mpk_device_copy(s->ctx, 0, s->there, 0, s->b, 0, (int64_t)s->bytes, 1),
                     MPK_OK);
}

static void close_system(system_ *s) {
    assert_int_equal(mpk_device_free(s->ctx, 0, &s->there), MPK_OK);
    assert_int_equal(mpk_device_free(s->ctx, 0, &s->to), MPK_OK);
    free(s->b), free(s->x);
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* x of a solve, and s->info. */
static void solve(system_ *s, char *x) {
    const int32_t n = s->a.n;
    assert_false(mpk_failed(mpk_solve(s->ctx, s->fac, 1, s->there, n, s->to, n, &s->o, &s->info)));
    assert_int_equal(mpk_device_copy(s->ctx, 0, x, 0, s->to, 0, (int64_t)s->bytes, 1), MPK_OK);
}

static mpki_direct *direct_of(const system_ *s) {
    return s->fac->direct;
}
static bool narrowed(const system_ *s) {
    return atomic_load(&direct_of(s)->narrowed);
}
/* From which size of chains on. */
static void ask_for(const system_ *s, int64_t entries) {
    direct_of(s)->narrow_least = entries;
}

static double largest_difference(const system_ *s, const char *x, const char *y) {
    double most = 0, size = 0;
    for (int32_t k = 0; k < s->a.n; k++) {
        const double complex p = scalar_load(s->a.scalar, x, k), q = scalar_load(s->a.scalar, y, k);
        most = fmax(most, cabs(p - q)), size = fmax(size, cabs(q));
    }
    return most / size;
}

static const struct {
    const char *matrix, *shared;
} CASES[] = {{"lin 10 10 10", "60000"},
             {"lin 12 12 12", "80000"},
             {"nlpkkt 7", "60000"},
             {"helmholtz 3d 10 0.3 absorbing", "120000"}};
/* Bytes of squares, of bridges, and of the copy. */
typedef struct kept {
    int64_t squares, bridges, narrow;
} kept;

static kept kept_of(const system_ *s) {
    const int64_t size = (int64_t)mpk_scalar_size(s->a.scalar);
    mpki_cuda_sweep_lists l;
    assert_int_equal(mpki_cuda_sweep_lists_make(s->ctx, direct_of(s), &l), MPK_OK);
    const kept k = {.squares = l.squares * MPKI_FRONT_STRIP * MPKI_FRONT_STRIP * size,
                    .bridges = 2 * MPKI_CUDA_BRIDGES * l.bridges * MPKI_FRONT_STRIP *
                               MPKI_FRONT_STRIP * size,
                    .narrow = l.narrow * size / 2};
    mpki_cuda_sweep_lists_free(s->ctx, &l);
    return k;
}
/* Where the copy lies, and its bytes; NULL: there is no room for it. */
static char *copy_of(const system_ *s, int64_t *bytes) {
    const kept k = kept_of(s);
    *bytes = k.narrow;
    return k.squares + k.bridges + k.narrow <= mpki_cuda_sweep_room(direct_of(s))
               ? direct_of(s)->work + k.squares + k.bridges
               : NULL;
}
/* So much room for all of them, and values and lists that know of it. */
static void leave_room(const system_ *s, int64_t bytes) {
    mpki_direct *f = direct_of(s);
    f->plan.contribution_entries = (f->work + bytes - (const char *)f->on.contribution) /
                                   (int64_t)mpk_scalar_size(s->a.scalar);
    mpki_cuda_direct_drop_spare(f);
}

static void test_answers(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        system_ s;
        int64_t bytes;
        /* so small that a step is taken in any case, and more than one where it is not reached */
        open_system(&s, CASES[k].matrix, 1e-17, CASES[k].shared);
        char *x = malloc(s.bytes), *y = malloc(s.bytes);
        assert_true(x && y);
        solve(&s, x);
        assert_false(narrowed(&s)); /* it is too small for that */
        ask_for(&s, 1);             /* which leaves less room to bridges */
        const bool fits = copy_of(&s, &bytes) != NULL;
        assert_true(fits || device_is_real());
        mpki_cuda_direct_drop_spare(direct_of(&s));
        assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
        solve(&s, y); /* reads of L what copies will have */
        assert_false(narrowed(&s));
        assert_true(s.info.iterations >= 1 && s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, y, x) <= 1e-12);
        for (int again = 0; again < 2;
             again++) { /* the third makes the copies, the fourth reads them */
            for (int run = again ? 0 : 1; run < 4; run++) {
                solve(&s, x);
                assert_int_equal(narrowed(&s), fits && run >= 2);
                assert_memory_equal(x, y, s.bytes);
            }
            assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
            assert_false(narrowed(&s));
        }
        free(x), free(y);
        close_system(&s);
    }
}

/* One step in half the precision is enough where one in double is; where none is taken nothing is made. */
static void test_steps(void **unused) {
    (void)unused;
    system_ s;
    open_system(&s, "lin 10 10 10", -1, "60000");
    ask_for(&s, 1);
    for (int k = 0; k < 3; k++) solve(&s, s.x);
    assert_true(narrowed(&s));
    assert_true(s.info.unrefined > 1e-14 && s.info.componentwise <= 1e-15);
    assert_int_equal(s.info.iterations, 1);
    close_system(&s);
    open_system(&s, "nlpkkt 6", 1e-8, "60000");
    ask_for(&s, 1);
    solve(&s, s.x);
    assert_int_equal(s.info.iterations, 0);
    assert_false(narrowed(&s));
    close_system(&s);
}

/* A copy that is of no use: the step makes the answer worse or no better, and those that follow read L itself; or it ends
 * so far from the answer that the host takes over. */
static void test_bad_copy(void **unused) {
    (void)unused;
    const float values[] = {0, 1e3F, 3e38F};
    for (int k = 0; k < 3; k++) {
        system_ s;
        int64_t bytes;
        open_system(&s, "lin 10 10 10", -1, "60000");
        ask_for(&s, 1);
        for (int run = 0; run < 3; run++) solve(&s, s.x);
        char *at = copy_of(&s, &bytes), *x = malloc(s.bytes);
        float *bad = malloc((size_t)bytes);
        assert_true(bad && x && bytes > 0);
        for (int64_t i = 0; i < bytes / 4; i++) bad[i] = values[k];
        const mpki_device *d = mpki_cuda_kept(s.ctx);
        assert_int_equal(d->table->direct->copy(d->cuda, at, bad, bytes, 1), MPK_OK);
        solve(&s, x);
        assert_true(s.info.iterations >= (k < 2 ? 2 : 1));
        assert_true(s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, x, s.x) <= 1e-12);
        free(x), free(bad);
        close_system(&s);
    }
}

/* New values make a new copy. */
static void test_new_values(void **unused) {
    (void)unused;
    system_ s;
    open_system(&s, "lin 10 10 10", -1, "60000");
    double *ax = malloc((size_t)s.a.nnz * sizeof *ax);
    char *x = malloc(s.bytes);
    assert_true(ax && x);
    ask_for(&s, 1);
    for (int k = 0; k < 3; k++) solve(&s, x);
    assert_true(narrowed(&s));
    for (int64_t k = 0; k < s.a.nnz; k++) ax[k] = ((const double *)s.a.ax)[k] * (k % 3 ? 1 : 1.5);
    assert_false(mpk_failed(mpk_refactorize(s.ctx, ax, &s.o, s.fac)));
    for (int k = 0; k < 3; k++) {
        solve(&s, s.x);
        assert_int_equal(narrowed(&s), k == 2);
        assert_int_equal(s.info.iterations, 1);
        assert_true(s.info.componentwise <= 1e-15);
        assert_true(largest_difference(&s, s.x, x) > 1e-3);
    }
    free(ax), free(x);
    close_system(&s);
}

/* Where contributions had less room than it takes there is none. */
static void test_no_room(void **unused) {
    (void)unused;
    system_ s;
    open_system(&s, "lin 10 10 10", -1, "60000");
    ask_for(&s, 1);
    const kept k = kept_of(&s);
    assert_true(k.narrow > 0);
    leave_room(&s, k.squares + k.narrow - (int64_t)sizeof(double));
    for (int run = 0; run < 3; run++) solve(&s, s.x);
    assert_false(narrowed(&s));
    assert_true(s.info.iterations == 1 && s.info.componentwise <= 1e-15);
    close_system(&s);
}

/* L^-1, L^-T or both, without refinement. */
static void apply(system_ *s, mpk_part part, int32_t nrhs, const char *b, char *x) {
    mpki_direct_solver *solver = NULL;
    assert_int_equal(mpki_cuda_direct.solver_make(s->ctx, direct_of(s), 1, nrhs, &solver), MPK_OK);
    assert_int_equal(mpki_cuda_direct.apply(solver, part, nrhs, b, s->a.n, x, s->a.n), MPK_OK);
    mpki_cuda_direct.solver_free(&solver);
}

/* With room for all bridges, for some, for none: as good; the second time, when they are there, the same bits; and
 * whether L^-1 made its own alone, or one with several right-hand sides. */
static void test_bridges(void **unused) {
    (void)unused;
    int with = 0; /* of the cases where there is room for any */
    for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
        system_ s;
        open_system(&s, CASES[c].matrix, -1, CASES[c].shared);
        const kept all = kept_of(&s);
        char *x = malloc(3 * s.bytes), *y = x + s.bytes, *z = y + s.bytes;
        assert_true(x);
        with += all.bridges > 0;
        apply(&s, MPK_PART_ALL, 1, s.b, x);
        apply(&s, MPK_PART_ALL, 1, s.b, y);
        assert_memory_equal(x, y, s.bytes);
        for (int back = 0; back < 2; back++)
            assert_int_equal(atomic_load(&direct_of(&s)->bridged[back]), all.bridges > 0);
        assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
        apply(&s, MPK_PART_L, 1, s.b, z);
        assert_int_equal(atomic_load(&direct_of(&s)->bridged[0]), all.bridges > 0);
        assert_false(atomic_load(&direct_of(&s)->bridged[1]));
        apply(&s, MPK_PART_ALL, 1, s.b, y);
        assert_memory_equal(x, y, s.bytes);
        assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
        char *many = malloc(4 * s.bytes);
        assert_true(many);
        for (int k = 0; k < 4; k++) memcpy(many + k * s.bytes, s.b, s.bytes);
        apply(&s, MPK_PART_ALL, 4, many, many);
        apply(&s, MPK_PART_ALL, 1, s.b, y);
        assert_memory_equal(x, y, s.bytes);
        for (int k = 0; k < 4; k++) {
            assert_memory_equal(many + k * s.bytes, many, s.bytes);
            assert_true(largest_difference(&s, many + k * s.bytes, x) <= 1e-11);
        }
        free(many);
        for (int part = 0; part < 2; part++) { /* half of them, none */
            leave_room(&s, all.squares + (part ? 0 : all.bridges / 2));
            const kept less = kept_of(&s);
            assert_true(part || !all.bridges ? less.bridges == 0 : less.bridges < all.bridges);
            assert_false(mpk_failed(mpk_refactorize(s.ctx, NULL, &s.o, s.fac)));
            apply(&s, MPK_PART_ALL, 1, s.b, y);
            apply(&s, MPK_PART_ALL, 1, s.b, z);
            assert_memory_equal(y, z, s.bytes);
            assert_int_equal(atomic_load(&direct_of(&s)->bridged[0]), less.bridges > 0);
            assert_true(largest_difference(&s, y, x) <= 1e-11);
        }
        free(x);
        close_system(&s);
    }
    assert_true(with > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_bad_copy), cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_no_room),  cmocka_unit_test(test_bridges),
    };
    return device_has(DEVICE_DIRECT) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
