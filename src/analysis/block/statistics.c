/* SPDX-License-Identifier: BSD-3-Clause */
/* What a blocking costs, level by level: Thuerck et al. 2018, section III and Table II; Thuerck
 * 2021, section 8.5. */
#include "../../core/floats.h"
#include "statistics.h"

#include "../schedule/schedule.h"
#include "../weakness.h"
#include "../../problem/columns.h"
#include "../../problem/perm.h"

static const char STAGE[] = "statistics";

void mpk_block_stats_clear(mpk_context *ctx, mpk_block_stats *stats) {
    if (!stats) return;
    mpki_release(ctx, stats->row);
    *stats = (mpk_block_stats){0};
}

/* Everything the steps share. */
typedef struct session {
    mpk_context *ctx;
    const mpk_problem *problem;
    mpk_options options;
    bool scalar;
    const int64_t *ap; /* the pattern that is blocked: A's lower triangle, or in `both` that */
    const int32_t *ai; /* of Q A + (Q A)^T, for a general A */
    mpki_union both;
    mpki_graph graph;
    mpki_blocking blocking;
    mpki_pattern blocks;   /* of A */
    mpki_blocking columns; /* the same order in blocks of one row; its permutation is borrowed */
    mpki_pattern entries;  /* of A, in that order */
    int64_t max_blocks;    /* of a filled pattern: what memory allows */
} session;

static void session_end(session *s) {
    s->columns.perm = s->columns.iperm = NULL;
    mpki_blocking_free(s->ctx, &s->columns);
    mpki_blocking_free(s->ctx, &s->blocking);
    mpki_pattern_free(s->ctx, &s->blocks);
    mpki_pattern_free(s->ctx, &s->entries);
    mpki_graph_free(s->ctx, &s->graph);
    mpki_union_free(s->ctx, &s->both);
}

/* A general matrix: its rows are matched, unless that is off, and then its pattern is made
 * symmetric. */
static mpk_status make_symmetric(session *s) {
    const mpk_problem *p = s->problem;
    const bool matched = s->options.matching != MPK_OFF && p->n > 0;
    int32_t rank;
    int32_t *row_of = MPKI_NEW(s->ctx, STAGE, p->n, int32_t);
    double *scale = MPKI_NEW(s->ctx, STAGE, 2 * (int64_t)p->n, double);
    double *absval = MPKI_NEW(s->ctx, STAGE, p->nnz, double);
    mpk_status status = row_of && scale && absval ? MPK_OK : mpki_failed(s->ctx);
    if (!mpk_failed(status) && matched) {
        MPKI_DISPATCH(p->scalar, column_moduli)(p->nnz, p->ax, absval);
        status = mpki_match_rows(s->ctx, p->n, p->ap, p->ai, absval, row_of, scale, &rank);
    }
    if (!mpk_failed(status))
        status = mpki_union_make(s->ctx, p->n, p->ap, p->ai, matched ? row_of : NULL, &s->both);
    s->ap = s->both.ap;
    s->ai = s->both.ai;
    mpki_release(s->ctx, row_of);
    mpki_release(s->ctx, scale);
    mpki_release(s->ctx, absval);
    return status;
}

/* Pairs from a matching, unless it is off: as in methods on blocks. */
static mpk_status match(session *s, int32_t **mate) {
    const mpk_problem *p = s->problem;
    mpki_moduli moduli = {0};
    int32_t rank;
    s->ap = p->ap;
    s->ai = p->ai;
    if (p->symmetry == MPK_GENERAL) {
        s->options.method =
            MPK_METHOD_ILDLT; /* auto would mean a complete one, whatever the level */
        mpki_imply_general(&s->options, false);
        return make_symmetric(s);
    }
    if (s->options.matching == MPK_OFF || p->n == 0) return MPK_OK;
    mpk_status status = mpki_moduli_build(s->ctx, NULL, p, &moduli);
    double *scale = MPKI_NEW(s->ctx, STAGE, p->n, double);
    *mate = MPKI_NEW(s->ctx, STAGE, p->n, int32_t);
    if (!mpk_failed(status) && (!scale || !*mate)) status = mpki_failed(s->ctx);
    if (!mpk_failed(status))
        status = mpki_match(s->ctx, p->n, p->ap, p->ai, moduli.entry, *mate, scale, &rank, NULL);
    mpki_moduli_free(s->ctx, &moduli);
    mpki_release(s->ctx, scale);
    return status;
}

