/* SPDX-License-Identifier: BSD-3-Clause */
/* From a finished factor on blocks of a device to approximate inverses of its triangles, and their
 * products in place of triangular solves. All vectors are in the order of places. */
#include "factor.h"
#include "frames.h"
#include "make.h"
#include "engines/cuda/triangular/kernels/triangular.h"

#include <string.h>

static const char STAGE[] = "factorize";

enum { VECTORS = 3 };

/* One triangle: L^, or U^; and M. */
typedef struct half {
    mpki_isai_sparse t, t_turned; /* L^ by columns (U^: by rows), and turned */
    mpki_isai_sparse m, m_turned; /* M by columns, by rows */
    mpki_isai_piece single;       /* values of what is applied */
    mpki_isai_times times, rest;  /* with M; with the triangle's strict part and unit diagonal */
} half;

struct mpki_isai_factor {
    mpki_isai_job job; /* its scalar is the stored one */
    const mpki_stages *stages;
    mpk_scalar scalar; /* of the caller's vectors */
    bool plain;        /* all pivot blocks are identities */
    mpki_isai_gathering g;
    mpki_isai_framing *framing; /* while inverses by frames are made; else NULL */
    int32_t *place;             /* host, n: position at each place */
    half half[2];               /* symmetric: half[1] has products alone */
    mpki_isai_piece maps, vectors;
    int32_t *start, *position, *row, *slot_at[2]; /* as in mpki_sweeps_maps, a slot being a place */
    double *scale[2], *most;
    void *diagonal[2];
    int8_t *partner;
    mpki_sweeps_border
        border; /* its rows are the last ones; the approximate inverses have ones there */
    void *border_diagonal[2];
    int8_t *border_partner;
    void *vector[VECTORS], *staging;
};

void mpki_isai_factor_free(mpk_context *ctx, mpki_isai_factor **handle) {
    mpki_isai_factor *f = *handle;
    if (!f) return;
    f->job.ctx = ctx;
    for (int k = 0; k < 2; k++) {
        half *h = &f->half[k];
        mpki_isai_sparse *const all[] = {&h->t, &h->t_turned, &h->m, &h->m_turned};
        for (int q = 0; q < 4; q++) mpki_cuda_isai_give_sparse(&f->job, all[q]);
        mpki_cuda_isai_give(&f->job, &h->single);
    }
    mpki_cuda_isai_give(&f->job, &f->maps);
    mpki_cuda_isai_give(&f->job, &f->vectors);
    mpki_release(ctx, f->place);
    mpki_release(ctx, f);
    *handle = NULL;
}

bool mpki_isai_factor_suffices(const mpki_isai_factor *f) {
    return f->plain;
}

/* ---- the order of places --------------------------------------------------------------------- */

/* Lists as they are sent. */
typedef struct lists {
    int32_t *start, *row, *slot_at[2], *group;
    double *scale[2];
} lists;

static void lists_free(mpk_context *ctx, lists *l) {
    void *const all[] = {l->start, l->row,      l->slot_at[0], l->slot_at[1],
                         l->group, l->scale[0], l->scale[1]};
    for (int k = 0; k < 7; k++) mpki_release(ctx, all[k]);
}

static mpk_status list(mpki_isai_factor *f, lists *l) {
    const mpki_stages *s = f->stages;
    mpk_context *ctx = f->job.ctx;
    const int32_t n = f->job.n;
    int32_t at = 0;
    l->start = MPKI_NEW(ctx, STAGE, s->index.m, int32_t);
    l->group = MPKI_NEW(ctx, STAGE, n, int32_t);
    f->place = MPKI_NEW(ctx, STAGE, n, int32_t);
    l->row = MPKI_NEW(ctx, STAGE, n, int32_t);
    for (int k = 0; k < 2; k++) {
        l->slot_at[k] = MPKI_NEW(ctx, STAGE, n, int32_t);
        l->scale[k] = MPKI_NEW(ctx, STAGE, n, double);
    }
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    for (int32_t p = 0; p < s->index.m; p++) {
        const int32_t frame = s->index.frame[p];
        l->start[frame] = at;
        for (int32_t q = s->blocking->bptr[frame]; q < s->blocking->bptr[frame + 1]; q++, at++) {
            const int32_t column = s->blocking->perm[q], row = MPKI_ROW(s, column);
            f->place[at] = q;
            l->group[at] = frame;
            l->row[at] = row, l->slot_at[0][q] = l->slot_at[1][column] = at;
            l->scale[0][at] = s->row_scale ? s->row_scale[row] : s->scale[row];
            l->scale[1][column] = s->scale[column];
        }
    }
    return MPK_OK;
}

