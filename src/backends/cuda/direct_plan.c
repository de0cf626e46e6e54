/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a tree for a device (direct_plan.h). */
#include "direct_plan.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum {
    GROUP = 64,       /* children that a front adds up by itself */
    TASK_NS = 30000,  /* a subtree of this length is one task */
    BESIDE_NS = 10000 /* so is one whose branches but one take this long: a level costs as much */
};

/* ---- sizes ---- */

int64_t mpki_cuda_panel_bytes(mpk_scalar scalar, int32_t nrows, int32_t w) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    const int64_t bytes = ((int64_t)mpki_cuda_leading(nrows) * w + 4 * (int64_t)w) * size +
                          (int64_t)w * (int64_t)sizeof(int32_t);
    return (bytes + 63) & ~(int64_t)63;
}

int64_t mpki_cuda_contribution_entries(int32_t rows) {
    const int64_t cut = MPKI_FRONT_CONTRIBUTION, k = rows / cut, ld = mpki_cuda_leading(rows);
    const int64_t entries =
        cut * (k * ld - cut * k * (k - 1) / 2) + (rows - cut * k) * (ld - cut * k);
    return (entries + 1) & ~(int64_t)1;
}

int32_t mpki_cuda_front_block(int32_t w) {
    const int32_t block = (w + MPKI_FRONT_TILE - 1) / MPKI_FRONT_TILE * MPKI_FRONT_TILE;
    return block < MPKI_FRONT_BLOCK ? block : MPKI_FRONT_BLOCK;
}

int64_t mpki_cuda_front_work(mpk_scalar scalar, int32_t nrows, int32_t w) {
    const int64_t entries = (int64_t)mpki_cuda_leading(nrows) * mpki_cuda_front_block(w) +
                            2 * MPKI_FRONT_TILE * MPKI_FRONT_TILE;
    return (entries * (int64_t)mpk_scalar_size(scalar) + 255) & ~(int64_t)255;
}

/* ---- the tree with its helpers ---- */

/* Fronts in the order in which they are made: supernodes, then helpers. */
typedef struct made {
    mpk_context *ctx;
    const mpki_tree_view *tree;
    int32_t count, room;
    int32_t *parent, *rows; /* by front */
    int64_t *rel;           /* by front: where its list begins */
    int32_t *list;          /* of all rel */
    int64_t used, list_room;
    int32_t *child_ptr, *child; /* children in order */
    int32_t *post;              /* children before parents */
} made;

static void made_free(made *m) {
    mpki_release(m->ctx, m->parent);
    mpki_release(m->ctx, m->rows);
    mpki_release(m->ctx, m->rel);
    mpki_release(m->ctx, m->list);
    mpki_release(m->ctx, m->child_ptr);
    mpki_release(m->ctx, m->child);
    mpki_release(m->ctx, m->post);
}

static mpk_status made_start(made *m) {
    const mpki_tree_view *tree = m->tree;
    const int32_t ns = tree->nsuper;
    m->count = ns;
    m->room = ns + ns / 16 + 2; /* helpers: two for GROUP + 2 children, fewer a child for more */
    m->parent = MPKI_NEW(m->ctx, STAGE, m->room, int32_t);
    m->rows = MPKI_NEW(m->ctx, STAGE, m->room, int32_t);
    m->rel = MPKI_NEW(m->ctx, STAGE, m->room, int64_t);
    m->used = tree->rptr[ns];
    m->list_room = m->used + 64;
    m->list = MPKI_NEW(m->ctx, STAGE, m->list_room, int32_t);
    if (mpk_failed(mpki_failed(m->ctx))) return mpki_failed(m->ctx);
    if (m->used > 0) memcpy(m->list, tree->rel, (size_t)m->used * sizeof *m->list);
    for (int32_t s = 0; s < ns; s++) {
        m->parent[s] = tree->parent[s];
        m->rows[s] = (int32_t)(tree->rptr[s + 1] - tree->rptr[s]);
        m->rel[s] = tree->rptr[s];
    }
    return MPK_OK;
}

/* A helper for these children of `parent`: its rows are all of theirs. mark: a flag for each row of
 * the parent's front, all 0 before and after. */
