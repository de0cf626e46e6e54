/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for approximate inverses (engines/interface/engine.h): of a matrix given by
 * columns. */
#include "engines/cuda/module/engine.h"
#include "state.h"

#include <string.h>

static const char STAGE[] = "isai";

static void end(mpk_context *ctx, mpki_inverse **handle) {
    mpki_inverse *s = *handle;
    if (!s) return;
    s->job.ctx = ctx;
    mpki_isai_sparse *const matrices[] = {&s->a, &s->a_rows, &s->m, &s->m_rows};
    mpki_isai_piece *const pieces[] = {&s->given, &s->diagonals, &s->singles, &s->failed, &s->work};
    for (int k = 0; k < 4; k++) mpki_cuda_isai_give_sparse(&s->job, matrices[k]);
    for (int k = 0; k < 5; k++) mpki_cuda_isai_give(&s->job, pieces[k]);
    mpki_cuda_isai_give_reserve(&s->job, &s->job.work);
    for (int k = 0; k < 2; k++) mpki_cuda_isai_give_reserve(&s->job, &s->job.held[k]);
    mpki_release(ctx, s);
    *handle = NULL;
}

/* ---- what is given --------------------------------------------------------------------------- */

/* An array of the caller's on the device: his own, or a copy in *p. */
static mpk_status bring(mpki_isai_job *job, const void *from, int64_t bytes, mpki_isai_piece *p,
                        const void **at) {
    *at = from;
    if (bytes == 0 || job->d->table->is_device(job->d->cuda, from)) return MPK_OK;
    const mpk_status status = mpki_cuda_isai_borrow(job, bytes, p);
    *at = p->at;
    return mpk_failed(status) ? status : mpki_cuda_isai_to_device(job, p->at, from, bytes);
}

/* A pattern of the caller's, brought. */
typedef struct pattern {
    mpki_isai_piece ptr_piece, row_piece;
    mpki_isai_sparse s; /* pieces are the above */
} pattern;

static void pattern_free(mpki_isai_job *job, pattern *p) {
    mpki_cuda_isai_give(job, &p->ptr_piece);
    mpki_cuda_isai_give(job, &p->row_piece);
}

static mpk_status disordered(mpki_isai_job *job, int32_t column, const char *whose) {
    return mpki_error(job->ctx, MPK_ERR_INPUT, STAGE, column,
                      "column %d of %s: pointers must not descend, and rows must ascend, from 0 to "
                      "n - 1",
                      column + 1, whose);
}

/* Queued; *flag is on the device. */
static mpk_status launch_check(mpki_isai_job *job, const pattern *p, int32_t *flag) {
    const mpk_status status = mpki_cuda_isai_to_device(job, flag, &job->n, sizeof job->n);
    return mpk_failed(status)
               ? status
               : mpki_cuda_isai_status(job, job->t->check(job->d->cuda, job->n, p->s.entries,
                                                          p->s.a.ptr, p->s.a.index, flag));
}

static mpk_status check_pattern(mpki_isai_job *job, const pattern *p, const char *whose) {
    mpki_isai_piece flag = {0};
    int32_t bad = job->n;
    mpk_status status = mpki_cuda_isai_borrow(job, sizeof bad, &flag);
    if (!mpk_failed(status)) status = launch_check(job, p, (int32_t *)(void *)flag.at);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &bad, flag.at, sizeof bad);
    mpki_cuda_isai_give(job, &flag);
    return mpk_failed(status) || bad == job->n ? status : disordered(job, bad, whose);
}

/* The first and the last of n + 1 pointers, as columns of a copy that are so far apart. */
static mpk_status ends_of(const mpki_isai_job *job, const int64_t *ptr, int64_t ends[2]) {
    enum { FAR = 1 << 30 };
    const int64_t size = sizeof *ptr, apart = job->n * size;
    if (apart == 0 || apart > FAR) {
        const mpk_status status = mpki_cuda_isai_to_host(job, &ends[0], ptr, size);
        return mpk_failed(status) ? status
                                  : mpki_cuda_isai_to_host(job, &ends[1], ptr + job->n, size);
    }
    const mpk_status status = mpki_cuda_isai_status(
        job, job->d->table->copy(job->d->cuda, ends, size, ptr, apart, size, 2, 0, job->stream));
    return mpk_failed(status) ? status : mpki_cuda_isai_wait(job);
}