/* Memory for all that is as long as a vector, and what of it is known by now. */
static mpk_status send(mpki_isai_factor *f, const lists *l, int32_t **group) {
    mpki_isai_job *job = &f->job;
    const int64_t n = job->n, m = f->stages->index.m, four = sizeof(int32_t), eight = 8;
    const int64_t size = (int64_t)mpk_scalar_size(job->scalar);
    const int64_t theirs = (int64_t)mpk_scalar_size(f->scalar), border = f->border.rows;
    int64_t used = 0;
    mpk_status status = mpki_cuda_isai_take(
        job,
        mpki_cuda_isai_rounded(m * four) + 5 * mpki_cuda_isai_rounded(n * four) +
            2 * mpki_cuda_isai_rounded(n * eight) + 2 * mpki_cuda_isai_rounded(2 * n * size) +
            mpki_cuda_isai_rounded(n) + 2 * mpki_cuda_isai_rounded(2 * border * size) +
            mpki_cuda_isai_rounded(border * size) + mpki_cuda_isai_rounded(border) + 512,
        &f->maps);
    if (mpk_failed(status)) return status;
    f->start = mpki_cuda_isai_place(&f->maps, &used, m * four);
    f->position = mpki_cuda_isai_place(&f->maps, &used, n * four);
    *group = mpki_cuda_isai_place(&f->maps, &used, n * four);
    f->row = mpki_cuda_isai_place(&f->maps, &used, n * four);
    for (int k = 0; k < 2; k++) {
        f->slot_at[k] = mpki_cuda_isai_place(&f->maps, &used, n * four);
        f->scale[k] = mpki_cuda_isai_place(&f->maps, &used, n * eight);
        f->diagonal[k] = mpki_cuda_isai_place(&f->maps, &used, 2 * n * size);
        f->border_diagonal[k] = mpki_cuda_isai_place(&f->maps, &used, 2 * border * size);
    }
    f->border.work = mpki_cuda_isai_place(&f->maps, &used, border * size);
    f->border_partner = mpki_cuda_isai_place(&f->maps, &used, border);
    f->partner = mpki_cuda_isai_place(&f->maps, &used, n);
    f->most = mpki_cuda_isai_place(&f->maps, &used, eight);
    f->g.mixed = mpki_cuda_isai_place(&f->maps, &used, four);
    f->g.start = f->start;
    status = mpki_cuda_isai_to_device(job, f->start, l->start, m * four);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, *group, l->group, n * four);
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_device(job, f->position, f->place, n * four);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, f->row, l->row, n * four);
    for (int k = 0; k < 2 && !mpk_failed(status); k++) {
        status = mpki_cuda_isai_to_device(job, f->slot_at[k], l->slot_at[k], n * four);
        if (!mpk_failed(status))
            status = mpki_cuda_isai_to_device(job, f->scale[k], l->scale[k], n * eight);
    }
    used = 0;
    if (!mpk_failed(status))
        status = mpki_cuda_isai_take(
            job, VECTORS * mpki_cuda_isai_rounded(n * size) + mpki_cuda_isai_rounded(n * theirs),
            &f->vectors);
    if (mpk_failed(status)) return status;
    for (int k = 0; k < VECTORS; k++)
        f->vector[k] = mpki_cuda_isai_place(&f->vectors, &used, n * size);
    f->staging = mpki_cuda_isai_place(&f->vectors, &used, n * theirs);
    return mpki_cuda_isai_wait(job); /* the lists are released */
}

