/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a factor on blocks: the whole of it on the accelerator, where it can solve, its parts
 * and all other ways by the processor. */
#include "engines/cpu/block_factor/inverse.h"
#include "solves.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

/* Behind the interface's pointer: the processor's solver, and work space for this one. */
typedef struct offload_solver {
    mpki_block_solver *host;
    mpk_context *ctx;
    const mpki_blocks *bf;
    int32_t host_takes;
    void **pieces;        /* by frame: the block of its vectors; NULL: the processor solves */
    void *rows, *vectors; /* right-hand sides of all frames; of the border by position */
} offload_solver;

/* Exact, of numbers that are there. */
static bool solves_there(const mpki_blocks *f) {
    return f->offload && f->offload->solves && !f->isai && !f->narrow &&
           mpki_jacobi_sweeps(f->stages->options) == 0;
}

/* Without memory for more, the processor. */
static void solve_here(offload_solver *s, int32_t *takes) {
    mpki_release(s->ctx, s->pieces);
    s->pieces = NULL;
    *takes = s->host_takes;
    mpki_clear_error(s->ctx);
}

void mpki_offload_solver_free(mpk_context *ctx, mpki_block_solver **handle) {
    offload_solver *s = (offload_solver *)(void *)*handle;
    if (!s) return;
    mpki_cpu_blocks.solver_free(ctx, &s->host);
    mpki_release(ctx, s->pieces);
    mpki_release(ctx, s->rows);
    mpki_release(ctx, s->vectors);
    mpki_release(ctx, s);
    *handle = NULL;
}

mpk_status mpki_offload_solver_make(mpk_context *ctx, const mpki_blocks *f, int threads,
                                    int32_t columns, mpki_block_solver **out, int32_t *takes) {
    offload_solver *s = MPKI_ZNEW(ctx, STAGE, 1, offload_solver);
    *out = (mpki_block_solver *)(void *)s;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->bf = f;
    mpk_status status =
        mpki_cpu_blocks.solver_make(ctx, f, threads, columns, &s->host, &s->host_takes);
    *takes = s->host_takes;
    if (!mpk_failed(status) && solves_there(f)) {
        const int64_t frames = f->stages->blocking->nframes, n = f->offload->n;
        *takes = columns < n ? columns : (int32_t)n;
        const size_t size = mpk_scalar_size(f->offload->scalar);
        s->pieces = MPKI_NEW(ctx, STAGE, frames, void *);
        s->rows = mpki_alloc(ctx, STAGE, frames * n * *takes, size);
        if (f->border)
            s->vectors = mpki_alloc(ctx, STAGE, f->stages->blocking->n * s->host_takes, size);
        if (mpk_failed(mpki_failed(ctx))) solve_here(s, takes);
    }
    if (mpk_failed(status)) mpki_offload_solver_free(ctx, out);
    return status;
}

static mpk_status told(const offload_solver *s, mpk_status status, const char *what) {
    const mpk_accelerator *a = s->bf->offload->on->table;
    if (!mpk_failed(status) || mpk_failed(mpki_failed(s->ctx))) return status;
    const char *why = a->last_error ? a->last_error(a->self) : NULL;
    return mpki_error(s->ctx, status, STAGE, -1, "%s: %s failed%s%s", a->name, what,
                      why ? ": " : "", why ? why : "");
}

/* The first `rows` rows of all frames' blocks of a kind, there or back. */
static mpk_status move(const offload_solver *s, int vector, int rows, bool back) {
    const struct mpki_offload *o = s->bf->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t frames = s->bf->stages->blocking->nframes;
    const int64_t bytes = rows * mpki_offload_bytes(o) / o->n;
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < frames; k++) s->pieces[k] = o->solves->vector[vector][k];
    o->on->report.bytes += frames * bytes;
    if (back && a->gather)
        status = a->gather(a->self, frames, s->rows, s->pieces, bytes);
    else if (!back && a->scatter)
        status = a->scatter(a->self, frames, s->pieces, s->rows, bytes);
    else
        for (int64_t k = 0; k < frames && !mpk_failed(status); k++) {
            char *here = (char *)s->rows + k * bytes;
            status = back ? a->download(a->self, here, s->pieces[k], bytes)
                          : a->upload(a->self, s->pieces[k], here, bytes);
        }
    return told(s, status, back ? "download" : "upload");
}

static mpk_status run_step(const offload_solver *s, const mpki_sweep_step *step) {
    const struct mpki_offload_solves *v = s->bf->offload->solves;
    const bool downdates = step->kernel == MPKI_KERNEL_D;
    const mpk_status status = mpki_offload_sweep(
        s->bf, step->kernel, step->blocks, v->to + step->to, downdates ? v->a + step->at : NULL,
        downdates ? v->b + step->at : NULL, downdates ? v->units + step->at : NULL,
        step->first < 0 ? NULL : v->first + step->first);
    return told(s, status, "a solve");
}

