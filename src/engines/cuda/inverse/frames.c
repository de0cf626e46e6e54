/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses by frames on a device: patterns of frames are searched as those of rows are,
 * and spread to the columns and rows that they stand for. What a limit does to them is decided on
 * the host. */
#include "frames.h"
#include "core/ascending.h"
#include "engines/interface/largest.h"

#include <stdlib.h>
#include <string.h>

static int32_t rows_at(const mpki_isai_framing *f, int32_t place) {
    return f->first[place + 1] - f->first[place];
}

/* ---- what is known of the frames ------------------------------------------------------------- */

void mpki_isai_framing_free(mpki_isai_job *job, mpki_isai_framing *f) {
    mpki_cuda_isai_give(job, &f->piece);
    mpki_release(job->ctx, f->first);
    *f = (mpki_isai_framing){0};
}

/* Portions of columns of each frame, and the first row of each, are sent. */
static mpk_status send(mpki_isai_job *job, mpki_isai_framing *f, int32_t *portion) {
    const int64_t four = sizeof *portion, most = job->n;
    int64_t count = 0, used = 0;
    int32_t widest = 0;
    for (int32_t p = 0; p < f->m; p++)
        for (int32_t c = 0; c < rows_at(f, p); c += MPKI_ISAI_PORTION, count++) {
            const int32_t left = rows_at(f, p) - c;
            portion[count] = f->first[p] + c;
            portion[most + count] = left < MPKI_ISAI_PORTION ? left : MPKI_ISAI_PORTION;
            if (portion[most + count] > widest) widest = portion[most + count];
        }
    mpk_status status = mpki_cuda_isai_take(job,
                                            mpki_cuda_isai_rounded((f->m + 1) * four) +
                                                3 * mpki_cuda_isai_rounded(count * four) +
                                                mpki_cuda_isai_rounded((count + 1) * 8),
                                            &f->piece);
    if (mpk_failed(status)) return status;
    f->on_device = mpki_cuda_isai_place(&f->piece, &used, (f->m + 1) * four);
    int32_t *const first = mpki_cuda_isai_place(&f->piece, &used, count * four);
    int32_t *const columns = mpki_cuda_isai_place(&f->piece, &used, count * four);
    f->list = mpki_cuda_isai_place(&f->piece, &used, count * four);
    f->portions =
        (mpki_isai_portions){.count = count, .first = first, .columns = columns, .widest = widest};
    f->portions.ptr = mpki_cuda_isai_place(&f->piece, &used, (count + 1) * 8);
    status = mpki_cuda_isai_to_device(job, f->on_device, f->first, (f->m + 1) * four);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, first, portion, count * four);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_device(job, columns, portion + most, count * four);
    return mpk_failed(status) ? status : mpki_cuda_isai_wait(job); /* the lists are released */
}

mpk_status mpki_isai_framing_make(mpki_isai_job *job, const mpki_stages *stages,
                                  mpki_isai_framing *f) {
    *f = (mpki_isai_framing){.stages = stages, .m = stages->index.m};
    int32_t *portion = MPKI_NEW(job->ctx, job->stage, 2 * (int64_t)job->n, int32_t);
    f->first = MPKI_NEW(job->ctx, job->stage, (int64_t)f->m + 1, int32_t);
    mpk_status status = mpki_failed(job->ctx);
    if (!mpk_failed(status)) {
        f->first[0] = 0;
        for (int32_t p = 0; p < f->m; p++)
            f->first[p + 1] =
                f->first[p] + mpki_frame_rows(stages->blocking, stages->index.frame[p]);
        status = send(job, f, portion);
    }
    mpki_release(job->ctx, portion);
    return status;
}

/* ---- patterns on the host -------------------------------------------------------------------- */

typedef struct pattern {
    int64_t *ptr;
    int32_t *index;
} pattern;

static void pattern_free(mpk_context *ctx, pattern *s) {
    mpki_release(ctx, s->ptr);
    mpki_release(ctx, s->index);
    *s = (pattern){0};
}

static mpk_status pattern_make(mpk_context *ctx, int32_t m, int64_t most, pattern *s) {
    s->ptr = MPKI_NEW(ctx, "factorize", (int64_t)m + 1, int64_t);
    s->index = MPKI_NEW(ctx, "factorize", most, int32_t);
    return mpki_failed(ctx);
}

