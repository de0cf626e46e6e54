/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk over the stages of a factor on blocks (Thuerck 2021, algorithm 12): the engine computes
 * one; what it rejects is pushed back here, and fill is computed anew. */
#include "stages.h"
#include "../core/trace.h"
#include "../problem/full.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* Make room for what is kept by block; new entries are zero. */
mpk_status mpki_block_grow(mpki_block_body *body) {
    mpki_stages *s = &body->stages;
    const int64_t n = s->index.nblocks, had = body->room;
    if (n <= had && s->want) return MPK_OK; /* an index without blocks has empty arrays */
    struct {
        void **at;
        size_t size;
    } parts[] = {
        {(void **)&s->want, 1},
        {(void **)&s->stored_blocks, 1},
        {(void **)&s->capacity, sizeof *s->capacity},
        {(void **)&body->of_a, 1}, /* made with the index: not at first */
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts - (had == 0); k++) {
        if (had == 0 && *parts[k].at) continue; /* older values' */
        void *more = mpki_resize(s->ctx, STAGE, *parts[k].at, n, parts[k].size);
        if (!more) return mpki_failed(s->ctx);
        memset((char *)more + (size_t)had * parts[k].size, 0, (size_t)(n - had) * parts[k].size);
        *parts[k].at = more;
    }
    body->room = n;
    return body->numbers ? body->engine->grow(body->numbers) : MPK_OK;
}

/* Take rejected frames out of the level sets in which they failed. */
static void drop_rejected(mpki_block_body *body) {
    mpki_levels *v = &body->stages.levels;
    int32_t to = 0, begin = 0;
    for (int32_t l = 0; l < v->count; l++) {
        const int32_t end = v->ptr[l + 1];
        for (int32_t k = begin; k < end; k++)
            if (!body->stages.reject[v->frame[k]]) v->frame[to++] = v->frame[k];
        v->ptr[l + 1] = to;
        begin = end;
    }
}

/* Compute fill for the present order: from A's blocks, never from earlier fill. */
static mpk_status refill(mpki_block_body *body) {
    mpki_ibcsr *x = &body->stages.index;
    mpki_pattern now = {0}, filled = {0};
    int64_t *number = NULL, count = 0;
    mpki_capacities_forget(&body->stages);
    mpk_status status = mpki_ibcsr_pattern(body->stages.ctx, x, &now, &number);
    for (int32_t k = 0; !mpk_failed(status) && k < now.m; k++) {
        const int64_t begin = k ? now.ptr[k] : 0, end = now.ptr[k + 1];
        int64_t e = begin;
        now.ptr[k] = count; /* entries move up in place; ptr[k] is read before it is written */
        for (; e < end; e++)
            if (body->of_a[number[e]]) {
                now.row[count] = now.row[e];
                count++;
            }
        if (k == now.m - 1) now.ptr[now.m] = count;
    }
    if (!mpk_failed(status))
        status =
            mpki_pattern_fill_by(body->stages.ctx, &now, body->level, body->rule, 1, 0, &filled);
    /* a block with a rejected frame may no longer be needed */
    unsigned char *keep =
        status ? NULL : MPKI_ZNEW(body->stages.ctx, STAGE, x->nblocks, unsigned char);
    if (!mpk_failed(status) && !keep) status = mpki_failed(body->stages.ctx);
    for (int64_t b = 0; !mpk_failed(status) && b < x->nblocks; b++)
        keep[b] = (body->stages.final[x->rows[b]] && body->stages.final[x->cols[b]]) ||
                  body->of_a[b] || body->stages.stored_blocks[b];
    if (!mpk_failed(status)) status = mpki_ibcsr_merge(body->stages.ctx, x, &filled, keep);
    mpki_release(body->stages.ctx, keep);
    mpki_release(body->stages.ctx, number);
    mpki_pattern_free(body->stages.ctx, &now);
    mpki_pattern_free(body->stages.ctx, &filled);
    return status ? status : mpki_block_grow(body);
}

/* Push some frames behind all others, and compute fill anew.
 * frames [in] by frame: those where this is `as` are
 * first [out] place of the first of them
 * count [out] how many there are */
