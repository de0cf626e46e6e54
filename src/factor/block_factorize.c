/* SPDX-License-Identifier: BSD-3-Clause */
/* A factor on blocks by the meta-algorithm (Thuerck 2021, algorithm 12): what stays of older
 * values, the walk over its stages (stages.c), what is told. Where LLT breaks down, everything is
 * done again with a larger diagonal. */
#include "../engines/cpu/block_factor/border.h"
#include "../core/trace.h"
#include "../problem/full.h"
#include "stages.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* ---- the object ------------------------------------------------------------------------------ */

/* What only the factorization needs. */
static void work_free(mpki_block_body *body) {
    mpki_stages *s = &body->stages;
    unsigned char **const parts[] = {&s->final, &s->reject, &s->want, &s->stored_blocks};
    mpki_release(s->ctx, s->frame_norm);
    s->frame_norm = NULL;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        mpki_release(s->ctx, *parts[k]);
        *parts[k] = NULL;
    }
}

static void capacity_free(mpki_block_body *body) {
    mpki_release(body->stages.ctx, body->stages.capacity);
    body->stages.capacity = NULL;
}

static void body_free(mpk_factor *fac, mpki_block_body **handle) {
    mpki_block_body *body = *handle;
    if (!body) return;
    work_free(body);
    capacity_free(body);
    fac->engine->blocks->free(fac->ctx, &body->numbers);
    fac->engine->blocks->plan_free(fac->ctx, &body->plan);
    mpki_capacities_forget(&body->stages);
    mpki_ibcsr_free(fac->ctx, &body->stages.index);
    mpki_levels_free(fac->ctx, &body->stages.levels);
    mpki_release(fac->ctx, body->of_a);
    mpki_block_analysis_free(fac->ctx, &body->own);
    mpki_release(fac->ctx, body);
    *handle = NULL;
}

