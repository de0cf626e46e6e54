/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a tree for a device (multifrontal/plan/plan.h). */
#include "cut.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum { KINDS = MPKI_CUDA_CLASSES + 1 }; /* of fronts of a step: large ones, tasks by class */

/* ---- steps ---- */

static bool is_large(const mpki_cuda_cut *c, int32_t s) {
    return c->size[s] == MPKI_CUDA_CLASSES;
}

/* How a plan's fronts are gone over: BY_LEVEL, plan.by_level; HALVES: the first step in two, by the
 * way to the root, or to the large fronts above it. */
enum { AT_ONCE, HALVES, BY_LEVEL };

/* Steps and stages: a task has a class that is no smaller than those of the tasks that it waits for
 * in its step. */
static void find_steps(mpki_cuda_cut *c, int way) {
    const mpki_cuda_made *m = &c->m;
    const bool by_level = way == BY_LEVEL;
    mpki_cuda_plan *plan = c->plan;
    int32_t last = 0;
    double longest = 0, large = 0; /* ways to the root's end, of all fronts and of large ones */
    plan->by_level = by_level;
    for (int32_t s = 0; way == HALVES && s < m->count; s++) {
        if (c->root[s] != s) continue;
        if (c->path[s] > longest) longest = c->path[s];
        if (is_large(c, s) && c->path[s] > large) large = c->path[s];
    }
    /* 0: no halves */
    const double half = large > 0 ? large + MPKI_SECOND_HALF * (longest - large) : longest / 2;
    for (int32_t at = m->count - 1; by_level && at >= 0; at--) { /* depths, parents first */
        const int32_t s = m->post[at];
        if (c->root[s] != s) continue;
        c->step[s] = m->parent[s] < 0 ? 0 : c->step[c->root[m->parent[s]]] + 1;
        if (c->step[s] > last) last = c->step[s];
    }
    int32_t *early = c->number; /* which are found later */
    memset(early, 0, (size_t)m->count * sizeof *early);
    for (int32_t at = 0; by_level && at < m->count; at++) {
        const int32_t s = m->post[at], up = m->parent[s];
        if (c->root[s] != s) continue;
        /* large fronts as late as may be, since what they leave is held; tasks as soon as may be, so that
         * those below large fronts of all levels are at work together: after their children */
        c->step[s] = is_large(c, s) ? last - c->step[s] : early[s];
        if (up >= 0 && early[c->root[up]] <= c->step[s]) early[c->root[up]] = c->step[s] + 1;
    }
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        if (by_level) {
            c->stage[s] = c->size[s];
            continue;
        }
        int32_t step = c->path[c->root[s]] <= half;
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++)
            if (c->step[m->child[k]] > step) step = c->step[m->child[k]];
        if (is_large(c, s)) step++;
        c->step[s] = step, c->stage[s] = c->size[s];
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            if (!is_large(c, child) && c->step[child] == step && c->stage[child] > c->stage[s])
                c->stage[s] = c->stage[child];
        }
        if (step > last) last = step;
    }
    plan->steps = m->count > 0 ? last + 1 : 0;
}

typedef struct keyed {
    bool leaf;
    double path;
    int32_t at; /* place in `post` */
} keyed;

/* Leaves first, then the longest way to the root; so children come before parents. */
static int by_path(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->leaf != y->leaf) return x->leaf ? -1 : 1;
    if (x->path != y->path) return x->path > y->path ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Of large fronts that are assembled in rounds: those that are near in the tree stand side by
 * side. */
static int by_place(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->at < y->at ? -1 : 1;
}

/* A task of its own that is one of very many, perhaps. */
static bool is_leaf(const mpki_cuda_cut *c, int32_t s) {
    const mpki_cuda_made *m = &c->m;
    return c->stage[s] == 0 && m->child_ptr[s + 1] == m->child_ptr[s] && m->own[s] == 1 &&
           m->rows[s] <= MPKI_FRONT_LEAF_ROWS;
}

/* A task's fronts get numbers, in the order of the tree. */
static mpki_cuda_task number_task(mpki_cuda_cut *c, int32_t root, int size, int32_t *next) {
    const mpki_cuda_made *m = &c->m;
    const int32_t first = *next;
    for (int32_t at = c->begin[root]; m->post[at] != root; at++)
        if (c->root[m->post[at]] == root) c->number[m->post[at]] = (*next)++;
    c->number[root] = (*next)++;
    return (mpki_cuda_task){first, *next - 1, size,
                            c->panel[root] ? MPKI_CUDA_PANEL : MPKI_CUDA_WHOLE};
}