static mpk_status send_pattern(mpki_isai_job *job, int32_t m, const pattern *s,
                               mpki_isai_sparse *to) {
    const int32_t n = job->n;
    job->n = m;
    mpk_status status = mpki_cuda_isai_sparse_make(job, s->ptr[m], false, false, to);
    job->n = n;
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_device(job, to->a.ptr, s->ptr, ((int64_t)m + 1) * 8);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_device(job, to->a.index, s->index, s->ptr[m] * 4);
    return mpk_failed(status) ? status : mpki_cuda_isai_wait(job);
}

static mpk_status fetch_pattern(mpki_isai_job *job, int32_t m, const mpki_isai_sparse *from,
                                pattern *s) {
    mpk_status status = pattern_make(job->ctx, m, from->entries, s);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, s->ptr, from->a.ptr, ((int64_t)m + 1) * 8);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, s->index, from->a.index, from->entries * 4);
    return status;
}

/* ---- graphs of frames ------------------------------------------------------------------------ */

/* The blocks of the half that are not empty, by columns: below the diagonal, or of U above it. */
static mpk_status graph_of_factor(mpki_isai_job *job, const mpki_isai_framing *f,
                                  const mpki_cuda_store *store, bool upper, pattern *s) {
    const mpki_ibcsr *x = &f->stages->index;
    int64_t count = 0;
    int64_t *where = MPKI_NEW(job->ctx, job->stage, store->nblocks, int64_t);
    mpk_status status = pattern_make(job->ctx, f->m, x->nblocks, s);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, where, upper ? store->upper : store->lower,
                                        store->nblocks * 8);
    for (int32_t place = 0; place < f->m && !mpk_failed(status); place++) {
        const int32_t frame = x->frame[place];
        const int64_t begin = upper ? x->ptr[frame] : x->diagonal[frame] + 1;
        const int64_t end = upper ? x->diagonal[frame] : x->ptr[frame + 1];
        s->ptr[place] = count;
        for (int64_t e = begin; e < end; e++)
            if (where[x->entry[e].block] >= 0) s->index[count++] = x->place[x->entry[e].other];
    }
    if (!mpk_failed(status)) s->ptr[f->m] = count;
    mpki_release(job->ctx, where);
    return status;
}

/* The frames that A joins, by columns of A. */
static mpk_status graph_of_matrix(mpki_isai_job *job, const mpki_isai_framing *f, pattern *s) {
    const mpki_full *a = f->stages->at ? f->stages->at : f->stages->a; /* by rows: columns of A */
    const mpki_blocking *cut = f->stages->blocking;
    int32_t *place = MPKI_NEW(job->ctx, job->stage, cut->n, int32_t); /* of each index */
    int32_t *last = MPKI_NEW(job->ctx, job->stage, f->m, int32_t);
    int64_t count = 0;
    const mpk_status status = pattern_make(job->ctx, f->m, a->nnz, s);
    if (!mpk_failed(status)) {
        for (int32_t p = 0; p < f->m; p++) {
            const int32_t frame = f->stages->index.frame[p];
            last[p] = -1;
            for (int32_t i = cut->bptr[frame]; i < cut->bptr[frame + 1]; i++)
                place[cut->perm[i]] = p;
        }
        for (int32_t p = 0; p < f->m; p++) {
            const int32_t frame = f->stages->index.frame[p];
            s->ptr[p] = count;
            for (int32_t i = cut->bptr[frame]; i < cut->bptr[frame + 1]; i++)
                for (int64_t e = a->ptr[cut->perm[i]]; e < a->ptr[cut->perm[i] + 1]; e++) {
                    const int32_t to = place[a->col[e]];
                    if (last[to] == p) continue;
                    last[to] = p;
                    s->index[count++] = to;
                }
            qsort(s->index + s->ptr[p], (size_t)(count - s->ptr[p]), sizeof *s->index,
                  mpki_ascending);
        }
        s->ptr[f->m] = count;
    }
    mpki_release(job->ctx, place);
    mpki_release(job->ctx, last);
    return status;
}

/* ---- powers, and what a limit leaves of them ------------------------------------------------- */

/* Entries of each column of a frame, with its diagonal. */
static int64_t entries_of(const mpki_isai_framing *f, const pattern *s, int32_t place) {
    int64_t entries = 1;
    for (int64_t b = s->ptr[place]; b < s->ptr[place + 1]; b++) entries += rows_at(f, s->index[b]);
    return entries;
}

/* What powers are taken of. */
typedef struct powers {
    const mpki_isai_sparse *graph;
    bool own, upper;
} powers;

