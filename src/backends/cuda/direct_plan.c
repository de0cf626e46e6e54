/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a tree for a device (direct_plan.h). */
#include "direct_plan.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum {
    GROUP = 64,       /* children that a front adds up by itself */
    TASK_NS = 20000,  /* a subtree of this length is one task */
    BESIDE_NS = 3000, /* so is one whose branches but one take this long: a block waits as long */
    PANEL = 32,       /* columns of a front that are eliminated together, at most */
    LEAST_PANEL = 12, /* and at the least, but for the last ones */
    PANEL_ROWS = 1024 /* of a front whose columns one block eliminates */
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

/* Fronts in the order in which they are made: supernodes (the last columns of those that are cut),
 * other columns of supernodes, helpers. */
typedef struct made {
    mpk_context *ctx;
    const mpki_tree_view *tree;
    const mpki_device *device;
    bool cuts; /* fronts may be cut into columns and parts */
    int32_t count, room;
    int32_t *parent, *rows, *own, *shift; /* by front */
    int32_t *super;                       /* by front: -1 for helpers */
    int64_t *rel, *ridx;                  /* by front: where its lists begin */
    int8_t *kind;
    int32_t *list; /* of all rel */
    int64_t used, list_room;
    int32_t *position; /* of all ridx */
    int64_t positions;
    int32_t *child_ptr, *child; /* children in order */
    int32_t *post;              /* children before parents */
} made;

static void made_free(made *m) {
    void *const parts[] = {m->parent, m->rows, m->own,      m->shift,     m->super, m->rel, m->ridx,
                           m->kind,   m->list, m->position, m->child_ptr, m->child, m->post};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(m->ctx, parts[k]);
}

/* Columns that may come late beside so many of its own, for which there is room. */
static int32_t with_late(int32_t own) {
    return own > 0 ? own + 2 + own / 8 : 0;
}

/* The class of a front that fits into a block's shared memory as a whole; MPKI_CUDA_CLASSES: none. */
static int class_of(const made *m, int32_t own, int32_t rows) {
    const mpki_cuda_direct_table *direct = m->device->table->direct;
    const int32_t w = with_late(own), n = w + rows;
    const int64_t bytes = direct->task_bytes(m->tree->scalar, n, w, n);
    for (int k = 0; k < MPKI_CUDA_CLASSES; k++)
        if (bytes <= direct->class_bytes(m->device->cuda, k)) return k;
    return MPKI_CUDA_CLASSES;
}

/* Do w columns of a front fit there, with all rows below them? */
static bool panel_fits(const made *m, int32_t w, int32_t below) {
    const mpki_cuda_direct_table *direct = m->device->table->direct;
    const int32_t all = with_late(w), n = all + below;
    return m->cuts && w + below <= PANEL_ROWS &&
           direct->task_bytes(m->tree->scalar, n, all, all) <=
               direct->class_bytes(m->device->cuda, MPKI_CUDA_CLASSES - 1);
}

/* The next columns of a front: all, or as many as one block eliminates. */
static int32_t cut_columns(const made *m, int32_t own, int32_t rows) {
    int32_t w = own < PANEL ? own : PANEL;
    if (own == 0 || class_of(m, own, rows) < MPKI_CUDA_CLASSES) return own;
    while (w >= LEAST_PANEL && !panel_fits(m, w, own - w + rows)) w--;
    if (w < LEAST_PANEL || w == own) return own;
    const int32_t pieces = (own + w - 1) / w;
    return (own + pieces - 1) / pieces;
}

/* Supernode s: its columns from the last piece down get numbers s, next, next + 1 ... */
static void made_pieces(made *m, int32_t s, int32_t *next) {
    const mpki_tree_view *tree = m->tree;
    const int32_t all = tree->sptr[s + 1] - tree->sptr[s];
    const int32_t rows = (int32_t)(tree->rptr[s + 1] - tree->rptr[s]);
    int32_t done = 0, before = -1;
    const int64_t lists = m->positions;
    for (;;) {
        const int32_t w = cut_columns(m, all - done, rows);
        const bool last = done + w == all;
        const int32_t me = last ? s : (*next)++;
        m->own[me] = w, m->shift[me] = done, m->super[me] = s;
        m->rows[me] = all - done - w + rows;
        m->kind[me] = last ? MPKI_CUDA_SUPERNODE : MPKI_CUDA_LOWER;
        m->rel[me] = last ? tree->rptr[s] : m->used; /* lower ones: 0, 1, 2, ... */
        m->ridx[me] = last ? tree->rptr[s] : lists + done + w;
        if (before >= 0) m->parent[before] = me;
        before = me, done += w;
        if (last) break;
    }
    if (before == s && m->shift[s] > 0) {
        for (int32_t k = 0; k < all; k++) m->position[m->positions++] = tree->sptr[s] + k;
        for (int32_t k = 0; k < rows; k++)
            m->position[m->positions++] = tree->ridx[tree->rptr[s] + k];
    }
}