static mpk_status helper(made *m, int32_t parent, const int32_t *child, int32_t count,
                         int32_t *mark, int32_t nrows, int32_t *out) {
    const int32_t h = m->count++;
    int32_t rows = 0;
    for (int32_t k = 0; k < count; k++)
        for (int32_t i = 0; i < m->rows[child[k]]; i++) mark[m->list[m->rel[child[k]] + i]] = 1;
    for (int32_t i = 0; i < nrows; i++) rows += mark[i];
    if (m->used + rows > m->list_room) {
        const int64_t room = m->list_room + m->list_room / 2 + rows;
        int32_t *grown = mpki_resize(m->ctx, STAGE, m->list, room, sizeof *grown);
        if (!grown) return mpki_failed(m->ctx);
        m->list = grown, m->list_room = room;
    }
    m->parent[h] = parent, m->rows[h] = rows, m->rel[h] = m->used;
    for (int32_t i = 0; i < nrows; i++)
        if (mark[i]) {
            m->list[m->used++] = i;
            mark[i] = (int32_t)(m->used - m->rel[h]); /* 1 + its number in the helper */
        }
    for (int32_t k = 0; k < count; k++) {
        m->parent[child[k]] = h;
        for (int32_t i = 0; i < m->rows[child[k]]; i++) {
            int32_t *r = &m->list[m->rel[child[k]] + i];
            *r = mark[*r] - 1;
        }
    }
    for (int64_t i = m->rel[h]; i < m->used; i++) mark[m->list[i]] = 0;
    *out = h;
    return MPK_OK;
}

static mpk_status add_helpers(made *m) {
    const mpki_tree_view *tree = m->tree;
    int32_t most = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        const int32_t children = tree->child_ptr[s + 1] - tree->child_ptr[s];
        if (children > most) most = children;
    }
    if (most <= GROUP) return MPK_OK;
    int32_t *group = MPKI_NEW(m->ctx, STAGE, most, int32_t);
    int32_t *mark = MPKI_ZNEW(m->ctx, STAGE, tree->max_front + 1, int32_t);
    mpk_status status = group && mark ? MPK_OK : mpki_failed(m->ctx);
    for (int32_t s = 0; s < tree->nsuper && !mpk_failed(status); s++) {
        int32_t count = tree->child_ptr[s + 1] - tree->child_ptr[s];
        if (count <= GROUP) continue;
        const int32_t nrows = tree->sptr[s + 1] - tree->sptr[s] + m->rows[s];
        memcpy(group, tree->child + tree->child_ptr[s], (size_t)count * sizeof *group);
        while (count > GROUP && !mpk_failed(status)) {
            int32_t groups = 0;
            for (int32_t k = 0; k < count && !mpk_failed(status); k += GROUP) {
                const int32_t size = count - k < GROUP ? count - k : GROUP;
                if (size == 1)
                    group[groups++] = group[k];
                else
                    status = helper(m, s, group + k, size, mark, nrows, &group[groups++]);
            }
            count = groups;
        }
    }
    mpki_release(m->ctx, group);
    mpki_release(m->ctx, mark);
    return status;
}

/* Lists of children, by number, and an order with children before parents. */
static mpk_status made_children(made *m) {
    const int32_t count = m->count;
    m->child_ptr = MPKI_ZNEW(m->ctx, STAGE, (int64_t)count + 2, int32_t);
    m->child = MPKI_NEW(m->ctx, STAGE, (int64_t)count + 1, int32_t);
    m->post = MPKI_NEW(m->ctx, STAGE, (int64_t)count + 1, int32_t);
    int32_t *stack = MPKI_NEW(m->ctx, STAGE, (int64_t)count + 1, int32_t);
    int32_t *next = MPKI_NEW(m->ctx, STAGE, (int64_t)count + 1, int32_t);
    if (!mpk_failed(mpki_failed(m->ctx))) {
        for (int32_t s = 0; s < count; s++)
            if (m->parent[s] >= 0) m->child_ptr[m->parent[s] + 2]++;
        for (int32_t s = 2; s <= count; s++) m->child_ptr[s] += m->child_ptr[s - 1];
        for (int32_t s = 0; s < count; s++)
            if (m->parent[s] >= 0) m->child[m->child_ptr[m->parent[s] + 1]++] = s;
        for (int32_t s = 0; s < count; s++) next[s] = m->child_ptr[s];
        int32_t at = 0, top = 0;
        for (int32_t root = 0; root < count; root++) {
            if (m->parent[root] >= 0) continue;
            stack[top++] = root;
            while (top > 0) {
                const int32_t s = stack[top - 1];
                if (next[s] < m->child_ptr[s + 1])
                    stack[top++] = m->child[next[s]++];
                else
                    m->post[at++] = s, top--;
            }
        }
    }
    mpki_release(m->ctx, stack);
    mpki_release(m->ctx, next);
    return mpki_failed(m->ctx);
}