static mpk_status bring_pattern(mpki_isai_job *job, const int64_t *ptr, const int32_t *row,
                                const char *whose, pattern *p) {
    const int64_t pointers = ((int64_t)job->n + 1) * (int64_t)sizeof *ptr;
    const void *at = NULL;
    int64_t ends[2] = {0};
    mpk_status status = bring(job, ptr, pointers, &p->ptr_piece, &at);
    p->s.a.ptr = (int64_t *)(uintptr_t)at;
    if (!mpk_failed(status)) status = ends_of(job, at, ends);
    if (mpk_failed(status)) return status;
    if (ends[0] != 0 || ends[1] < 0)
        return mpki_error(job->ctx, MPK_ERR_INPUT, STAGE, 0,
                          "ptr[0] of %s is not 0, or ptr[n] is below 0", whose);
    if (ends[1] > 0 && !row)
        return mpki_error(job->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "row of %s is NULL", whose);
    p->s.entries = ends[1];
    status = bring(job, row, ends[1] * (int64_t)sizeof *row, &p->row_piece, &at);
    p->s.a.index = (int32_t *)(uintptr_t)at;
    return status;
}

/* Which column an entry of the matrix is in. */
static mpk_status name_column(mpki_inverse *s, int64_t entry) {
    mpki_isai_job *job = &s->job;
    const int64_t count = (int64_t)job->n + 1;
    int64_t *const ptr = MPKI_NEW(job->ctx, STAGE, count, int64_t);
    int32_t j = 0;
    if (!ptr) return mpki_failed(job->ctx);
    const mpk_status status =
        mpki_cuda_isai_to_host(job, ptr, s->given.at, count * (int64_t)sizeof *ptr);
    while (!mpk_failed(status) && ptr[j + 1] <= entry) j++;
    mpki_release(job->ctx, ptr);
    if (mpk_failed(status)) return status;
    return mpki_error(job->ctx, MPK_ERR_INPUT, STAGE, j, "column %d holds a NaN or an infinity",
                      j + 1);
}

/* ---- A --------------------------------------------------------------------------------------- */

static mpki_isai_splitting splitting_of(const mpki_inverse *s, const void *val) {
    return (mpki_isai_splitting){.scalar = s->job.scalar,
                                 .n = s->job.n,
                                 .upper = s->o.kind == MPK_ISAI_UPPER,
                                 .val = val,
                                 .to_ptr = s->a.a.ptr,
                                 .to_index = s->a.a.index,
                                 .from = s->a.from,
                                 .diagonal = s->diagonal,
                                 .dinv = s->dinv};
}

/* A triangle counted: pointers of its strict part, then what was found to be wrong. */
typedef struct counts {
    mpki_isai_piece piece;
    int64_t *ptr; /* n + 1 */
    int64_t *sums;
    int32_t *flag; /* behind ptr */
} counts;

/* The pattern is looked through, and the entries of its triangle are counted; the host waits
 * once. */
static mpk_status count_triangle(mpki_inverse *s, const pattern *p, counts *c) {
    mpki_isai_job *job = &s->job;
    const int64_t pointers = ((int64_t)job->n + 2) * (int64_t)sizeof(int64_t);
    const int64_t sum_bytes = mpki_isai_sums(job->n) * (int64_t)sizeof(int64_t);
    struct {
        int64_t entries;
        int32_t bad;
    } found = {0};
    const int64_t found_bytes = sizeof found.entries + sizeof found.bad;
    int64_t used = 0;
    mpki_isai_splitting split = splitting_of(s, NULL);
    mpk_status status = mpki_cuda_isai_borrow(
        job, mpki_cuda_isai_rounded(pointers) + mpki_cuda_isai_rounded(sum_bytes), &c->piece);
    if (mpk_failed(status)) return status;
    c->ptr = mpki_cuda_isai_place(&c->piece, &used, pointers);
    c->sums = mpki_cuda_isai_place(&c->piece, &used, sum_bytes);
    c->flag = (int32_t *)(void *)(c->ptr + job->n + 1);
    split.ptr = p->s.a.ptr, split.index = p->s.a.index, split.disordered = c->flag;
    split.to_ptr = c->ptr, split.sums = c->sums;
    status = launch_check(job, p, c->flag);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->split(job->d->cuda, &split));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, &found, c->ptr + job->n, found_bytes);
    if (mpk_failed(status)) return status;
    s->a.entries = found.entries;
    return found.bad == job->n ? MPK_OK : disordered(job, found.bad, "the matrix");
}