typedef struct numbering {
    mpki_cuda_cut *c;
    int32_t *root, *parts, *place; /* for mpki_cuda_schedule() */
    mpki_cuda_item *item;
    int32_t next, task, large; /* the next front, task, large front */
} numbering;

/* The tasks of one class and step: leaves, then the others as blocks will take them. */
static mpk_status number_tasks(numbering *z, const keyed *roots, int32_t count, int size,
                               mpki_cuda_step *step) {
    mpki_cuda_cut *c = z->c;
    int32_t leaves = 0, items = 0;
    while (leaves < count && roots[leaves].leaf) {
        const int32_t root = c->m.post[roots[leaves++].at];
        c->plan->task[z->task++] = number_task(c, root, size, &z->next);
    }
    step->leaves += leaves;
    for (int32_t k = leaves; k < count; k++) {
        z->root[k - leaves] = c->m.post[roots[k].at];
        z->parts[k - leaves] = mpki_cuda_parts_of(c, z->root[k - leaves]);
        items += 1 + z->parts[k - leaves];
    }
    const mpk_status status = mpki_cuda_schedule(c, z->root, z->parts, count - leaves,
                                                 c->m.capacity->blocks[size], z->place, z->item);
    if (mpk_failed(status)) return status;
    for (int32_t k = 0; k < items; k++) {
        const mpki_cuda_item x = z->item[k];
        c->plan->task[z->task++] =
            x.part < 0 ? number_task(c, x.front, size, &z->next)
                       : (mpki_cuda_task){c->number[x.front], c->number[x.front], size, x.part};
    }
    return MPK_OK;
}

/* Number the fronts: step by step, within a step large ones, then tasks by class. start: by kind of
 * a step, where its roots begin in `roots`. */
static mpk_status number_steps(numbering *z, const int32_t *start, keyed *roots) {
    mpki_cuda_plan *plan = z->c->plan;
    mpk_status status = MPK_OK;
    for (int32_t l = 0; l < plan->steps && !mpk_failed(status); l++) {
        mpki_cuda_step *step = &plan->step[l];
        step->first = z->next;
        step->large_first = z->large;
        for (int k = 0; k < KINDS && !mpk_failed(status); k++) {
            const int64_t bin = (int64_t)l * KINDS + k;
            keyed *mine = roots + start[bin];
            const int32_t count = start[bin + 1] - start[bin];
            qsort(mine, (size_t)count, sizeof *mine, k == 0 && z->c->full[l] ? by_place : by_path);
            if (k > 0) {
                step->task[k - 1] = z->task;
                status = number_tasks(z, mine, count, k - 1, step);
            }
            for (int32_t r = 0; k == 0 && r < count; r++) {
                plan->large[z->large++] = z->next;
                z->c->number[z->c->m.post[mine[r].at]] = z->next++;
            }
            if (k == 0) step->large_last = z->large;
        }
        step->task[MPKI_CUDA_CLASSES] = z->task;
        step->last = z->next;
    }
    return status;
}

static mpk_status number(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    const int64_t bins = (int64_t)c->plan->steps * KINDS, count = (int64_t)m->count + 1;
    int32_t *start = MPKI_ZNEW(m->ctx, STAGE, bins + 2, int32_t);
    keyed *roots = MPKI_NEW(m->ctx, STAGE, count, keyed);
    numbering z = {.c = c,
                   .root = MPKI_NEW(m->ctx, STAGE, count, int32_t),
                   .parts = MPKI_NEW(m->ctx, STAGE, count, int32_t),
                   .place = MPKI_ZNEW(m->ctx, STAGE, count, int32_t),
                   .item = MPKI_NEW(m->ctx, STAGE, (int64_t)c->plan->tasks + 1, mpki_cuda_item)};
    mpk_status status = mpki_failed(m->ctx);
    if (!mpk_failed(status)) {
#define BIN(s) ((int64_t)c->step[s] * KINDS + (is_large(c, s) ? 0 : 1 + c->stage[s]))
        for (int32_t at = 0; at < m->count; at++)
            if (c->root[m->post[at]] == m->post[at]) start[BIN(m->post[at]) + 2]++;
        for (int64_t k = 2; k <= bins; k++) start[k] += start[k - 1];
        for (int32_t at = 0; at < m->count; at++) {
            const int32_t s = m->post[at];
            if (c->root[s] == s)
                roots[start[BIN(s) + 1]++] = (keyed){is_leaf(c, s), c->path[s], at};
        }
#undef BIN
        status = number_steps(&z, start, roots);
    }
    void *const parts[] = {start, roots, z.root, z.parts, z.place, z.item};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(m->ctx, parts[k]);
    return status;
}

