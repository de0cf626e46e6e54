/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of a sweep over a device's direct factor: which fronts are swept together, and in which
 * order thread blocks take them. */
#include "lists.h"

static const char STAGE[] = "solve";

/* Does a task have a front of so many columns that its fronts are swept by themselves, that one in
 * strips? */
static bool is_apart(const mpki_direct *f, const mpki_cuda_task *task) {
    for (int32_t k = task->first; k <= task->last; k++)
        if (f->state[k].nelim > MPKI_STRIP_PIVOTS) return true;
    return false;
}

static int32_t cut_by(int32_t n, int32_t by) {
    return (n + by - 1) / by;
}

/* ---- chains: which fronts are swept in strips ---- */

/* Counts of a chain. */
static int32_t lower_strips(const mpki_direct *f, const mpki_cuda_chain *c) {
    const mpki_cuda_front_state *x = &f->state[c->top];
    return cut_by(x->w + f->plan.node[c->top].rows - x->nelim, MPKI_FRONT_STRIP);
}
/* Is it forward one piece? */
static bool is_single(const mpki_direct *f, const mpki_cuda_chain *c) {
    return f->plan.node[c->top].own > 0 && c->pieces == 1 && c->strips == 1 &&
           lower_strips(f, c) <= 1;
}
/* Slices of the rows beyond the pivots that are pieces of their own, for each strip on the way
 * back. */
static int32_t more_slices(const mpki_direct *f, const mpki_cuda_chain *c) {
    const mpki_cuda_front_state *x = &f->state[c->top];
    const int32_t slices = cut_by(x->w + f->plan.node[c->top].rows - x->nelim, MPKI_FRONT_SLICE);
    return slices > 1 ? slices - 1 : 0;
}
/* Columns of its own that a chain has. */
static int32_t columns_of(const mpki_direct *f, const mpki_cuda_chain *c) {
    const mpki_cuda_node *top = &f->plan.node[c->top];
    return top->first + top->own - f->plan.node[c->low].first;
}
/* Pieces that add up what a helper's children give. */
static int32_t gathers(const mpki_direct *f, const mpki_cuda_chain *c) {
    return columns_of(f, c) > 0 ? 0 : cut_by(f->plan.node[c->top].rows, MPKI_FRONT_GATHER);
}

/* The front whose columns come before those of this one; -1: none. */
static int32_t front_before(const mpki_cuda_plan *plan, int32_t front) {
    const mpki_cuda_node *node = &plan->node[front];
    for (int32_t k = 0; k < node->children; k++)
        if (plan->kind[plan->child[node->child + k]] == MPKI_CUDA_LOWER)
            return plan->child[node->child + k];
    return -1;
}

/* Cut chain c, of the fronts in `front`, into segments, and these into strips; fills the lists of l
 * unless it is NULL. Returns whether a block can hold so many segments. */
static bool cut_chain(const mpki_direct *f, const int32_t *front, mpki_cuda_chain *c,
                      mpki_cuda_sweep_lists *l) {
    int32_t left = 0, in_strip = 0; /* of the strip that is being filled */
    c->strips = c->segments = 0;
    for (int32_t k = 0; k < c->pieces; k++) {
        const int32_t all = f->state[front[k]].nelim;
        for (int32_t done = 0, count; done < all; done += count) {
            if (left == 0 || in_strip == MPKI_CUDA_IN_STRIP) {
                if (l) l->strip[c->strip + c->strips] = c->segments;
                c->strips++, left = MPKI_FRONT_STRIP, in_strip = 0;
            }
            count = all - done < left ? all - done : left;
            if (l)
                l->segment[c->segment + c->segments] = (mpki_cuda_segment){front[k], done, count};
            c->segments++, in_strip++, left -= count;
            if (c->segments > MPKI_CUDA_SEGMENTS) return false;
        }
    }
    if (l) l->strip[c->strip + c->strips] = c->segments;
    return true;
}

/* Have children of a front, but for the one before it in a chain, delayed columns to it? */
static bool gets_columns(const mpki_direct *f, int32_t front, bool chained) {
    const mpki_cuda_node *node = &f->plan.node[front];
    for (int32_t k = 0; k < node->children; k++) {
        const int32_t child = f->plan.child[node->child + k];
        if (f->state[child].w > f->state[child].nelim &&
            !(chained && f->plan.kind[child] == MPKI_CUDA_LOWER))
            return true;
    }
    return false;
}