/* D^-1 and whether pivot blocks are identities. */
static mpk_status pivots(mpki_isai_factor *f) {
    const mpki_cuda_sweeps_table *sweeps = f->job.d->table->sweeps;
    int32_t mixed = 0;
    const mpki_cuda_packing p = {.store = &f->g.store,
                                 .slot = {f->start, f->start},
                                 .diagonal = {f->diagonal[0], f->diagonal[1]},
                                 .partner = f->partner,
                                 .border_diagonal = {f->border_diagonal[0], f->border_diagonal[1]},
                                 .border_partner = f->border_partner};
    mpk_status status = mpki_cuda_isai_status(&f->job, sweeps->pivots(f->job.d->cuda, &p));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(&f->job, f->job.t->identity(f->job.d->cuda, &f->g));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(&f->job, &mixed, f->g.mixed, sizeof mixed);
    f->plain = !mixed;
    return status;
}

/* ---- triangles and their inverses ------------------------------------------------------------ */

/* The pattern of A by columns in the order of places (its transpose's where `turned`). */
static mpk_status send_matrix(mpki_isai_factor *f, mpki_isai_sparse *graph) {
    const mpki_stages *s = f->stages;
    const mpki_full *a = s->at ? s->at : s->a; /* by rows: columns of A */
    mpki_isai_job *job = &f->job;
    mpk_context *ctx = job->ctx;
    const int32_t n = job->n;
    int32_t *row = MPKI_NEW(ctx, STAGE, n, int32_t), *index = MPKI_NEW(ctx, STAGE, a->nnz, int32_t);
    int64_t *ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t), at = 0;
    mpk_status status = row && index && ptr ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        for (int32_t i = 0; i < n; i++) row[s->blocking->perm[f->place[i]]] = i;
        for (int32_t j = 0; j < n; j++) {
            const int32_t old = s->blocking->perm[f->place[j]];
            ptr[j] = at;
            for (int64_t e = a->ptr[old]; e < a->ptr[old + 1]; e++) index[at++] = row[a->col[e]];
        }
        ptr[n] = at;
        status = mpki_cuda_isai_sparse_make(job, at, false, false, graph);
    }
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_device(job, graph->a.ptr, ptr, ((int64_t)n + 1) * 8);
    if (!mpk_failed(status)) status = mpki_cuda_isai_to_device(job, graph->a.index, index, at * 4);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    mpki_release(ctx, row);
    mpki_release(ctx, index);
    mpki_release(ctx, ptr);
    return status;
}

/* t := L^ by columns, or U^ by rows. */
static mpk_status gather(mpki_isai_factor *f, int which, mpki_isai_sparse *t) {
    mpki_isai_job *job = &f->job;
    mpki_isai_gathering *g = &f->g;
    const int64_t pointers = ((int64_t)job->n + 1) * 8, sum_bytes = mpki_isai_sums(job->n) * 8;
    mpki_isai_piece work = {0};
    int64_t used = 0, entries = 0;
    mpk_status status = mpki_cuda_isai_take(
        job, mpki_cuda_isai_rounded(pointers) + mpki_cuda_isai_rounded(sum_bytes), &work);
    if (mpk_failed(status)) return status;
    g->half = which, g->fill = 0;
    g->to_ptr = mpki_cuda_isai_place(&work, &used, pointers);
    int64_t *const sums = mpki_cuda_isai_place(&work, &used, sum_bytes);
    status = mpki_cuda_isai_status(job, job->t->gather(job->d->cuda, g));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_status(job, job->t->sum(job->d->cuda, job->n, g->to_ptr, sums));
    if (!mpk_failed(status))
        status = mpki_cuda_isai_to_host(job, &entries, g->to_ptr + job->n, sizeof entries);
    if (!mpk_failed(status)) status = mpki_cuda_isai_sparse_make(job, entries, true, false, t);
    if (!mpk_failed(status))
        status =
            mpki_cuda_isai_status(job, job->t->clone(job->d->cuda, t->a.ptr, g->to_ptr, pointers));
    g->fill = 1, g->to_ptr = t->a.ptr, g->to_index = t->a.index, g->to_val = t->a.val;
    if (!mpk_failed(status)) status = mpki_cuda_isai_status(job, job->t->gather(job->d->cuda, g));
    mpki_cuda_isai_give(job, &work); /* waits for what is queued */
    return status;
}