void mpki_block_body_free(mpk_factor *fac) {
    body_free(fac, &fac->blocks);
    if (fac->matrix) fac->engine->vectors->matrix_free(fac->ctx, &fac->matrix);
    mpki_full_free(fac->ctx, &fac->pattern);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void sum_up(const mpki_block_body *body, const mpki_block_counts *c, mpk_factor *fac) {
    const mpki_stages *s = &body->stages;
    mpk_block_info *info = &fac->blocks->stages.info;
    const int64_t stored = c->dense + c->bitmap + c->rows;
    info->flops = c->flops;
    info->perturbed = c->perturbed;
    info->two_by_two = c->two_by_two;
    info->kept = c->kept;
    info->dropped = c->dropped;
    info->dense = c->dense;
    info->bitmap = c->bitmap;
    info->rows = c->rows;
    info->by_rows = c->by_rows;
    info->isai = c->isai;
    info->mean_fill_out = stored ? c->fill_out / (double)stored : 1;
    info->blocks = stored + s->index.m;
    info->block_rows = s->index.m;
    info->levels = s->levels.count;
    info->strategy = s->blocking->strategy;
    info->ordering = s->blocking->ordering;
    info->schedule = s->options->schedule;
    info->input_nnz = s->nnz;
    info->bytes = c->bytes + s->index.ptr[s->index.m] * (int64_t)sizeof *s->index.entry;
    fac->info = (mpk_factor_info){.threads = mpki_factor_threads(fac),
                                  .stages = info->stages,
                                  .nnz = info->kept,
                                  .flops = info->flops,
                                  .bytes = info->bytes,
                                  .rejected = info->rejected,
                                  .two_by_two = info->two_by_two,
                                  .perturbed = info->perturbed,
                                  .growth = c->largest / s->size,
                                  .min_pivot = isfinite(c->smallest) ? c->smallest / s->size : 0,
                                  .max_front = s->blocking->largest,
                                  .precision = s->stored == s->scalar ? MPK_PRECISION_DOUBLE
                                                                      : MPK_PRECISION_SINGLE};
    if (s->symmetry != MPK_GENERAL) { /* else there is none */
        fac->info.inertia.positive = c->positive;
        fac->info.inertia.negative = c->negative;
    }
    fac->info.inertia.zero = c->zero;
    for (int32_t place = 0; place < s->index.m; place++) {
        const int64_t w = mpki_frame_rows(s->blocking, s->index.frame[place]);
        if (s->info.border_rows == 0 || place < s->border) fac->info.nnz += w * (w + 1) / 2;
    }
    fac->info.nnz += (int64_t)info->border_rows * (info->border_rows + 1) / 2;
}

/* A complete factorization drops nothing and keeps every entry. */
static bool is_complete(const mpk_options *o) {
    return o->drop_tolerance == 0 && o->fill_factor == 0;
}

/* The smallest pivot allowed where nothing can be put off, relative to the largest entry of the
 * scaled matrix. An incomplete factor is better off with a firm floor; a complete one must not be
 * changed by more than rounding. */
static double pivot_floor(const mpki_stages *s) {
    const bool single = s->stored == MPK_S || s->stored == MPK_C;
    if (s->options->static_shift > 0) return s->options->static_shift;
    if (s->lifted || (s->complete && s->options->level < 0)) return single ? 1e-6 : 1e-14;
    return single ? 1e-4 : 1e-8;
}

/* What blocks may keep depends on no value, but on options: all of these are to be equal. */
static void take_capacity(mpki_block_body *body, mpki_block_body *older) {
    mpki_stages *s = &body->stages, *from = &older->stages;
    if (!from->capacity || from->complete != s->complete || from->stored != s->stored ||
        from->ldu != s->ldu || memcmp(&older->options, &body->options, sizeof body->options))
        return;
    s->capacity = from->capacity;
    s->info.mean_fill_in = from->info.mean_fill_in;
    s->same_capacity = true;
    from->capacity = NULL;
}

/* Take over what older values left: index, levels and of_a of the same level of fill, and the
 * engine's plan, which is made from the second values on. False: they left nothing that fits. */
static bool take_over(mpki_block_body *body, mpki_block_body *older) {
    mpki_stages *s = &body->stages, *from = older ? &older->stages : NULL;
    if (!older || !older->intact || older->own || older->level != body->level ||
        older->rule != body->rule)
        return false;
    s->index = from->index;
    s->counts = from->counts;
    body->of_a = older->of_a;
    from->index = (mpki_ibcsr){0};
    from->counts = NULL;
    older->of_a = NULL;
    if (older->schedule == body->schedule && body->schedule != MPK_SCHEDULE_JACOBI) {
        s->levels = from->levels;
        body->plan = older->plan;
        from->levels = (mpki_levels){0};
        older->plan = NULL;
        s->plan = &body->plan;
        take_capacity(body, older);
    }
    return true;
}

/* Fill, and the index of it. */
static mpk_status make_index(mpki_block_body *body, const mpki_pattern *a) {
    mpki_stages *s = &body->stages;
    mpk_context *ctx = s->ctx;
    mpki_pattern filled = {0};
    mpk_status status =
        mpki_pattern_fill_by(ctx, a, body->level, body->rule, s->options->threads, 0, &filled);
    if (!mpk_failed(status)) status = mpki_ibcsr_make(ctx, &filled, &s->index);
    if (!mpk_failed(status)) body->of_a = MPKI_ZNEW(ctx, STAGE, s->index.nblocks, unsigned char);
    if (!mpk_failed(status) && !body->of_a) status = mpki_failed(ctx);
    for (int32_t k = 0; !mpk_failed(status) && k < filled.m;
         k++) { /* which blocks are A's: both lists are sorted */
        int64_t e = a->ptr[k];
        for (int64_t b = filled.ptr[k]; b < filled.ptr[k + 1] && e < a->ptr[k + 1]; b++)
            if (filled.row[b] == a->row[e]) body->of_a[b] = 1, e++;
    }
    mpki_pattern_free(ctx, &filled);
    return status;
}

static mpk_status prepare(mpki_block_body *body, mpki_block_body *older, const mpki_pattern *a) {
    mpki_stages *s = &body->stages;
    mpk_context *ctx = s->ctx;
    const double start = mpki_now_s();
    mpk_status status = take_over(body, older) ? MPK_OK : make_index(body, a);
    s->border = s->index.m;
    s->dense_pivot = mpki_border_dense_pivot;
    if (!mpk_failed(status)) status = mpki_block_grow(body);
    s->final = MPKI_ZNEW(ctx, STAGE, s->blocking->nframes, unsigned char);
    s->reject = MPKI_ZNEW(ctx, STAGE, s->blocking->nframes, unsigned char);
    if (body->schedule == MPK_SCHEDULE_JACOBI)
        s->frame_norm = MPKI_ZNEW(ctx, STAGE, s->blocking->nframes, double);
    const bool norms = s->frame_norm || body->schedule != MPK_SCHEDULE_JACOBI;
    if (!mpk_failed(status) && (!s->final || !s->reject || !norms)) status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = body->engine->make(s, &body->numbers);
    s->info.time_fill_s = mpki_now_s() - start;
    mpki_trace_end(ctx, MPKI_LANE_CALLER, "fill and index", -1, start);
    return status;
}

/* The end of a step in a trace, and the beginning of the next. */
static double spent(mpk_context *ctx, const char *what, double began) {
    mpki_trace_end(ctx, MPKI_LANE_CALLER, what, -1, began);
    return mpki_trace_begin(ctx);
}

/* Where the engine mirrors A itself: its copy, with these values; row sums. The pattern stays for
 * others. */
static mpk_status mirror(mpk_factor *fac, const mpk_problem_view *a) {
    const mpki_vector_engine *v = fac->engine->vectors;
    const double limit = fac->options.device_memory_limit;
    const int threads = fac->options.threads;
    mpki_pool *pool = NULL;
    mpk_status status = MPK_OK;
    if (!fac->pattern.ptr) status = mpki_full_pattern(fac->ctx, a, threads, &fac->pattern, NULL);
    if (!mpk_failed(status) && threads > 1) {
        pool = mpki_context_pool(fac->ctx, threads, 16);
        if (!pool) status = mpki_failed(fac->ctx);
    }
    if (!mpk_failed(status) && !fac->matrix)
        status = v->matrix_of(fac->ctx, a, &fac->pattern, pool, limit, &fac->matrix);
    if (!mpk_failed(status)) status = v->matrix_values(fac->matrix, pool, limit, a->ax);
    if (mpk_failed(status) || !mpki_computes_there(fac)) return status;
    status = v->row_sums(fac->matrix, fac->row_norm);
    fac->norm_inf = 0;
    for (int32_t i = 0; i < a->n; i++)
        if (!(fac->row_norm[i] <= fac->norm_inf)) fac->norm_inf = fac->row_norm[i];
    if (mpki_skew_of(fac)) fac->norm_inf = mpki_skew_row_sums(mpki_skew_of(fac), a, fac->row_norm);
    return status;
}

/* One run; `shift` times its diagonal is added to the matrix.
 * at     [in]    of a general matrix, transposed
 * older  [inout] NULL, or what was made of other values: this may take from it
 * joined [out] NULL, or other frames with which to run again: no stage accepted what is left */
static mpk_status run(mpk_factor *fac, const mpki_full *full, const mpki_full *at, double shift,
                      const mpki_block_analysis *blocks, mpki_block_body *older,
                      mpki_block_analysis **joined) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    mpki_block_body *body = fac->blocks = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_body);
    if (!body) return mpki_failed(ctx);
    mpki_stages *s = &body->stages;
    mpki_block_counts counts;
    const bool ldu = o->factor_type == MPK_TYPE_LDU;
    body->engine = fac->engine->blocks;
    *s = (mpki_stages){.ctx = ctx,
                       .scalar = an->scalar,
                       .stored = mpki_stored_scalar(an->scalar, o->method, o),
                       .symmetry = an->symmetry,
                       .nnz = an->nnz,
                       .options = o,
                       .a = full,
                       .matrix = fac->matrix,
                       .at = at,
                       .scale = fac->scale,
                       .row_scale = an->symmetry == MPK_GENERAL ? fac->scale + an->n : NULL,
                       .row_of = an->row_of,
                       .blocking = &blocks->blocking,
                       .pair = blocks->pair,
                       .ldu = ldu,
                       .hermitian = an->symmetry == MPK_HERMITIAN && !ldu,
                       .relaxed = o->method == MPK_METHOD_SSOR,
                       .lifted = mpki_is_part(o->method),
                       .omega = o->method == MPK_METHOD_SSOR ? o->omega : 1,
                       .complete = is_complete(o),
                       .pivoting = blocks->joined ? MPK_PIVOTING_ROOK : o->pivoting,
                       .bound = o->pivot_threshold > 0 ? 1 / o->pivot_threshold : INFINITY,
                       .diagonal_shift = shift,
                       .size = fac->size,
                       .broken_frame = -1};
    s->floor = pivot_floor(s) * fac->size;
    body->level = o->level;
    body->rule = o->level_rule;
    body->schedule = o->schedule;
    body->options = *o;
    mpk_status status = prepare(body, older, &blocks->a);
    const double numeric = mpki_now_s();
    if (!mpk_failed(status)) status = mpki_block_walk(body, an, fac->ax, joined);
    if (!mpk_failed(status) && !(joined && *joined)) { /* else it is to be done again */
        status = body->engine->finish(body->numbers, &counts);
        if (!mpk_failed(status) && o->triangular == MPK_TRIANGULAR_AUTO)
            status = mpki_choose_triangles(fac, &counts);
        if (!mpk_failed(status)) sum_up(body, &counts, fac);
    }
    s->info.time_block_s = an->block->time_block_s;
    s->info.time_numeric_s = mpki_now_s() - numeric;
    body->intact = s->info.rejected == 0;
    work_free(body);
    if (!body->intact || mpk_failed(status)) capacity_free(body);
    s->a = s->at = NULL;
    s->matrix = NULL;
    return status;
}