/* Of the matrix: its pointers; where its diagonals are, and their inverses. */
static mpk_status take_diagonals(mpki_inverse *s, const pattern *p) {
    mpki_isai_job *job = &s->job;
    const int64_t pointers = ((int64_t)job->n + 1) * (int64_t)sizeof(int64_t);
    const int64_t places = job->n * (int64_t)sizeof(int64_t);
    const int64_t inverses = job->n * (int64_t)mpk_scalar_size(job->scalar);
    int64_t used = 0;
    mpk_status status = mpki_cuda_isai_take(job, pointers, &s->given);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(
            job, job->t->clone(job->d->cuda, s->given.at, p->s.a.ptr, pointers));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_take(
            job, mpki_cuda_isai_rounded(places) + mpki_cuda_isai_rounded(inverses), &s->diagonals);
    if (mpk_failed(status)) return status;
    s->diagonal = mpki_cuda_isai_place(&s->diagonals, &used, places);
    s->dinv = mpki_cuda_isai_place(&s->diagonals, &used, inverses);
    return MPK_OK;
}

/* The strict triangle by columns and by rows; `own`: M has its pattern. */
static mpk_status take_triangle(mpki_inverse *s, const pattern *p, bool own, const counts *c) {
    mpki_isai_job *job = &s->job;
    const int64_t pointers = ((int64_t)job->n + 1) * (int64_t)sizeof(int64_t);
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar), entries = s->a.entries;
    mpk_status status = mpki_cuda_isai_set_aside(
        job,
        2 * mpki_cuda_isai_sparse_bytes(job, entries, true, true) +
            2 * mpki_cuda_isai_rounded(pointers) +
            mpki_cuda_isai_rounded(job->n * (size + (int64_t)sizeof(int64_t)) + 512) +
            (own ? 2 * mpki_cuda_isai_rounded(entries * size) : 0),
        &job->held[0]);
    if (!mpk_failed(status)) status = take_diagonals(s, p);
    if (!mpk_failed(status)) status = mpki_cuda_isai_sparse_make(job, entries, true, true, &s->a);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, s->a.a.ptr, c->ptr, pointers));
    if (mpk_failed(status)) return status;
    mpki_isai_splitting split = splitting_of(s, NULL);
    split.ptr = p->s.a.ptr, split.index = p->s.a.index;
    status = mpki_cuda_isai_status(job, job->t->split(job->d->cuda, &split));
    if (mpk_failed(status)) return status;
    return mpki_cuda_isai_turn(job, &s->a, &s->a_rows); /* values are moved once they are there */
}

/* All of A. */
static mpk_status take_all(mpki_inverse *s, const pattern *p) {
    mpki_isai_job *job = &s->job;
    const int64_t pointers = ((int64_t)job->n + 1) * (int64_t)sizeof(int64_t);
    mpk_status status = take_diagonals(s, p);
    if (!mpk_failed(status)) status = mpki_cuda_isai_sparse_make(job, s->nnz, true, false, &s->a);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(
            job, job->t->clone(job->d->cuda, s->a.a.ptr, p->s.a.ptr, pointers));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, s->a.a.index, p->s.a.index,
                                                          s->nnz * (int64_t)sizeof(int32_t)));
    if (mpk_failed(status) || s->o.relax == 0) return status;
    return mpki_cuda_isai_turn(job, &s->a, &s->a_rows);
}

/* Has M the pattern of the triangle that is given? */
static bool is_own(const mpki_inverse *s, const mpk_isai_options *o) {
    return s->triangle && o->source == MPK_ISAI_POWER && o->power == 1 && o->limit == 0 && !o->ptr;
}

