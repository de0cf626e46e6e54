/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses in place of a factor's triangular solves, on a device beside the processor
 * with the same factor: every part; and whole solutions. */
#include "engines/cpu/block_factor/in_blocks.h"

#include "../batch/device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm
#undef mpk_batch_llt
#undef mpk_batch_ldu

#include "engines/cuda/module/engine.h"
#include "engines/cuda/inverse/factor.h"
#include "engines/cuda/triangular/kernels/triangular.h"
#include "engines/cpu/block_factor/sweeps.h"
#include "../device_store.h"
#include "factor/apply.h"
#include "factor/stages.h"
#include "share.h"

#include <time.h>

typedef struct run {
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_factor *blocks, *inverses; /* the processor's, either way */
} run;

static mpk_factor *factor_of(mpk_context *ctx, const run *r, const mpk_options *o, bool exact) {
    mpk_factor *fac = NULL;
    const char *text;
    if (exact) mpki_engine_use(ctx, &in_blocks);
    const mpk_status status = mpk_factorize(ctx, r->an, NULL, o, &fac);
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) fail_msg("%s", text);
    mpki_engine_use(ctx, NULL);
    return fac;
}

static run go(mpk_context *ctx, mpk_problem *problem, mpk_options *o) {
    run r = {.problem = problem};
    /* a finished factor knows A no more: test_whole() has that pattern */
    if (o->isai_pattern == MPK_ISAI_OF_MATRIX) o->isai_pattern = MPK_ISAI_OF_FACTOR;
    mpk_problem_view_get(problem, &r.a);
    in_blocks_begin();
    assert_false(mpk_failed(mpk_analyse(ctx, problem, o, &r.an)));
    r.blocks = factor_of(ctx, &r, o, true);
    r.inverses = factor_of(ctx, &r, o, false);
    return r;
}

static void end(run *r) {
    mpk_factor_destroy(&r->blocks);
    mpk_factor_destroy(&r->inverses);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

/* Every part, from and to host memory, from and to the device's. */
static void compare(mpk_context *ctx, const run *r, const char *what) {
    const mpki_blocks *bf = r->blocks->blocks->numbers;
    const mpki_device *d = mpki_cuda_keep(ctx, 0);
    device_store store;
    mpki_isai_factor *f = NULL;
    mpk_isai_info info;
    mpk_block_info cpu;
    mpki_application m;
    const int64_t n = r->a.n, bytes = n * (int64_t)mpk_scalar_size(r->a.scalar);
    const bool single = bf->scalar == MPK_S || bf->scalar == MPK_C ||
                        bf->stages->options->isai_precision == MPK_PRECISION_SINGLE;
    device_store_make(d, bf, &store);
    assert_false(store.failed);
    const mpk_status made = mpki_isai_factor_make(ctx, bf->stages, &store.store, &f, &info);
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(made)) fail_msg("%s: %s", what, text);
    mpk_factor_block_info_get(r->inverses, &cpu);
    assert_int_equal(info.over, cpu.isai.over);
    /* rounding may make an entry of L^ zero */
    assert_true(fabs((double)(info.entries - cpu.isai.entries)) <= 0.01 * (double)cpu.isai.entries);
    if (bf->stages->options->isai_relax == 0) { /* what is held: M twice by rows, and vectors */
        const int64_t size = (int64_t)mpk_scalar_size(bf->scalar);
        const int64_t held = info.entries * (4 + size) * (bf->stages->ldu ? 1 : 2) + 16 * (n + 1) +
                             n * (16 + 16 + 4 * size + 1) + n * (3 * size + 16);
        assert_true(info.bytes <= held + 40 * 256);
    }
    assert_int_equal(mpki_apply_make(ctx, r->inverses, 1, 1, &m), MPK_OK);
    void *b = calloc(1, (size_t)bytes + 1), *x = calloc(1, (size_t)bytes + 1);
    void *y = calloc(1, (size_t)bytes + 1);
    for (int part = MPK_PART_L; part <= MPK_PART_ABS; part++) {
        if (part == MPK_PART_ABS && bf->stages->ldu) continue;
        for (int64_t i = 0; i < n; i++)
            scalar_store(r->a.scalar, b, i,
                         sin(i + 1.0) + (r->a.scalar >= MPK_C ? cos(2.0 * i) * I : 0));
        const mpk_status status = mpki_apply(&m, (mpk_part)part, 1, b, n, x, n);
        if (mpk_failed(status)) continue; /* ABS of a complex symmetric factor */
        for (int there = 0; there < 2; there++) {
            void *db = there ? device_up(d, b, bytes) : b;
            assert_int_equal(mpki_isai_factor_apply(f, (mpk_part)part, db, there ? db : y), MPK_OK);
            if (there)
                assert_int_equal(d->table->synchronize(d->cuda, d->table->sweeps->stream(d->cuda)),
                                 MPK_OK);
            if (there) device_down(d, db, y, bytes);
            double most = 0, norm = 0;
            for (int64_t i = 0; i < n; i++) {
                const double complex v = scalar_load(r->a.scalar, x, i);
                const double e = cabs(v - scalar_load(r->a.scalar, y, i));
                if (!(e <= most)) most = e;
                norm = fmax(norm, cabs(v));
            }
            if (!(most <= (single ? 2e-4 : 1e-11) * norm))
                fail_msg("%s, part %d: %g of %g", what, part, most, norm);
        }
    }
    free(b), free(x), free(y);
    mpki_apply_free(&m);
    mpki_isai_factor_free(ctx, &f);
    device_store_free(&store);
}