/* The rule of the options for one triangle. */
static mpki_isai_shape shape_of(const mpki_isai_factor *f, int which, const int32_t *group) {
    const mpk_options *o = f->stages->options;
    return (mpki_isai_shape){.keep = which ? MPKI_ISAI_ABOVE : MPKI_ISAI_BELOW,
                             .blocks = o->isai_pattern == MPK_ISAI_OF_BLOCKS,
                             .power = o->isai_power,
                             .block = o->isai_block,
                             .limit = o->isai_limit,
                             .over = o->isai_over,
                             .group = f->stages->blocking->largest > 1 ? group : NULL};
}

/* The pattern of M, then its values. */
static mpk_status by_columns(mpki_isai_factor *f, const mpki_isai_triangle *t,
                             const mpki_isai_sparse *graph, const int32_t *group, double *split) {
    mpki_isai_job *job = &f->job;
    const mpki_isai_shape shape = shape_of(f, t->upper, group);
    mpki_isai_sparse *m = &f->half[t->upper].m;
    bool again = false;
    mpk_status status = mpki_cuda_isai_pattern(job, graph ? graph : t->columns, !graph, &shape, m);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    *split = mpki_now_s();
    if (!mpk_failed(status)) status = mpki_cuda_isai_invert(job, t, m);
    if (!mpk_failed(status)) status = mpki_cuda_isai_cut(job, &shape, m, &again);
    return mpk_failed(status) || !again ? status : mpki_cuda_isai_invert(job, t, m);
}

/* Likewise where columns of a frame have the same rows. */
static mpk_status by_frames(mpki_isai_factor *f, const mpki_isai_triangle *t, double *split) {
    mpki_isai_job *job = &f->job;
    mpki_isai_sparse *m = &f->half[t->upper].m, blocks = {0};
    bool again = false;
    mpk_status status =
        mpki_isai_framing_pattern(job, f->framing, &f->g.store, t->upper, &blocks, m);
    *split = mpki_now_s();
    if (!mpk_failed(status)) status = mpki_isai_framing_invert(job, f->framing, t, m);
    if (!mpk_failed(status)) status = mpki_isai_framing_cut(job, f->framing, &blocks, m, &again);
    if (!mpk_failed(status) && again) status = mpki_isai_framing_invert(job, f->framing, t, m);
    mpki_cuda_isai_give_sparse(job, &blocks);
    return status;
}

/* t by columns; t_turned by rows. */
static mpk_status invert(mpki_isai_factor *f, int which, const mpki_isai_sparse *columns,
                         const mpki_isai_sparse *rows, const mpki_isai_sparse *graph,
                         const int32_t *group) {
    mpki_isai_job *job = &f->job;
    half *h = &f->half[which];
    const mpki_isai_triangle t = {.upper = which, .columns = columns, .rows = rows};
    const double start = mpki_now_s();
    double split = start;
    mpk_status status =
        f->framing ? by_frames(f, &t, &split) : by_columns(f, &t, graph, group, &split);
    if (!mpk_failed(status)) status = mpki_cuda_isai_rows(job, &t, &h->m, &h->m_turned);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(job);
    job->info.time_pattern_s += split - start;
    job->info.time_values_s += mpki_now_s() - split;
    if (!mpk_failed(status)) mpki_cuda_isai_count(job, &h->m);
    return status;
}

