/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with an approximate inverse on a device, and a copy of it. */
#include "state.h"

#include <string.h>

static const char STAGE[] = "isai";

/* Vectors of an application: what is on the host's side, in and out; two for relaxation. */
enum { VECTORS = 4, MOST = 8 };

static mpk_status allocate_columns(mpki_inverse *s, int columns) {
    if (s->columns >= columns) return MPK_OK;
    mpki_cuda_isai_give(&s->job, &s->work);
    s->columns = 0;
    const mpk_status status = mpki_cuda_isai_take(
        &s->job,
        VECTORS *
            mpki_cuda_isai_rounded(s->job.n * columns * (int64_t)mpk_scalar_size(s->job.scalar)),
        &s->work);
    if (!mpk_failed(status)) s->columns = columns;
    return status;
}

/* y := M x, M^T x, M^H x; A likewise. All leading dimensions are n. */
static mpki_isai_times times_m(const mpki_inverse *s, mpk_isai_side side) {
    const bool turned = side != MPK_ISAI_AS_IS;
    const mpki_isai_sparse *m = turned ? &s->m : &s->m_rows;
    const int64_t half =
        mpki_cuda_isai_rounded(m->entries * (int64_t)mpk_scalar_size(s->job.scalar) / 2);
    return (mpki_isai_times){.scalar = s->job.scalar,
                             .n = s->job.n,
                             .entries = m->entries,
                             .ptr = m->a.ptr,
                             .index = m->a.index,
                             .val = s->single ? s->singles.at + (turned ? 0 : half) : m->a.val,
                             .single = s->single,
                             .conjugate = side == MPK_ISAI_ADJOINT,
                             .diagonal = s->dinv};
}

static mpki_isai_times times_a(const mpki_inverse *s, mpk_isai_side side) {
    const mpki_isai_sparse *a = side != MPK_ISAI_AS_IS ? &s->a : &s->a_rows;
    return (mpki_isai_times){.scalar = s->job.scalar,
                             .n = s->job.n,
                             .entries = a->entries,
                             .ptr = a->a.ptr,
                             .index = a->a.index,
                             .val = a->a.val,
                             .conjugate = side == MPK_ISAI_ADJOINT,
                             .diagonal = s->dinv,
                             .inverse_diagonal = s->triangle,
                             .no_diagonal = !s->triangle};
}

/* Some vectors with their leading dimension. */
typedef struct vectors {
    void *at;
    int64_t ld;
} vectors;

/* y := p x, or with b: y := b - p x; added to y where p says so. */
static mpk_status times(const mpki_inverse *s, mpki_isai_times p, int nrhs, vectors x,
                        const vectors *b, vectors y) {
    p.nrhs = nrhs, p.x = x.at, p.ldx = x.ld, p.y = y.at, p.ldy = y.ld;
    if (b) p.b = b->at, p.ldb = b->ld;
    return mpki_cuda_isai_status(&s->job, s->job.t->multiply(s->job.d->cuda, &p));
}

/* x := M b, then x += M (b - A x). */
static mpk_status relaxed(const mpki_inverse *s, mpk_isai_side side, int nrhs, vectors b, vectors x,
                          vectors r) {
    mpki_isai_times m = times_m(s, side);
    const mpki_isai_times a = times_a(s, side);
    mpk_status status = times(s, m, nrhs, b, NULL, x);
    m.add = 1;
    for (int k = 0; k < s->o.relax && !mpk_failed(status); k++) {
        status = times(s, a, nrhs, x, &b, r);
        if (!mpk_failed(status)) status = times(s, m, nrhs, r, NULL, x);
    }
    return status;
}

/* x := G G^H b, and relaxation with A = A^H; of the transpose conjugates of all. */
static mpk_status definite(const mpki_inverse *s, mpk_isai_side side, int nrhs, vectors b,
                           vectors x, vectors r, vectors t) {
    const bool turned = side == MPK_ISAI_TRANSPOSED;
    mpki_isai_times adjoint = times_m(s, MPK_ISAI_ADJOINT), g = times_m(s, MPK_ISAI_AS_IS);
    mpki_isai_times a = times_a(s, MPK_ISAI_AS_IS);
    mpk_status status = MPK_OK;
    adjoint.conjugate = !turned, g.conjugate = a.conjugate = turned;
    for (int k = 0; k <= s->o.relax && !mpk_failed(status); k++) {
        if (k > 0) status = times(s, a, nrhs, x, &b, r);
        g.add = k > 0;
        if (!mpk_failed(status)) status = times(s, adjoint, nrhs, k ? r : b, NULL, t);
        if (!mpk_failed(status)) status = times(s, g, nrhs, t, NULL, x);
    }
    return status;
}

static mpk_status some(mpki_inverse *s, mpk_isai_side side, int nrhs, const void *b, int64_t ldb,
                       void *x, int64_t ldx) {
    mpki_isai_job *job = &s->job;
    const mpki_cuda_table *table = job->d->table;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar), n = job->n;
    const bool b_here = table->is_device(job->d->cuda, b),
               x_here = table->is_device(job->d->cuda, x);
    const int64_t each = mpki_cuda_isai_rounded(n * s->columns * size);
    vectors in = {(void *)(uintptr_t)b, ldb}, out = {x, ldx};
    const vectors r = {s->work.at + 2 * each, n}, t = {s->work.at + 3 * each, n};
    mpk_status status = MPK_OK;
    if (!b_here) {
        in = (vectors){s->work.at, n};
        status =
            mpki_cuda_isai_status(job, table->copy(job->d->cuda, in.at, n * size, b, ldb * size,
                                                   n * size, nrhs, 1, job->stream));
    }
    /* a product does not write what it reads */
    const bool own = !x_here || b == x;
    if (own) out = (vectors){s->work.at + each, n};
    if (!mpk_failed(status))
        status = s->o.kind == MPK_ISAI_DEFINITE ? definite(s, side, nrhs, in, out, r, t)
                                                : relaxed(s, side, nrhs, in, out, r);
    if (mpk_failed(status) || !own) return status;
    if (!x_here)
        return mpki_cuda_isai_status(job, table->copy(job->d->cuda, x, ldx * size, out.at, n * size,
                                                      n * size, nrhs, 0, job->stream));
    for (int k = 0; k < nrhs && !mpk_failed(status); k++)
        status = mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, (char *)x + k * ldx * size,
                                                          (char *)out.at + k * n * size, n * size));
    return status;
}