/* ---- breakdowns of LLT ----------------------------------------------------------------------- */

/* Dropping can give a definite matrix a pivot <= 0. Manteuffel 1980 then adds alpha diag(A), with
 * alpha growing until there is none; Lin & More 1999 begin at 1e-3 and double. Here alpha grows
 * fourfold: a third fewer restarts, and no more iterations (docs/design/meta-algorithm.md). */
enum { REPAIRS = 6 };
/* So often frames are joined: then they are as wide as blocks may be, or no nearer to an end. */
enum { JOINS = 3 };
static const double FIRST_SHIFT = 1e-3, SHIFT_GROWTH = 4;

/* The first row without a positive diagonal entry, which no shift makes definite; -1: there is
 * none. */
static int32_t not_positive(const mpk_analysis *an, const void *ax) {
    const int64_t parts = an->scalar == MPK_C || an->scalar == MPK_Z ? 2 : 1;
    const bool single = an->scalar == MPK_S || an->scalar == MPK_C;
    for (int32_t j = 0; j < an->n; j++) {
        const int64_t k = an->ap[j];
        if (k == an->ap[j + 1] || an->ai[k] != j) return j;
        if (!((single ? ((const float *)ax)[parts * k] : ((const double *)ax)[parts * k]) > 0))
            return j;
    }
    return -1;
}