static mpk_options options_of(int kind) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = kind < 2 ? MPK_METHOD_ILU0 : MPK_METHOD_ILDLT;
    o.threads = 1;
    o.triangular = MPK_TRIANGULAR_ISAI;
    o.level = 1, o.block = 12;
    if (kind == 1) o.isai_power = 2, o.isai_pattern = MPK_ISAI_OF_MATRIX;
    if (kind == 3) o.isai_power = 2, o.isai_relax = 1;
    if (kind == 4) o.isai_pattern = MPK_ISAI_OF_BLOCKS, o.isai_block = 7;
    if (kind == 5) o.precision = MPK_PRECISION_SINGLE, o.isai_relax = 1;
    if (kind == 6)
        o.isai_precision = MPK_PRECISION_SINGLE, o.isai_limit = 9, o.isai_over = MPK_ISAI_LARGEST;
    /* by frames */
    if (kind >= 7) o.isai_frames = MPK_ON, o.isai_power = kind == 7 ? 1 : 2;
    if (kind == 8) o.isai_pattern = MPK_ISAI_OF_MATRIX, o.block = 5;
    if (kind == 9) o.isai_limit = 40, o.isai_over = MPK_ISAI_LESS, o.isai_relax = 1;
    if (kind == 10) o.isai_limit = 40, o.isai_over = MPK_ISAI_LARGEST;
    if (kind == 11) o.isai_power = 4, o.block = 32; /* long columns, too */
    return o;
}
enum { KINDS = 12 };

static void test_parts(void **unused) {
    (void)unused;
    static const char *const specs[] = {"helmholtz 2d 9 shift=0.1", "stokes mac 5"};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int hermitian = 0; hermitian < 2; hermitian++)
            for (int kind = 0; kind < KINDS; kind++) {
                if ((hermitian || kind == 5 || kind == 6) && scalar < MPK_C && scalar != MPK_D)
                    continue;
                if (hermitian && scalar < MPK_C) continue;
                if (kind >= 7 && scalar != MPK_D && scalar != MPK_Z) continue;
                mpk_options o = options_of(kind);
                char what[64];
                snprintf(what, sizeof what, "scalar %d, kind %d", (int)scalar, kind);
                run r = go(ctx, problem_of(ctx, specs[kind % 2], scalar, hermitian), &o);
                compare(ctx, &r, what);
                end(&r);
            }
    mpk_context_destroy(&ctx);
}