/* What stands between the two sweeps for rows of the dense pivot: L, D and L^T of it, by the
 * processor. */
static mpk_status through_border(const offload_solver *s, int rows) {
    static const mpk_part parts[] = {MPK_PART_L, MPK_PART_D, MPK_PART_LT};
    const mpki_blocks *f = s->bf;
    const mpk_scalar scalar = f->offload->scalar;
    mpk_status status = f->border ? move(s, MPKI_VECTOR_HALFWAY, rows, true) : MPK_OK;
    if (!f->border || mpk_failed(status)) return status;
    for (int first = 0; first < rows; first += s->host_takes) {
        const int some = rows - first < s->host_takes ? rows - first : s->host_takes;
        MPKI_DISPATCH(scalar, offload_border_rows)(f, rows, first, some, true, s->rows, s->vectors);
        for (int k = 0; k < 3; k++)
            MPKI_DISPATCH(scalar, border_apply)(s->host, parts[k], some, s->vectors);
        MPKI_DISPATCH(scalar, offload_border_rows)
        (f, rows, first, some, false, s->rows, s->vectors);
    }
    return move(s, MPKI_VECTOR_HALFWAY, rows, false);
}

/* The caller's vectors in double, these in single: a power of two that brings the largest entry
 * near 1, where it is far from that. */
static double unit_of(const offload_solver *s, int32_t nrhs, const void *b, int64_t ldb) {
    const mpki_stages *stages = s->bf->stages;
    const mpk_scalar scalar = stages->scalar;
    const bool narrow = s->bf->scalar != scalar;
    const int parts = scalar == MPK_Z ? 2 : 1;
    double most = 0;
    int exponent;
    for (int32_t r = 0; narrow && r < nrhs; r++)
        for (int64_t i = 0; i < stages->blocking->n; i++)
            for (int k = 0; k < parts; k++) {
                const double v = ((const double *)b)[(r * ldb + i) * parts + k];
                const double by = stages->row_scale ? stages->row_scale[i] : stages->scale[i];
                most = fmax(most, fabs(v) * by);
            }
    if (!(most > 0) || !isfinite(most) || (most > 0x1p-40 && most < 0x1p40)) return 1;
    frexp(most, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

static mpk_status apply_there(const offload_solver *s, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx) {
    const mpki_blocks *f = s->bf;
    struct mpki_offload *o = f->offload;
    const struct mpki_offload_solves *v = o->solves;
    const double began = mpki_now_s(), unit = unit_of(s, nrhs, b, ldb);
    mpki_asking asking = {s->ctx, STAGE, 0};
    MPKI_DISPATCH(o->scalar, offload_enter)(f, nrhs, b, ldb, unit, s->rows);
    mpk_status status = move(s, MPKI_VECTOR_GIVEN, nrhs, false);
    for (int64_t k = 0; k < v->steps && !mpk_failed(status); k++) {
        if (k == v->halfway) status = through_border(s, nrhs);
        if (!mpk_failed(status)) status = run_step(s, &v->step[k]);
        if (!mpk_failed(status) && mpki_asks(&asking, MPKI_ASK / 256))
            status = mpki_stopped(s->ctx, STAGE);
    }
    if (!mpk_failed(status)) status = move(s, MPKI_VECTOR_GIVEN, nrhs, true);
    if (!mpk_failed(status))
        MPKI_DISPATCH(o->scalar, offload_leave)(f, nrhs, s->rows, unit, x, ldx);
    o->on->report.solves += nrhs;
    o->on->report.solve_s += mpki_now_s() - began;
    return status;
}

mpk_status mpki_offload_apply(mpki_block_solver *solver, mpk_part part, int32_t nrhs, const void *b,
                              int64_t ldb, void *x, int64_t ldx) {
    offload_solver *s = (offload_solver *)(void *)solver;
    mpk_status status = MPK_OK;
    if (s->pieces && part == MPK_PART_ALL) {
        mpki_lock *lock = &s->bf->offload->on->lock;
        mpki_lock_take(lock);
        status = apply_there(s, nrhs, b, ldb, x, ldx);
        mpki_lock_give(lock);
        return status;
    }
    const size_t size = mpk_scalar_size(s->bf->stages->scalar);
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r += s->host_takes)
        status = mpki_cpu_blocks.apply(s->host, part,
                                       nrhs - r < s->host_takes ? nrhs - r : s->host_takes,
                                       (const char *)b + (size_t)(r * ldb) * size, ldb,
                                       (char *)x + (size_t)(r * ldx) * size, ldx);
    return status;
}