/* The child that is done last, as a rule, comes last: the others are added up before it is done. */
static void latest_last(mpki_cuda_cut *c) {
    mpki_cuda_made *m = &c->m;
    double *const end = c->end;
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at], last = m->child_ptr[s + 1] - 1;
        int32_t latest = last;
        end[s] = 0;
        for (int32_t k = m->child_ptr[s]; k <= last; k++) {
            if (end[m->child[k]] > end[m->child[latest]]) latest = k;
            if (end[m->child[k]] > end[s]) end[s] = end[m->child[k]];
        }
        end[s] += mpki_cuda_front_ns(c, s);
        const int32_t child = last < m->child_ptr[s] ? -1 : m->child[latest];
        for (int32_t k = latest; k < last; k++) m->child[k] = m->child[k + 1];
        if (child >= 0) m->child[last] = child;
    }
}

/* Of a large front those children come first that contribute to most of its rows: they are added up
 * together. */
static void largest_first(mpki_cuda_cut *c) {
    mpki_cuda_made *m = &c->m;
    for (int32_t s = 0; s < m->count; s++) {
        int32_t *const child = m->child + m->child_ptr[s];
        const int32_t count = m->child_ptr[s + 1] - m->child_ptr[s];
        if (!is_large(c, s) || count <= MPKI_FRONT_FIRST_CHILDREN) continue;
        for (int32_t g = 0; g < MPKI_FRONT_FIRST_CHILDREN; g++) {
            int32_t most = g;
            for (int32_t k = g + 1; k < count; k++)
                if (m->rows[child[k]] > m->rows[child[most]]) most = k;
            const int32_t first = child[most];
            for (int32_t k = most; k > g; k--) child[k] = child[k - 1];
            child[g] = first;
        }
    }
}

static void fill_nodes(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    const mpki_tree_view *tree = m->tree;
    mpki_cuda_plan *plan = c->plan;
    int32_t next = 0;
    int64_t bytes = 0, entry = 0;
    for (int32_t s = 0; s < m->count; s++) plan->node[c->number[s]].first = s;
    for (int32_t f = 0; f < m->count; f++) { /* in the order of the plan's numbers */
        mpki_cuda_node *node = &plan->node[f];
        const int32_t s = node->first, super = m->super[s];
        int32_t parts_up;
        const bool real = super >= 0;
        plan->kind[f] = m->kind[s];
        *node = (mpki_cuda_node){.own = m->own[s],
                                 .rows = m->rows[s],
                                 .first = real ? tree->sptr[super] + m->shift[s] : 0,
                                 .shift = m->shift[s],
                                 .child = next,
                                 .children = m->child_ptr[s + 1] - m->child_ptr[s],
                                 .root = !real                           ? MPKI_CUDA_INNER
                                         : m->kind[s] == MPKI_CUDA_LOWER ? MPKI_CUDA_NOT_LAST
                                         : m->rows[s] == 0               ? MPKI_CUDA_ROOT
                                                                         : MPKI_CUDA_INNER,
                                 .parts = mpki_cuda_parts_of(c, s),
                                 .up = mpki_cuda_rows_up(c, s, &parts_up),
                                 .parts_up = parts_up,
                                 .rel = m->rel[s],
                                 .ridx = m->ridx[s],
                                 .panel = bytes};
        if (real) {
            node->scatter = tree->scatter_ptr[super],
            node->scatter_end = tree->scatter_ptr[super + 1];
            entry = node->scatter_end;
            while (node->scatter < entry &&
                   mpki_scatter_at(&tree->scatter, node->scatter).col < node->shift)
                node->scatter++;
            if (m->kind[s] == MPKI_CUDA_LOWER) {
                node->scatter_end = node->scatter;
                while (node->scatter_end < entry &&
                       mpki_scatter_at(&tree->scatter, node->scatter_end).col <
                           node->shift + node->own)
                    node->scatter_end++;
            }
        }
        bytes += mpki_cuda_panel_bytes(tree->scalar, node->own + node->rows, node->own);
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++)
            plan->child[next++] = c->number[m->child[k]];
    }
    plan->children = next;
    plan->panel_bytes = bytes;
    plan->units = 0;
    for (int32_t s = 0, piece = tree->nsuper; s < tree->nsuper; s++) {
        while (piece < m->count && m->super[piece] == s)
            plan->unit[plan->units++] = c->number[piece++];
        plan->unit[plan->units++] = c->number[s];
    }
    mpki_cuda_find_work(plan, tree->scalar);
}