static mpk_status take_pattern(mpki_inverse *s, const mpk_isai_options *o, const pattern *p) {
    mpki_isai_job *job = &s->job;
    counts c = {0};
    s->nnz = p->s.entries;
    if (!s->triangle) {
        const mpk_status status = check_pattern(job, p, "the matrix");
        return mpk_failed(status) ? status : take_all(s, p);
    }
    mpk_status status = mpki_cuda_isai_set_aside(
        job,
        mpki_cuda_isai_turn_bytes(job->n, s->nnz) +
            mpki_cuda_isai_rounded(((int64_t)job->n + mpki_isai_sums(job->n)) * 8 + 1024),
        &job->work);
    if (!mpk_failed(status)) status = count_triangle(s, p, &c);
    if (!mpk_failed(status)) status = take_triangle(s, p, is_own(s, o), &c);
    mpki_cuda_isai_give(job, &c.piece);
    return status;
}

/* What is wrong with the values: an entry, the diagonal of a column. */
typedef struct faults {
    int64_t entry;
    int32_t diagonal, none;
} faults;

/* val on the device; queued. */
static mpk_status split_values(mpki_inverse *s, const void *val, faults *bad) {
    mpki_isai_job *job = &s->job;
    mpki_isai_splitting split = splitting_of(s, val);
    split.bad = &bad->diagonal;
    const mpk_status status =
        mpki_cuda_isai_status(job, job->t->split_values(job->d->cuda, &split));
    return mpk_failed(status)
               ? status
               : mpki_cuda_isai_status(job, job->t->move(job->d->cuda, job->scalar, s->a.entries,
                                                         s->a.from, val, s->a.a.val));
}

static mpk_status take_values(mpki_inverse *s, const void *theirs) {
    mpki_isai_job *job = &s->job;
    const int64_t bytes = s->nnz * (int64_t)mpk_scalar_size(job->scalar);
    mpki_isai_piece copy = {0}, flag = {0};
    const void *val = NULL;
    faults bad = {.entry = INT64_MAX, .diagonal = job->n};
    mpk_status status = bring(job, theirs, bytes, &copy, &val);
    if (!mpk_failed(status)) status = mpki_cuda_isai_borrow(job, sizeof bad, &flag);
    faults *const there = (faults *)(void *)flag.at;
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, there, &bad, sizeof bad);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(
            job, job->t->finite(job->d->cuda, job->scalar, s->nnz, val, &there->entry));
    if (!mpk_failed(status))
        status =
            s->triangle
                ? split_values(s, val, there)
                : mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, s->a.a.val, val, bytes));
    if (!mpk_failed(status) && s->a_rows.a.ptr)
        status = mpki_cuda_isai_again(job, &s->a, &s->a_rows);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &bad, there, sizeof bad);
    if (!mpk_failed(status) && bad.entry != INT64_MAX) status = name_column(s, bad.entry);
    if (!mpk_failed(status) && s->triangle && bad.diagonal < job->n)
        status = mpki_error(job->ctx, MPK_ERR_INPUT, STAGE, bad.diagonal,
                            "the diagonal entry of column %d is zero", bad.diagonal + 1);
    mpki_cuda_isai_give(job, &flag);
    mpki_cuda_isai_give(job, &copy);
    return status;
}

/* ---- M --------------------------------------------------------------------------------------- */

static mpk_status solve_small(mpki_inverse *s) {
    enum { SLOTS = 264, BYTES = 1 << 30, WARP = 5 }; /* WARP: the last class of one warp */
    mpki_isai_job *job = &s->job;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar);
    mpki_isai_dense d = {.scalar = job->scalar, .n = job->n, .a = s->a.a, .m = s->m.a};
    mpki_isai_piece list = {0}, work = {0};
    mpk_status status = MPK_OK;
    int64_t large = 0;
    if (!s->failed.at) status = mpki_cuda_isai_take(job, job->n, &s->failed);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_take(job, job->n * (int64_t)sizeof(int32_t), &list);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_classify(job, &s->m, (int32_t *)(void *)list.at, d.count, &d.longest);
    for (int k = WARP + 1; k < MPK_ISAI_CLASSES; k++) large += d.count[k];
    if (!mpk_failed(status) && large > 0) {
        /* longest <= n < 2^31: the square fits, but not with its bytes */
        const double each = (double)d.longest * (double)(d.longest + 1) * (double)size;
        int64_t slots = large < SLOTS ? large : SLOTS;
        if ((double)slots * each > BYTES) slots = each > BYTES ? 1 : (int64_t)(BYTES / each);
        if (each > 0x1p62)
            status = mpki_error(job->ctx, MPK_ERR_MEMORY, STAGE, -1,
                                "a dense system of %lld rows does not fit into memory",
                                (long long)d.longest);
        d.slots = (int32_t)slots;
        if (!mpk_failed(status))
            status = mpki_cuda_isai_take(job, slots * d.longest * (d.longest + 1) * size, &work);
    }
    d.definite = s->o.kind == MPK_ISAI_DEFINITE;
    d.diagonal = s->dinv, d.failed = (unsigned char *)s->failed.at;
    d.list = (const int32_t *)(const void *)list.at, d.work = work.at;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->dense(job->d->cuda, &d));
    mpki_cuda_isai_give(job, &work); /* waits for what is queued */
    mpki_cuda_isai_give(job, &list);
    return status;
}