/* ---- tasks and steps ---- */

typedef struct cut {
    made m;
    mpki_cuda_plan *plan;
    const mpki_device *device;
    int8_t *size;   /* by front: class, MPKI_CUDA_CLASSES: large; of a task, the largest */
    int8_t *stage;  /* by front that is the root of a task: class in which its step does it */
    int32_t *root;  /* by front: last front of its task */
    int32_t *begin; /* by front: where its subtree begins in `post` */
    int32_t *step;  /* by front that is a task's root, or large */
    double *time;   /* by front: of its task, as far as it is the root */
    double *path;   /* the same with all above it */
    int32_t *now;   /* by front: number in the plan */
} cut;

static int32_t own_of(const made *m, int32_t s) {
    return s < m->tree->nsuper ? m->tree->sptr[s + 1] - m->tree->sptr[s] : 0;
}

/* Nanoseconds of a front in a task: measured on an H200, roughly. */
static double front_ns(const made *m, int32_t s) {
    const double own = own_of(m, s), nrows = own + m->rows[s];
    return 2500 + 300 * own + 0.02 * own * nrows * nrows + 0.15 * nrows * nrows;
}

static int size_of(const cut *c, int32_t s) {
    const mpki_cuda_direct_table *direct = c->device->table->direct;
    const int32_t own = own_of(&c->m, s), more = own > 0 ? 2 + own / 8 : 0;
    const int64_t bytes =
        direct->task_bytes(c->m.tree->scalar, own + more + c->m.rows[s], own + more);
    for (int k = 0; k < MPKI_CUDA_CLASSES; k++)
        if (bytes <= direct->class_bytes(c->device->cuda, k)) return k;
    return MPKI_CUDA_CLASSES;
}

static void find_tasks(cut *c) {
    const made *m = &c->m;
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        double sum = 0, most = 0;
        int size = size_of(c, s);
        bool joins = size < MPKI_CUDA_CLASSES;
        c->begin[s] = at;
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            joins = joins && c->size[child] < MPKI_CUDA_CLASSES;
            sum += c->time[child];
            most = c->time[child] > most ? c->time[child] : most;
            if (c->begin[child] < c->begin[s]) c->begin[s] = c->begin[child];
        }
        const double mine = front_ns(m, s);
        joins = joins && (sum + mine <= TASK_NS || sum - most <= BESIDE_NS);
        c->time[s] = mine + (joins ? sum : 0);
        c->root[s] = s;
        for (int32_t k = m->child_ptr[s]; joins && k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            c->root[child] = s; /* of a task's root; followed up below */
            if (c->size[child] > size) size = c->size[child];
        }
        c->size[s] = (int8_t)size;
    }
    for (int32_t at = m->count - 1; at >= 0; at--) { /* parents first */
        const int32_t s = m->post[at];
        if (c->root[s] != s) {
            c->root[s] = c->root[c->root[s]];
            c->size[s] = c->size[c->root[s]];
            continue;
        }
        c->path[s] = c->time[s] + (m->parent[s] < 0 ? 0 : c->path[c->root[m->parent[s]]]);
        if (c->size[s] < MPKI_CUDA_CLASSES)
            c->plan->tasks++;
        else
            c->plan->larges++;
    }
}