/* ---- the whole ---- */

void mpki_cuda_plan_free(mpk_context *ctx, mpki_cuda_plan *plan) {
    mpki_release(ctx, plan->node);
    mpki_release(ctx, plan->kind);
    mpki_release(ctx, plan->unit);
    mpki_release(ctx, plan->child);
    mpki_release(ctx, plan->rel);
    mpki_release(ctx, plan->ridx);
    mpki_release(ctx, plan->task);
    mpki_release(ctx, plan->large);
    mpki_release(ctx, plan->round);
    mpki_release(ctx, plan->step);
    *plan = (mpki_cuda_plan){0};
}

/* Find the steps whose large fronts are assembled in two rounds, so that fewer contributions are
 * held at once. These are the steps whose contributions, those that large fronts add up and those
 * that all fronts leave, less the panels of later steps, where they may lie, are nearly the most of
 * all steps; and so many that a further launch, whose last blocks are at work alone for some 60 us,
 * does not count. */
static mpk_status find_full(mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    const int64_t least = (int64_t)MPKI_FULL_ENTRIES * m->capacity->blocks[MPKI_CUDA_CLASSES - 1];
    const int32_t steps = c->plan->steps;
    int64_t *taken = MPKI_ZNEW(m->ctx, STAGE, 3 * ((int64_t)steps + 1), int64_t), most = 0;
    int64_t *held = taken ? taken + steps + 1 : NULL, *panels = taken ? held + steps + 1 : NULL;
    mpki_release(m->ctx, c->full);
    c->full = MPKI_ZNEW(m->ctx, STAGE, (int64_t)steps + 1, bool);
    for (int32_t s = 0; taken && c->full && s < m->count; s++) {
        const int64_t entries = mpki_cuda_contribution_entries(m->rows[s]);
        const int32_t up = m->parent[s], step = c->step[s];
        held[step] += entries; /* left in this step */
        panels[step] += m->own[s] * ((int64_t)m->own[s] + m->rows[s]);
        if (up >= 0 && is_large(c, up)) taken[c->step[up]] += entries, held[c->step[up]] += entries;
    }
    int64_t later = 0; /* panels of later steps */
    for (int32_t l = steps - 1; taken && c->full && l >= 0; l--) {
        held[l] -= later, later += panels[l];
        if (held[l] > most) most = held[l];
    }
    for (int32_t l = 0; taken && c->full && l < steps; l++)
        c->full[l] = taken[l] >= least && held[l] > most - most / 3;
    mpki_release(m->ctx, taken);
    return mpki_failed(m->ctx);
}

/* Steps, numbers, places. */
static mpk_status lay_out(mpki_cuda_cut *c, int way) {
    mpki_cuda_plan *plan = c->plan;
    find_steps(c, way);
    mpki_release(c->m.ctx, plan->step);
    plan->step = MPKI_ZNEW(c->m.ctx, STAGE, (int64_t)plan->steps + 1, mpki_cuda_step);
    if (!plan->step || mpk_failed(find_full(c))) return mpki_failed(c->m.ctx);
    const mpk_status status = number(c);
    if (mpk_failed(status)) return status;
    fill_nodes(c);
    return mpki_cuda_place_contributions(c);
}

/* Classes of tasks are done one after the other, the largest last, for which all that the
 * others contribute waits in a step. Is that three quarters of what there is, and more than the
 * factor? */
static bool waits_for_largest(const mpki_cuda_cut *c) {
    const mpki_cuda_made *m = &c->m;
    int64_t entries = 0;
    for (int32_t s = 0; s < m->count; s++)
        if (c->root[s] == s && m->parent[s] >= 0 && c->stage[s] < MPKI_CUDA_CLASSES - 1 &&
            c->stage[c->root[m->parent[s]]] == MPKI_CUDA_CLASSES - 1)
            entries += mpki_cuda_contribution_entries(m->rows[s]);
    const int64_t all = c->plan->contribution_entries;
    return 4 * entries > 3 * all &&
           all * (int64_t)mpk_scalar_size(m->tree->scalar) > c->plan->panel_bytes;
}