mpk_status mpki_cuda_isai_apply(mpk_context *ctx, mpki_inverse *s, mpk_isai_side side, int32_t nrhs,
                                const void *b, int64_t ldb, void *x, int64_t ldx) {
    mpki_isai_job *job = &s->job;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar);
    job->ctx = ctx;
    if (!s->ready) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "there are no numbers");
    if (job->n == 0 || nrhs == 0) return MPK_OK;
    mpk_status status = allocate_columns(s, nrhs < MOST ? nrhs : MOST);
    /* what the caller has queued in other streams */
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, mpki_cuda_begin(job->d));
    for (int32_t k = 0; k < nrhs && !mpk_failed(status); k += MOST)
        status = some(s, side, nrhs - k < MOST ? nrhs - k : MOST, (const char *)b + k * ldb * size,
                      ldb, (char *)x + k * ldx * size, ldx);
    return mpk_failed(status) ? status : mpki_cuda_isai_wait(job);
}

/* ---- a copy ---------------------------------------------------------------------------------- */

/* M on the host. */
typedef struct copy {
    int64_t *ptr, *to_ptr;
    int32_t *row, *to_row;
    char *val, *to_val, *dinv;
} copy;

/* Entry e, in the matrix's precision. */
static void copy_value(const mpki_inverse *s, const copy *c, int64_t e, char *to) {
    const size_t size = mpk_scalar_size(s->job.scalar);
    if (!s->single) {
        memcpy(to, c->val + (size_t)e * size, size);
        return;
    }
    const int parts = s->job.scalar == MPK_Z ? 2 : 1;
    for (int q = 0; q < parts; q++) {
        const double x = ((const float *)(const void *)c->val)[e * parts + q];
        memcpy(to + (size_t)q * sizeof x, &x, sizeof x);
    }
}

/* The diagonal put among the others. */
static void merge(const mpki_inverse *s, copy *c) {
    const size_t size = mpk_scalar_size(s->job.scalar);
    int64_t at = 0;
    for (int32_t j = 0; j < s->job.n; j++) {
        bool placed = false;
        c->to_ptr[j] = at;
        for (int64_t e = c->ptr[j]; e <= c->ptr[j + 1]; e++) {
            const bool last = e == c->ptr[j + 1];
            if (!placed && (last || c->row[e] > j)) {
                c->to_row[at] = j;
                memcpy(c->to_val + (size_t)at * size, c->dinv + (size_t)j * size, size);
                placed = true, at++;
            }
            if (last) break;
            c->to_row[at] = c->row[e];
            copy_value(s, c, e, c->to_val + (size_t)at * size);
            at++;
        }
    }
    c->to_ptr[s->job.n] = at;
}

static mpk_status hand_out(const mpki_isai_job *job, void *to, const void *from, int64_t bytes) {
    if (!to || bytes == 0) return MPK_OK;
    if (job->d->table->is_device(job->d->cuda, to))
        return mpki_cuda_isai_to_device(job, to, from, bytes);
    memcpy(to, from, (size_t)bytes);
    return MPK_OK;
}

mpk_status mpki_cuda_isai_get(mpk_context *ctx, mpki_inverse *s, int64_t *ptr, int32_t *row,
                              void *val) {
    mpki_isai_job *job = &s->job;
    const int64_t n = job->n, count = s->m.entries, all = count + n;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar);
    job->ctx = ctx;
    if (!s->ready) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "there are no numbers");
    copy c = {.ptr = MPKI_NEW(ctx, STAGE, n + 1, int64_t),
              .to_ptr = MPKI_NEW(ctx, STAGE, n + 1, int64_t),
              .row = MPKI_NEW(ctx, STAGE, count, int32_t),
              .to_row = MPKI_NEW(ctx, STAGE, all, int32_t),
              .val = mpki_alloc(ctx, STAGE, count, (size_t)size),
              .to_val = mpki_alloc(ctx, STAGE, all, (size_t)size),
              .dinv = mpki_alloc(ctx, STAGE, n, (size_t)size)};
    mpk_status status = c.ptr && c.to_ptr && c.row && c.to_row && c.val && c.to_val && c.dinv
                            ? MPK_OK
                            : mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, c.ptr, s->m.a.ptr, (n + 1) * 8);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, c.row, s->m.a.index, count * 4);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, c.val, s->single ? s->singles.at : s->m.a.val,
                                        count * size / (s->single ? 2 : 1));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, c.dinv, s->dinv, n * size);
    if (!mpk_failed(status)) {
        merge(s, &c);
        status = hand_out(job, ptr, c.to_ptr, (n + 1) * 8);
    }
    if (!mpk_failed(status)) status = hand_out(job, row, c.to_row, all * 4);
    if (!mpk_failed(status)) status = hand_out(job, val, c.to_val, all * size);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    void *const arrays[] = {c.ptr, c.to_ptr, c.row, c.to_row, c.val, c.to_val, c.dinv};
    for (int k = 0; k < 7; k++) mpki_release(ctx, arrays[k]);
    return status;
}