static bool is_large(const cut *c, int32_t s) {
    return c->size[s] == MPKI_CUDA_CLASSES;
}

/* Steps and stages: a task has a class that is no smaller than those of the tasks that it waits for
 * in its step. */
static void find_steps(cut *c, bool by_level) {
    const made *m = &c->m;
    mpki_cuda_plan *plan = c->plan;
    int32_t last = 0;
    plan->by_level = by_level;
    for (int32_t at = m->count - 1; by_level && at >= 0; at--) { /* depths, parents first */
        const int32_t s = m->post[at];
        if (c->root[s] != s) continue;
        c->step[s] = m->parent[s] < 0 ? 0 : c->step[c->root[m->parent[s]]] + 1;
        if (c->step[s] > last) last = c->step[s];
    }
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        if (by_level) {
            if (c->root[s] == s) c->step[s] = last - c->step[s];
            c->stage[s] = c->size[s];
            continue;
        }
        int32_t step = 0;
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
    double path;
    int32_t at; /* place in `post` */
} keyed;

/* The longest way to the root first; so children come before parents. */
static int by_path(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->path != y->path) return x->path > y->path ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Number the fronts: step by step, within a step large ones, then tasks by class. */
static mpk_status number(cut *c) {
    enum { KINDS = MPKI_CUDA_CLASSES + 1 };
    const made *m = &c->m;
    mpki_cuda_plan *plan = c->plan;
    const int64_t bins = (int64_t)plan->steps * KINDS;
    int32_t *start = MPKI_ZNEW(m->ctx, STAGE, bins + 2, int32_t);
    keyed *roots = MPKI_NEW(m->ctx, STAGE, (int64_t)m->count + 1, keyed);
    if (!start || !roots) {
        mpki_release(m->ctx, start);
        mpki_release(m->ctx, roots);
        return mpki_failed(m->ctx);
    }
#define BIN(s) ((int64_t)c->step[s] * KINDS + (is_large(c, s) ? 0 : 1 + c->stage[s]))
    for (int32_t at = 0; at < m->count; at++)
        if (c->root[m->post[at]] == m->post[at]) start[BIN(m->post[at]) + 2]++;
    for (int64_t k = 2; k <= bins; k++) start[k] += start[k - 1];
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        if (c->root[s] == s) roots[start[BIN(s) + 1]++] = (keyed){c->path[s], at};
    }
#undef BIN
    int32_t next = 0, task = 0, large = 0;
    for (int32_t l = 0; l < plan->steps; l++) {
        mpki_cuda_step *step = &plan->step[l];
        step->first = next;
        for (int k = 0; k < KINDS; k++) {
            const int64_t bin = (int64_t)l * KINDS + k;
            if (k == 0)
                step->large_first = large;
            else
                step->task[k - 1] = task;
            qsort(roots + start[bin], (size_t)(start[bin + 1] - start[bin]), sizeof *roots,
                  by_path);
            for (int32_t r = start[bin]; r < start[bin + 1]; r++) {
                const int32_t root = m->post[roots[r].at], first = next;
                if (k == 0) {
                    plan->large[large++] = next;
                    c->now[root] = next++;
                    continue;
                }
                for (int32_t at = c->begin[root]; m->post[at] != root; at++)
                    if (c->root[m->post[at]] == root) c->now[m->post[at]] = next++;
                c->now[root] = next++;
                plan->task[task++] = (mpki_cuda_task){first, next - 1, k - 1};
            }
            if (k == 0) step->large_last = large;
        }
        step->task[MPKI_CUDA_CLASSES] = task;
        step->last = next;
    }
    mpki_release(m->ctx, start);
    mpki_release(m->ctx, roots);
    return MPK_OK;
}

/* ---- memory ---- */

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