static mpk_status make_half(mpki_isai_factor *f, int which, const mpki_isai_sparse *graph,
                            const int32_t *group) {
    half *h = &f->half[which];
    if (mpki_progress(f->job.ctx, STAGE, 0.5 * which))
        return mpki_error(f->job.ctx, MPK_ERR_CANCELLED, STAGE, -1, "cancelled");
    mpk_status status = gather(f, which, &h->t);
    if (!mpk_failed(status)) status = mpki_cuda_isai_turn(&f->job, &h->t, &h->t_turned);
    if (mpk_failed(status)) return status;
    return which ? invert(f, 1, &h->t_turned, &h->t, graph, group)
                 : invert(f, 0, &h->t, &h->t_turned, graph, group);
}

/* ---- products -------------------------------------------------------------------------------- */

static mpki_isai_times times_of(const mpki_isai_factor *f, const mpki_isai_sparse *rows,
                                bool conjugate) {
    return (mpki_isai_times){.scalar = f->job.scalar,
                             .n = f->job.n,
                             .entries = rows->entries,
                             .ptr = rows->a.ptr,
                             .index = rows->a.index,
                             .val = rows->a.val,
                             .conjugate = conjugate,
                             .nrhs = 1,
                             .ldb = f->job.n,
                             .ldx = f->job.n,
                             .ldy = f->job.n};
}

/* Which arrays are applied; M's in single precision where that is wanted. */
static mpk_status set_products(mpki_isai_factor *f) {
    const mpk_options *o = f->stages->options;
    const mpk_scalar scalar = f->job.scalar;
    const bool ldu = f->g.store.ldu, conjugate = f->g.store.hermitian;
    const bool single =
        o->isai_precision == MPK_PRECISION_SINGLE && (scalar == MPK_D || scalar == MPK_Z);
    half *l = &f->half[0], *u = &f->half[1];
    mpk_status status = MPK_OK;
    l->times = times_of(f, &l->m_turned, false);
    l->rest = times_of(f, &l->t_turned, false);
    u->times = ldu ? times_of(f, &u->m_turned, false) : times_of(f, &l->m, conjugate);
    u->rest = ldu ? times_of(f, &u->t, false) : times_of(f, &l->t, conjugate);
    for (int k = 0; k < 2 && single && !mpk_failed(status); k++) {
        half *h = &f->half[k];
        const int64_t bytes = h->times.entries * (int64_t)mpk_scalar_size(scalar) / 2;
        status = mpki_cuda_isai_take(&f->job, bytes, &h->single);
        if (!mpk_failed(status))
            status =
                mpki_cuda_isai_to_single(&f->job, h->times.entries, h->times.val, h->single.at);
        h->times.val = h->single.at, h->times.single = 1;
    }
    return status;
}

/* What no product reads is released: maps, which other values would need, for a factor is made anew
 * then; without relaxation the triangles; what is applied in single precision in double. */
static void release_unread(mpki_isai_factor *f) {
    const mpki_isai_times *read[4] = {&f->half[0].times, &f->half[1].times};
    int reads = 2;
    if (f->stages->options->isai_relax > 0)
        read[reads++] = &f->half[0].rest, read[reads++] = &f->half[1].rest;
    for (int k = 0; k < 2; k++) {
        half *h = &f->half[k];
        mpki_isai_sparse *const all[] = {&h->t, &h->t_turned, &h->m, &h->m_turned};
        for (int q = 0; q < 4; q++) {
            bool pattern = false, values = false;
            for (int r = 0; r < reads; r++) {
                pattern = pattern || read[r]->ptr == all[q]->a.ptr;
                values = values || read[r]->val == all[q]->a.val;
            }
            mpki_cuda_isai_strip(&f->job, pattern, values, all[q]);
        }
    }
}