static mpk_status power(mpki_isai_job *job, const mpki_isai_framing *f, const powers *k, int steps,
                        mpki_isai_sparse *to) {
    const mpki_isai_shape shape = {.keep = k->upper ? MPKI_ISAI_ABOVE : MPKI_ISAI_BELOW,
                                   .power = steps};
    const int32_t n = job->n;
    job->n = f->m;
    const mpk_status status = mpki_cuda_isai_pattern(job, k->graph, k->own, &shape, to);
    job->n = n;
    return status;
}

/* Columns of `s` that are over the limit become those of `less`. */
static mpk_status replace(mpki_isai_job *job, const mpki_isai_framing *f, pattern *s,
                          const pattern *less) {
    const int32_t limit = f->stages->options->isai_limit;
    pattern to = {0};
    const mpk_status status = pattern_make(job->ctx, f->m, s->ptr[f->m], &to); /* no longer */
    if (mpk_failed(status)) {
        pattern_free(job->ctx, &to);
        return status;
    }
    to.ptr[0] = 0;
    for (int32_t p = 0; p < f->m; p++) {
        const pattern *from = entries_of(f, s, p) > limit ? less : s;
        const int64_t count = from->ptr[p + 1] - from->ptr[p];
        memcpy(to.index + to.ptr[p], from->index + from->ptr[p], (size_t)count * sizeof *to.index);
        to.ptr[p + 1] = to.ptr[p] + count;
    }
    pattern_free(job->ctx, s);
    *s = to;
    return MPK_OK;
}

static mpk_status fetch_power(mpki_isai_job *job, const mpki_isai_framing *f, const powers *k,
                              int steps, pattern *s) {
    mpki_isai_sparse to = {0};
    mpk_status status = power(job, f, k, steps, &to);
    if (!mpk_failed(status)) status = fetch_pattern(job, f->m, &to, s);
    mpki_cuda_isai_give_sparse(job, &to);
    return status;
}

/* Columns over the limit are refused, or get a smaller power. */
static mpk_status within_limit(mpki_isai_job *job, const mpki_isai_framing *f, const powers *k,
                               pattern *s) {
    const mpk_options *o = f->stages->options;
    mpk_status status = MPK_OK;
    bool over = true;
    for (int steps = o->isai_power; !mpk_failed(status) && over;) {
        over = false;
        for (int32_t p = 0; p < f->m; p++) {
            const int64_t entries = entries_of(f, s, p);
            if (entries <= o->isai_limit) continue;
            if (o->isai_over == MPK_ISAI_REFUSE)
                return mpki_error(job->ctx, MPK_ERR_ARGUMENT, job->stage, f->first[p],
                                  "column %d of the approximate inverse would have %lld entries, "
                                  "the limit is %d",
                                  f->first[p] + 1, (long long)entries, o->isai_limit);
            over = true;
            if (steps == o->isai_power) job->info.over += rows_at(f, p);
        }
        if (!over || steps == 0) break;
        pattern less = {0};
        status = fetch_power(job, f, k, --steps, &less);
        if (!mpk_failed(status)) status = replace(job, f, s, &less);
        pattern_free(job->ctx, &less);
    }
    return status;
}

/* m := the columns and rows that the blocks stand for. */
static mpk_status spread(mpki_isai_job *job, const mpki_isai_framing *f,
                         const mpki_isai_sparse *blocks, mpki_isai_sparse *m) {
    const int64_t pointers = ((int64_t)job->n + 1) * 8, sum_bytes = mpki_isai_sums(job->n) * 8;
    mpki_isai_spreading s = {f->m, f->on_device, blocks->a.ptr, blocks->a.index, NULL, NULL};
    mpki_isai_piece work = {0};
    int64_t used = 0, entries = 0;
    mpk_status status = mpki_cuda_isai_borrow(
        job, mpki_cuda_isai_rounded(pointers) + mpki_cuda_isai_rounded(sum_bytes), &work);
    if (mpk_failed(status)) return status;
    s.to_ptr = mpki_cuda_isai_place(&work, &used, pointers);
    int64_t *const sums = mpki_cuda_isai_place(&work, &used, sum_bytes);
    status = mpki_cuda_isai_status(job, job->t->spread(job->d->cuda, &s));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->sum(job->d->cuda, job->n, s.to_ptr, sums));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, &entries, s.to_ptr + job->n, sizeof entries);
    if (!mpk_failed(status)) status = mpki_cuda_isai_sparse_make(job, entries, true, false, m);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, m->a.ptr, s.to_ptr, pointers));
    s.to_ptr = m->a.ptr, s.to_index = m->a.index;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->spread(job->d->cuda, &s));
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) mpki_cuda_isai_give_sparse(job, m);
    return status;
}

