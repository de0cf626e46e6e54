/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_SWEEPS_H
#define TESTS_DEVICE_SWEEPS_H
/** A factor of the processor's and its copy on the device, and solves with both, which are
 *  compared. */
#include "engines/cpu/block_factor/in_blocks.h"

#include "../batch/device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm
#undef mpk_batch_llt
#undef mpk_batch_ldu

#include "engines/cuda/triangular/solve.h"
#include "engines/cuda/triangular/kernels/triangular.h"
#include "engines/cpu/block_factor/sweeps.h"
#include "../device_store.h"
#include "factor/stages.h"

enum { GAP = 3 }; /* rows of a vector that are not touched */

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

static inline run go_on(mpk_context *ctx, mpk_problem *problem, const mpk_options *o) {
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

static inline run go(mpk_context *ctx, const char *spec, mpk_scalar scalar, const mpk_options *o) {
    return go_on(ctx, problem_of(ctx, spec, scalar, false), o);
}

static inline void end(run *r) {
    device_store_free(&r->store);
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
}

static inline mpk_options options_of(int kind) {
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

static inline void *vectors(const run *r, int32_t nrhs) {
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

static inline void on_processor(const run *r, mpk_part part, int32_t nrhs, void *x) {
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
static inline void on_device(const run *r, mpki_block_solver *s, int32_t takes, mpk_part part,
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

static inline double distance(const run *r, int32_t nrhs, const void *x, const void *y) {
    double most = 0, norm = 0;
    for (int64_t k = 0; k < (r->n + GAP) * (int64_t)nrhs; k++) {
        const double complex v = scalar_load(r->scalar, x, k);
        const double d = cabs(v - scalar_load(r->scalar, y, k));
        if (!(d <= most)) most = d;
        if (cabs(v) > norm) norm = cabs(v);
    }
    return norm > 0 ? most / norm : most;
}

/* With vectors in double sums are double on both sides, whatever the factor is stored in; but |D|
 * is stored as that is on the device. full: M times a block is a number there, rounded before x is
 * known, which costs as many digits as M has entries that cancel. */
static inline double bound_of(const run *r, int part, bool full) {
    const bool stored = r->bf->scalar == MPK_S || r->bf->scalar == MPK_C;
    const bool vectors = r->scalar == MPK_S || r->scalar == MPK_C;
    return vectors || (stored && part == MPK_PART_ABS) ? 2e-4 : full ? 1e-11 : 1e-12;
}

static inline mpki_block_solver *solver_of(const run *r, int32_t columns, int32_t *takes) {
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

static inline void compare(const run *r, const char *what, const int32_t *nrhs, int count) {
    for (int part = MPK_PART_ALL; part <= MPK_PART_ABS; part++) {
        if (part == MPK_PART_ABS && r->bf->stages->ldu) continue;
        for (int k = 0; k < count; k++) {
            int32_t takes = 0;
            mpki_block_solver *s = solver_of(r, nrhs[k], &takes);
            void *x = vectors(r, nrhs[k]), *y = vectors(r, nrhs[k]), *z = vectors(r, nrhs[k]);
            on_processor(r, (mpk_part)part, nrhs[k], x);
            on_device(r, s, takes, (mpk_part)part, nrhs[k], y, (part + k) % 4);
            const double d = distance(r, nrhs[k], x, y);
            if (!(d <= bound_of(r, part, mpki_cuda_sweeps_summary(s).full > 0)))
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

#endif