mpk_status mpki_isai_factor_make(mpk_context *ctx, const mpki_stages *stages,
                                 const mpki_cuda_store *store, mpki_isai_factor **out,
                                 mpk_isai_info *info) {
    mpki_isai_factor *f = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_isai_factor);
    lists l = {0};
    mpki_isai_sparse graph = {0};
    mpki_isai_framing framing = {0};
    int32_t *group = NULL;
    if (!f) return mpki_failed(ctx);
    /* frames of one row have nothing to share */
    const bool frames = stages->options->isai_frames == MPK_ON && stages->blocking->largest > 1;
    mpk_status status = mpki_cuda_isai_job_begin(ctx, STAGE, store->scalar, store->n, &f->job);
    f->stages = stages, f->scalar = stages->scalar, f->g.store = *store;
    f->border = (mpki_sweeps_border){.scalar = store->scalar,
                                     .rows = store->border,
                                     .slot_width = 1,
                                     .hermitian = store->hermitian,
                                     .in_scalar = 1,
                                     .l = store->border_l,
                                     .row = store->border_row};
    f->job.limit = stages->options->device_memory_limit;
    if (!mpk_failed(status)) status = list(f, &l);
    if (!mpk_failed(status)) status = send(f, &l, &group);
    if (!mpk_failed(status)) status = pivots(f);
    if (!mpk_failed(status) && frames) status = mpki_isai_framing_make(&f->job, stages, &framing);
    f->framing = frames ? &framing : NULL;
    const bool of_matrix = !frames && stages->options->isai_pattern == MPK_ISAI_OF_MATRIX;
    if (!mpk_failed(status) && of_matrix) status = send_matrix(f, &graph);
    for (int k = 0; k <= store->ldu && !mpk_failed(status); k++)
        status = make_half(f, k, of_matrix ? &graph : NULL, group);
    if (!mpk_failed(status)) status = set_products(f);
    if (!mpk_failed(status)) status = mpki_cuda_isai_wait(&f->job);
    if (!mpk_failed(status)) release_unread(f);
    lists_free(ctx, &l);
    mpki_cuda_isai_give_sparse(&f->job, &graph);
    mpki_isai_framing_free(&f->job, &framing);
    f->framing = NULL;
    f->job.info.bytes = f->job.bytes;
    *info = f->job.info;
    if (mpk_failed(status)) mpki_isai_factor_free(ctx, out);
    return status;
}

/* ---- applying -------------------------------------------------------------------------------- */

static mpk_status multiply(mpki_isai_factor *f, mpki_isai_times p, const void *x, const void *b,
                           void *y, int add) {
    p.x = x, p.b = b, p.y = y, p.add = add;
    return mpki_cuda_isai_status(&f->job, f->job.t->multiply(f->job.d->cuda, &p));
}

/* vector[to] := the triangular solve of vector[from]; the third one is work space. */
static mpk_status solve(mpki_isai_factor *f, int which, int from, int to) {
    const half *h = &f->half[which];
    void *const b = f->vector[from], *const x = f->vector[to], *const r = f->vector[3 - from - to];
    mpk_status status = MPK_OK;
    if (which && !f->plain)
        status = mpki_cuda_isai_status(&f->job, f->job.t->pivots(f->job.d->cuda, &f->g, 1, b));
    if (!mpk_failed(status)) status = multiply(f, h->times, b, NULL, x, 0);
    for (int k = 0; k < f->stages->options->isai_relax && !mpk_failed(status); k++) {
        status = multiply(f, h->rest, x, b, r, 0);
        if (!mpk_failed(status)) status = multiply(f, h->times, r, NULL, x, 1);
    }
    if (mpk_failed(status) || which || f->plain) return status;
    return mpki_cuda_isai_status(&f->job, f->job.t->pivots(f->job.d->cuda, &f->g, 0, x));
}

