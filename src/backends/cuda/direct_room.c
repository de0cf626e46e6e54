/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the contributions of a plan lie (direct_cut.h): a front's until its parent has taken it. */
#include "direct_cut.h"

#include <stdlib.h>

static const char STAGE[] = "factorize";

/* Room for contributions, first fit: free pieces by address, and what is held until which step. */
typedef struct piece {
    int64_t at, size;
    int32_t until; /* of what is held */
} piece;

typedef struct room {
    mpk_context *ctx;
    piece *open, *held;
    int32_t opens, helds;
    int64_t end; /* the most that was ever in use */
} room;

static int by_address(const void *a, const void *b) {
    const piece *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* What is not needed after the step before this one is free again. */
static void room_forget(room *r, int32_t step) {
    int32_t kept = 0, open = r->opens;
    for (int32_t k = 0; k < r->helds; k++) {
        if (r->held[k].until >= step)
            r->held[kept++] = r->held[k];
        else
            r->open[open++] = r->held[k];
    }
    if (open == r->opens) return;
    r->helds = kept;
    qsort(r->open, (size_t)open, sizeof *r->open, by_address);
    r->opens = 0;
    for (int32_t k = 0; k < open; k++) {
        piece *last = &r->open[r->opens - 1];
        if (r->opens > 0 && last->at + last->size == r->open[k].at)
            last->size += r->open[k].size;
        else
            r->open[r->opens++] = r->open[k];
    }
}

static int64_t room_take(room *r, int64_t size, int32_t until) {
    int64_t at = r->end;
    int32_t k = 0;
    if (size == 0) return 0;
    while (k < r->opens && r->open[k].size < size) k++;
    if (k < r->opens) {
        at = r->open[k].at;
        r->open[k].at += size, r->open[k].size -= size;
    } else if (r->opens > 0 && r->open[r->opens - 1].at + r->open[r->opens - 1].size == r->end) {
        at = r->open[--r->opens].at;
    }
    if (at + size > r->end) r->end = at + size;
    r->held[r->helds++] = (piece){at, size, until};
    return at;
}

/* Contributions inside a task: two stacks, by depth, so that a front's own never lies on those of
 * its children. Relative to where they begin. Returns the entries of both. */
static int64_t place_inside(mpki_cuda_plan *plan, const mpki_cuda_task *task, const int32_t *parent,
                            int8_t *side) {
    int64_t top[2] = {0, 0}, most[2] = {0, 0};
    side[task->last] = 0;
    for (int32_t f = task->last - 1; f >= task->first; f--) side[f] = (int8_t)(1 - side[parent[f]]);
    for (int32_t f = task->first; f < task->last; f++) {
        const mpki_cuda_node *node = &plan->node[f];
        const int me = side[f];
        for (int32_t k = 0; k < node->children; k++) {
            const int32_t child = plan->child[node->child + k];
            if (plan->node[child].contribution < top[1 - me])
                top[1 - me] = plan->node[child].contribution;
        }
        plan->node[f].contribution = top[me];
        top[me] += mpki_cuda_contribution_entries(node->rows);
        if (top[me] > most[me]) most[me] = top[me];
    }
    for (int32_t f = task->first; f < task->last; f++)
        if (side[f]) plan->node[f].contribution += most[0];
    return most[0] + most[1];
}

/* Pieces of a supernode take turns in two places: what one writes is read by the next alone, and
 * that one is done before the next but one begins to write. */
static int64_t place_lower(const mpki_cuda_cut *c, room *r, int32_t s, int64_t (*two)[2]) {
    const mpki_cuda_made *m = &c->m;
    const int32_t top = m->super[s], next = m->parent[s];
    if (m->shift[s] == 0) {
        const int32_t until = c->step[c->root[top]];
        two[top][0] = room_take(r, mpki_cuda_contribution_entries(m->rows[s]), until);
        if (m->kind[next] == MPKI_CUDA_LOWER)
            two[top][1] = room_take(r, mpki_cuda_contribution_entries(m->rows[next]), until);
    }
    const int64_t at = two[top][0];
    two[top][0] = two[top][1], two[top][1] = at; /* the other one is the next piece's */
    return at;
}

/* Contributions of the roots of tasks and of large fronts live until their parent's step is over. */
mpk_status mpki_cuda_place_contributions(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    mpki_cuda_plan *plan = c->plan;
    const int64_t pieces = 2 * ((int64_t)plan->tasks + plan->larges) + 1, fronts = plan->fronts;
    int8_t *side = MPKI_ZNEW(m->ctx, STAGE, fronts + 1, int8_t);
    int32_t *parent = MPKI_NEW(m->ctx, STAGE, fronts + 1, int32_t);
    int32_t *made_as = MPKI_NEW(m->ctx, STAGE, fronts + 1, int32_t);
    int64_t(*two)[2] = mpki_calloc(m->ctx, STAGE, (int64_t)m->tree->nsuper + 1, sizeof *two);
    room r = {.ctx = m->ctx,
              .open = MPKI_NEW(m->ctx, STAGE, 2 * pieces, piece),
              .held = MPKI_NEW(m->ctx, STAGE, pieces, piece)};
    const bool all = side && parent && made_as && two && r.open && r.held;
    for (int32_t s = 0; all && s < m->count; s++) {
        parent[c->now[s]] = m->parent[s] < 0 ? -1 : c->now[m->parent[s]];
        made_as[c->now[s]] = s;
    }
#define PLACE(f)                                                                                   \
    do {                                                                                           \
        const int32_t s_ = made_as[f], up_ = m->parent[s_];                                        \
        plan->node[f].contribution =                                                               \
            m->kind[s_] == MPKI_CUDA_LOWER                                                         \
                ? place_lower(c, &r, s_, two)                                                      \
                : room_take(&r, mpki_cuda_contribution_entries(plan->node[f].rows),                \
                            up_ < 0 ? 0 : c->step[c->root[up_]]);                                  \
    } while (0)
    for (int32_t l = 0; all && l < plan->steps; l++) {
        const mpki_cuda_step *step = &plan->step[l];
        room_forget(&r, l);
        for (int32_t k = step->large_first; k < step->large_last; k++) PLACE(plan->large[k]);
        for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++) {
            const mpki_cuda_task *task = &plan->task[t];
            if (task->part >= 0) continue;
            const int64_t inside = place_inside(plan, task, parent, side);
            const int64_t at = room_take(&r, inside, l);
            for (int32_t f = task->first; f < task->last; f++) plan->node[f].contribution += at;
            PLACE(task->last);
        }
    }
#undef PLACE
    plan->contribution_entries = r.end;
    mpki_release(m->ctx, side);
    mpki_release(m->ctx, parent);
    mpki_release(m->ctx, made_as);
    mpki_release(m->ctx, two);
    mpki_release(m->ctx, r.open);
    mpki_release(m->ctx, r.held);
    return mpki_failed(m->ctx);
}