/* How a front is eliminated: with others in a task, by a task of its own, as a panel, as a large
 * one. */
enum { WITH_OTHERS, ALONE, PANEL, LARGE };

static void find_ways(const mpki_direct *f, int8_t *way) {
    const mpki_cuda_plan *plan = &f->plan;
    for (int32_t k = 0; k < plan->larges; k++) way[plan->large[k]] = LARGE;
    for (int32_t t = 0; t < plan->tasks; t++) {
        const mpki_cuda_task *task = &plan->task[t];
        if (task->part >= 0) continue;
        const bool apart = task->first == task->last || is_apart(f, task);
        for (int32_t k = task->first; k <= task->last; k++)
            way[k] = task->part == MPKI_CUDA_PANEL ? PANEL : apart ? ALONE : WITH_OTHERS;
    }
}

/* One front alone. */
static void add_alone(const mpki_direct *f, int32_t top, mpki_cuda_sweep_lists *l) {
    l->chain_of[top] = l->chains;
    l->chain[l->chains++] =
        (mpki_cuda_chain){.top = top,
                          .low = top,
                          .pieces = 1,
                          .delayed = gets_columns(f, top, false),
                          .strips = cut_by(f->state[top].nelim, MPKI_FRONT_STRIP)};
}

/* The fronts that end in `top` and are columns of one, as far as none of them has others beside it
 * in a task: a chain, unless it is one small front. */
static void add_chain(const mpki_direct *f, int32_t top, mpki_cuda_sweep_lists *l) {
    mpki_cuda_chain c = {.top = top, .low = top, .pieces = 1};
    for (int32_t x = top; (x = front_before(&f->plan, x)) >= 0 && l->way[x] != WITH_OTHERS;)
        c.pieces++, c.low = x;
    for (int32_t k = c.pieces - 1, x = top; k >= 0; k--, x = front_before(&f->plan, x))
        l->front[k] = x;
    for (int32_t k = 0; k < c.pieces; k++) c.delayed |= gets_columns(f, l->front[k], k > 0);
    if (c.pieces == 1) {
        const int32_t most =
            f->plan.fronts > MPKI_STRIP_FEW_FRONTS ? MPKI_STRIP_PIVOTS : MPKI_STRIP_PIVOTS_FEW;
        if (l->way[top] != ALONE || f->state[top].nelim > most) add_alone(f, top, l);
    } else if (cut_chain(f, l->front, &c, NULL)) {
        c.strip = l->strips, c.segment = l->segments;
        (void)cut_chain(f, l->front, &c, l);
        l->strips += c.strips + 1, l->segments += c.segments;
        for (int32_t k = 0; k < c.pieces; k++) l->chain_of[l->front[k]] = l->chains;
        l->chain[l->chains++] = c;
    } else {
        for (int32_t k = 0; k < c.pieces; k++)
            if (l->way[l->front[k]] == LARGE) add_alone(f, l->front[k], l);
    }
}

/* l->parent: of each front, not yet of chains. */
static void find_chains(const mpki_direct *f, mpki_cuda_sweep_lists *l) {
    const mpki_cuda_plan *plan = &f->plan;
    find_ways(f, l->way);
    for (int32_t k = 0; k < plan->fronts; k++) l->chain_of[k] = -1;
    for (int32_t k = 0; k < plan->fronts; k++) {
        const bool goes_on =
            plan->kind[k] == MPKI_CUDA_LOWER && l->way[l->parent[k]] != WITH_OTHERS;
        if (l->way[k] != WITH_OTHERS && !goes_on) add_chain(f, k, l);
    }
    for (int32_t k = 0; k < plan->fronts; k++) {
        const int32_t chain = l->parent[k] < 0 ? -1 : l->chain_of[l->parent[k]];
        if (chain >= 0) l->parent[k] = l->chain[chain].top;
    }
}

/* ---- places of contributions in u ---- */

/* A child that is not itself a part of the chain. shift: columns of the chain before those of its
 * parent. */
typedef void child_visit(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t *contribution,
                         int32_t child, int32_t shift);

