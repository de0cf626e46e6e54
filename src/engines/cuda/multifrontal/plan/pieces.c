/* SPDX-License-Identifier: BSD-3-Clause */
/* The fronts that a tree is cut into for a device: columns of a front that one block eliminates,
 * helpers for fronts of very many children (multifrontal/plan/cut.h). */
#include "cut.h"

#include <string.h>

static const char STAGE[] = "factorize";

void mpki_cuda_made_free(mpki_cuda_made *m) {
    void *const parts[] = {m->children, m->parent,    m->rows,  m->own,  m->shift,
                           m->super,    m->rel,       m->ridx,  m->kind, m->list,
                           m->position, m->child_ptr, m->child, m->post};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(m->ctx, parts[k]);
}

/* Columns of a front: its own, and as many delayed ones as it has memory for. */
static int32_t with_delayed(int32_t own) {
    return own > 0 ? own + 2 + own / 8 : 0;
}

/* The class of a front that fits into a block's shared memory as a whole; MPKI_CUDA_CLASSES:
 * none. */
int mpki_cuda_class_of(const mpki_cuda_made *m, int32_t own, int32_t rows) {
    const int32_t w = with_delayed(own), n = w + rows;
    const int64_t bytes = m->capacity->task_bytes(m->tree->scalar, n, w, n);
    for (int k = 0; k < MPKI_CUDA_CLASSES; k++)
        if (bytes <= m->capacity->bytes[k]) return k;
    return MPKI_CUDA_CLASSES;
}

/* Do w columns of a front, with the rows below them, fit into a block's shared memory? */
bool mpki_cuda_panel_fits(const mpki_cuda_made *m, int32_t w, int32_t below) {
    const int32_t all = with_delayed(w), n = all + below;
    return m->cuts != MPKI_CUDA_UNCUT && w + below <= MPKI_PANEL_ROWS &&
           m->capacity->task_bytes(m->tree->scalar, n, all, all) <=
               m->capacity->bytes[MPKI_CUDA_CLASSES - 1];
}

/* How many columns of supernode s's front the next piece has: as many as one block eliminates, in
 * pieces of about the same size. A front of very many columns and very many children is one piece:
 * otherwise each piece would add up the children once more, and each column that fails would pass
 * through all pieces that follow. own, rows: columns that are left, rows below them. */
static int32_t cut_columns(const mpki_cuda_made *m, int32_t s, int32_t own, int32_t rows) {
    int32_t w = own < MPKI_CUDA_PANEL_MOST ? own : MPKI_CUDA_PANEL_MOST;
    if (m->cuts != MPKI_CUDA_CUT || own == 0 ||
        (own > MPKI_CUDA_CUT_MOST && m->children[s] > MPKI_CHILDREN_GROUP) ||
        mpki_cuda_class_of(m, own, rows) < MPKI_CUDA_CLASSES)
        return own;
    while (w >= MPKI_PANEL_LEAST && !mpki_cuda_panel_fits(m, w, own - w + rows)) w--;
    if (w < MPKI_PANEL_LEAST || w == own) return own;
    const int32_t pieces = (own + w - 1) / w;
    return (own + pieces - 1) / pieces;
}