/* The text for a pivot <= 0: it speaks of the matrix only where nothing was dropped, and nothing
 * rounded to less precision. */
static mpk_status tell_breakdown(const mpki_stages *s, const mpk_analysis *an, const void *ax,
                                 int tries) {
    const bool exact = s->complete && s->options->level < 0 &&
                       s->options->schedule != MPK_SCHEDULE_JACOBI && s->stored == s->scalar;
    const int32_t row = not_positive(an, ax);
    if (row >= 0)
        return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, row,
                          "row %d: its diagonal entry is not positive, so the matrix is not "
                          "positive definite, as factor_type llt asks",
                          row + 1);
    if (exact)
        return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, s->broken_frame,
                          "block %d: a pivot of the complete factorization is not positive: to "
                          "working precision the matrix is not positive definite",
                          s->broken_frame);
    if (tries < REPAIRS) return MPK_OK;
    return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, s->broken_frame,
                      "block %d: the incomplete factorization broke down at a pivot that is not "
                      "positive, at last with %.3g times its diagonal added to the matrix; whether "
                      "the matrix is definite this does not tell: a higher level, a smaller "
                      "drop_tolerance or factor_type ldlt may do",
                      s->broken_frame, s->diagonal_shift);
}

/* The analysis's frames as the engine takes them, cut where they are too wide: those of older
 * values, or cut anew. *own stays NULL where none are. */