/* Contributions of the roots of tasks and of large fronts live until their parent's step is over. */
static mpk_status place_contributions(cut *c) {
    const made *m = &c->m;
    mpki_cuda_plan *plan = c->plan;
    const int64_t pieces = 2 * ((int64_t)plan->tasks + plan->larges) + 1;
    int8_t *side = MPKI_ZNEW(m->ctx, STAGE, (int64_t)plan->fronts + 1, int8_t);
    int32_t *parent = MPKI_NEW(m->ctx, STAGE, (int64_t)plan->fronts + 1, int32_t);
    int32_t *until = MPKI_NEW(m->ctx, STAGE, (int64_t)plan->fronts + 1, int32_t);
    room r = {.ctx = m->ctx,
              .open = MPKI_NEW(m->ctx, STAGE, 2 * pieces, piece),
              .held = MPKI_NEW(m->ctx, STAGE, pieces, piece)};
    const bool all = side && parent && until && r.open && r.held;
    for (int32_t s = 0; all && s < m->count; s++) {
        const int32_t up = m->parent[s];
        parent[c->now[s]] = up < 0 ? -1 : c->now[up];
        until[c->now[s]] = up < 0 ? 0 : c->step[c->root[up]];
    }
    for (int32_t l = 0; all && l < plan->steps; l++) {
        const mpki_cuda_step *step = &plan->step[l];
        room_forget(&r, l);
        for (int32_t k = step->large_first; k < step->large_last; k++) {
            mpki_cuda_node *node = &plan->node[plan->large[k]];
            node->contribution =
                room_take(&r, mpki_cuda_contribution_entries(node->rows), until[plan->large[k]]);
        }
        for (int32_t t = step->task[0]; t < step->task[MPKI_CUDA_CLASSES]; t++) {
            const mpki_cuda_task *task = &plan->task[t];
            mpki_cuda_node *node = &plan->node[task->last];
            const int64_t inside = place_inside(plan, task, parent, side);
            const int64_t at = room_take(&r, inside, l);
            for (int32_t f = task->first; f < task->last; f++) plan->node[f].contribution += at;
            node->contribution =
                room_take(&r, mpki_cuda_contribution_entries(node->rows), until[task->last]);
        }
    }
    plan->contribution_entries = r.end;
    mpki_release(m->ctx, side);
    mpki_release(m->ctx, parent);
    mpki_release(m->ctx, until);
    mpki_release(m->ctx, r.open);
    mpki_release(m->ctx, r.held);
    return mpki_failed(m->ctx);
}

static void fill_nodes(cut *c) {
    const made *m = &c->m;
    const mpki_tree_view *tree = m->tree;
    mpki_cuda_plan *plan = c->plan;
    for (int32_t s = 0; s < m->count; s++) {
        const bool real = s < tree->nsuper;
        plan->super[c->now[s]] = real ? s : -1;
        if (real) plan->front[s] = c->now[s];
    }
    int32_t next = 0;
    int64_t bytes = 0;
    for (int32_t s = 0; s < m->count; s++) { /* in the order of the plan's numbers */
        plan->node[c->now[s]].first = s;
    }
    for (int32_t f = 0; f < m->count; f++) {
        mpki_cuda_node *node = &plan->node[f];
        const int32_t s = node->first;
        const bool real = s < tree->nsuper;
        *node = (mpki_cuda_node){.own = own_of(m, s),
                                 .rows = m->rows[s],
                                 .first = real ? tree->sptr[s] : 0,
                                 .child = next,
                                 .children = m->child_ptr[s + 1] - m->child_ptr[s],
                                 .root = real && m->rows[s] == 0,
                                 .rel = m->rel[s],
                                 .scatter = real ? tree->scatter_ptr[s] : 0,
                                 .scatter_end = real ? tree->scatter_ptr[s + 1] : 0,
                                 .panel = bytes};
        bytes += mpki_cuda_panel_bytes(tree->scalar, node->own + node->rows, node->own);
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++)
            plan->child[next++] = c->now[m->child[k]];
    }
    plan->children = next;
    plan->panel_bytes = bytes;
    plan->work_bytes = 0;
    for (int32_t l = 0; l < plan->steps; l++) {
        const mpki_cuda_step *step = &plan->step[l];
        int64_t work = 0, most = 0;
        for (int32_t k = step->large_first; k < step->large_last; k++) {
            const mpki_cuda_node *node = &plan->node[plan->large[k]];
            const int64_t mine =
                mpki_cuda_front_work(tree->scalar, node->own + node->rows, node->own);
            work += mine;
            most = mine > most ? mine : most;
        }
        if (work > MPKI_CUDA_TOGETHER) work = most > MPKI_CUDA_TOGETHER ? most : MPKI_CUDA_TOGETHER;
        if (work > plan->work_bytes) plan->work_bytes = work;
    }
}