static void count_child(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t *contribution,
                        int32_t child, int32_t shift) {
    const mpki_cuda_node *node = &f->plan.node[child];
    l->slot[child] = l->slots, l->slots += node->rows;
    for (int32_t i = 0; i < node->rows; i++) contribution[shift + f->plan.rel[node->rel + i] + 1]++;
}
static void place_child(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t *contribution,
                        int32_t child, int32_t shift) {
    const mpki_cuda_node *node = &f->plan.node[child];
    for (int32_t i = 0; i < node->rows; i++)
        l->place[l->slot[child] + i] = contribution[shift + f->plan.rel[node->rel + i] + 1]++;
}

static void each_child(const mpki_direct *f, mpki_cuda_sweep_lists *l, const mpki_cuda_chain *c,
                       child_visit *visit) {
    const mpki_cuda_plan *plan = &f->plan;
    const int32_t first = plan->node[c->low].first;
    for (int32_t k = 0, front = c->top; k < c->pieces; k++, front = front_before(plan, front)) {
        const mpki_cuda_node *node = &plan->node[front];
        for (int32_t i = 0; i < node->children; i++) {
            const int32_t child = plan->child[node->child + i];
            if (k + 1 < c->pieces && plan->kind[child] == MPKI_CUDA_LOWER) continue;
            visit(f, l, l->contribution + c->contribution, child, node->first - first);
        }
    }
}

/* Find places in u for the contributions to chain c: those to one row lie side by side, from
 * l->contribution[row] to the next row's. They are counted first, then placed. */
static void place_contributions(const mpki_direct *f, mpki_cuda_sweep_lists *l,
                                mpki_cuda_chain *c) {
    const int32_t rows = columns_of(f, c) + f->plan.node[c->top].rows;
    int32_t *contribution = l->contribution + l->contributions;
    c->contribution = -1;
    if (columns_of(f, c) == 0) return;
    c->contribution = l->contributions, l->contributions += rows + 1;
    for (int32_t i = 0; i <= rows; i++) contribution[i] = 0;
    each_child(f, l, c, count_child);
    contribution[0] = (int32_t)l->rows;
    for (int32_t i = 1; i <= rows; i++) {
        const int32_t count = contribution[i];
        contribution[i] = (int32_t)l->rows, l->rows += count;
    }
    each_child(f, l, c, place_child);
}

/* Find places in u for all contributions: those to chains, then those of other fronts, each behind
 * its work space if that is in u, too. */
static mpk_status place_all(mpk_context *ctx, const mpki_direct *f, mpki_cuda_sweep_lists *l) {
    const mpki_cuda_plan *plan = &f->plan;
    int64_t most = 0;
    for (int32_t k = 0; k < plan->fronts; k++)
        most += 3 * (int64_t)plan->node[k].rows + 2 * (int64_t)f->state[k].w;
    if (most > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, most, "too many rows for a sweep");
    for (int32_t k = 0; k < plan->fronts; k++) l->slot[k] = -1;
    for (int32_t k = 0; k < l->chains; k++) place_contributions(f, l, &l->chain[k]);
    for (int32_t k = 0; k < plan->fronts; k++) {
        const int32_t rows = plan->node[k].rows, all = f->state[k].w + rows, chain = l->chain_of[k];
        const bool inner = chain >= 0 && l->chain[chain].top != k;
        if (chain < 0 && all > MPKI_SWEEP_SMEM_ROWS) l->rows += 2 * (int64_t)all, l->spills = true;
        l->at[k] = l->rows;
        if (l->slot[k] < 0 && !inner) l->rows += rows;
    }
    return MPK_OK;
}

/* ---- pieces in their order ---- */

static void add(mpki_cuda_piece *list, int32_t *count, int32_t kind, int32_t first, int32_t last) {
    list[(*count)++] = (mpki_cuda_piece){kind, first, last};
}

/* Strip number `strip` of a chain, forward or on the way back. Returns whether there is one. */
static bool add_strip(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t chain, int32_t strip,
                      bool back) {
    const mpki_cuda_chain *c = &l->chain[chain];
    const int32_t own = f->plan.node[c->top].own;
    const int32_t forward = c->single ? 1 : c->strips + lower_strips(f, c);
    const int32_t all = own == 0 ? 0 : back ? c->strips : forward;
    if (strip >= all) return false;
    for (int32_t k = 1; back && k <= more_slices(f, c); k++)
        add(l->up, &l->ups, MPKI_CUDA_SLICE + k, chain, all - 1 - strip);
    if (back)
        add(l->up, &l->ups, MPKI_CUDA_STRIP, chain, all - 1 - strip);
    else
        add(l->down, &l->downs, MPKI_CUDA_STRIP, chain, strip);
    return true;
}