static mpk_status cut_as_asked(mpk_factor *fac, mpki_block_body *older, mpki_block_analysis **own,
                               int32_t *cut) {
    const int32_t most = mpki_block_widest(fac->engine->blocks);
    if (fac->an->block->blocking.largest <= most) return MPK_OK;
    if (!older || !older->own || older->own->joined || older->own->blocking.largest > most)
        return mpki_cut_frames(fac->ctx, fac->an, most, own, cut);
    *own = older->own, *cut = older->stages.info.cut;
    older->own = NULL;
    return MPK_OK;
}

/* Run again, with a larger shift each time, until LLT does not break down. */
mpk_status mpki_block_factorize(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    mpki_full full = {0}, at = {0};
    mpki_block_analysis *own = NULL;
    mpki_block_body *older = fac->blocks;
    double shift = 0, time_fill_s = 0, time_numeric_s = 0;
    int32_t cut = 0;
    mpk_problem_view view = {an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, fac->ax};
    if (older) fac->engine->blocks->free(ctx, &older->numbers);
    fac->blocks = NULL;
    mpki_memory_bound(ctx, 0, o->memory_limit);
    mpk_status status = mpki_check_type(ctx, o, an->scalar, an->symmetry);
    const bool general = an->symmetry == MPK_GENERAL, mirrors = mpki_mirrors(fac);
    double began = mpki_trace_begin(ctx);
    if (!mpk_failed(status) && mirrors) status = mirror(fac, &view);
    if (mirrors) began = spent(ctx, "A mirrored", began);
    if (!mpk_failed(status)) status = mpki_find_scaling_there(fac);
    began = spent(ctx, "scaling", began);
    if (!mpk_failed(status) && general) /* then what it makes is of Q A */
        status = mpki_general_transposed(ctx, an, fac->ax, &at, &view);
    if (!mpk_failed(status) && !mirrors)
        status = mpki_full_make(ctx, &view, o->threads, &full, NULL);
    if (!mirrors) spent(ctx, "both triangles", began);
    const bool whole = o->method == MPK_METHOD_DIAGONAL || o->method == MPK_METHOD_BLOCK_JACOBI;
    const bool had_own = older && older->own;
    if (!mpk_failed(status) && !whole) status = cut_as_asked(fac, older, &own, &cut);
    /* is the older index of the same frames? */
    bool same = had_own ? !older->own : !own;
    for (int tries = 0, joins = 0; !mpk_failed(status);) {
        mpki_block_analysis *next = NULL;
        status = run(fac, mirrors ? &fac->pattern : &full, general ? &at : NULL, shift,
                     own ? own : an->block, same ? older : NULL,
                     joins < JOINS && !general ? &next : NULL);
        body_free(fac, &older);
        if (!fac->blocks) break;
        mpki_stages *s = &fac->blocks->stages;
        s->info.breakdowns = tries;
        s->info.diagonal_shift = shift;
        s->info.joins = joins;
        s->info.cut = cut;
        s->info.time_fill_s = time_fill_s += s->info.time_fill_s;
        s->info.time_numeric_s = time_numeric_s += s->info.time_numeric_s;
        if (next) {
            body_free(fac, &fac->blocks);
            mpki_block_analysis_free(ctx, &own);
            own = next;
            joins++;
            continue;
        }
        if (s->broken_frame < 0) break;
        status = tell_breakdown(s, an, fac->ax, tries++);
        if (mpk_failed(status)) break;
        older = fac->blocks; /* the same index again */
        same = true;
        fac->engine->blocks->free(ctx, &older->numbers);
        fac->blocks = NULL;
        shift = shift > 0 ? SHIFT_GROWTH * shift : FIRST_SHIFT;
    }
    body_free(fac, &older);
    if (fac->blocks)
        fac->blocks->own = own;
    else
        mpki_block_analysis_free(ctx, &own);
    mpki_full_free(ctx, &full);
    mpki_release(ctx, at.col);
    mpki_memory_bound(ctx, 0, 0);
    if (mpk_failed(status)) mpki_block_body_free(fac);
    return status;
}