static mpk_status push_back(mpki_block_body *body, const unsigned char *frames, unsigned char as,
                            int32_t *first, int32_t *count) {
    const int32_t m = body->stages.index.m;
    int32_t *rejected = MPKI_NEW(body->stages.ctx, STAGE, m, int32_t);
    if (!rejected) return mpki_failed(body->stages.ctx);
    *count = 0;
    for (int32_t f = 0; f < m; f++)
        if (frames[f] == as) rejected[(*count)++] = f;
    *first = m - *count;
    body->stages.info.rejected += *count;
    mpk_status status = MPK_OK;
    if (*count)
        status = mpki_ibcsr_push_back(body->stages.ctx, &body->stages.index, *count, rejected);
    mpki_release(body->stages.ctx, rejected);
    if (!mpk_failed(status) && *count) status = refill(body);
    return status;
}

/* Every block with a frame of this stage that has no value yet is due. */
static void want_stage(mpki_block_body *body) {
    const mpki_ibcsr *x = &body->stages.index;
    const bool any = memchr(body->stages.final, 1, (size_t)x->m) ||
                     memchr(body->stages.stored_blocks, 1, (size_t)x->nblocks);
    memset(body->stages.want, !any, (size_t)x->nblocks); /* at first all are due */
    for (int32_t f = 0; any && f < x->m; f++) {
        if (body->stages.final[f]) continue;
        for (int64_t e = x->ptr[f]; e < x->ptr[f + 1]; e++) {
            const int64_t b = x->entry[e].block;
            body->stages.want[b] = !body->stages.stored_blocks[b];
        }
    }
}

static mpk_status begin_stage(mpki_block_body *body) {
    mpki_stages *s = &body->stages;
    want_stage(body);
    memset(s->reject, 0, (size_t)s->index.m);
    return s->same_capacity ? MPK_OK : mpki_capacities(s);
}

/* A stage that leaves more than this share of its frames to the next has got nowhere: the next one
 * would do the same again, so something must change. First pivots are looked for in the whole
 * block; then all that is left becomes one dense pivot, if it is small enough; else frames are
 * joined, and the factorization begins anew; at last pivots are replaced. */
static const double NOWHERE = 0.9;
/* The largest dense pivot; if it is not small in itself, beside the matrix. */
enum { BORDER_ROWS = 8192, BORDER_SMALL = 4096, BORDER_SHARE = 16, BORDER_WORK = 2 << 20 };
/* So many butterflies are tried where a stage accepts nothing. */
enum { BUTTERFLIES = 2 };

/* The frames from place `first` on are to be one dense pivot. True: they are few enough for it. */
static bool take_border(mpki_block_body *body, int32_t first) {
    mpki_stages *s = &body->stages;
    const double size = (double)mpk_scalar_size(s->stored);
    double rows = 0;
    if (s->ldu || s->options->factor_type == MPK_TYPE_LLT) return false;
    for (int32_t p = first; p < s->index.m; p++)
        rows += mpki_frame_rows(s->blocking, s->index.frame[p]);
    const double bytes = rows * rows * size, room = (double)mpki_memory_left(s->ctx);
    if (rows > BORDER_ROWS || 2 * bytes + BORDER_WORK > room) return false;
    if (rows > BORDER_SMALL && bytes > BORDER_SHARE * (size + 4) * (double)s->nnz) return false;
    s->border = first;
    s->info.border_rows = (int32_t)rows;
    return true;
}

/* The frames of the border, from place s->due on, are one level set. Other level sets are found
 * here unless the engine finds them itself, beside its work. */
static mpk_status make_levels(mpki_block_body *body) {
    mpki_stages *s = &body->stages;
    mpki_levels fresh = {0};
    mpk_status status;
    if (s->border < s->index.m) {
        int32_t ptr[] = {0, s->index.m - s->due};
        fresh = (mpki_levels){1, ptr, s->index.frame + s->due};
        status = mpki_levels_append(s->ctx, &s->levels, &fresh);
    } else {
        if (body->engine->finds_levels) return MPK_OK;
        const double began = mpki_trace_begin(s->ctx);
        status = mpki_levels_make(s->ctx, &s->index, s->due, &fresh);
        mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "level sets", s->levels.count, began);
        if (!mpk_failed(status)) status = mpki_levels_append(s->ctx, &s->levels, &fresh);
        mpki_levels_free(s->ctx, &fresh);
    }
    if (!mpk_failed(status)) s->due = s->index.m;
    return status;
}