/* Supernode s: its columns from the last piece down get numbers s, next, next + 1 ... */
static void made_pieces(mpki_cuda_made *m, int32_t s, int32_t *next) {
    const mpki_tree_view *tree = m->tree;
    const int32_t all = tree->sptr[s + 1] - tree->sptr[s];
    const int32_t rows = (int32_t)(tree->rptr[s + 1] - tree->rptr[s]);
    int32_t done = 0, before = -1;
    const int64_t lists = m->positions;
    for (;;) {
        const int32_t w = cut_columns(m, s, all - done, rows);
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
static void count_pieces(const mpki_cuda_made *m, int32_t *pieces, int64_t *positions) {
    const mpki_tree_view *tree = m->tree;
    *pieces = 0, *positions = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        int32_t own = tree->sptr[s + 1] - tree->sptr[s];
        const int32_t rows = (int32_t)(tree->rptr[s + 1] - tree->rptr[s]), all = own;
        for (int32_t w; (w = cut_columns(m, s, own, rows)) < own; own -= w) ++*pieces;
        if (own < all) *positions += all + rows;
    }
}

/* The supernode's parent, by its first row there: the piece that has it. */
static void attach(mpki_cuda_made *m, int32_t s, const int32_t *piece_ptr) {
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

static mpk_status made_start(mpki_cuda_made *m) {
    const mpki_tree_view *tree = m->tree;
    const int32_t ns = tree->nsuper;
    int32_t pieces;
    int64_t positions;
    m->children = MPKI_ZNEW(m->ctx, STAGE, (int64_t)ns + 1, int32_t);
    if (!m->children) return mpki_failed(m->ctx);
    for (int32_t s = 0; s < ns; s++)
        if (tree->parent[s] >= 0) m->children[tree->parent[s]]++;
    count_pieces(m, &pieces, &positions);
    m->count = ns + pieces;
    m->allocated = m->count + m->count / 16 +
                   2; /* helpers: two for MPKI_CHILDREN_GROUP + 2 children, fewer for more */
    m->parent = MPKI_NEW(m->ctx, STAGE, m->allocated, int32_t);
    m->rows = MPKI_NEW(m->ctx, STAGE, m->allocated, int32_t);
    m->own = MPKI_ZNEW(m->ctx, STAGE, m->allocated, int32_t);
    m->shift = MPKI_ZNEW(m->ctx, STAGE, m->allocated, int32_t);
    m->super = MPKI_NEW(m->ctx, STAGE, m->allocated, int32_t);
    m->kind = MPKI_ZNEW(m->ctx, STAGE, m->allocated, int8_t);
    m->rel = MPKI_NEW(m->ctx, STAGE, m->allocated, int64_t);
    m->ridx = MPKI_ZNEW(m->ctx, STAGE, m->allocated, int64_t);
    m->used = m->positions = tree->rptr[ns];
    m->list_allocated = m->used + tree->max_front + 64;
    m->list = MPKI_NEW(m->ctx, STAGE, m->list_allocated, int32_t);
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
static mpk_status helper(mpki_cuda_made *m, int32_t parent, const int32_t *child, int32_t count,
                         int32_t *mark, int32_t nrows, int32_t *out) {
    const int32_t h = m->count++;
    int32_t rows = 0;
    for (int32_t k = 0; k < count; k++)
        for (int32_t i = 0; i < m->rows[child[k]]; i++) mark[m->list[m->rel[child[k]] + i]] = 1;
    for (int32_t i = 0; i < nrows; i++) rows += mark[i];
    if (m->used + rows > m->list_allocated) {
        const int64_t allocated = m->list_allocated + m->list_allocated / 2 + rows;
        int32_t *grown = mpki_resize(m->ctx, STAGE, m->list, allocated, sizeof *grown);
        if (!grown) return mpki_failed(m->ctx);
        m->list = grown, m->list_allocated = allocated;
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

/* Children of many rows, which come first in `group` [inout] then: a helper that added up such a one
 * with others would be as large as the front itself, and a level more of the tree. Returns how many
 * there are, at most half of those that a front adds up without helpers. work [work] count */
static int32_t set_apart(const mpki_cuda_made *m, int32_t *group, int32_t count, int32_t nrows,
                         int32_t *work) {
    int32_t many = 0, others = 0, least = nrows / MPKI_HELPED_ROWS + 1;
    for (;; least *= 2) {
        int32_t found = 0;
        for (int32_t k = 0; k < count; k++) found += m->rows[group[k]] >= least;
        if (found <= MPKI_CHILDREN_GROUP / 2) break;
    }
    for (int32_t k = 0; k < count; k++)
        if (m->rows[group[k]] >= least)
            group[many++] = group[k];
        else
            work[others++] = group[k];
    for (int32_t k = 0; k < others; k++) group[many + k] = work[k];
    return many;
}

/* Helpers for the children of one front. group [inout] them, in order; work [work] count */
static mpk_status help(mpki_cuda_made *m, int32_t s, int32_t *group, int32_t count, int32_t *mark,
                       int32_t *work) {
    const int32_t nrows = m->own[s] + m->rows[s];
    const int32_t apart = set_apart(m, group, count, nrows, work);
    mpk_status status = MPK_OK;
    while (count > MPKI_CHILDREN_GROUP && !mpk_failed(status)) {
        int32_t groups = apart;
        for (int32_t k = apart; k < count && !mpk_failed(status); k += MPKI_CHILDREN_GROUP) {
            const int32_t size = count - k < MPKI_CHILDREN_GROUP ? count - k : MPKI_CHILDREN_GROUP;
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
static mpk_status add_helpers(mpki_cuda_made *m) {
    const int32_t fronts = m->count;
    int32_t most = 0;
    int32_t *ptr = MPKI_ZNEW(m->ctx, STAGE, (int64_t)fronts + 2, int32_t);
    int32_t *child = MPKI_NEW(m->ctx, STAGE, (int64_t)fronts + 1, int32_t);
    int32_t *group = NULL, *work = NULL, *mark = NULL;
    mpk_status status = ptr && child ? MPK_OK : mpki_failed(m->ctx);
    if (mpk_failed(status)) goto done;
    for (int32_t s = 0; s < fronts; s++)
        if (m->parent[s] >= 0 && m->kind[s] != MPKI_CUDA_LOWER) ptr[m->parent[s] + 2]++;
    for (int32_t s = 2; s <= fronts; s++) {
        if (ptr[s] > most) most = ptr[s];
        ptr[s] += ptr[s - 1];
    }
    if (ptr[fronts + 1] > most) most = ptr[fronts + 1];
    if (most <= MPKI_CHILDREN_GROUP) goto done;
    for (int32_t s = 0; s < fronts; s++)
        if (m->parent[s] >= 0 && m->kind[s] != MPKI_CUDA_LOWER) child[ptr[m->parent[s] + 1]++] = s;
    group = MPKI_NEW(m->ctx, STAGE, most, int32_t);
    work = MPKI_NEW(m->ctx, STAGE, most, int32_t);
    mark = MPKI_ZNEW(m->ctx, STAGE, (int64_t)m->tree->max_front + 1, int32_t);
    status = group && work && mark ? MPK_OK : mpki_failed(m->ctx);
    for (int32_t s = 0; s < fronts && !mpk_failed(status); s++) {
        const int32_t count = ptr[s + 1] - ptr[s];
        if (count <= MPKI_CHILDREN_GROUP) continue;
        memcpy(group, child + ptr[s], (size_t)count * sizeof *group);
        status = help(m, s, group, count, mark, work);
    }
done:
    mpki_release(m->ctx, ptr);
    mpki_release(m->ctx, child);
    mpki_release(m->ctx, group);
    mpki_release(m->ctx, work);
    mpki_release(m->ctx, mark);
    return status;
}

/* Lists of children, by number, and an order with children before parents. */
static mpk_status made_children(mpki_cuda_made *m) {
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

mpk_status mpki_cuda_made_build(mpki_cuda_made *m) {
    mpk_status status = made_start(m);
    if (!mpk_failed(status)) status = add_helpers(m);
    if (!mpk_failed(status)) status = made_children(m);
    return status;
}