/* Contributions that wait for steps far ahead of theirs, and those of pieces, would take much
 * memory beside a large factor. */
static bool takes_too_much(const mpki_cuda_plan *plan, mpk_scalar scalar) {
    const int64_t bytes = plan->contribution_entries * (int64_t)mpk_scalar_size(scalar);
    return bytes > ((int64_t)1 << 29) + plan->panel_bytes / 4;
}

static mpk_status plan_make(mpk_context *ctx, const mpki_tree_view *tree,
                            const mpki_cuda_capacity *capacity, bool by_level, int cuts,
                            mpki_cuda_plan *plan) {
    mpki_cuda_cut c = {.m = {.ctx = ctx, .tree = tree, .capacity = capacity, .cuts = cuts},
                       .plan = plan};
    *plan = (mpki_cuda_plan){0};
    mpk_status status = mpki_cuda_made_build(&c.m);
    if (mpk_failed(status)) goto done;
    const int64_t count = (int64_t)c.m.count + 1;
    c.size = MPKI_ZNEW(ctx, STAGE, count, int8_t);
    c.stage = MPKI_ZNEW(ctx, STAGE, count, int8_t);
    c.panel = MPKI_ZNEW(ctx, STAGE, count, bool);
    c.root = MPKI_NEW(ctx, STAGE, count, int32_t);
    c.begin = MPKI_NEW(ctx, STAGE, count, int32_t);
    c.step = MPKI_ZNEW(ctx, STAGE, count, int32_t);
    c.time = MPKI_NEW(ctx, STAGE, count, double);
    c.path = MPKI_ZNEW(ctx, STAGE, count, double);
    c.end = MPKI_NEW(ctx, STAGE, count, double);
    c.number = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->fronts = c.m.count;
    plan->node = MPKI_ZNEW(ctx, STAGE, count, mpki_cuda_node);
    plan->kind = MPKI_NEW(ctx, STAGE, count, int8_t);
    plan->unit = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->child = MPKI_NEW(ctx, STAGE, count, int32_t);
    status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    mpki_cuda_find_tasks(&c);
    latest_last(&c);
    largest_first(&c);
    plan->task = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->tasks + 1, mpki_cuda_task);
    plan->large = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->larges + 1, int32_t);
    plan->round = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->larges + 1, int32_t);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = lay_out(&c, by_level ? BY_LEVEL : AT_ONCE);
    if (!mpk_failed(status) && !by_level && waits_for_largest(&c)) status = lay_out(&c, HALVES);
    plan->rel = c.m.list, c.m.list = NULL;
    plan->rows = c.m.used;
    plan->ridx = c.m.position, c.m.position = NULL;
    plan->positions = c.m.positions;
done:
    mpki_release(ctx, c.size);
    mpki_release(ctx, c.stage);
    mpki_release(ctx, c.panel);
    mpki_release(ctx, c.root);
    mpki_release(ctx, c.begin);
    mpki_release(ctx, c.step);
    mpki_release(ctx, c.path);
    mpki_release(ctx, c.end);
    mpki_release(ctx, c.time);
    mpki_release(ctx, c.number);
    mpki_release(ctx, c.full);
    mpki_cuda_made_free(&c.m);
    if (mpk_failed(status)) mpki_cuda_plan_free(ctx, plan);
    return status;
}

/* Where steps go by level no front is cut. */
mpk_status mpki_cuda_plan_make(mpk_context *ctx, const mpki_tree_view *tree,
                               const mpki_cuda_capacity *capacity, bool whole,
                               mpki_cuda_plan *plan) {
    if (tree->factor_flops > MPKI_BY_LEVEL_FLOPS)
        return plan_make(ctx, tree, capacity, true, MPKI_CUDA_UNCUT, plan);
    const mpk_status status =
        plan_make(ctx, tree, capacity, false, whole ? MPKI_CUDA_IN_PARTS : MPKI_CUDA_CUT, plan);
    if (mpk_failed(status) || !takes_too_much(plan, tree->scalar)) return status;
    mpki_cuda_plan_free(ctx, plan);
    return plan_make(ctx, tree, capacity, true, MPKI_CUDA_UNCUT, plan);
}