/* Small systems that had no solution. */
static mpk_status count_failures(mpki_inverse *s) {
    mpki_isai_job *job = &s->job;
    mpk_isai_info *info = &job->info;
    info->fallbacks = 0, info->first_fallback = -1;
    if (s->triangle) return MPK_OK;
    unsigned char *failed = MPKI_NEW(job->ctx, STAGE, job->n, unsigned char);
    if (!failed) return mpki_failed(job->ctx);
    mpk_status status = mpki_cuda_isai_to_host(job, failed, s->failed.at, job->n);
    for (int32_t j = 0; j < job->n && !mpk_failed(status); j++) {
        if (failed[j] == 2)
            status = mpki_error(job->ctx, MPK_ERR_NUMERIC, STAGE, j,
                                "column %d of the approximate inverse is not finite", j + 1);
        else if (failed[j] && info->fallbacks++ == 0)
            info->first_fallback = j;
    }
    mpki_release(job->ctx, failed);
    return status;
}

static mpk_status compute(mpki_inverse *s) {
    const mpki_isai_triangle t = {.upper = s->o.kind == MPK_ISAI_UPPER,
                                  .columns = &s->a,
                                  .rows = &s->a_rows,
                                  .dinv = s->dinv};
    return s->triangle ? mpki_cuda_isai_invert(&s->job, &t, &s->m) : solve_small(s);
}

/* M by rows, and both orders in single precision where that is wanted. */
static mpk_status settle(mpki_inverse *s, bool fresh) {
    mpki_isai_job *job = &s->job;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar), half = s->m.entries * size / 2;
    mpk_status status = MPK_OK;
    if (!fresh) {
        status = mpki_cuda_isai_again(job, &s->m, &s->m_rows);
    } else {
        const mpki_isai_triangle t = {.columns = &s->a, .rows = &s->a_rows};
        status = mpki_cuda_isai_rows(job, s->triangle ? &t : NULL, &s->m, &s->m_rows);
    }
    if (mpk_failed(status) || !s->single) return status;
    if (!s->singles.at)
        status = mpki_cuda_isai_take(job, 2 * mpki_cuda_isai_rounded(half), &s->singles);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_single(job, s->m.entries, s->m.a.val, s->singles.at);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_single(job, s->m.entries, s->m_rows.a.val,
                                          s->singles.at + mpki_cuda_isai_rounded(half));
    return status;
}

static mpk_status make_values(mpki_inverse *s, bool fresh) {
    mpki_isai_job *job = &s->job;
    bool again = false;
    if (mpki_progress(job->ctx, STAGE, 0))
        return mpki_error(job->ctx, MPK_ERR_CANCELLED, STAGE, -1, "cancelled");
    mpk_status status = compute(s);
    if (!mpk_failed(status) && fresh) status = mpki_cuda_isai_cut(job, &s->shape, &s->m, &again);
    if (!mpk_failed(status) && again) status = compute(s);
    if (!mpk_failed(status)) status = count_failures(s);
    if (!mpk_failed(status)) status = settle(s, fresh);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    if (mpk_failed(status)) return status;
    if (fresh) mpki_cuda_isai_count(job, &s->m);
    job->info.bytes = job->bytes;
    s->ready = true;
    if (job->info.fallbacks == 0) return MPK_OK;
    return mpki_error(
        job->ctx, MPK_SINGULAR, STAGE, job->info.first_fallback,
        "%lld small systems are %s; the first is that of column %d", (long long)job->info.fallbacks,
        s->o.kind == MPK_ISAI_DEFINITE ? "not definite" : "singular", job->info.first_fallback + 1);
}