mpk_status mpki_isai_framing_pattern(mpki_isai_job *job, const mpki_isai_framing *f,
                                     const mpki_cuda_store *store, bool upper,
                                     mpki_isai_sparse *blocks, mpki_isai_sparse *m) {
    const mpk_options *o = f->stages->options;
    const bool of_matrix = o->isai_pattern == MPK_ISAI_OF_MATRIX;
    const bool limited = o->isai_limit > 0 && o->isai_over != MPK_ISAI_LARGEST;
    mpki_isai_sparse graph = {0}, of_power = {0};
    const powers k = {&graph, !of_matrix, upper};
    pattern s = {0};
    mpk_status status =
        of_matrix ? graph_of_matrix(job, f, &s) : graph_of_factor(job, f, store, upper, &s);
    if (!mpk_failed(status)) status = send_pattern(job, f->m, &s, &graph);
    pattern_free(job->ctx, &s);
    if (!mpk_failed(status)) status = power(job, f, &k, o->isai_power, &of_power);
    if (!mpk_failed(status)) status = fetch_pattern(job, f->m, &of_power, &s);
    mpki_cuda_isai_give_sparse(job, &of_power); /* it may have the graph's arrays */
    if (!mpk_failed(status) && limited) status = within_limit(job, f, &k, &s);
    if (!mpk_failed(status)) status = send_pattern(job, f->m, &s, blocks);
    if (!mpk_failed(status)) status = spread(job, f, blocks, m);
    pattern_free(job->ctx, &s);
    mpki_cuda_isai_give_sparse(job, &graph);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Portions by class: f->list, f->portions.many. */
static mpk_status classify(mpki_isai_job *job, mpki_isai_framing *f, const mpki_isai_sparse *m) {
    const int64_t count = f->portions.count, sum_bytes = mpki_isai_sums((int32_t)count) * 8;
    const mpki_isai_sparse lengths = {.a = {.ptr = f->portions.ptr}};
    mpki_isai_job of_portions = *job;
    mpki_isai_piece work = {0};
    int64_t many[MPK_ISAI_CLASSES], longest;
    mpk_status status =
        mpki_cuda_isai_status(job, job->t->portions(job->d->cuda, &f->portions, m->a.ptr));
    if (!mpk_failed(status)) status = mpki_cuda_isai_borrow(job, sum_bytes, &work);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->sum(job->d->cuda, (int32_t)count, f->portions.ptr,
                                                   (int64_t *)(void *)work.at));
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    mpki_cuda_isai_give(job, &work);
    of_portions.n = (int32_t)count, of_portions.work = (mpki_isai_reserve){0};
    if (!mpk_failed(status))
        status = mpki_cuda_isai_classify(&of_portions, &lengths, f->list, many, &longest);
    f->portions.list = f->list;
    if (mpk_failed(status)) return status;
    memcpy(f->portions.many, many, sizeof f->portions.many);
    f->portions.longest = longest;
    return status;
}

mpk_status mpki_isai_framing_invert(mpki_isai_job *job, mpki_isai_framing *f,
                                    const mpki_isai_triangle *t, mpki_isai_sparse *m) {
    const int64_t four = (int64_t)sizeof(int32_t);
    mpki_isai_inversion v = {.scalar = job->scalar, .n = job->n, .upper = t->upper};
    mpki_isai_piece work = {0};
    int64_t used = 0;
    int32_t bad = job->n;
    mpk_status status = classify(job, f, m);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_borrow(job, mpki_cuda_isai_rounded(job->n * four) + 256, &work);
    if (mpk_failed(status)) return status;
    int32_t *const list = mpki_cuda_isai_place(&work, &used, job->n * four);
    v.rows = t->rows->a, v.columns = t->columns->a, v.m = m->a;
    v.bad = mpki_cuda_isai_place(&work, &used, sizeof bad);
    status = mpki_cuda_isai_to_device(job, v.bad, &bad, sizeof bad);
    if (!mpk_failed(status)) status = mpki_cuda_isai_classify(job, m, list, v.count, &v.longest);
    v.list = list;
    for (int k = 0; k < MPKI_ISAI_PORTIONED; k++) v.list += v.count[k], v.count[k] = 0;
    v.n = (int32_t)(job->n - (v.list - list)); /* of the list */
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->invert(job->d->cuda, &v));
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->invert_portions(job->d->cuda, &v, &f->portions));
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, &bad, v.bad, sizeof bad);
    mpki_cuda_isai_give(job, &work);
    if (mpk_failed(status)) return status;
    if (bad < job->n)
        return mpki_error(job->ctx, MPK_ERR_NUMERIC, job->stage, bad,
                          "a column of the approximate inverse from column %d on overflows",
                          bad + 1);
    return MPK_OK;
}