/* How many pieces more there are than supernodes, and positions for their lists. */
static void count_pieces(const made *m, int32_t *pieces, int64_t *positions) {
    const mpki_tree_view *tree = m->tree;
    *pieces = 0, *positions = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        int32_t own = tree->sptr[s + 1] - tree->sptr[s];
        const int32_t rows = (int32_t)(tree->rptr[s + 1] - tree->rptr[s]), all = own;
        for (int32_t w; (w = cut_columns(m, own, rows)) < own; own -= w) ++*pieces;
        if (own < all) *positions += all + rows;
    }
}

/* The supernode's parent, by its first row there: the piece that has it. */
static void attach(made *m, int32_t s, const int32_t *piece_ptr) {
    const mpki_tree_view *tree = m->tree;
    const int32_t up = tree->parent[s];
    m->parent[s] = up;
    if (up < 0 || m->shift[up] == 0 || m->rows[s] == 0) return;
    const int32_t row = m->list[tree->rptr[s]];
    for (int32_t k = piece_ptr[up]; k < piece_ptr[up + 1]; k++)
        if (row < m->shift[k] + m->own[k]) {
            m->parent[s] = k;
            break;
        }
    const int32_t shift = m->shift[m->parent[s]];
    for (int64_t k = tree->rptr[s]; k < tree->rptr[s + 1]; k++) m->list[k] -= shift;
}

