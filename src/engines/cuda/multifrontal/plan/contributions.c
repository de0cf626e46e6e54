/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the contributions of a plan lie (multifrontal/plan/cut.h): a front's until its parent has
 * taken it. What is counted on, and kernels keep to: a front, or a part of one, begins to write its
 * contribution when all its children, and all parts of theirs, are done; and a front that waits
 * after a stop keeps what it will take. And how much large fronts work in. */
#include "cut.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* The space of contributions, first fit: free pieces by address, and what is held until when.
 * Addresses are entries from the begin of the panels, step by step: until its step begins a panel is
 * free. */
typedef struct piece {
    int64_t at, size;
    int32_t until; /* of what is held: a time */
} piece;

typedef struct contribution_space {
    mpk_context *ctx;
    piece *open, *held;
    int32_t opens, helds;
    int32_t *step;  /* by time */
    int64_t *panel; /* by step: where its panels begin; the last one: where all end */
    int32_t steps;
    bool turns;  /* what is over in an even step, and in an odd one, keep to places of their own */
    int64_t end; /* the most that was ever in use */
} contribution_space;

static int by_address(const void *a, const void *b) {
    const piece *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* What is not needed from now on is free again. */
static void space_forget(contribution_space *r, int32_t now) {
    int32_t kept = 0, open = r->opens;
    for (int32_t k = 0; k < r->helds; k++) {
        if (r->held[k].until >= now)
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

/* Take [at, at + size) of open piece k. */
static void cut_piece(contribution_space *r, int32_t k, int64_t at, int64_t size) {
    piece *x = &r->open[k];
    const piece rest = {at + size, x->at + x->size - at - size, 0};
    const bool before = at > x->at, after = rest.size > 0;
    if (before) x->size = at - x->at;
    if (before && after) {
        memmove(x + 2, x + 1, (size_t)(r->opens - k - 1) * sizeof *x);
        x[1] = rest, r->opens++;
    } else if (after) {
        *x = rest;
    } else if (!before) {
        memmove(x, x + 1, (size_t)(r->opens - k - 1) * sizeof *x);
        r->opens--;
    }
}

/* The first open piece that has so many entries from `least` on, and before `end`, at *at [out]; -1: there is
 * none. */
static int32_t find_open(const contribution_space *r, int64_t size, int64_t least, int64_t end,
                         int64_t *at) {
    int32_t k = 0, high = r->opens;
    while (k < high) { /* the first piece that ends behind `least` */
        const int32_t middle = k + (high - k) / 2;
        if (r->open[middle].at + r->open[middle].size > least)
            high = middle;
        else
            k = middle + 1;
    }
    for (; k < r->opens && r->open[k].at < end; k++) {
        const piece *x = &r->open[k];
        *at = x->at > least ? x->at : least;
        if ((x->at + x->size < end ? x->at + x->size : end) - *at >= size) return k;
    }
    return -1;
}

/* A place that is free until this time. A step reads what the one before has written while it writes what the
 * next one reads; so, with r->turns, panels of every other step, and what lies behind all of them where that is
 * its turn, are for what is over in this step. Else, or where these are full, it is the first place of all. */
static int64_t space_take(contribution_space *r, int64_t size, int32_t until) {
    const int32_t step = r->step[until], last = r->opens - 1;
    const int64_t least = r->panel[step + 1];
    int64_t at = 0;
    int32_t k = -1;
    if (size == 0) return 0;
    for (int32_t p = step + 1; r->turns && k < 0 && p <= r->steps; p += 2)
        k = find_open(r, size, r->panel[p], p < r->steps ? r->panel[p + 1] : INT64_MAX, &at);
    if (k < 0) k = find_open(r, size, least, INT64_MAX, &at);
    if (k >= 0) {
        cut_piece(r, k, at, size);
    } else {
        const piece *x = &r->open[last];
        at = r->end;
        if (last >= 0 && x->at + x->size == r->end && (x->at > least ? x->at : least) < r->end) {
            at = x->at > least ? x->at : least;
            cut_piece(r, last, at, r->end - at);
        }
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

/* ---- inside a step ----
 * Its tasks run as they can, but a front begins to write when all below it is over. So what lies
 * below a front's children may have its place in the front's own contribution, each piece for one
 * of them. From the top down, since fronts above are mostly the larger ones; a contribution gets as
 * much as the largest one two levels below it needs, so that a path takes turns in two places. */

enum { MPKI_WORK_LINE = 256 /* bytes: what large fronts work in begins at such an address */ };

typedef struct free_piece {
    int64_t at, size;
} free_piece;

typedef struct step_tasks {
    mpki_cuda_plan *plan;
    contribution_space *r;
    int32_t now;                     /* the time of the step's tasks */
    int64_t entry;                   /* bytes */
    int32_t *child, *beside, *frame; /* by task: 1 + number of its first child, of the next child of
                                        its parent; tasks on the way down */
    int64_t *size, *below;           /* by task: space of its contribution; most of what is below */
    int64_t *inside, *inside_at;     /* by task: for its other fronts */
    free_piece *open;                /* above the task in work: the nearest ones last */
    int32_t opens;
} step_tasks;

static int64_t place_open(step_tasks *z, int64_t size) {
    int32_t pick = -1;
    if (size == 0) return 0;
    for (int32_t k = z->opens - 1; k >= 0 && k >= z->opens - MPKI_FREE_PIECES; k--)
        if (z->open[k].size >= size && (pick < 0 || z->open[k].size < z->open[pick].size)) pick = k;
    if (pick < 0) return space_take(z->r, size, z->now);
    const int64_t at = z->open[pick].at;
    z->open[pick].at += size, z->open[pick].size -= size;
    return at;
}

/* The children of task t, whose own place is known, and what they need inside. */
static void place_below(step_tasks *z, int32_t t) {
    for (int32_t k = z->child[t]; k; k = z->beside[k - 1])
        z->plan->node[z->plan->task[k - 1].last].contribution = place_open(z, z->size[k - 1]);
    z->open[z->opens++] =
        (free_piece){z->plan->node[z->plan->task[t].last].contribution, z->size[t]};
    for (int32_t k = z->child[t]; k; k = z->beside[k - 1])
        z->inside_at[k - 1] = place_open(z, z->inside[k - 1]);
}

/* Task t, whose parent is in another step, and all below it. */
static void place_tree(step_tasks *z, int32_t t, int32_t until) {
    int32_t depth = 0;
    z->opens = 0;
    z->plan->node[z->plan->task[t].last].contribution = space_take(z->r, z->size[t], until);
    z->inside_at[t] = space_take(z->r, z->inside[t], z->now);
    place_below(z, t);
    z->frame[depth++] = t;
    while (depth > 0) {
        const int32_t now = z->frame[depth - 1], next = z->child[now];
        if (next) {
            z->child[now] = z->beside[next - 1];
            place_below(z, next - 1);
            z->frame[depth++] = next - 1;
        } else {
            z->opens--;
            depth--;
        }
    }
}

/* The tasks of a step as trees: children, sizes. task_at: by front, 1 + its task; until: by front,
 * the time of its parent. */
static void find_trees(step_tasks *z, const mpki_cuda_step *step, const int32_t *parent,
                       const int32_t *until, const int32_t *task_at) {
    mpki_cuda_plan *plan = z->plan;
    for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++) {
        const int32_t last = plan->task[t].last, up = parent[last];
        int64_t size = mpki_cuda_contribution_entries(plan->node[last].rows);
        if (plan->task[t].part >= 0) continue;
        if (up < 0 || until[last] != z->now) {
            z->size[t] = size;
            continue;
        }
        const int32_t above = task_at[up] - 1;
        for (int32_t k = z->child[t]; k; k = z->beside[k - 1])
            if (z->below[k - 1] > size) size = z->below[k - 1];
        z->size[t] = size;
        if (size > z->below[above]) z->below[above] = size;
        z->beside[t] = z->child[above], z->child[above] = t + 1;
    }
}

/* Large fronts round by round, with what they work in, then tasks. */
static void place_step(step_tasks *z, mpki_cuda_step *step, const int32_t *parent,
                       const int32_t *until, const int32_t *task_at, int8_t *side) {
    mpki_cuda_plan *plan = z->plan;
    if (step->large_last > step->large_first) {
        space_forget(z->r, z->now - plan->round[step->large_last - 1] - 1);
        const int64_t bytes = step->work_bytes + MPKI_WORK_LINE - z->entry;
        const int64_t at = space_take(z->r, bytes / z->entry, z->now - 1) * z->entry;
        step->work = (at + MPKI_WORK_LINE - 1) / MPKI_WORK_LINE * MPKI_WORK_LINE;
    }
    for (int32_t k = step->large_first; k < step->large_last; k++) {
        mpki_cuda_node *node = &plan->node[plan->large[k]];
        if (k == step->large_first || plan->round[k] != plan->round[k - 1])
            space_forget(z->r, z->now - (plan->round[step->large_last - 1] - plan->round[k]) - 1);
        node->contribution =
            space_take(z->r, mpki_cuda_contribution_entries(node->rows), until[plan->large[k]]);
    }
    space_forget(z->r, z->now);
    find_trees(z, step, parent, until, task_at);
    for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++)
        if (plan->task[t].part < 0) z->inside[t] = place_inside(plan, &plan->task[t], parent, side);
    for (int32_t t = step->task[MPKI_CUDA_CLASSES] - 1; t >= step->task[0]; t--) {
        const int32_t last = plan->task[t].last;
        if (plan->task[t].part < 0 && (parent[last] < 0 || until[last] != z->now))
            place_tree(z, t, until[last]);
    }
    for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++)
        for (int32_t f = plan->task[t].first; f < plan->task[t].last; f++)
            plan->node[f].contribution += z->inside_at[t];
}

/* ---- times ---- */

static int64_t taken_by(const mpki_cuda_plan *plan, int32_t front) {
    const mpki_cuda_node *node = &plan->node[front];
    int64_t entries = 0;
    for (int32_t k = 0; k < node->children; k++)
        entries += mpki_cuda_contribution_entries(plan->node[plan->child[node->child + k]].rows);
    return entries;
}

/* Large fronts of a full step are assembled in two rounds, each of which takes about as much.
 * Returns how many there are. */
static int32_t find_rounds(mpki_cuda_plan *plan, const mpki_cuda_step *step, bool full) {
    int64_t all = 0, first = 0;
    int32_t rounds = 0;
    for (int32_t k = step->large_first; k < step->large_last; k++)
        all += taken_by(plan, plan->large[k]);
    for (int32_t k = step->large_first; k < step->large_last; k++) {
        plan->round[k] = rounds;
        first += taken_by(plan, plan->large[k]);
        if ((full && rounds == 0 && 2 * first >= all) || k + 1 == step->large_last) rounds++;
    }
    return rounds;
}

/* Where the panels of step l and later ones begin, in entries. */
static int64_t panels_from(const mpki_cuda_cut *c, int32_t l) {
    const mpki_cuda_plan *plan = c->plan;
    const int32_t first = l < plan->steps ? plan->step[l].first : plan->fronts;
    return (first < plan->fronts ? plan->node[first].panel : plan->panel_bytes) /
           (int64_t)mpk_scalar_size(c->m.tree->scalar);
}

/* Rounds of steps, and when a step's tasks begin, one after the other. time [out] by front; tasks
 * [out] by step; r->step, panel [out] */
static void find_times(const mpki_cuda_cut *c, int32_t *time, int32_t *tasks,
                       contribution_space *r) {
    mpki_cuda_plan *plan = c->plan;
    int32_t now = 0;
    for (int32_t l = 0; l < plan->steps; l++) {
        const mpki_cuda_step *step = &plan->step[l];
        const int32_t begin = now;
        now += find_rounds(plan, step, c->full[l]);
        for (int32_t f = step->first; f < step->last; f++) time[f] = now;
        for (int32_t k = step->large_first; k < step->large_last; k++)
            time[plan->large[k]] = begin + plan->round[k];
        tasks[l] = now++;
        for (int32_t k = begin; k < now; k++) r->step[k] = l;
    }
    for (int32_t l = 0; l <= plan->steps; l++) r->panel[l] = panels_from(c, l);
    r->steps = plan->steps;
}

/* All of them, by the times of fronts and of steps' tasks. Returns the entries behind the panels. */
static int64_t place_all(step_tasks *z, const int32_t *parent, const int32_t *until,
                         const int32_t *task_at, const int32_t *tasks, int8_t *side) {
    contribution_space *r = z->r;
    mpki_cuda_plan *plan = z->plan;
    const int64_t panels = r->panel[r->steps];
    for (int32_t t = 0; t < plan->tasks; t++) z->child[t] = 0, z->below[t] = 0;
    r->opens = r->helds = 0, r->end = panels;
    if (panels > 0) r->open[r->opens++] = (piece){0, panels, 0};
    for (int32_t l = 0; l < plan->steps; l++) {
        z->now = tasks[l];
        place_step(z, &plan->step[l], parent, until, task_at, side);
    }
    return r->end - panels;
}

/* Do contributions go from large front to large front, over more than two steps? */
static bool may_take_turns(const mpki_cuda_plan *plan) {
    int32_t steps = 0;
    for (int32_t l = 0; l < plan->steps; l++)
        steps += plan->step[l].large_last > plan->step[l].large_first;
    return steps > 2;
}

/* Contributions of the roots of tasks and of large fronts live until their parent is over: until
 * its round is assembled, or its step done, or, where it is a task of the same step, until those
 * above it begin. */
mpk_status mpki_cuda_place_contributions(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    mpki_cuda_plan *plan = c->plan;
    const int64_t tasks = (int64_t)plan->tasks + 1, fronts = (int64_t)plan->fronts + 1;
    const int64_t pieces = 2 * ((int64_t)plan->tasks + plan->larges) + plan->steps + 1;
    int8_t *side = MPKI_ZNEW(m->ctx, STAGE, fronts, int8_t);
    int32_t *by_front = MPKI_ZNEW(m->ctx, STAGE, 4 * fronts, int32_t);
    int32_t *by_task = MPKI_ZNEW(m->ctx, STAGE, 3 * tasks, int32_t);
    int32_t *by_step = MPKI_ZNEW(m->ctx, STAGE, (int64_t)plan->steps + 1, int32_t);
    int64_t *sizes = MPKI_ZNEW(m->ctx, STAGE, 4 * tasks, int64_t);
    free_piece *open = MPKI_NEW(m->ctx, STAGE, tasks, free_piece);
    contribution_space r = {.ctx = m->ctx,
                            .open = MPKI_NEW(m->ctx, STAGE, 2 * pieces + 2, piece),
                            .step = MPKI_ZNEW(m->ctx, STAGE, 3 * (int64_t)plan->steps + 1, int32_t),
                            .panel = MPKI_NEW(m->ctx, STAGE, (int64_t)plan->steps + 1, int64_t),
                            .held = MPKI_NEW(m->ctx, STAGE, pieces, piece)};
    if (side && by_front && by_task && by_step && sizes && open && r.open && r.held && r.step &&
        r.panel) {
        int32_t *parent = by_front, *until = parent + fronts, *task_at = until + fronts;
        int32_t *time = task_at + fronts;
        step_tasks z = {.plan = plan,
                        .r = &r,
                        .entry = (int64_t)mpk_scalar_size(m->tree->scalar),
                        .child = by_task,
                        .beside = by_task + tasks,
                        .frame = by_task + 2 * tasks,
                        .size = sizes,
                        .below = sizes + tasks,
                        .inside = sizes + 2 * tasks,
                        .inside_at = sizes + 3 * tasks,
                        .open = open};
        find_times(c, time, by_step, &r);
        for (int32_t s = 0; s < m->count; s++) {
            const int32_t f = c->number[s], up = m->parent[s] < 0 ? -1 : c->number[m->parent[s]];
            parent[f] = up;
            until[f] = up < 0 ? 0 : time[up];
        }
        for (int32_t t = 0; t < plan->tasks; t++)
            for (int32_t f = plan->task[t].first; plan->task[t].part < 0 && f <= plan->task[t].last;
                 f++)
                task_at[f] = t + 1;
        int64_t entries = place_all(&z, parent, until, task_at, by_step, side);
        if (may_take_turns(plan)) {
            const int64_t first = entries;
            r.turns = true;
            entries = place_all(&z, parent, until, task_at, by_step, side);
            r.turns = entries <= first;
            if (!r.turns) entries = place_all(&z, parent, until, task_at, by_step, side);
        }
        plan->contribution_entries = entries;
    }
    void *const parts[] = {side, by_front, by_task, by_step, sizes,
                           open, r.open,   r.held,  r.step,  r.panel};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(m->ctx, parts[k]);
    return mpki_failed(m->ctx);
}

/* ---- what large fronts work in ---- */

/* Bytes for a step's large fronts that are eliminated together, at most. */
static int64_t work_of(const mpki_cuda_plan *plan, const mpki_cuda_step *step, mpk_scalar scalar) {
    int64_t work = 0, most = 0;
    int32_t blocks = 0;
    for (int32_t k = step->large_first; k < step->large_last; k++) {
        const mpki_cuda_node *node = &plan->node[plan->large[k]];
        const int32_t its = (node->own + MPKI_FRONT_BLOCK - 1) / MPKI_FRONT_BLOCK;
        const int64_t mine = mpki_cuda_front_work(scalar, node->own + node->rows, node->own);
        work += mine;
        most = mine > most ? mine : most;
        blocks = its > blocks ? its : blocks;
    }
    work *= mpki_cuda_front_buffers(plan, work, blocks);
    if (work > MPKI_CUDA_TOGETHER) work = most > MPKI_CUDA_TOGETHER ? most : MPKI_CUDA_TOGETHER;
    return work;
}

void mpki_cuda_find_work(mpki_cuda_plan *plan, mpk_scalar scalar) {
    int64_t all = 0;
    plan->twice_bytes = 0;
    for (int32_t l = 0; l < plan->steps; l++) {
        const int64_t work = work_of(plan, &plan->step[l], scalar);
        all = work > all ? work : all;
    }
    plan->twice_bytes = all > plan->panel_bytes / 10 ? all : plan->panel_bytes / 10;
    if (plan->twice_bytes > MPKI_CUDA_TOGETHER) plan->twice_bytes = MPKI_CUDA_TOGETHER;
    for (int32_t l = 0; l < plan->steps; l++) {
        mpki_cuda_step *step = &plan->step[l];
        const int32_t count = step->large_last - step->large_first;
        const int64_t work = work_of(plan, step, scalar);
        step->work_bytes = work + work / 8; /* some for fronts that grow; those that are eliminated
                                             * together never take more than this: */
        if (step->work_bytes > MPKI_CUDA_TOGETHER && work <= MPKI_CUDA_TOGETHER)
            step->work_bytes = MPKI_CUDA_TOGETHER;
        step->work_bytes = count > 0 ? step->work_bytes + mpki_cuda_description_bytes(count) : 0;
    }
}