/* ---- the largest blocks ---------------------------------------------------------------------- */

static double modulus2(mpk_scalar scalar, const void *val, int64_t k) {
    const double re = scalar == MPK_S   ? ((const float *)val)[k]
                      : scalar == MPK_D ? ((const double *)val)[k]
                      : scalar == MPK_C ? ((const float *)val)[2 * k]
                                        : ((const double *)val)[2 * k];
    const double im = scalar == MPK_C   ? ((const float *)val)[2 * k + 1]
                      : scalar == MPK_Z ? ((const double *)val)[2 * k + 1]
                                        : 0;
    return re * re + im * im;
}

/* The values of M, column after column, as the cut sees them. */
typedef struct values {
    mpk_scalar scalar;
    const void *val;
    const int64_t *ptr; /* n + 1 */
} values;

/* Columns over the limit keep the largest blocks that fit: a pattern. Returns how many columns. */
static int64_t cut(const mpki_isai_framing *f, const pattern *s, const values *v, mpki_ranked *rank,
                   pattern *to) {
    const int32_t limit = f->stages->options->isai_limit;
    int64_t over = 0;
    to->ptr[0] = 0;
    for (int32_t p = 0; p < f->m; p++) {
        const int64_t begin = s->ptr[p], count = s->ptr[p + 1] - begin;
        const bool whole = entries_of(f, s, p) <= limit;
        int64_t at = 0;
        for (int64_t b = 0; b < count; b++) {
            const int32_t row = s->index[begin + b], rows = rows_at(f, row);
            rank[b] = (mpki_ranked){0, row, rows};
            for (int32_t c = f->first[p]; c < f->first[p + 1] && !whole; c++)
                for (int32_t r = 0; r < rows; r++)
                    rank[b].norm2 += modulus2(v->scalar, v->val, v->ptr[c] + at + r);
            at += rows;
        }
        if (!whole) over += rows_at(f, p);
        to->ptr[p + 1] =
            to->ptr[p] + mpki_largest(count, rank, (int64_t)limit - 1, to->index + to->ptr[p]);
    }
    return over;
}

mpk_status mpki_isai_framing_cut(mpki_isai_job *job, const mpki_isai_framing *f,
                                 mpki_isai_sparse *blocks, mpki_isai_sparse *m, bool *again) {
    const mpk_options *o = f->stages->options;
    mpk_context *ctx = job->ctx;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar);
    pattern s = {0}, to = {0};
    int64_t over = 0;
    *again = false;
    if (o->isai_limit == 0 || o->isai_over != MPK_ISAI_LARGEST) return MPK_OK;
    mpki_ranked *rank = MPKI_NEW(ctx, job->stage, blocks->entries, mpki_ranked);
    int64_t *ptr = MPKI_NEW(ctx, job->stage, (int64_t)job->n + 1, int64_t);
    void *val = mpki_alloc(ctx, job->stage, m->entries, (size_t)size);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = fetch_pattern(job, f->m, blocks, &s);
    if (!mpk_failed(status)) status = pattern_make(ctx, f->m, blocks->entries, &to);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, ptr, m->a.ptr, ((int64_t)job->n + 1) * 8);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_host(job, val, m->a.val, m->entries * size);
    if (!mpk_failed(status)) over = cut(f, &s, &(values){job->scalar, val, ptr}, rank, &to);
    job->info.over += over;
    if (over > 0) {
        mpki_cuda_isai_give_sparse(job, blocks);
        mpki_cuda_isai_give_sparse(job, m);
        *again = true;
        status = send_pattern(job, f->m, &to, blocks);
        if (!mpk_failed(status)) status = spread(job, f, blocks, m);
    }
    mpki_release(ctx, rank);
    mpki_release(ctx, ptr);
    mpki_release(ctx, val);
    pattern_free(ctx, &s);
    pattern_free(ctx, &to);
    return status;
}