/* Columns of frames longer than a warp takes: a block has them, with one, two and four rows a
 * thread. */
static void test_long_frames(void **unused) {
    (void)unused;
    static const char *const specs[] = {"elements tetrahedra 6", "elements tetrahedra 8",
                                        "elements tetrahedra 10"};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 3; k++)
        for (int narrow = 0; narrow < 2; narrow++) {
            const mpk_scalar scalar = k == 0 && narrow ? MPK_Z : MPK_D;
            mpk_options o = options_of(11);
            o.isai_power = 5;
            if (narrow) o.block = 3;
            if (k == 1) o.factor_type = MPK_TYPE_LDU;
            run r = go(ctx, problem_of(ctx, specs[k], scalar, false), &o);
            compare(ctx, &r, specs[k]);
            mpk_block_info info;
            mpk_factor_block_info_get(r.inverses, &info);
            if (!narrow) assert_true(info.isai.longest > (k == 0 ? 129 : k == 1 ? 257 : 513));
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

static void test_general(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (mpk_scalar scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int kind = 0; kind < KINDS; kind++) {
            mpk_options o = options_of(kind);
            char what[64];
            if (kind >= 5 && scalar != MPK_D && scalar != MPK_Z) continue;
            o.krylov = MPK_KRYLOV_GMRES, o.factor_type = MPK_TYPE_LDU;
            snprintf(what, sizeof what, "general, scalar %d, kind %d", (int)scalar, kind);
            run r = go(ctx, problem_of(ctx, "convection 9 2d", scalar, false), &o);
            compare(ctx, &r, what);
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* From a problem to its solution, with new values after that; what fails on the way is said. */
static mpk_status solve(mpk_context *ctx, const char *spec, const mpk_options *o, int device,
                        int64_t *iterations, mpk_block_info *info) {
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view v;
    mpk_options mine = *o;
    double *b = NULL, *x = NULL;
    mine.device = device ? MPK_ON_CUDA : MPK_ON_CPU;
    mpk_status status = mpk_problem_generate(ctx, spec, 3, &p);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, p, &mine, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &mine, &fac);
    if (!mpk_failed(status)) status = mpk_refactorize(ctx, NULL, &mine, fac);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(p, &v);
        b = calloc((size_t)v.n, sizeof *b), x = calloc((size_t)v.n, sizeof *x);
        for (int32_t i = 0; i < v.n; i++) b[i] = 1;
        mpk_solve_info told = {0};
        status = mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &mine, &told);
        if (iterations) *iterations = told.krylov.iterations;
        if (info) mpk_factor_block_info_get(fac, info);
    }
    free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    return status;
}

static void test_whole(void **unused) {
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int general = 0; general < 2; general++) {
            mpk_context *ctx = NULL;
            mpk_options o = options_of(kind);
            mpk_block_info info[2];
            int64_t steps[2] = {0};
            const char *spec = general ? "convection 10 2d" : "helmholtz 2d 10 shift=0.05";
            if (kind == 5) continue; /* iterations depend on rounding there */
            o.krylov = general ? MPK_KRYLOV_IDR : MPK_KRYLOV_SQMR;
            if (general) o.factor_type = MPK_TYPE_LDU;
            for (int device = 0; device < 2; device++) {
                assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
                const mpk_status status =
                    solve(ctx, spec, &o, device, &steps[device], &info[device]);
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                if (status != MPK_OK) fail_msg("kind %d, %s: %s", kind, spec, text);
                mpk_context_destroy(&ctx);
            }
            assert_memory_equal(info[0].isai.columns, info[1].isai.columns,
                                sizeof info[0].isai.columns);
            assert_true(llabs(steps[0] - steps[1]) <= 2 + steps[0] / 4);
        }
}

/* Where products read nothing of the blocks, these are released; what they had is told still. Where
 * frames have several rows, their pivot blocks are read. */
