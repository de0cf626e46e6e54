/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks in device memory, beside those of the processor with the
 * same factor: on a GPU, or on the module that computes on the host. */
#include "../blocks/in_blocks.h"

#include "device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm
#undef mpk_batch_llt
#undef mpk_batch_ldu

#include "analysis/schedule/schedule.h"
#include "backends/cuda/sweeps.h"
#include "backends/cuda/sweeps/sweeps.h"
#include "blocks/sweeps.h"
#include "device_store.h"
#include "factor/stages.h"

enum { NRHS = 17, GAP = 3 };

/* ---- a factor of the processor's, and its copy on the device ---- */

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_scalar scalar;
    int32_t n;
    const mpki_blocks *bf;
    device_store store;
} run;

static run go_on(mpk_context *ctx, mpk_problem *problem, const mpk_options *o) {
    run r = {.ctx = ctx, .problem = problem, .o = *o};
    mpk_problem_view v;
    mpk_problem_view_get(problem, &v);
    r.scalar = v.scalar, r.n = v.n;
    in_blocks_begin();
    mpki_engine_use(ctx, &in_blocks);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, o, &r.an)));
    assert_false(mpk_failed(mpk_factorize(ctx, r.an, NULL, o, &r.fac)));
    mpki_engine_use(ctx, NULL);
    r.bf = r.fac->blocks->numbers;
    if (r.bf->border) return r; /* not in a store */
    const mpki_device *d = mpki_cuda_keep(ctx, 0);
    assert_non_null(d);
    device_store_make(d, r.bf, &r.store);
    assert_false(r.store.failed);
    return r;
}

static run go(mpk_context *ctx, const char *spec, mpk_scalar scalar, const mpk_options *o) {
    return go_on(ctx, problem_of(ctx, spec, scalar, false), o);
}

static void end(run *r) {
    device_store_free(&r->store);
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

static mpk_options options_of(int kind) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = kind == 0 ? MPK_METHOD_ILU0 : MPK_METHOD_ILDLT;
    o.threads = 1;
    o.level = kind == 2 ? 2 : 1;
    o.block = kind == 2 ? 5 : 24;
    if (kind == 3) o.factor_type = MPK_TYPE_LDU, o.krylov = MPK_KRYLOV_GMRES;
    if (kind == 4) o.stages = 3, o.pivot_threshold = 0.2, o.matching = MPK_OFF;
    if (kind == 5) o.solve_sweeps = 3;
    if (kind == 6) o.precision = MPK_PRECISION_SINGLE;
    if (kind == 7) o.level = -1, o.drop_tolerance = o.fill_factor = 0, o.block = 32;
    return o;
}
enum { KINDS = 8 };

/* ---- applications ---- */

static void *vectors(const run *r, int32_t nrhs) {
    const int64_t ld = r->n + GAP;
    char *x = calloc((size_t)(ld * nrhs) + 1, mpk_scalar_size(r->scalar));
    assert_non_null(x);
    for (int64_t c = 0; c < nrhs; c++)
        for (int64_t i = 0; i < r->n; i++) {
            const double t = (double)(i + 7 * c);
            scalar_store(r->scalar, x, c * ld + i,
                         r->scalar >= MPK_C ? sin(t + 1) + cos(2 * t) * I : sin(t + 1));
        }
    return x;
}

static void on_processor(const run *r, mpk_part part, int32_t nrhs, void *x) {
    mpki_block_solver *s = NULL;
    int32_t takes = 0;
    const int64_t ld = r->n + GAP;
    const size_t column = (size_t)ld * mpk_scalar_size(r->scalar);
    assert_int_equal(mpki_block_solver_make(r->ctx, r->bf, 1, nrhs, &s, &takes), MPK_OK);
    for (int32_t c = 0; c < nrhs; c += takes) {
        char *at = (char *)x + (size_t)c * column;
        mpki_block_apply(s, part, nrhs - c < takes ? nrhs - c : takes, at, ld, at, ld);
    }
    mpki_block_solver_free(r->ctx, &s);
}

