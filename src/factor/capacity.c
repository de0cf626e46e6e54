/* SPDX-License-Identifier: BSD-3-Clause */
/* How many entries a block may keep: Thuerck et al. 2018, sec. IV.A. */
#include "../core/pool.h"
#include "stages.h"

#include <math.h>
#include <string.h>

/* Who may keep what, by capacity_rule. An index of four bytes stands with each value in the format
 * of 2018, a bit with each place in ours. The paper prints the last hundredth, its code has the
 * last tenth (github.com/dthuerck/culip, block_ildlt.impl.cuh, build_blocks); the paper's means are
 * of all occupied blocks of a row. */
typedef struct rule {
    double compensation; /* the part of a dense block that sparse storage must save to be worth its
                            indirection */
    double tail;         /* this part of the frames, the last ones, are kept dense: most updates
                            end there */
    double index, bit;   /* bytes with each value, with each place */
    bool whole;          /* a mean is of the diagonal block's triangle, too */
} rule;
static const rule rules[] = {[MPK_CAPACITY_RULE_BITMAP] = {0.5, 0.01, 0, 0.125, false},
                             [MPK_CAPACITY_RULE_INDEX] = {0.5, 0.1, 4, 0, true}};

/* Would `room` entries of a block of so many places take as much as all of them? */
static bool keeps_all(const rule *r, double room, double places, double size) {
    const double bytes = room * (size + r->index) + places * r->bit;
    const double dense = (1 - r->compensation) * places * size;
    return r->bit > 0 ? bytes > dense : bytes >= dense;
}

/* The mean number of entries of A in the occupied blocks of frame f's column; count by block. */
static double mean_entries(const mpki_stages *s, const rule *r, int32_t f, const int32_t *count) {
    const mpki_ibcsr *x = &s->index;
    const int64_t first = x->diagonal[f];
    /* of the diagonal block both triangles were counted, and its diagonal once */
    const int32_t rows = mpki_frame_rows(s->blocking, f), own = count[x->entry[first].block];
    double sum = r->whole ? (own + (own < rows ? own : rows)) / 2 : 0;
    double blocks = r->whole && own > 0;
    for (int64_t e = first + 1; e < x->ptr[f + 1]; e++) {
        sum += count[x->entry[e].block];
        blocks += count[x->entry[e].block] > 0;
    }
    const double mean = blocks > 0 ? sum / blocks : 1;
    return r->whole ? ceil(mean) : mean;
}

/* Entries of A, or of its transpose, counted by blocks: frames in parts of `each`, a part at a time
 * by any worker. A block belongs to the column of one frame, so no two workers count in it. */
typedef struct counting {
    const mpki_stages *s;
    const mpki_full *a;
    int64_t *block; /* m for each worker: the block of each frame in the column at work, or -1 */
    int32_t *count; /* [inout] by block of the index */
    int32_t each;
} counting;

static void count_part(mpki_pool *pool, int worker, void *arg, int64_t part) {
    (void)pool;
    const counting *c = arg;
    const mpki_ibcsr *x = &c->s->index;
    const mpki_blocking *b = c->s->blocking;
    const mpki_full *a = c->a;
    int64_t *block = c->block + (int64_t)worker * x->m;
    const int32_t first = (int32_t)part * c->each;
    const int32_t end = x->m - first < c->each ? x->m : first + c->each;
    for (int32_t f = first; f < end; f++) { /* column f: entries at and after its place */
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++)
            block[x->entry[e].other] = x->entry[e].block;
        for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++)
            for (int64_t e = a->ptr[b->perm[p]]; e < a->ptr[b->perm[p] + 1]; e++) {
                const int64_t to = block[b->of[b->iperm[a->col[e]]]];
                if (to >= 0) c->count[to]++;
            }
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++) block[x->entry[e].other] = -1;
    }
}

/* count [out] by block of the index: entries of A in it; of a general one in the fuller half, for
 * what a block may keep holds for each. */
static mpk_status count_entries(mpki_stages *s, int32_t *count) {
    enum { ENOUGH = 1 << 17, EACH = 256 }; /* entries for which threads are worth it; frames */
    const int threads = s->options->threads > 1 && s->nnz >= ENOUGH ? s->options->threads : 1;
    const int32_t m = s->index.m;
    mpki_pool *pool = threads > 1 ? mpki_context_pool(s->ctx, threads, 16) : NULL;
    int64_t *block = MPKI_NEW(s->ctx, "factorize", (int64_t)threads * m, int64_t);
    int32_t *other = s->at ? MPKI_ZNEW(s->ctx, "factorize", s->index.nblocks, int32_t) : NULL;
    if (block && (other || !s->at) && (pool || threads == 1)) {
        counting c = {.s = s, .a = s->a, .block = block, .count = count, .each = EACH};
        memset(block, 0xff, (size_t)threads * (size_t)m * sizeof *block);
        mpki_pool_for(pool, 0, (m + (int64_t)EACH - 1) / EACH, count_part, &c);
        c.a = s->at, c.count = other;
        if (other) mpki_pool_for(pool, 0, (m + (int64_t)EACH - 1) / EACH, count_part, &c);
        for (int64_t k = 0; other && k < s->index.nblocks; k++)
            if (other[k] > count[k]) count[k] = other[k];
    }
    mpki_release(s->ctx, block);
    mpki_release(s->ctx, other);
    return mpki_failed(s->ctx);
}

void mpki_capacities_forget(mpki_stages *s) {
    mpki_release(s->ctx, s->counts);
    s->counts = NULL;
}

mpk_status mpki_capacities(mpki_stages *s) {
    const mpki_ibcsr *x = &s->index;
    const mpki_blocking *b = s->blocking;
    const rule *r = &rules[s->options->capacity_rule];
    const double fill = s->options->fill_factor;
    const size_t size = mpk_scalar_size(s->stored);
    for (int64_t k = 0; k < x->nblocks; k++) s->capacity[k] = fill > 0 ? 0 : INT64_MAX;
    for (int64_t k = 0; s->complete && k < x->nblocks; k++) s->capacity[k] = -1;
    mpk_status status = MPK_OK;
    if (!s->counts) { /* else they are those of older values */
        s->counts = MPKI_ZNEW(s->ctx, "factorize", x->nblocks, int32_t);
        status = s->counts ? count_entries(s, s->counts) : mpki_failed(s->ctx);
    }
    const int32_t *count = s->counts;
    double in = 0;
    int64_t occupied = 0;
    for (int32_t f = 0; !mpk_failed(status) && f < x->m; f++) {
        const double mean = mean_entries(s, r, f, count);
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++) {
            const int64_t k = x->entry[e].block;
            const double entries =
                (double)mpki_frame_rows(b, f) * mpki_frame_rows(b, x->entry[e].other);
            const double room = ceil(fill * (count[k] > 0 ? count[k] : mean));
            const bool tail = x->place[f] >= x->m - (int32_t)ceil(r->tail * x->m);
            const bool dense = keeps_all(r, room, entries, (double)size);
            if (count[k] > 0) in += count[k] / entries, occupied++;
            if (fill > 0 && !s->complete)
                s->capacity[k] = x->entry[e].other == f || tail || dense ? -1 : (int64_t)room;
        }
    }
    s->info.mean_fill_in = occupied ? in / (double)occupied : 0;
    if (mpk_failed(status)) mpki_capacities_forget(s);
    return status;
}