/* What a helper consists of: forward what its children give. */
static void add_begin(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t chain, bool back) {
    const mpki_cuda_chain *c = &l->chain[chain];
    for (int32_t part = 0; !back && part < gathers(f, c); part++)
        add(l->down, &l->downs, MPKI_CUDA_GATHER, chain, part);
}

/* Large fronts of a step side by side, strip by strip. */
static void large_pieces(const mpki_direct *f, const mpki_cuda_step *step, mpki_cuda_sweep_lists *l,
                         bool back) {
    const int32_t *large = f->plan.large;
    bool more = true;
    for (int32_t k = step->large_first; k < step->large_last; k++)
        add_begin(f, l, l->chain_of[large[k]], back);
    for (int32_t strip = 0; more; strip++) {
        more = false;
        for (int32_t k = step->large_first; k < step->large_last; k++)
            more |= add_strip(f, l, l->chain_of[large[k]], strip, back);
    }
}

/* Is a task swept by itself, and a warp enough for each of its fronts? A block adds up many
 * children sooner, where it has little else to do. */
static bool by_warps(const mpki_direct *f, const mpki_cuda_sweep_lists *l,
                     const mpki_cuda_task *task, bool back) {
    if (task->part >= 0 || l->chain_of[task->last] >= 0 || is_apart(f, task) ||
        task->last - task->first >= MPKI_CUDA_WARP_FRONTS)
        return false;
    const int32_t most = back ? MPKI_CUDA_WARP_BACK : MPKI_CUDA_WARP_PIVOTS;
    for (int32_t k = task->first; k <= task->last; k++) {
        const mpki_cuda_node *node = &f->plan.node[k];
        const mpki_cuda_front_state *x = &f->state[k];
        if (x->nelim > most || node->own + node->rows > MPKI_CUDA_WARP_ROWS ||
            x->w + node->rows - x->nelim > MPKI_CUDA_WARP_ROWS ||
            (!back && node->children > MPKI_WARP_CHILDREN &&
             task->last - task->first < MPKI_WARP_FEW_FRONTS))
            return false;
    }
    return true;
}

static void add_task(mpki_cuda_sweep_lists *l, int32_t kind, int32_t first, int32_t last,
                     bool back) {
    if (back)
        add(l->up, &l->ups, kind, first, last);
    else
        add(l->down, &l->downs, kind, first, last);
}

/* A front by itself. */
static void one_front(const mpki_direct *f, mpki_cuda_sweep_lists *l, int32_t front, bool back) {
    const int32_t chain = l->chain_of[front];
    if (chain < 0) {
        add_task(l, MPKI_CUDA_TASK, front, front, back);
    } else if (l->chain[chain].top == front) { /* other fronts of it are there with it */
        add_begin(f, l, chain, back);
        for (int32_t strip = 0; add_strip(f, l, chain, strip, back); strip++) continue;
    }
}

/* Pieces of task t of a step; tasks of few small fronts with the next ones in order, down to `end`:
 * a block has many warps. Returns the last task that was taken. */
static int32_t task_pieces(const mpki_direct *f, const mpki_cuda_step *step,
                           mpki_cuda_sweep_lists *l, int32_t t, bool back) {
    const mpki_cuda_task *task = &f->plan.task[t];
    const int32_t by = back ? -1 : 1,
                  end = back ? step->task[0] - 1 : step->task[MPKI_CUDA_CLASSES];
    if (task->part >= 0) return t;
    if (by_warps(f, l, task, back)) {
        int32_t first = task->first, last = task->last;
        for (; t + by != end; t += by) {
            const mpki_cuda_task *next = &f->plan.task[t + by];
            const bool beside = back ? next->last == first - 1 : next->first == last + 1;
            if (!beside || last - first + next->last - next->first + 2 > l->group ||
                !by_warps(f, l, next, back))
                break;
            if (back)
                first = next->first;
            else
                last = next->last;
        }
        add_task(l, MPKI_CUDA_WARPS, first, last, back);
    } else if (l->chain_of[task->last] < 0 && !is_apart(f, task)) {
        add_task(l, MPKI_CUDA_TASK, task->first, task->last, back);
    } else {
        for (int32_t k = back ? task->last : task->first; k >= task->first && k <= task->last;
             k += by)
            one_front(f, l, k, back);
    }
    return t;
}