static void test_memory(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind += 2) {
        mpk_context *ctx = NULL;
        mpk_problem *p = NULL;
        mpk_analysis *an = NULL;
        mpk_options o = options_of(kind);
        int64_t held[2][2], entries[2][2] = {{0}};
        o.device = MPK_ON_CUDA, o.krylov = MPK_KRYLOV_GMRES;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(
            mpk_problem_generate(ctx, kind ? "stokes mac 8" : "convection 24 2d", 3, &p), MPK_OK);
        assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
        for (int inverses = 0; inverses < 2; inverses++) {
            mpk_factor *fac = NULL;
            mpk_factor_info whole;
            mpk_block_info info;
            o.triangular = inverses ? MPK_TRIANGULAR_ISAI : MPK_TRIANGULAR_EXACT;
            for (int again = 0; again < 2; again++) { /* with what is kept for other values */
                assert_false(mpk_failed(again ? mpk_refactorize(ctx, NULL, &o, fac)
                                              : mpk_factorize(ctx, an, NULL, &o, &fac)));
                mpk_factor_info_get(fac, &whole);
                mpk_factor_block_info_get(fac, &info);
                held[inverses][again] = whole.bytes - info.isai.bytes;
                for (int64_t k = 0; k < fac->blocks->stages.index.nblocks; k++)
                    entries[inverses][again] +=
                        fac->engine->blocks->entries(fac->blocks->numbers, k);
            }
            mpk_factor_destroy(&fac);
        }
        for (int again = 0; again < 2; again++) {
            assert_true(entries[0][again] > 0);
            assert_int_equal(entries[0][again], entries[1][again]);
            if (kind) assert_int_equal(held[0][again], held[1][again]);
        }
        if (!kind) assert_true(held[1][0] <= held[0][0] / 20);
        if (!kind) assert_true(held[1][1] <= held[0][1] / 2);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
        mpk_context_destroy(&ctx);
    }
}

static mpki_block_engine timed;
static double pause_s[2]; /* that an application of each takes besides */
static int solvers;       /* that were made: exact ones, then of products */

static mpk_status counted(mpk_context *ctx, const mpki_blocks *f, int threads, int32_t columns,
                          mpki_block_solver **s, int32_t *takes) {
    solvers++;
    return mpki_cuda_blocks.solver_make(ctx, f, threads, columns, s, takes);
}

static mpk_status slow(mpki_block_solver *s, mpk_part part, int32_t count, const void *b,
                       int64_t ldb, void *x, int64_t ldx) {
    const struct timespec pause = {0, (long)(1e9 * pause_s[(solvers + 1) % 2])};
    nanosleep(&pause, NULL);
    return mpki_cuda_blocks.apply(s, part, count, b, ldb, x, ldx);
}

/* triangular auto takes what is quicker; the factor has the bits and the bytes of the one that is
 * asked for. */