/* where: 0 both in host memory, 1 both on the device, 2 b alone, 3 x alone */
static void on_device(const run *r, mpki_block_solver *s, int32_t takes, mpk_part part,
                      int32_t nrhs, void *x, int where) {
    const int64_t ld = r->n + GAP;
    const size_t column = (size_t)ld * mpk_scalar_size(r->scalar);
    const int64_t bytes = (int64_t)column * nrhs;
    const mpki_device *d = r->store.d;
    char *b_there = where == 1 || where == 2 ? device_up(d, x, bytes) : NULL;
    char *x_there = where == 1 ? b_there : where == 3 ? device_up(d, x, bytes) : NULL;
    for (int32_t c = 0; c < nrhs; c += takes) {
        const size_t at = (size_t)c * column;
        assert_int_equal(mpki_cuda_sweeps_apply(s, part, nrhs - c < takes ? nrhs - c : takes,
                                                (b_there ? b_there : (char *)x) + at, ld,
                                                (x_there ? x_there : (char *)x) + at, ld),
                         MPK_OK);
    }
    if (where == 2) device_down(d, b_there, NULL, 0);
    if (x_there) {
        assert_int_equal(d->table->synchronize(d->cuda, d->table->sweeps->stream(d->cuda)), MPK_OK);
        device_down(d, x_there, x, bytes);
    }
}

static double distance(const run *r, int32_t nrhs, const void *x, const void *y) {
    double most = 0, norm = 0;
    for (int64_t k = 0; k < (r->n + GAP) * (int64_t)nrhs; k++) {
        const double complex v = scalar_load(r->scalar, x, k);
        const double d = cabs(v - scalar_load(r->scalar, y, k));
        if (!(d <= most)) most = d;
        if (cabs(v) > norm) norm = cabs(v);
    }
    return norm > 0 ? most / norm : most;
}

/* With vectors in double sums are double on both sides, whatever the factor is stored in; but |D| is
 * stored as that is on the device. full: M times a block is a number there, rounded before x is known, which costs
 * as many digits as M has entries that cancel. */
static double bound_of(const run *r, int part, bool full) {
    const bool stored = r->bf->scalar == MPK_S || r->bf->scalar == MPK_C;
    const bool vectors = r->scalar == MPK_S || r->scalar == MPK_C;
    return vectors || (stored && part == MPK_PART_ABS) ? 2e-4 : full ? 1e-11 : 1e-12;
}

static mpki_block_solver *solver_of(const run *r, int32_t columns, int32_t *takes) {
    mpki_block_solver *s = NULL;
    const mpk_status status =
        mpki_cuda_sweeps_make(r->ctx, r->bf->stages, &r->store.store, columns, &s, takes);
    if (mpk_failed(status)) {
        const char *text = NULL;
        mpk_last_error(r->ctx, NULL, NULL, &text);
        fail_msg("%s", text);
    }
    assert_true(*takes >= 1 && (*takes <= columns || *takes == 1 || *takes < 2 * columns));
    return s;
}

static void compare(const run *r, const char *what, const int32_t *nrhs, int count) {
    for (int part = MPK_PART_ALL; part <= MPK_PART_ABS; part++) {
        if (part == MPK_PART_ABS && r->bf->stages->ldu) continue;
        for (int k = 0; k < count; k++) {
            int32_t takes = 0;
            mpki_block_solver *s = solver_of(r, nrhs[k], &takes);
            void *x = vectors(r, nrhs[k]), *y = vectors(r, nrhs[k]), *z = vectors(r, nrhs[k]);
            on_processor(r, (mpk_part)part, nrhs[k], x);
            on_device(r, s, takes, (mpk_part)part, nrhs[k], y, (part + k) % 4);
            const double d = distance(r, nrhs[k], x, y);
            if (!(d <= bound_of(r, part, mpki_cuda_sweeps_told(s).full > 0)))
                fail_msg("%s, part %d, %d vectors: %g apart", what, part, (int)nrhs[k], d);
            on_device(r, s, takes, (mpk_part)part, nrhs[k], z, (part + k + 1) % 4);
            assert_memory_equal(
                y, z, (size_t)(r->n + GAP) * (size_t)nrhs[k] * mpk_scalar_size(r->scalar));
            free(x), free(y), free(z);
            mpki_cuda_sweeps_free(r->ctx, &s);
            assert_null(s);
        }
    }
}