static mpk_status made_start(made *m) {
    const mpki_tree_view *tree = m->tree;
    const int32_t ns = tree->nsuper;
    int32_t pieces;
    int64_t positions;
    count_pieces(m, &pieces, &positions);
    m->count = ns + pieces;
    m->room =
        m->count + m->count / 16 + 2; /* helpers: two for GROUP + 2 children, fewer for more */
    m->parent = MPKI_NEW(m->ctx, STAGE, m->room, int32_t);
    m->rows = MPKI_NEW(m->ctx, STAGE, m->room, int32_t);
    m->own = MPKI_ZNEW(m->ctx, STAGE, m->room, int32_t);
    m->shift = MPKI_ZNEW(m->ctx, STAGE, m->room, int32_t);
    m->super = MPKI_NEW(m->ctx, STAGE, m->room, int32_t);
    m->kind = MPKI_ZNEW(m->ctx, STAGE, m->room, int8_t);
    m->rel = MPKI_NEW(m->ctx, STAGE, m->room, int64_t);
    m->ridx = MPKI_ZNEW(m->ctx, STAGE, m->room, int64_t);
    m->used = m->positions = tree->rptr[ns];
    m->list_room = m->used + tree->max_front + 64;
    m->list = MPKI_NEW(m->ctx, STAGE, m->list_room, int32_t);
    m->position = MPKI_NEW(m->ctx, STAGE, m->positions + positions + 1, int32_t);
    int32_t *piece_ptr = MPKI_NEW(m->ctx, STAGE, (int64_t)ns + 1, int32_t);
    const mpk_status status = mpki_failed(m->ctx);
    if (!mpk_failed(status)) {
        if (m->used > 0) {
            memcpy(m->list, tree->rel, (size_t)m->used * sizeof *m->list);
            memcpy(m->position, tree->ridx, (size_t)m->used * sizeof *m->position);
        }
        int32_t next = ns;
        for (int32_t s = 0; s < ns; s++) {
            piece_ptr[s] = next;
            made_pieces(m, s, &next);
        }
        piece_ptr[ns] = next;
        for (int32_t s = 0; s < ns; s++) attach(m, s, piece_ptr);
        for (int32_t k = 0; pieces > 0 && k < tree->max_front; k++) m->list[m->used++] = k;
    }
    mpki_release(m->ctx, piece_ptr);
    return status;
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
    m->super[h] = -1, m->kind[h] = MPKI_CUDA_HELPER;
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

/* Helpers for the children of one front. group [inout] them, in order */
static mpk_status help(made *m, int32_t s, int32_t *group, int32_t count, int32_t *mark) {
    const int32_t nrows = m->own[s] + m->rows[s];
    mpk_status status = MPK_OK;
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
    return status;
}

/* Lower pieces share one list of rows, so none of them stands among those that a helper adds up. */
static mpk_status add_helpers(made *m) {
    const int32_t fronts = m->count;
    int32_t most = 0;
    int32_t *ptr = MPKI_ZNEW(m->ctx, STAGE, (int64_t)fronts + 2, int32_t);
    int32_t *child = MPKI_NEW(m->ctx, STAGE, (int64_t)fronts + 1, int32_t);
    int32_t *group = NULL, *mark = NULL;
    mpk_status status = ptr && child ? MPK_OK : mpki_failed(m->ctx);
    if (mpk_failed(status)) goto done;
    for (int32_t s = 0; s < fronts; s++)
        if (m->parent[s] >= 0 && m->kind[s] != MPKI_CUDA_LOWER) ptr[m->parent[s] + 2]++;
    for (int32_t s = 2; s <= fronts; s++) {
        if (ptr[s] > most) most = ptr[s];
        ptr[s] += ptr[s - 1];
    }
    if (ptr[fronts + 1] > most) most = ptr[fronts + 1];
    if (most <= GROUP) goto done;
    for (int32_t s = 0; s < fronts; s++)
        if (m->parent[s] >= 0 && m->kind[s] != MPKI_CUDA_LOWER) child[ptr[m->parent[s] + 1]++] = s;
    group = MPKI_NEW(m->ctx, STAGE, most, int32_t);
    mark = MPKI_ZNEW(m->ctx, STAGE, (int64_t)m->tree->max_front + 1, int32_t);
    status = group && mark ? MPK_OK : mpki_failed(m->ctx);
    for (int32_t s = 0; s < fronts && !mpk_failed(status); s++) {
        const int32_t count = ptr[s + 1] - ptr[s];
        if (count <= GROUP) continue;
        memcpy(group, child + ptr[s], (size_t)count * sizeof *group);
        status = help(m, s, group, count, mark);
    }
done:
    mpki_release(m->ctx, ptr);
    mpki_release(m->ctx, child);
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
    int8_t *size;   /* by front: class, MPKI_CUDA_CLASSES: large; of a task, the largest */
    int8_t *stage;  /* by front that is the root of a task: class in which its step does it */
    bool *panel;    /* by front: one block eliminates its columns, others make its contribution */
    int32_t *root;  /* by front: last front of its task */
    int32_t *begin; /* by front: where its subtree begins in `post` */
    int32_t *step;  /* by front that is a task's root, or large */
    double *time;   /* by front: of its task, as far as it is the root */
    double *path;   /* the same with all above it */
    int32_t *now;   /* by front: number in the plan */
} cut;

/* Nanoseconds of a front in a task: measured on an H200, roughly. */
static double front_ns(const cut *c, int32_t s) {
    const double own = c->m.own[s], nrows = own + c->m.rows[s];
    if (c->panel[s]) return 8000 + 300 * own + 10 * nrows;
    return 2500 + 300 * own + 0.01 * own * nrows * nrows + 0.1 * nrows * nrows;
}

/* Blocks that make the contribution of a front. */
static int32_t parts_of(const cut *c, int32_t s) {
    const int32_t n = (c->m.rows[s] + MPKI_FRONT_CONTRIBUTION - 1) / MPKI_FRONT_CONTRIBUTION;
    return c->panel[s] ? n * (n + 1) / 2 : 0;
}

static void find_tasks(cut *c) {
    const made *m = &c->m;
    for (int32_t at = 0; at < m->count; at++) {
        const int32_t s = m->post[at];
        double sum = 0, most = 0;
        int size = class_of(m, m->own[s], m->rows[s]);
        bool joins = size < MPKI_CUDA_CLASSES;
        c->panel[s] = !joins && m->own[s] <= PANEL && panel_fits(m, m->own[s], m->rows[s]);
        if (c->panel[s]) size = MPKI_CUDA_CLASSES - 1;
        c->begin[s] = at;
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++) {
            const int32_t child = m->child[k];
            joins = joins && c->size[child] < MPKI_CUDA_CLASSES && !c->panel[child];
            sum += c->time[child];
            most = c->time[child] > most ? c->time[child] : most;
            if (c->begin[child] < c->begin[s]) c->begin[s] = c->begin[child];
        }
        const double mine = front_ns(c, s);
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
            c->plan->tasks += 1 + parts_of(c, s);
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
                const int32_t parts = parts_of(c, root);
                plan->task[task++] = (mpki_cuda_task){
                    first, next - 1, k - 1, c->panel[root] ? MPKI_CUDA_PANEL : MPKI_CUDA_WHOLE};
                for (int32_t p = 0; p < parts; p++)
                    plan->task[task++] = (mpki_cuda_task){next - 1, next - 1, k - 1, p};
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

/* Pieces of a supernode take turns in two places: what one writes is read by the next alone, and
 * that one is done before the next but one begins to write. */
static int64_t place_lower(const cut *c, room *r, int32_t s, int64_t (*two)[2]) {
    const made *m = &c->m;
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
static mpk_status place_contributions(cut *c) {
    const made *m = &c->m;
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

static void fill_nodes(cut *c) {
    const made *m = &c->m;
    const mpki_tree_view *tree = m->tree;
    mpki_cuda_plan *plan = c->plan;
    int32_t next = 0;
    int64_t bytes = 0, entry = 0;
    for (int32_t s = 0; s < m->count; s++) plan->node[c->now[s]].first = s;
    for (int32_t f = 0; f < m->count; f++) { /* in the order of the plan's numbers */
        mpki_cuda_node *node = &plan->node[f];
        const int32_t s = node->first, super = m->super[s];
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
                                 .parts = parts_of(c, s),
                                 .rel = m->rel[s],
                                 .ridx = m->ridx[s],
                                 .panel = bytes};
        if (real) {
            node->scatter = tree->scatter_ptr[super],
            node->scatter_end = tree->scatter_ptr[super + 1];
            entry = node->scatter_end;
            while (node->scatter < entry && tree->scatter[node->scatter].col < node->shift)
                node->scatter++;
            if (m->kind[s] == MPKI_CUDA_LOWER) {
                node->scatter_end = node->scatter;
                while (node->scatter_end < entry &&
                       tree->scatter[node->scatter_end].col < node->shift + node->own)
                    node->scatter_end++;
            }
        }
        bytes += mpki_cuda_panel_bytes(tree->scalar, node->own + node->rows, node->own);
        for (int32_t k = m->child_ptr[s]; k < m->child_ptr[s + 1]; k++)
            plan->child[next++] = c->now[m->child[k]];
    }
    plan->children = next;
    plan->panel_bytes = bytes;
    plan->units = 0;
    for (int32_t s = 0, piece = tree->nsuper; s < tree->nsuper; s++) {
        while (piece < m->count && m->super[piece] == s)
            plan->unit[plan->units++] = c->now[piece++];
        plan->unit[plan->units++] = c->now[s];
    }
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
    mpki_release(ctx, plan->kind);
    mpki_release(ctx, plan->unit);
    mpki_release(ctx, plan->child);
    mpki_release(ctx, plan->rel);
    mpki_release(ctx, plan->ridx);
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

/* Beyond so many operations the work counts, not who waits for whom, and large fronts do it at a higher
 * rate: an H100 takes 11.0 ms for nlpkkt 20 (4.2e9) where fronts are cut, 7.3 by level; for Stokes on
 * 300 x 300 (2.5e9) 11.8, and an H200 12.8 by level. */
static const double BY_LEVEL_FLOPS = 3e9;

/* Contributions that wait for steps far ahead of theirs, and those of pieces, would take much memory
 * beside a large factor. */
static bool takes_too_much(const mpki_cuda_plan *plan, mpk_scalar scalar) {
    const int64_t bytes = plan->contribution_entries * (int64_t)mpk_scalar_size(scalar);
    return bytes > ((int64_t)1 << 29) + plan->panel_bytes / 4;
}

/* by_level: steps by level, and no front is cut. */
static mpk_status plan_make(mpk_context *ctx, const mpki_tree_view *tree, const mpki_device *device,
                            bool by_level, mpki_cuda_plan *plan) {
    cut c = {.m = {.ctx = ctx, .tree = tree, .device = device, .cuts = !by_level}, .plan = plan};
    *plan = (mpki_cuda_plan){0};
    mpk_status status = made_start(&c.m);
    if (!mpk_failed(status)) status = add_helpers(&c.m);
    if (!mpk_failed(status)) status = made_children(&c.m);
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
    c.now = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->fronts = c.m.count;
    plan->node = MPKI_ZNEW(ctx, STAGE, count, mpki_cuda_node);
    plan->kind = MPKI_NEW(ctx, STAGE, count, int8_t);
    plan->unit = MPKI_NEW(ctx, STAGE, count, int32_t);
    plan->child = MPKI_NEW(ctx, STAGE, count, int32_t);
    status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    find_tasks(&c);
    plan->task = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->tasks + 1, mpki_cuda_task);
    plan->large = MPKI_ZNEW(ctx, STAGE, (int64_t)plan->larges + 1, int32_t);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = lay_out(&c, by_level);
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
    mpki_release(ctx, c.time);
    mpki_release(ctx, c.now);
    made_free(&c.m);
    if (mpk_failed(status)) mpki_cuda_plan_free(ctx, plan);
    return status;
}

mpk_status mpki_cuda_plan_make(mpk_context *ctx, const mpki_tree_view *tree,
                               const mpki_device *device, mpki_cuda_plan *plan) {
    if (tree->factor_flops > BY_LEVEL_FLOPS) return plan_make(ctx, tree, device, true, plan);
    const mpk_status status = plan_make(ctx, tree, device, false, plan);
    if (mpk_failed(status) || !takes_too_much(plan, tree->scalar)) return status;
    mpki_cuda_plan_free(ctx, plan);
    return plan_make(ctx, tree, device, true, plan);
}