static void order_pieces(const mpki_direct *f, mpki_cuda_sweep_lists *l) {
    const mpki_cuda_plan *plan = &f->plan;
    const int32_t share = plan->tasks / MPKI_SWEEP_PIECES;
    l->group = share < MPKI_SWEEP_GROUP_LEAST  ? MPKI_SWEEP_GROUP_LEAST
               : share > MPKI_SWEEP_GROUP_MOST ? MPKI_SWEEP_GROUP_MOST
                                               : share;
    for (int32_t d = 0; d < plan->steps; d++) {
        const mpki_cuda_step *step = &plan->step[d];
        large_pieces(f, step, l, false);
        for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++)
            t = task_pieces(f, step, l, t, false);
        step = &plan->step[plan->steps - 1 - d];
        for (int32_t t = step->task[MPKI_CUDA_CLASSES] - 1; t >= step->task[0]; t--)
            t = task_pieces(f, step, l, t, true);
        large_pieces(f, step, l, true);
    }
}

/* Is this a piece of a chain that blocks take for several sheets (kernels/triangular/together.cuh)? */
static bool is_together(const mpki_cuda_sweep_lists *l, const mpki_cuda_piece *x, bool back) {
    if (back) return x->kind == MPKI_CUDA_STRIP || x->kind > MPKI_CUDA_SLICE;
    return x->kind == MPKI_CUDA_STRIP && !l->chain[x->first].single;
}

/* A list for as many sheets as there may be: *out, *count. */
static mpk_status spread_list(mpk_context *ctx, const mpki_cuda_sweep_lists *l, bool back,
                              mpki_cuda_piece **out, int32_t *count) {
    enum { SHEETS = MPKI_CUDA_SHEETS_RHS / MPKI_CUDA_RHS };
    const mpki_cuda_piece *list = back ? l->up : l->down;
    const int32_t pieces = back ? l->ups : l->downs;
    if (pieces > INT32_MAX / SHEETS)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, pieces, "too many pieces for a sweep");
    *out = MPKI_NEW(ctx, STAGE, (int64_t)pieces * SHEETS + 1, mpki_cuda_piece);
    *count = 0;
    for (int32_t k = 0; *out && k < pieces; k++) {
        const int32_t by = is_together(l, &list[k], back) ? MPKI_CUDA_SHEETS_TOGETHER : 1;
        for (int32_t sheet = 0; sheet < SHEETS; sheet += by) {
            (*out)[*count] = list[k];
            (*out)[(*count)++].kind |= sheet * MPKI_CUDA_PIECE_SHEET;
        }
    }
    return mpki_failed(ctx);
}

/* ---- the whole ---- */

void mpki_cuda_sweep_lists_free(mpk_context *ctx, mpki_cuda_sweep_lists *l) {
    void *const parts[] = {l->at,      l->slot,  l->place,       l->contribution,
                           l->parent,  l->goal,  l->down,        l->up,
                           l->segment, l->strip, l->chain_of,    l->chain,
                           l->front,   l->way,   l->down_spread, l->up_spread};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
    *l = (mpki_cuda_sweep_lists){0};
}

/* A sum that no number of pieces exceeds. */
static int64_t most_pieces(const mpki_direct *f) {
    const mpki_cuda_plan *plan = &f->plan;
    int64_t pieces = plan->tasks;
    for (int32_t k = 0; k < plan->fronts; k++) {
        const mpki_cuda_node *node = &plan->node[k];
        const int32_t all = f->state[k].w + node->rows;
        pieces += 4 + all / MPKI_FRONT_GATHER + all / MPKI_FRONT_STRIP;
        pieces += (2 + (int64_t)f->state[k].nelim / MPKI_FRONT_STRIP) * (all / MPKI_FRONT_SLICE);
    }
    return pieces;
}