/* The rows of the dense pivot in a vector. */
static void *border_of(const mpki_isai_factor *f, int vector) {
    const int64_t first = f->job.n - f->border.rows;
    return (char *)f->vector[vector] + first * (int64_t)mpk_scalar_size(f->job.scalar);
}

static mpk_status border_multiply(mpki_isai_factor *f, int vector, bool backward) {
    f->border.y = border_of(f, vector), f->border.backward = backward;
    return mpki_cuda_isai_status(&f->job,
                                 f->job.d->table->sweeps->border(f->job.d->cuda, &f->border));
}

/* D^-1 or |D|^-1. */
static mpk_status scale(mpki_isai_factor *f, mpki_sweeps_move m, bool absolute, int vector) {
    const mpki_cuda_sweeps_table *sweeps = f->job.d->table->sweeps;
    mpki_cuda *cuda = f->job.d->cuda;
    m.y = f->vector[vector];
    mpk_status status =
        mpki_cuda_isai_status(&f->job, sweeps->scale(cuda, &m, f->diagonal[absolute], f->partner));
    if (mpk_failed(status) || !f->border.rows) return status;
    m.n = f->border.rows, m.y = border_of(f, vector);
    return mpki_cuda_isai_status(
        &f->job, sweeps->scale(cuda, &m, f->border_diagonal[absolute], f->border_partner));
}

static mpk_status on_device(mpki_isai_factor *f, mpk_part part, const void *b, void *x) {
    const mpki_cuda_sweeps_table *sweeps = f->job.d->table->sweeps;
    mpki_cuda *cuda = f->job.d->cuda;
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const bool forward = all || part == MPK_PART_L, backward = all || part == MPK_PART_LT;
    int at = 0;
    mpki_sweeps_move m = {.scalar = f->scalar, .stored = f->job.scalar, .n = f->job.n};
    m.pivots = f->job.scalar;
    m.nrhs = m.slot_width = 1, m.ldx = f->job.n;
    m.most = f->scalar != f->job.scalar ? f->most : NULL;
    m.x = (void *)(uintptr_t)b, m.y = f->vector[0];
    m.index = forward ? f->row : f->position, m.scale = forward ? f->scale[0] : NULL;
    mpk_status status = mpki_cuda_isai_status(&f->job, sweeps->in(cuda, &m));
    if (!mpk_failed(status) && forward) status = solve(f, 0, 0, 1), at = 1;
    if (!mpk_failed(status) && forward) status = border_multiply(f, at, false);
    if (!mpk_failed(status) && part != MPK_PART_L && part != MPK_PART_LT)
        status = scale(f, m, part == MPK_PART_ABS, at);
    if (!mpk_failed(status) && backward) status = border_multiply(f, at, true);
    if (!mpk_failed(status) && backward) status = solve(f, 1, at, 2), at = 2;
    m.x = x, m.y = f->vector[at];
    m.index = f->slot_at[backward], m.scale = backward ? f->scale[1] : NULL;
    return mpk_failed(status) ? status : mpki_cuda_isai_status(&f->job, sweeps->out(cuda, &m));
}

mpk_status mpki_isai_factor_apply(mpki_isai_factor *f, mpk_part part, const void *b, void *x) {
    const mpki_cuda_table *table = f->job.d->table;
    mpki_isai_job *job = &f->job;
    const int64_t bytes = job->n * (int64_t)mpk_scalar_size(f->scalar);
    if (job->n == 0) return MPK_OK;
    const bool b_here = table->is_device(job->d->cuda, b);
    const bool x_here = table->is_device(job->d->cuda, x);
    mpk_status status = MPK_OK;
    if (!b_here) status = mpki_cuda_isai_to_device(job, f->staging, b, bytes);
    if (!mpk_failed(status))
        status = on_device(f, part, b_here ? b : f->staging, x_here ? x : f->staging);
    if (mpk_failed(status) || (b_here && x_here)) return status;
    return x_here ? mpki_cuda_isai_wait(job) : mpki_cuda_isai_to_host(job, x, f->staging, bytes);
}