static mpk_status make_pattern(mpki_inverse *s, const pattern *given, const pattern *theirs) {
    static const int keep[] = {MPKI_ISAI_BELOW, MPKI_ISAI_ABOVE, MPKI_ISAI_ALL, MPKI_ISAI_ABOVE};
    const mpk_isai_options *o = &s->o;
    s->shape = (mpki_isai_shape){.keep = keep[o->kind],
                                 .blocks = o->source == MPK_ISAI_BLOCKS,
                                 .power = o->source == MPK_ISAI_GIVEN ? 1 : o->power,
                                 .block = o->block,
                                 .limit = o->limit,
                                 .over = o->over};
    if (theirs) return mpki_cuda_isai_pattern(&s->job, &theirs->s, false, &s->shape, &s->m);
    if (s->triangle && s->shape.power == 1 && !s->shape.blocks) /* the triangle's own */
        return mpki_cuda_isai_pattern(&s->job, &s->a, true, &s->shape, &s->m);
    return mpki_cuda_isai_pattern(&s->job, &given->s, false, &s->shape, &s->m);
}

static mpk_status fill(mpki_inverse *s, const mpk_isai_options *o, const int64_t *ptr,
                       const int32_t *row, const void *val) {
    mpki_isai_job *job = &s->job;
    pattern given = {0}, theirs = {0};
    double start = mpki_now_s();
    mpk_status status = bring_pattern(job, ptr, row, "the matrix", &given);
    if (!mpk_failed(status) && given.s.entries > 0 && !val)
        status = mpki_error(job->ctx, MPK_ERR_ARGUMENT, STAGE, -1, "val is NULL");
    if (!mpk_failed(status) && o->ptr)
        status = bring_pattern(job, o->ptr, o->row, "the pattern", &theirs);
    if (!mpk_failed(status)) status = take_pattern(s, o, &given);
    if (!mpk_failed(status) && o->ptr) status = check_pattern(job, &theirs, "the pattern");
    if (!mpk_failed(status)) status = take_values(s, val);
    if (!mpk_failed(status)) status = make_pattern(s, &given, o->ptr ? &theirs : NULL);
    pattern_free(job, &given);
    pattern_free(job, &theirs);
    job->info.time_pattern_s = mpki_now_s() - start;
    start = mpki_now_s();
    if (!mpk_failed(status)) status = make_values(s, true);
    job->info.time_values_s = mpki_now_s() - start;
    return status;
}

static mpk_status make(mpk_context *ctx, mpk_scalar scalar, int32_t n, const int64_t *ptr,
                       const int32_t *row, const void *val, const mpk_isai_options *o,
                       mpki_inverse **out) {
    mpki_inverse *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_inverse);
    if (!s) return mpki_failed(ctx);
    mpk_status status = mpki_cuda_isai_job_begin(ctx, STAGE, scalar, n, &s->job);
    s->o = *o, s->o.ptr = NULL, s->o.row = NULL;
    s->triangle = o->kind == MPK_ISAI_LOWER || o->kind == MPK_ISAI_UPPER;
    s->single = o->precision == MPK_PRECISION_SINGLE && (scalar == MPK_D || scalar == MPK_Z);
    if (!mpk_failed(status)) status = fill(s, o, ptr, row, val);
    mpki_cuda_isai_give_reserve(&s->job, &s->job.work);
    s->job.info.bytes = s->job.bytes;
    if (mpk_failed(status)) end(ctx, out);
    return status;
}

static mpk_status update(mpk_context *ctx, const void *val, mpki_inverse *s) {
    const double start = mpki_now_s();
    s->job.ctx = ctx;
    s->ready = false;
    mpk_status status = take_values(s, val);
    s->job.info.time_pattern_s = 0;
    if (!mpk_failed(status)) status = make_values(s, false);
    s->job.info.time_values_s = mpki_now_s() - start;
    return status;
}

static const mpk_isai_info *info(const mpki_inverse *s) {
    return &s->job.info;
}

static const mpki_inverse_engine engine = {.make = make,
                                           .update = update,
                                           .apply = mpki_cuda_isai_apply,
                                           .get = mpki_cuda_isai_get,
                                           .info = info,
                                           .free = end};

const mpki_inverse_engine *mpki_cuda_inverse_engine(mpk_context *ctx, int device) {
    return mpki_cuda_keep(ctx, device) ? &engine : NULL;
}
