/* SPDX-License-Identifier: BSD-3-Clause */
/* Applying a factor on blocks: the work space for it. */
#include "border.h"
#include "inverse.h"
#include "rows.h"
#include "tuning.h"

#include <string.h>

void mpki_block_solver_free(mpk_context *ctx, mpki_block_solver **handle) {
    mpki_block_solver *s = *handle;
    if (!s) return;
    mpki_rows_free(ctx, &s->own);
    mpki_release(ctx, s->y);
    mpki_release(ctx, s->z);
    mpki_release(ctx, s->other);
    mpki_release(ctx, s->border);
    mpki_release(ctx, (void *)s->done);
    mpki_release(ctx, s);
    *handle = NULL;
}

mpk_status mpki_block_solver_make(mpk_context *ctx, const mpki_blocks *bf, int threads,
                                  int32_t columns, mpki_block_solver **out, int32_t *takes) {
    const mpki_stages *stages = bf->stages;
    const int64_t n = stages->blocking->n, m = stages->index.m;
    const bool single = bf->scalar != stages->scalar && !bf->border && !bf->isai;
    const mpk_scalar scalar = single ? stages->scalar : bf->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int nrhs = columns > MPKI_SWEEP_RHS ? MPKI_SWEEP_RHS : columns;
    mpki_block_solver *s = MPKI_ZNEW(ctx, "solve", 1, mpki_block_solver);
    *out = s;
    *takes = nrhs;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->bf = bf;
    s->scalar = scalar, s->single = single;
    s->rows = bf->isai ? NULL : bf->rows;
    s->wholes = bf->in_blocks || bf->rows || bf->isai ? -1 : 0;
    s->threads = threads;
    s->nrhs = nrhs;
    s->jacobi = mpki_jacobi_sweeps(stages->options);
    s->bytes = bf->isai  ? (double)bf->isai->info.bytes / 2
               : s->rows ? (double)s->rows->swept
                         : (double)mpki_arena_bytes(&bf->arena);
    MPKI_DISPATCH(scalar, block_begin)(s);
    s->y = mpki_alloc(ctx, "solve", n * nrhs, size);
    s->z = mpki_alloc(ctx, "solve", n * nrhs, size);
    /* relaxation by frames has two vectors on the way */
    if (s->jacobi || bf->isai)
        s->other =
            mpki_alloc(ctx, "solve", n * nrhs * (bf->isai && bf->isai->frames ? 2 : 1), size);
    if (bf->border)
        s->border =
            mpki_alloc(ctx, "solve", mpki_border_work(bf->border, bf->scalar, threads, nrhs), 1);
    s->done = mpki_calloc(ctx, "solve", m, sizeof *s->done);
    const bool parallel = s->jacobi || bf->isai || m >= SHARE_WIDTH * (int64_t)stages->levels.count;
    if (!mpk_failed(mpki_failed(ctx)) && threads > 1 && parallel && s->bytes > SHARE_BYTES)
        s->pool = mpki_context_pool(ctx, threads, 16);
    if (mpk_failed(mpki_failed(ctx))) mpki_block_solver_free(ctx, out);
    return mpki_failed(ctx);
}

/* A conversion takes the time of some ten applications, and saves half of each: so it is made after
 * some more. Numbers between two parts of a factor have other places in rows: once parts were asked
 * for it is not made any more. */
static void turn_into_rows(mpki_block_solver *s, mpk_part part) {
    enum { WHOLES = 20 };
    if (s->wholes < 0) return;
    if (part != MPK_PART_ALL && part != MPK_PART_ABS) {
        s->wholes = -1;
        return;
    }
    if (++s->wholes < WHOLES) return;
    s->wholes = -1;
    if (mpk_failed(mpki_rows_make(s->ctx, s->bf, NULL, false, s->pool, &s->own)) &&
        !mpki_cancelled(s->ctx))
        mpki_clear_error(s->ctx); /* as before */
    if (!s->own) return;
    s->rows = s->own;
    s->bytes = (double)s->own->swept;
    s->runs = 0;
    s->time_s[0] = s->time_s[1] = 0;
}

mpk_status mpki_block_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    const size_t size = mpk_scalar_size(s->bf->stages->scalar);
    const size_t bytes = (size_t)s->bf->stages->blocking->n * size;
    for (int32_t r = 0; r < nrhs; r++)
        memmove((char *)x + (size_t)(r * ldx) * size, (const char *)b + (size_t)(r * ldb) * size,
                bytes);
    turn_into_rows(s, part);
    if (!mpki_cancelled(s->ctx)) MPKI_DISPATCH(s->scalar, block_solve)(s, part, nrhs, x, ldx);
    return mpki_cancelled(s->ctx) ? mpki_stopped(s->ctx, "solve") : MPK_OK;
}