static void test_auto(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind += 2)
        for (int way = 0; way < 3; way++) { /* products are quicker; exact; products, but far */
            mpk_context *ctx = NULL;
            mpk_problem *p = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac[2] = {NULL};
            mpk_block_info info[2];
            double x[2][200];
            mpk_options o = options_of(kind);
            o.device = MPK_ON_CUDA, o.krylov = MPK_KRYLOV_GMRES;
            o.isai_power = way == 2 ? 0 : 100;
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
            assert_int_equal(
                mpk_problem_generate(ctx, kind ? "stokes mac 5" : "convection 11 2d", 3, &p),
                MPK_OK);
            mpki_engine engine = *mpki_cuda_engine(ctx, 0);
            timed = mpki_cuda_blocks;
            timed.solver_make = counted, timed.apply = slow, engine.blocks = &timed;
            pause_s[0] = way == 1 ? 0 : 0.05, pause_s[1] = way == 1 ? 0.05 : 0, solvers = 0;
            assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
            for (int asked = 0; asked < 2; asked++) {
                o.triangular = !asked ? MPK_TRIANGULAR_AUTO
                               : way  ? MPK_TRIANGULAR_EXACT
                                      : MPK_TRIANGULAR_ISAI;
                if (!asked) mpki_engine_use(ctx, &engine);
                assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac[asked])));
                mpki_engine_use(ctx, NULL);
                mpk_factor_block_info_get(fac[asked], &info[asked]);
                const int32_t n = fac[asked]->an->n;
                assert_in_range(n, 1, 200);
                for (int32_t i = 0; i < n; i++) x[asked][i] = sin(i + 1.0);
                pause_s[0] = pause_s[1] = 0;
                assert_int_equal(mpk_solve_part(ctx, fac[asked], MPK_PART_ALL, 1, x[asked], n),
                                 MPK_OK);
            }
            assert_int_equal(fac[0]->options.triangular, o.triangular);
            assert_int_equal(info[0].isai.entries, info[1].isai.entries);
            assert_int_equal(info[0].bytes, info[1].bytes);
            assert_true(info[0].exact_s > 0 && info[0].inverses_s > 0);
            assert_int_equal(info[0].inverses_error > 0.1, way == 2);
            assert_memory_equal(x[0], x[1], (size_t)fac[0]->an->n * sizeof(double));
            for (int k = 0; k < 2; k++) mpk_factor_destroy(&fac[k]);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
            mpk_context_destroy(&ctx);
        }
}

static int stop(const char *stage, double fraction, void *user) {
    (void)fraction;
    return !strcmp(stage, "factorize") && ++*(int *)user > 1;
}

static void test_failures(void **unused) {
    (void)unused;
    static const char *const specs[] = {"convection 5 2d", "stokes mac 4"};
    const char *spec = specs[0];
    mpk_options o = options_of(1);
    for (int frames = 0; frames < 2; frames++) {
        mpk_options mine = options_of(frames ? 10 : 1);
        mine.krylov = MPK_KRYLOV_GMRES;
        bool through = false;
        for (int64_t k = 1; !through; k += 1 + (test_all_cases() ? 0 : k / (frames ? 4 : 8))) {
            failing f = {.fail_at = k};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            mpk_status status = mpk_context_create(&allocator, &ctx);
            if (!mpk_failed(status)) status = solve(ctx, specs[frames], &mine, 1, NULL, NULL);
            through = f.calls < k;
            if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
            if (through) assert_false(mpk_failed(status));
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
    }
    o.krylov = MPK_KRYLOV_GMRES;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    int64_t at;
    const char *text;
    /* blocks in less precision by their sizes are the processor's alone */
    mpk_options framed = options_of(2);
    framed.krylov = MPK_KRYLOV_GMRES, framed.block_tolerance = 1e-3;
    assert_int_equal(solve(ctx, "stokes mac 5", &framed, 1, NULL, NULL), MPK_ERR_UNSUPPORTED);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "block_tolerance does not run on a device"));
    framed.block_tolerance = 0, framed.isai_frames = MPK_ON, framed.isai_limit = 3;
    assert_int_equal(solve(ctx, "stokes mac 5", &framed, 1, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, &at, &text);
    assert_non_null(strstr(text, "the limit is 3"));
    assert_true(at >= 0);
    /* a column over the limit is named */
    o.isai_limit = 2;
    assert_int_equal(solve(ctx, spec, &o, 1, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, &at, &text);
    assert_non_null(strstr(text, "the limit is 2"));
    assert_true(at >= 0);
    o.isai_limit = 0;
    o.device_memory_limit = 40000;
    assert_int_equal(solve(ctx, spec, &o, 1, NULL, NULL), MPK_ERR_MEMORY);
    o.device_memory_limit = 0;
    int calls = 0;
    mpk_context_set_progress(ctx, stop, &calls);
    assert_int_equal(solve(ctx, spec, &o, 1, NULL, NULL), MPK_ERR_CANCELLED);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_long_frames),
        cmocka_unit_test(test_general),  cmocka_unit_test(test_whole),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_auto),
        cmocka_unit_test(test_failures),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