/* One row a block, in the order of the blocking. */
static mpk_status make_columns(session *s) {
    int32_t n = s->problem->n;
    mpki_blocking *c = &s->columns;
    *c = (mpki_blocking){.n = n, .nframes = n, .largest = n > 0};
    c->perm = s->blocking.perm;
    c->iperm = s->blocking.iperm;
    c->bptr = MPKI_NEW(s->ctx, STAGE, (int64_t)n + 1, int32_t);
    c->of = MPKI_NEW(s->ctx, STAGE, n, int32_t);
    if (!c->bptr || !c->of) return mpki_failed(s->ctx);
    for (int32_t k = 0; k <= n; k++) c->bptr[k] = k;
    for (int32_t k = 0; k < n; k++) c->of[k] = k;
    return mpki_pattern_of_matrix(s->ctx, n, s->ap, s->ai, c, &s->entries);
}

static mpk_status begin(session *s) {
    const mpk_problem *p = s->problem;
    int32_t *mate = NULL;
    mpk_status status = match(s, &mate);
    if (!mpk_failed(status))
        status = mpki_graph_build(s->ctx, p->n, s->ap, s->ai, NULL, NULL, &s->graph);
    if (!mpk_failed(status))
        status = mpki_blocking_make(s->ctx, &s->graph, mate, &s->options, &s->blocking);
    mpki_release(s->ctx, mate);
    if (!mpk_failed(status))
        status = mpki_pattern_of_matrix(s->ctx, p->n, s->ap, s->ai, &s->blocking, &s->blocks);
    if (!mpk_failed(status) && s->scalar) status = make_columns(s);
    double bytes =
        s->options.memory_limit > 0 ? s->options.memory_limit : (double)mpki_memory_available();
    s->max_blocks = (int64_t)(bytes / 16); /* a row index, twice while it is made, and lists */
    return status;
}

/* Mean over A's nonzero blocks of stored entries over room. */
static double input_fill(const session *s) {
    double sum = 0;
    for (int32_t j = 0; j < s->problem->n; j++) {
        int32_t f = s->blocking.of[s->blocking.iperm[j]];
        for (int64_t k = s->ap[j]; k < s->ap[j + 1]; k++)
            sum +=
                1 / mpki_block_room(&s->blocking, f, s->blocking.of[s->blocking.iperm[s->ai[k]]]);
    }
    int64_t blocks = s->blocks.ptr[s->blocks.m];
    return blocks ? sum / (double)blocks : 0;
}

/* The blocks of one level of fill. */
static mpk_status block_columns(session *s, int32_t level, mpk_block_level *row) {
    mpki_pattern filled = {0};
    mpk_status status =
        mpki_pattern_fill(s->ctx, &s->blocks, level, s->options.threads, s->max_blocks, &filled);
    if (!mpk_failed(status))
        status = mpki_count_levels(s->ctx, &filled, &row->levels, &row->sublevels);
    double room = 0;
    for (int32_t c = 0; !mpk_failed(status) && c < filled.m; c++)
        for (int64_t k = filled.ptr[c]; k < filled.ptr[c + 1]; k++)
            room += mpki_block_room(&s->blocking, filled.row[k], c);
    row->blocks = mpk_failed(status) ? 0 : filled.ptr[filled.m];
    row->capacity = (int64_t)room;
    row->mean_block = row->blocks ? room / (double)row->blocks : 0;
    mpki_pattern_free(s->ctx, &filled);
    return status;
}