static mpk_status allocate_lists(mpk_context *ctx, const mpki_direct *f, mpki_cuda_sweep_lists *l) {
    const int64_t fronts = f->plan.fronts, pieces = most_pieces(f);
    int64_t segments = 0, rows = 0, columns = 0;
    if (pieces > INT32_MAX / 2)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, pieces, "too many pieces for a sweep");
    for (int64_t k = 0; k < fronts; k++) {
        segments += 2 + f->state[k].nelim / MPKI_FRONT_STRIP;
        rows += f->plan.node[k].rows, columns += f->plan.node[k].own;
    }
    l->at = MPKI_NEW(ctx, STAGE, fronts + 1, int64_t);
    l->slot = MPKI_NEW(ctx, STAGE, fronts + 1, int64_t);
    l->place = MPKI_NEW(ctx, STAGE, rows + 1, int32_t);
    l->contribution = MPKI_NEW(ctx, STAGE, rows + columns + fronts + 1, int32_t);
    l->parent = MPKI_NEW(ctx, STAGE, fronts + 1, int32_t);
    l->goal = MPKI_NEW(ctx, STAGE, fronts + 1, int32_t);
    l->chain_of = MPKI_NEW(ctx, STAGE, fronts + 1, int32_t);
    l->front = MPKI_NEW(ctx, STAGE, fronts + 1, int32_t);
    l->way = MPKI_ZNEW(ctx, STAGE, fronts + 1, int8_t);
    l->chain = MPKI_NEW(ctx, STAGE, fronts + 1, mpki_cuda_chain);
    l->segment = MPKI_NEW(ctx, STAGE, segments + 1, mpki_cuda_segment);
    l->strip = MPKI_NEW(ctx, STAGE, segments + fronts + 1, int32_t);
    l->down = MPKI_NEW(ctx, STAGE, pieces + 1, mpki_cuda_piece);
    l->up = MPKI_NEW(ctx, STAGE, pieces + 1, mpki_cuda_piece);
    return l->at && l->slot && l->place && l->contribution && l->parent && l->goal && l->chain_of &&
                   l->front && l->way && l->chain && l->segment && l->strip && l->down && l->up
               ? MPK_OK
               : mpki_failed(ctx);
}

/* Where copies of chains of one front lie, one after the other, each from a line of the second
 * cache on. */
static void place_half_copies(const mpki_direct *f, mpki_cuda_sweep_lists *l) {
    enum { LINE = 32 };
    for (int32_t k = 0; k < l->chains; k++) {
        mpki_cuda_chain *c = &l->chain[k];
        const mpki_cuda_front_state *x = &f->state[c->top];
        c->half_copy = -1;
        if (c->pieces > 1) continue;
        c->half_copy = l->half_copy;
        l->half_copy +=
            (mpki_half_copy_entries(mpki_cuda_leading(x->w + f->plan.node[c->top].rows), x->nelim) +
             LINE - 1) &
            ~(int64_t)(LINE - 1);
    }
}

mpk_status mpki_cuda_sweep_lists_make(mpk_context *ctx, const mpki_direct *f,
                                      mpki_cuda_sweep_lists *l) {
    const mpki_cuda_plan *plan = &f->plan;
    *l = (mpki_cuda_sweep_lists){0};
    mpk_status status = allocate_lists(ctx, f, l);
    if (mpk_failed(status)) return status;
    for (int32_t k = 0; k < plan->fronts; k++) l->parent[k] = -1, l->goal[k] = 1;
    for (int32_t k = 0; k < plan->fronts; k++)
        for (int32_t c = 0; c < plan->node[k].children; c++)
            l->parent[plan->child[plan->node[k].child + c]] = k;
    find_chains(f, l);
    status = place_all(ctx, f, l);
    if (mpk_failed(status)) return status;
    place_half_copies(f, l);
    l->small = l->half_copy < f->half_copy_least;
    for (int32_t k = 0; k < l->chains; k++) {
        mpki_cuda_chain *c = &l->chain[k];
        c->single = l->small && is_single(f, c);
        c->square = l->squares, l->squares += c->strips;
        c->sent = l->sent;
        l->sent += (int64_t)c->strips * (2 + more_slices(f, c)) * MPKI_FRONT_STRIP;
        l->goal[c->top] = plan->node[c->top].own == 0 ? gathers(f, c)
                          : c->single                 ? 1
                                                      : c->strips + lower_strips(f, c);
    }
    order_pieces(f, l);
    if (f->tree.scalar != MPK_D) return MPK_OK;
    status = spread_list(ctx, l, false, &l->down_spread, &l->downs_spread);
    if (!mpk_failed(status)) status = spread_list(ctx, l, true, &l->up_spread, &l->ups_spread);
    return status;
}