int32_t mpki_block_widest(const mpki_block_engine *engine) {
    enum { FRAME_MOST = 128 }; /* as option block has it */
    return engine->widest > 0 ? engine->widest : FRAME_MOST;
}

/* Frames joined, for which A's values are looked at here. */
static mpk_status join(mpki_block_body *body, const mpk_analysis *an, const void *ax,
                       mpki_block_analysis **joined) {
    mpki_stages *s = &body->stages;
    const mpk_problem_view view = {an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, ax};
    const mpki_full *pattern = s->a;
    mpki_full whole = {0};
    mpk_status status = MPK_OK;
    if (s->matrix) {
        status = mpki_full_make(s->ctx, &view, s->options->threads, &whole, NULL);
        s->a = &whole;
    }
    if (!mpk_failed(status))
        status = mpki_join_frames(s->ctx, an, s, mpki_block_widest(body->engine), joined);
    s->a = pattern;
    mpki_full_free(s->ctx, &whole);
    return status;
}

static mpk_status run_levels(mpki_block_body *body, const mpk_analysis *an, const void *ax,
                             mpki_block_analysis **joined) {
    mpki_stages *s = &body->stages;
    mpk_status status = MPK_OK;
    int32_t first = 0, count = s->index.m;
    int idle = 0;
    for (int stage = 1; !mpk_failed(status); stage++) {
        const int32_t before = count;
        s->last = s->border < s->index.m || body->stuck || stage == s->options->stages;
        status = begin_stage(body);
        /* those of older values may be there */
        s->due = s->levels.count == 0 || stage > 1 ? first : s->index.m;
        if (!mpk_failed(status)) status = make_levels(body);
        if (!mpk_failed(status)) status = body->engine->stage(body->numbers);
        s->plan = NULL;
        s->same_capacity = false;
        if (mpk_failed(status)) break;
        s->info.stages = stage;
        drop_rejected(body);
        const double pushing = mpki_trace_begin(s->ctx);
        status = push_back(body, s->final, 0, &first, &count);
        if (count == 0) break;
        mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "push back", stage, pushing);
        if (count <= NOWHERE * before || s->last) continue;
        if (s->pivoting < MPK_PIVOTING_ROOK) {
            s->pivoting = MPK_PIVOTING_ROOK;
        } else if (!take_border(body, first) && count == before) {
            const bool renews = s->options->butterfly == MPK_ON || body->engine->renews;
            body->stuck = !renews || ++idle > BUTTERFLIES;
            if (body->stuck && joined) status = join(body, an, ax, joined);
            if (joined && *joined) break;
        }
    }
    return status;
}

/* The schedule without dependencies: Thuerck 2019, algorithm 2. */
static mpk_status run_sweeps(mpki_block_body *body) {
    mpki_stages *s = &body->stages;
    const int most = s->options->stages;
    mpk_status status = MPK_OK;
    int32_t first, count, fail = 0, before = -1;
    for (int stage = 1; !mpk_failed(status); stage++) {
        /* what fails again in the same number would do so in each stage */
        const bool pushes = (most == 0 || stage < most) && (fail != before || stage == 1);
        int32_t due = 0;
        before = fail;
        s->info.stages = stage;
        status = begin_stage(body);
        for (int32_t f = 0; f < s->index.m; f++) due += !s->final[f];
        const double began = mpki_trace_begin(s->ctx);
        if (!mpk_failed(status))
            status =
                body->engine->sweeps(body->numbers, pushes ? s->options->jacobi_push : -1, &fail);
        mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "sweeps", stage, began);
        const bool some = fail > 0 && fail < due;
        const bool begins = some && s->options->jacobi_judge == MPK_JACOBI_JUDGE_FIRST;
        s->info.swept += begins ? 0 : (int64_t)due * s->options->sweeps;
        if (fail == due) s->info.unpushed = fail;
        if (mpk_failed(status) || !some) break;
        status = push_back(body, s->reject, 1, &first, &count);
    }
    mpki_levels_free(s->ctx, &s->levels);
    if (!mpk_failed(status)) status = mpki_levels_make(s->ctx, &s->index, 0, &s->levels);
    return status;
}

mpk_status mpki_block_walk(mpki_block_body *body, const mpk_analysis *an, const void *ax,
                           mpki_block_analysis **joined) {
    if (body->schedule == MPK_SCHEDULE_JACOBI) return run_sweeps(body);
    return run_levels(body, an, ax, joined);
}