/* The scalar pattern with one level of fill, and how much of it a block holds. */
static mpk_status scalar_columns(session *s, int32_t level, mpk_block_level *row) {
    mpki_scalar_fill fill = {0};
    mpk_status status;
    if (level < 0) {
        status = mpki_scalar_complete(s->ctx, &s->graph, &s->blocking, s->options.threads, &fill);
    } else {
        mpki_pattern filled = {0};
        status = mpki_pattern_fill(s->ctx, &s->entries, level, s->options.threads, s->max_blocks,
                                   &filled);
        if (!mpk_failed(status)) status = mpki_count_levels(s->ctx, &filled, &fill.depth, NULL);
        if (!mpk_failed(status)) fill.nnz = filled.ptr[filled.m];
        for (int32_t c = 0; !mpk_failed(status) && c < filled.m; c++)
            for (int64_t k = filled.ptr[c]; k < filled.ptr[c + 1]; k++)
                fill.shares += 1 / mpki_block_room(&s->blocking, s->blocking.of[filled.row[k]],
                                                   s->blocking.of[c]);
        mpki_pattern_free(s->ctx, &filled);
    }
    row->scalar_nnz = fill.nnz;
    row->scalar_depth = fill.depth;
    row->mean_fill = row->blocks ? fill.shares / (double)row->blocks : 0;
    row->memory_ratio = fill.nnz ? (double)row->capacity / (double)fill.nnz : 1;
    return status;
}

static mpk_status fill_table(session *s, const int32_t *levels, int32_t count,
                             mpk_block_stats *stats) {
    mpk_status status = MPK_OK;
    for (int32_t k = 0; !mpk_failed(status) && k < count; k++) {
        mpk_block_level *row = &stats->row[k];
        double start = mpki_now_s();
        if (mpki_progress(s->ctx, "analyse", 0.2 + 0.8 * k / count))
            return mpki_error(s->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
        *row = (mpk_block_level){.level = levels[k],
                                 .scalar_nnz = -1,
                                 .scalar_depth = -1,
                                 .mean_fill = -1,
                                 .memory_ratio = -1};
        status = block_columns(s, levels[k], row);
        if (!mpk_failed(status) && s->scalar) status = scalar_columns(s, levels[k], row);
        row->time_s = mpki_now_s() - start;
    }
    return status;
}

/* Arguments that are not valid. */
static mpk_status check(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const int32_t *levels, int32_t count) {
    if (!problem || count < 0 || (count && !levels))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          !problem ? "the problem is NULL" : "levels: a NULL or a negative count");
    for (int32_t k = 0; k < count; k++)
        if (levels[k] < -1)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, k,
                              "levels[%d] = %d: a level of fill, or -1 for all of it", k,
                              levels[k]);
    if (options->ordering != MPK_ORDERING_GIVEN) return MPK_OK;
    return mpki_perm_check(ctx, STAGE, problem->n, options->given_perm);
}

mpk_status mpk_block_statistics(mpk_context *ctx, const mpk_problem *problem,
                                const mpk_options *options, const int32_t *levels, int32_t count,
                                int scalar, mpk_block_stats *stats) {
    MPKI_CALM;
    session s = {.ctx = ctx, .problem = problem, .scalar = scalar != 0};
    double start = mpki_now_s();
    if (!ctx || !stats) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_options_resolve(ctx, options, &s.options);
    if (!mpk_failed(status)) status = check(ctx, problem, &s.options, levels, count);
    if (mpk_failed(status)) return status;
    mpk_block_stats made = {.n = problem->n, .nnz = problem->nnz, .count = count};
    made.row = MPKI_ZNEW(ctx, STAGE, count, mpk_block_level);
    status = made.row ? begin(&s) : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        made.strategy = s.blocking.strategy;
        made.ordering = s.blocking.ordering;
        made.block_rows = s.blocking.nframes;
        made.largest = s.blocking.largest;
        made.mean_rows = made.block_rows ? (double)made.n / made.block_rows : 0;
        made.input_fill = input_fill(&s);
        made.time_s = mpki_now_s() - start;
        status = fill_table(&s, levels, count, &made);
    }
    session_end(&s);
    if (mpk_failed(status))
        mpk_block_stats_clear(ctx, &made);
    else
        *stats = made;
    return status;
}