/* ---- tests ---- */

static const char *const families[] = {
    "nlpkkt 3",
    "stokes mac 7",
    "lp-kkt 40 70 3",
    "random 120 0.04 0.3 complex",
    "random 130 0.04 0.3 hermitian",
};
enum { FAMILIES = sizeof families / sizeof *families };

static void test_parts(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int staged = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int f = 0; f < FAMILIES; f++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int single = 0; single < 2; single++) {
                const bool complex_one = f >= 3;
                const mpk_options o = options_of(kind);
                const int32_t nrhs[] = {1, kind % 2 ? 3 : 6};
                if (single && kind == 6) continue;
                run r = go(ctx, families[f],
                           complex_one ? (single ? MPK_C : MPK_Z) : (single ? MPK_S : MPK_D), &o);
                char what[100];
                snprintf(what, sizeof what, "%s, kind %d%s", families[f], kind,
                         single ? ", single" : "");
                mpk_block_info info;
                mpk_factor_block_info_get(r.fac, &info);
                if (!r.bf->border) {
                    staged += info.stages > 1;
                    compare(&r, what, nrhs, single ? 1 : 2);
                }
                end(&r);
            }
    assert_true(staged > 0);
    mpk_context_destroy(&ctx);
}

/* Level sets of the way back: those of the way there with each frame as late as what needs it allows. */
static void test_late_levels(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const mpk_options o = options_of(2);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int f = 0; f < FAMILIES; f++) {
        run r = go(ctx, families[f], f >= 3 ? MPK_Z : MPK_D, &o);
        const mpki_stages *stages = r.bf->stages;
        const mpki_ibcsr *x = &stages->index;
        mpki_levels late;
        assert_int_equal(mpki_cuda_sweeps_late_levels(ctx, stages, &late), MPK_OK);
        assert_int_equal(late.count, stages->levels.count);
        assert_int_equal(late.ptr[late.count], x->m);
        assert_int_equal(mpki_levels_check(ctx, x, &late), MPK_OK);
        int32_t *level = calloc((size_t)x->m + 1, 4);
        for (int32_t l = 0; l < late.count; l++)
            for (int32_t j = late.ptr[l]; j < late.ptr[l + 1]; j++) level[late.frame[j]] = l;
        for (int32_t k = 0; k < x->m; k++) {
            int32_t least = late.count;
            for (int64_t e = x->diagonal[k] + 1; e < x->ptr[k + 1]; e++)
                if (level[x->entry[e].other] < least) least = level[x->entry[e].other];
            assert_int_equal(level[k], least - 1);
        }
        free(level);
        mpki_levels_free(ctx, &late);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Packets whose flags have all of these (sweeps/packet.cuh). */
enum { DENSE = 16, JOINED = 32 };
static int64_t packets_with(const run *r, const mpki_cuda_sweeps_numbers *told, int flags) {
    const mpki_device *d = r->store.d;
    const int64_t bytes[] = {told->tasks * (int64_t)sizeof(mpki_sweeps_task), told->packets};
    const void *const from[] = {told->ticket, told->packet};
    char *here[2];
    int64_t count = 0;
    for (int k = 0; k < 2; k++) {
        here[k] = malloc((size_t)bytes[k] + 1);
        assert_non_null(here[k]);
        assert_int_equal(
            d->table->copy(d->cuda, here[k], bytes[k], from[k], bytes[k], bytes[k], 1, 0, NULL),
            MPK_OK);
    }
    assert_int_equal(d->table->synchronize(d->cuda, NULL), MPK_OK);
    for (int64_t t = 0; t < told->tasks; t++) {
        const char *at = here[1] + (int64_t)((mpki_sweeps_task *)here[0])[t].at * 16;
        for (uint32_t next = 1; next;) {
            uint16_t size;
            memcpy(&next, at, 4), memcpy(&size, at + 26, 2);
            count += ((uint8_t)at[7] & flags) == flags;
            at += size * 16;
        }
    }
    free(here[0]), free(here[1]);
    return count;
}

/* The processor's results, and what they were made with. */
static mpki_cuda_sweeps_numbers numbers_of(mpk_context *ctx, const char *spec, mpk_scalar scalar,
                                           const mpk_options *o, int64_t *joined) {
    const int32_t nrhs[] = {1, 2, 8};
    int32_t takes;
    char what[60];
    snprintf(what, sizeof what, "pivoting %d, butterfly %d", o->pivoting, o->butterfly);
    run r = go(ctx, spec, scalar, o);
    assert_null(r.bf->border);
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    const mpki_cuda_sweeps_numbers told = mpki_cuda_sweeps_told(s);
    *joined = packets_with(&r, &told, JOINED);
    assert_int_equal(packets_with(&r, &told, DENSE) + *joined, told.full);
    mpki_cuda_sweeps_free(ctx, &s);
    compare(&r, what, nrhs, 3);
    end(&r);
    return told;
}

static int64_t tiles_of(mpk_context *ctx, const char *spec, mpk_scalar scalar,
                        const mpk_options *o) {
    int64_t joined;
    return numbers_of(ctx, spec, scalar, o, &joined).tiles;
}

/* M of a real factor lies in tiles, whatever the pivoting; after butterflies it is no triangle, and of
 * complex ones it never does. */
static void test_pivots(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_options o = options_of(1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    o.block = 20;
    for (int pivoting = MPK_PIVOTING_NONE; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
        o.pivoting = (mpk_pivoting)pivoting;
        assert_true(tiles_of(ctx, "stokes mac 9", MPK_D, &o) > 0);
    }
    assert_int_equal(tiles_of(ctx, "stokes mac 9", MPK_Z, &o), 0);
    o = options_of(4);
    const int64_t without = tiles_of(ctx, "lp-kkt 40 70 3", MPK_D, &o);
    o.butterfly = MPK_ON;
    assert_in_range(tiles_of(ctx, "lp-kkt 40 70 3", MPK_D, &o), 1, without - 1);
    mpk_context_destroy(&ctx);
}

/* Real blocks that a unit waits for last are packets in full where they have entries enough, the last of them joined
 * with M; some units have two. */
static void test_full(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int64_t joined;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_options o = options_of(6);
    o.block = 16;
    assert_true(numbers_of(ctx, "nlpkkt 5", MPK_D, &o, &joined).full > joined);
    assert_true(joined > 0);
    o = options_of(7);
    o.block = 16;
    assert_true(numbers_of(ctx, "quasi-definite 20", MPK_D, &o, &joined).full > joined);
    assert_true(joined > 0);
    assert_int_equal(numbers_of(ctx, "stokes mac 9", MPK_Z, &o, &joined).full, 0);
    mpk_context_destroy(&ctx);
}

/* Every number of vectors, and matrices that are not symmetric. */
static void test_vectors(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int32_t nrhs[NRHS];
    for (int k = 0; k < NRHS; k++) nrhs[k] = k + 1;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        mpk_options o = options_of(1);
        run r = go(ctx, "stokes mac 5", (mpk_scalar)scalar, &o);
        compare(&r, "vectors", nrhs, NRHS);
        end(&r);
        o = options_of(3);
        o.level = -1;
        r = go(ctx, "convection 7 rows=shuffled", (mpk_scalar)scalar, &o);
        compare(&r, "not symmetric", nrhs + 3, 2);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* A row of many blocks is the work of several tasks; a level set of many rows has them together in
 * units. */
static void test_shapes(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const int32_t nrhs[] = {1, 5};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    enum { N = 1100 };
    for (int block = 1; block < 33; block += 30) {
        dense a = dense_new(N, MPK_D, MPK_SYMMETRIC);
        for (int i = 0; i < N; i++) dense_set(&a, i, i, 4 + i % 3);
        for (int i = 0; i < N - 3; i++)
            for (int k = N - 3; k < N; k++) dense_set(&a, k, i, sin(i + 3 * k));
        mpk_options o = options_of(7);
        o.block = block, o.ordering = MPK_ORDERING_NATURAL, o.strategy = MPK_STRATEGY_RB;
        mpk_problem *p = dense_problem(ctx, &a, 0);
        free(a.a);
        run r = go_on(ctx, p, &o);
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        const mpki_cuda_sweeps_numbers told = mpki_cuda_sweeps_told(s);
        mpki_cuda_sweeps_free(ctx, &s);
        if (block == 1) assert_true(told.tasks < 2 * N / 8);
        compare(&r, "arrow", nrhs, 2);
        end(&r);
    }
    mpk_options o = options_of(7);
    run r = go(ctx, "random 700 0.2 0.5", MPK_D, &o); /* full */
    int32_t takes;
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    assert_true(mpki_cuda_sweeps_told(s).parts > 0);
    mpki_cuda_sweeps_free(ctx, &s);
    compare(&r, "full", nrhs, 2);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* n = 1, and the largest and smallest numbers in mixed precision. */
static void test_small(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const int32_t nrhs[] = {1, 2};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int n = 1; n < 4; n++) {
        dense a = dense_new(n, MPK_D, MPK_SYMMETRIC);
        for (int i = 0; i < n; i++) dense_set(&a, i, (i + 1) % n, 2 + i);
        mpk_options o = options_of(1);
        mpk_problem *p = dense_problem(ctx, &a, 0);
        run r = go_on(ctx, p, &o);
        compare(&r, "small", nrhs, 2);
        end(&r);
        free(a.a);
    }
    mpk_options o = options_of(6);
    run r = go(ctx, "stokes mac 5", MPK_D, &o);
    for (int sign = -1; sign < 2; sign += 2) {
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        double *x = vectors(&r, 1), *y = vectors(&r, 1);
        for (int32_t i = 0; i < r.n; i++) x[i] = y[i] = ldexp(x[i], 300 * sign);
        on_processor(&r, MPK_PART_ALL, 1, x);
        on_device(&r, s, takes, MPK_PART_ALL, 1, y, 1);
        assert_true(distance(&r, 1, x, y) <= bound_of(&r, MPK_PART_ALL, false));
        assert_true(fabs(x[0]) > 0 && isfinite(x[0]));
        free(x), free(y);
        mpki_cuda_sweeps_free(ctx, &s);
    }
    end(&r);
    mpk_context_destroy(&ctx);
}

/* While it is measured how many warps are best, and after that, bits stay the same. */
static void test_trials(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_options o = options_of(1);
    run r = go(ctx, "nlpkkt 3", MPK_D, &o);
    int32_t takes, before, changed = 0;
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    double *first = vectors(&r, 1);
    before = mpki_cuda_sweeps_told(s).warps;
    on_device(&r, s, takes, MPK_PART_ALL, 1, first, 1);
    for (int k = 0; k < 24; k++) {
        double *x = vectors(&r, 1);
        on_device(&r, s, takes, MPK_PART_ALL, 1, x, 1);
        assert_memory_equal(first, x, (size_t)r.n * 8);
        free(x);
        changed += mpki_cuda_sweeps_told(s).warps != before;
    }
    const char *must = getenv("METAPACK_TEST_DEVICE"); /* the host's clock is made up */
    if (!must || strcmp(must, "1")) assert_true(changed > 0);
    assert_int_equal(mpki_cuda_sweeps_warps(s, 1), 1);
    double *x = vectors(&r, 1);
    on_device(&r, s, takes, MPK_PART_ALL, 1, x, 1);
    assert_memory_equal(first, x, (size_t)r.n * 8);
    free(x), free(first);
    mpki_cuda_sweeps_free(ctx, &s);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* NaN goes through, whatever its bits, and nothing waits for ever; the next application is not
 * touched by it. */
static void test_nan(void **unused) {
    (void)unused;
    static const uint64_t bits[] = {0x7ff8000000000000u, 0x7ffd5eed7ffd5eedu, 0xfff8000000000001u,
                                    0x7ff0000000000000u};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int sweeps = 0; sweeps < 3; sweeps += 2) {
        mpk_options o = options_of(1);
        o.solve_sweeps = sweeps;
        run r = go(ctx, "stokes mac 7", MPK_D, &o);
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        double *before = vectors(&r, 1), *after = vectors(&r, 1);
        on_device(&r, s, takes, MPK_PART_ALL, 1, before, 1);
        for (int k = 0; k < 4; k++)
            for (int part = MPK_PART_ALL; part <= MPK_PART_LT; part++) {
                double *x = vectors(&r, 1), *y = vectors(&r, 1);
                memcpy(&x[r.n / 3], &bits[k], 8);
                memcpy(&y[r.n / 3], &bits[k], 8);
                on_processor(&r, (mpk_part)part, 1, x);
                on_device(&r, s, takes, (mpk_part)part, 1, y, 1);
                int lost = 0;
                for (int32_t i = 0; i < r.n; i++) {
                    lost += !isfinite(y[i]);
                    /* blocks of the processor spread it to all of their rows */
                    if (!isfinite(y[i])) assert_false(isfinite(x[i]));
                    if (isfinite(x[i])) assert_true(fabs(x[i] - y[i]) <= 1e-9 * (1 + fabs(x[i])));
                }
                assert_true(lost > 0);
                free(x), free(y);
            }
        on_device(&r, s, takes, MPK_PART_ALL, 1, after, 1);
        assert_memory_equal(before, after, (size_t)r.n * 8);
        free(before), free(after);
        mpki_cuda_sweeps_free(ctx, &s);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Every allocation of the host's that fails, device memory that is not there, and a limit. */
static void test_failures(void **unused) {
    (void)unused;
    failing f = {0};
    mpk_allocator allocator = {failing_alloc, failing_release, &f};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    mpk_options o = options_of(1);
    run r = go(ctx, "stokes mac 5", MPK_D, &o);
    mpki_stages *stages = (mpki_stages *)(uintptr_t)r.bf->stages;
    int32_t takes;
    mpki_block_solver *s = NULL;
    int failed = 0;
    const int64_t held = f.held;
    for (int64_t k = 1;; k++) {
        mpki_clear_error(ctx);
        f.calls = 0, f.fail_at = k;
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        f.fail_at = 0;
        if (!mpk_failed(status)) break;
        assert_int_equal(status, MPK_ERR_MEMORY);
        assert_null(s);
        assert_int_equal(f.held, held);
        failed++;
    }
    assert_true(failed > 10);
    const int64_t bytes = mpki_cuda_sweeps_told(s).bytes;
    mpki_cuda_sweeps_free(ctx, &s);
    mpki_cuda_sweeps_free(ctx, &s);
    assert_int_equal(f.held, held);
    int refused = 0;
    for (int k = 0; k < 40; k++) {
        mpk_options limited = *stages->options;
        const mpk_options *before = stages->options;
        limited.device_memory_limit = (double)bytes * (k + 1) / 30;
        stages->options = &limited;
        mpki_clear_error(ctx);
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        stages->options = before;
        if (mpk_failed(status)) {
            const char *text = NULL;
            assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_MEMORY);
            assert_non_null(strstr(text, "device_memory_limit is"));
            assert_null(s);
            assert_true(limited.device_memory_limit < (double)bytes);
            refused++;
        } else { /* where there is little, arrays take no more than they need */
            assert_true((double)mpki_cuda_sweeps_told(s).bytes <= limited.device_memory_limit);
        }
        mpki_cuda_sweeps_free(ctx, &s);
        assert_int_equal(f.held, held);
    }
    assert_true(refused > 10 && refused < 30);
#ifdef METAPACK_CUDA_HOST
    const char *must = getenv("METAPACK_TEST_DEVICE");
    for (int64_t limit = 64; limit < 1 << 20 && !(must && !strcmp(must, "1")); limit *= 2) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        mpki_clear_error(ctx);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        unsetenv("METAPACK_CUDA_HOST_LIMIT");
        if (limit < 1 << 10) assert_int_equal(status, MPK_ERR_MEMORY);
        if (mpk_failed(status)) assert_null(s);
        mpki_cuda_sweeps_free(ctx, &s);
        assert_int_equal(f.held, held);
    }
#endif
    end(&r);
    mpk_context_destroy(&ctx);
    assert_int_equal(f.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials), /* first: the host's made-up clock begins anew */
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_pivots),      cmocka_unit_test(test_full),
        cmocka_unit_test(test_shapes),      cmocka_unit_test(test_small),
        cmocka_unit_test(test_nan),         cmocka_unit_test(test_failures),
        cmocka_unit_test(test_late_levels),
    };
    if (!device_there()) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