/* ---- the whole ---- */

void mpki_cuda_plan_free(mpk_context *ctx, mpki_cuda_plan *plan) {
    mpki_release(ctx, plan->node);
    mpki_release(ctx, plan->super);
    mpki_release(ctx, plan->front);
    mpki_release(ctx, plan->child);
    mpki_release(ctx, plan->rel);
    mpki_release(ctx, plan->task);
    mpki_release(ctx, plan->large);
    mpki_release(ctx, plan->step);
    *plan = (mpki_cuda_plan){0};
}

/* Steps, numbers, places. */
static mpk_status lay_out(cut *c, bool by_level) {
    mpki_cuda_plan *plan = c->plan;
    find_steps(c, by_level);
    mpki_release(c->m.ctx, plan->step);
    plan->step = MPKI_ZNEW(c->m.ctx, STAGE, (int64_t)plan->steps + 1, mpki_cuda_step);
    if (!plan->step) return mpki_failed(c->m.ctx);
    const mpk_status status = number(c);
    if (mpk_failed(status)) return status;
    fill_nodes(c);
    return place_contributions(c);
}

/* Contributions that wait for steps far ahead of theirs would take much memory beside the factor. */
static bool takes_too_much(const mpki_cuda_plan *plan, mpk_scalar scalar) {
    const int64_t bytes = plan->contribution_entries * (int64_t)mpk_scalar_size(scalar);
    return bytes > (64 << 20) + plan->panel_bytes / 4;
}

mpk_status mpki_cuda_plan_make(mpk_context *ctx, const mpki_tree_view *tree,
                               const mpki_device *device, mpki_cuda_plan *plan) {
    cut c = {.m = {.ctx = ctx, .tree = tree}, .plan = plan, .device = device};
    *plan = (mpki_cuda_plan){0};
    mpk_status status = made_start(&c.m);
    if (!mpk_failed(status)) status = add_helpers(&c.m);
    if (!mpk_failed(status)) status = made_children(&c.m);
    if (mpk_failed(status)) goto done;
    const int64_t count = (int64_t)c.m.count + 1;
    c.size = MPKI_ZNEW(ctx, STAGE, count, int8_t);
    c.stage = MPKI_ZNEW(ctx, STAGE, count, int8_t);
    c.root = MPKI_NEW(ctx, STAGE, count, int32_t);
    c.begin = MPKI_NEW(ctx, STAGE, count, int32_t);
    c.step = MPKI_ZNEW(ctx, STAGE, count, int32_t);
    c.time = MPKI_NEW(ctx, STAGE, count, double);
    c.path = MPKI_ZNEW(ctx, STAGE, count, double);
    c.now = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->fronts = c.m.count;
    plan->node = MPKI_ZNEW(ctx, STAGE, count, mpki_cuda_node);
    plan->super = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->front = MPKI_NEW(ctx, STAGE, (int64_t)tree->nsuper + 1, int32_t);
    plan->child = MPKI_NEW(ctx, STAGE, count, int32_t);
    status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    find_tasks(&c);
    plan->task = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->tasks + 1, mpki_cuda_task);
    plan->large = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->larges + 1, int32_t);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = lay_out(&c, false);
    if (!mpk_failed(status) && takes_too_much(plan, tree->scalar)) status = lay_out(&c, true);
    plan->rel = c.m.list, c.m.list = NULL;
    plan->rows = c.m.used;
done:
    mpki_release(ctx, c.size);
    mpki_release(ctx, c.stage);
    mpki_release(ctx, c.root);
    mpki_release(ctx, c.begin);
    mpki_release(ctx, c.step);
    mpki_release(ctx, c.path);
    mpki_release(ctx, c.time);
    mpki_release(ctx, c.now);
    made_free(&c.m);
    if (mpk_failed(status)) mpki_cuda_plan_free(ctx, plan);
    return status;
}
