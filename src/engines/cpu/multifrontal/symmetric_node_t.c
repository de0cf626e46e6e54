/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of a symmetric matrix: its front is gathered from entries of A and its children's
 * contributions, all of them lower triangles, and factored by tiles. */
#include "engines/cpu/front/tiles.h"
#include "front_of_t.h"
#include "pair_t.h"
#include "trapezoid_t.h"
#include "walk_t.h"

#include <string.h>

/* The children's contributions on their way into their parent s: its columns from c0 on, in its
 * front (f) or its own contribution (c). An entry gets the children's in their order, whoever adds
 * them. */
typedef struct gather {
    const walk *z;
    int32_t s, own, delayed;
    const FN(front) * f; /* NULL: into c, */
    T *c;                /* the contribution of a parent with w fully summed columns */
    int64_t w, ldc;
    int32_t c0, c1, step; /* columns as the children name them: without the delayed ones */
    int32_t first, end;   /* of the children: from tree->child[first] on */
    T *shares;            /* sums of all shares of the children but the first; gather_shares() */
    int64_t share_size;
} gather;

/* The first of a child's rows that is at least `row` in its parent. */
static int32_t first_row(const mpki_tree_view *tree, int32_t child, int32_t row) {
    const int32_t *rel = tree->rel + tree->rptr[child];
    int32_t low = 0, high = (int32_t)(tree->rptr[child + 1] - tree->rptr[child]);
    if (high == 0 || rel[0] >= row) return 0;
    if (rel[high - 1] < row) return high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (rel[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What is added: e = 0 a column of the child's contribution, else of -L D L^T for a leaf of e columns,
 * the sum of x[k] times a[k]. */
typedef struct addend {
    const T *x[2];
    T a[2];
} addend;

static inline __attribute__((always_inline)) T entry_of(const int e, const addend *t, int32_t i) {
    if (e == 0) return t->x[0][i];
    const T first = t_mul(t->x[0][i], t->a[0]);
    return e == 1 ? first : first + t_mul(t->x[1][i], t->a[1]);
}

/* Row `from` of the child and those after it go to y. */
static inline __attribute__((always_inline)) void
add_run(const int e, const addend *t, int32_t from, int32_t count, T *restrict y) {
    for (int32_t i = 0; i < count; i++) y[i] += entry_of(e, t, from + i);
}

/* The same of single entries; those from `late` on lie after the delayed columns. */
static inline __attribute__((always_inline)) void add_entries(const int e, const addend *t,
                                                              int64_t delayed, const int32_t *rel,
                                                              int32_t from, int32_t late,
                                                              int32_t rows, T *restrict y) {
    int32_t i = from;
    for (; i < late; i++) y[rel[i]] += entry_of(e, t, i);
    y += delayed;
    for (; i < rows; i++) y[rel[i]] += entry_of(e, t, i);
}

/* Column j of what a child adds. */
static inline __attribute__((always_inline)) addend
addend_of(const int e, const gather *g, int32_t child, int64_t ldm, int32_t j) {
    const mpki_node *node = &g->z->f->node[child];
    const bool hermitian = g->z->rules.hermitian;
    const T *d = node->d;
    addend t = {.a = {t_make(1, 0)}};
    if (e == 0) t.x[0] = column_of(g->z->contribution[child], ldm, j);
    for (int k = 0; k < e; k++) {
        t.x[k] = (const T *)node->a + k * mpki_leading(node->nrows) + node->w;
        t.a[k] = -conj_if(hermitian, t.x[k][j]);
    }
    if (e == 2 && t_abs1(d[1]) > 0)
        times_pair(d, hermitian, &t.a[0], &t.a[1]);
    else
        for (int k = 0; k < e; k++) t.a[k] = t_mul(d[2 * k], t.a[k]);
    return t;
}

/* Columns j0 .. j1-1 of one child, its rows from j0 on as runs; count 0: as single entries. */
static inline __attribute__((always_inline)) void gather_columns(const int e, const gather *g,
                                                                 int32_t child, int32_t j0,
                                                                 int32_t j1, const mpki_run *runs,
                                                                 int32_t count) {
    const mpki_tree_view *tree = g->z->tree;
    const int32_t *rel = tree->rel + tree->rptr[child];
    const int64_t rows = tree->rptr[child + 1] - tree->rptr[child], ldm = mpki_leading(rows);
    const int32_t late = count ? 0 : first_row(tree, child, g->own);
    int32_t first = 0;
    int64_t seen = 0;
    for (int32_t j = j0; j < j1; j++) {
        if ((seen += rows - j) > MPKI_GATHER_ASKS) {
            if (FN(front_stopped)(&g->z->rules, (double)seen)) return;
            seen = 0;
        }
        int64_t at = rel[j] < g->own ? rel[j] : rel[j] + g->delayed;
        T *to = g->f ? FN(front_at)(g->f, at, at) - at : column_of(g->c, g->ldc, at - g->w) - g->w;
        const addend t = addend_of(e, g, child, ldm, j);
        if (count == 0) {
            add_entries(e, &t, g->delayed, rel, j, late, (int32_t)rows, to);
            continue;
        }
        while (runs[first].from + runs[first].count <= j) first++;
        for (int32_t r = first; r < count; r++) {
            const mpki_run *u = &runs[r];
            const int32_t i = u->from < j ? j - u->from : 0;
            add_run(e, &t, u->from + i, u->count - i, to + u->to + i);
        }
    }
}

/* Has the child something for its parent? A small leaf has it in its own numbers. */
static bool has_contribution(const walk *z, int32_t child) {
    return z->contribution[child] || (FN(is_small_leaf)(z, child) && z->f->node[child].nelim > 0);
}

static void gather_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const gather *g = arg;
    const mpki_tree_view *tree = g->z->tree;
    const int64_t c0 = g->c0 + item * g->step, c1 = c0 + g->step < g->c1 ? c0 + g->step : g->c1;
    mpki_run *runs = g->z->state[worker].runs;
    (void)pool;
    for (int32_t k = g->first; k < g->end; k++) {
        const int32_t child = tree->child[k];
        if (!has_contribution(g->z, child)) continue;
        const int32_t j0 = first_row(tree, child, (int32_t)c0);
        const int32_t j1 = first_row(tree, child, (int32_t)c1);
        if (j0 == j1) continue;
        const int64_t rows = tree->rptr[child + 1] - tree->rptr[child] - j0;
        int32_t count = 0;
        if (rows >= MPKI_ROWS_IN_RUNS) count = make_runs(tree, child, j0, g->own, g->delayed, runs);
        if (rows < MPKI_RUN_WORTH * (int64_t)count) count = 0;
        if (g->z->contribution[child])
            gather_columns(0, g, child, j0, j1, runs, count);
        else if (g->z->f->node[child].nelim == 1)
            gather_columns(1, g, child, j0, j1, runs, count);
        else
            gather_columns(2, g, child, j0, j1, runs, count);
    }
}

/* ---- very many children of a small front: in shares, each with a sum of its own ---- */

/* How many there are depends on the tree alone, so the bits do not depend on workers. 1: all children
 * add to the front itself. */
static int32_t shares_of(const gather *g, int64_t size) {
    const int64_t children = g->end - g->first, shares = children / MPKI_SHARE_CHILDREN;
    const int32_t count = shares < MPKI_SHARES ? (int32_t)shares : MPKI_SHARES;
    return count > 1 && size * count <= MPKI_SHARE_WORTH * children ? count : 1;
}

/* Where a share's sum goes: the first one's to the front. */
static T *sum_of(const gather *g, int64_t share) {
    return share == 0 ? NULL : g->shares + (share - 1) * g->share_size;
}

static void gather_share(const gather *all, int64_t share, int32_t count, T *sum, int worker) {
    const int64_t children = all->end - all->first;
    gather g = *all;
    FN(front) f;
    g.first = all->first + (int32_t)(children * share / count);
    g.end = all->first + (int32_t)(children * (share + 1) / count);
    if (sum) {
        for (int64_t i = 0; i < all->share_size; i++) sum[i] = t_make(0, 0);
        if (all->f) f = *all->f, f.a = sum, g.f = &f;
        if (!all->f) g.c = sum;
    }
    gather_item(NULL, worker, &g, 0);
}

static void share_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const gather *g = arg;
    gather_share(g, item, shares_of(g, g->share_size), sum_of(g, item), worker);
}

static void add_sum(const gather *g, const T *sum) {
    T *to = g->f ? g->f->a : g->c;
    for (int64_t i = 0; i < g->share_size; i++) to[i] += sum[i];
}

/* False: the children have to be added one by one. */
static bool gather_shares(gather *g, mpki_pool *pool, int worker) {
    const int64_t m = g->f ? 0 : g->c1 - g->c0;
    g->share_size = g->f ? mpki_trapezoid(g->f->nrows, g->f->w) : mpki_trapezoid(m, m);
    const int32_t count = shares_of(g, g->share_size);
    if (count == 1) return false;
    const int32_t sums = mpki_pool_threads(pool) > 1 ? count - 1 : 1;
    g->shares = mpki_alloc(g->z->f->ctx, "factorize", sums * g->share_size, sizeof(T));
    if (!g->shares) return true; /* the walk has failed */
    g->step = g->c1 - g->c0;
    if (sums > 1) mpki_pool_for(pool, worker, count, share_item, g);
    for (int32_t k = 0; k < count; k++) {
        T *sum = sums > 1 ? sum_of(g, k) : k == 0 ? NULL : g->shares;
        if (sums == 1) gather_share(g, k, count, sum, worker);
        if (sum) add_sum(g, sum);
    }
    mpki_release(g->z->f->ctx, g->shares);
    return true;
}

/* All of it; by all workers where it is much. */
static void gather_children(gather *g, mpki_pool *pool, int worker) {
    enum { LEAST = 32, MOST = 128, EACH = 4 }; /* columns of an item, items of a worker */
    const mpki_tree_view *tree = g->z->tree;
    const int32_t cols = g->c1 - g->c0;
    double entries = 0;
    g->first = tree->child_ptr[g->s], g->end = tree->child_ptr[g->s + 1];
    if (cols > 0 && gather_shares(g, pool, worker)) return;
    for (int32_t k = tree->child_ptr[g->s]; pool && k < tree->child_ptr[g->s + 1]; k++) {
        const int32_t child = tree->child[k];
        const int64_t rows = tree->rptr[child + 1] - tree->rptr[child];
        if (!has_contribution(g->z, child)) continue;
        entries += (double)rows * (first_row(tree, child, g->c1) - first_row(tree, child, g->c0));
    }
    if (cols == 0) return;
    g->step = cols;
    if (entries < MPKI_GATHER_SHARED) {
        gather_item(NULL, worker, g, 0);
        return;
    }
    g->step = cols / (EACH * mpki_pool_threads(pool));
    g->step = g->step < LEAST ? LEAST : g->step > MOST ? MOST : g->step;
    mpki_pool_for(pool, worker, (cols + g->step - 1) / g->step, gather_item, g);
}

/* Columns that a child delayed become columns own + offset .. of the parent. */
static void gather_delayed(const walk *z, int32_t child, const FN(front) * f, int32_t own,
                           int32_t delayed, int32_t offset) {
    const mpki_tree_view *tree = z->tree;
    const mpki_node *node = &z->f->node[child];
    FN(front) g = front_of(node);
    const int32_t *rel = tree->rel + tree->rptr[child];
    T *const *lent = atomic_load(&z->lent);
    T *rest = node->low ? node->low->rest : lent ? lent[child] : NULL;
    int32_t m = (int32_t)(node->nrows - node->w), late = rest ? node->nelim : 0;
    if (rest) /* these columns alone, as a matrix */
        g = (FN(front)){.a = rest, .ld0 = node->nrows - node->nelim, .flat = 1};
    for (int32_t t = node->nelim; t < node->w; t++) {
        int32_t at = own + offset + t - node->nelim;
        f->id[at] = id_of(node)[t];
        for (int32_t i = t; i < node->w; i++)
            *FN(front_at)(f, own + offset + i - node->nelim, at) +=
                *FN(front_at)(&g, i - late, t - late);
        for (int32_t r = 0; r < m; r++) {
            T x = *FN(front_at)(&g, node->w - late + r, t - late);
            if (rel[r] < own)
                *FN(front_at)(f, at, rel[r]) += conj_if(z->rules.hermitian, x);
            else
                *FN(front_at)(f, rel[r] + delayed, at) += x;
        }
    }
}

/* An entry of S A S, in a row and a column of this front. */
static inline T entry_at(const walk *z, int32_t s, int64_t src, int32_t row, int32_t col,
                         int32_t own) {
    const mpki_tree_view *tree = z->tree;
    const int32_t j = tree->sptr[s] + col;
    const int32_t i = row < own ? tree->sptr[s] + row : tree->ridx[tree->rptr[s] + row - own];
    const double *scale = z->f->scale;
    if (!z->exponent) return scaled(z->ax[src], scale[tree->perm[j]], scale[tree->perm[i]], false);
    const double p = power_of_two(z->exponent[i] + z->exponent[j]);
    return t_make((R)((double)t_re(z->ax[src]) * p), (R)((double)t_im(z->ax[src]) * p));
}

/* scatter_entries() where a list is short, exponents are near 0, A is real, and the front has one panel:
 * so it is nearly everywhere. */
static void scatter_short(const walk *z, int32_t s, const FN(front) * f, int32_t own,
                          int32_t delayed) {
    const mpki_tree_view *tree = z->tree;
    const mpki_short_scatter *const few = tree->scatter.few;
    const int64_t end = tree->scatter_ptr[s + 1], ld0 = f->ld0;
    const int16_t *const exponent = z->exponent, *const of_own = exponent + tree->sptr[s];
    const int32_t *const below = tree->ridx + tree->rptr[s];
    const T *const ax = z->ax;
    T *const a = f->a;
    for (int64_t k = tree->scatter_ptr[s]; k < end; k++) {
        const int32_t row = (int32_t)(few[k].place & 0xffff);
        const int32_t col = (int32_t)(few[k].place >> 16 & 0x7fff);
        const int of_row = row < own ? of_own[row] : exponent[below[row - own]];
        const double x = (double)t_re(ax[few[k].src]) * power_of_two(of_row + of_own[col]);
        a[col * ld0 + row + (row < own ? 0 : delayed)] += t_make((R)x, 0);
    }
}

static void scatter_entries(const walk *z, int32_t s, const FN(front) * f, int32_t own,
                            int32_t delayed) {
    const mpki_tree_view *tree = z->tree;
    if (!MPKI_COMPLEX && tree->scatter.few && z->exponent && f->w <= MPKI_PANEL) {
        scatter_short(z, s, f, own, delayed);
        return;
    }
    for (int64_t k = tree->scatter_ptr[s]; k < tree->scatter_ptr[s + 1]; k++) {
        const mpki_scatter e = mpki_scatter_at(&tree->scatter, k);
        const int32_t row = e.row < 0 ? ~e.row : e.row;
        const T x = z->sax ? z->sax[e.src] : entry_at(z, s, e.src, row, e.col, own);
        *FN(front_at)(f, row < own ? row : row + delayed, e.col) += e.row < 0 ? t_conj(x) : x;
    }
}

/* Outer rows among those below a node: the last ones. */
static int64_t outer_rows(const mpki_tree_view *tree, int32_t s) {
    int64_t k = tree->rptr[s + 1];
    while (tree->outer > 0 && k > tree->rptr[s] && tree->ridx[k - 1] >= tree->n) k--;
    return tree->rptr[s + 1] - k;
}

static bool leaf(walk *z, int32_t s, int worker, bool *assembled) {
    enum { ROWS = 64 };
    const mpki_tree_view *tree = z->tree;
    const int64_t rows = 1 + tree->rptr[s + 1] - tree->rptr[s];
    mpki_tally *tally = &z->state[worker].tally;
    if (rows > ROWS) return false;
    mpki_node fresh = {.w = 1, .nrows = rows};
    T *at = new_memory(z, worker, mpki_node_bytes(&fresh, sizeof(T)));
    if (!at) return false;
    mpki_node_place(&fresh, sizeof(T), at);
    z->f->node[s] = fresh; /* not read again here: it is still on its way to memory */
    *assembled = true;
    FN(front) f = front_of(&fresh);
    f.free = outer_rows(tree, s);
    f.id[0] = tree->sptr[s];
    for (int64_t i = 0; i < f.ld0; i++) f.a[i] = t_make(0, 0);
    scatter_entries(z, s, &f, 1, 0);
    if (!FN(front_single)(&f, &z->rules, &tally->pivots)) return false;
    z->f->node[s].nelim = 1;
    const double flops = mpki_front_flops(1, (double)(rows - 1));
    tally->flops += flops, tally->low_flops += flops;
    tally->nnz += rows, tally->low_nnz += rows;
    if (rows > tally->max_front) tally->max_front = (int32_t)rows;
    return true;
}

/* Is a node's memory lent until it has been eliminated? One to which many columns came late may leave most of
 * them to its parent. */
static bool is_lent(const walk *z, const mpki_node *node) {
    enum { SHARE = 4 };
    const int32_t s = (int32_t)(node - z->f->node);
    const int64_t all = mpki_trapezoid(node->nrows, node->w);
    const int64_t own = node->w - mpki_node_delayed(z->tree, node, s);
    const int64_t late = all - mpki_trapezoid(node->nrows, own);
    return !z->kept && z->tree->parent[s] >= 0 && late * SHARE >= all &&
           late * (int64_t)sizeof(T) >= MPKI_LENT;
}

/* Where pointers to what is lent to nodes are: not before it is to one. */
static T **lent_to(walk *z) {
    T **all = atomic_load(&z->lent), **fresh;
    if (all) return all;
    fresh = MPKI_ZNEW(z->f->ctx, "factorize", z->tree->nsuper, T *);
    if (!fresh || atomic_compare_exchange_strong(&z->lent, &all, fresh)) return fresh;
    mpki_release(z->f->ctx, (void *)fresh);
    return all;
}

/* The columns after those that were eliminated wait apart for the parent. */
static T *take_rest(walk *z, const mpki_node *node, int worker) {
    const FN(front) f = front_of(node);
    const int64_t e = node->nelim, rows = node->nrows - e;
    T *rest = lent_get(z, worker, rest_bytes(node));
    for (int64_t j = e; rest && j < node->w; j++)
        memcpy(rest + (j - e) * rows + (j - e), FN(front_at)(&f, j, j),
               (size_t)(node->nrows - j) * sizeof(T));
    return rest;
}

/* The node keeps what it has eliminated: where it is, and memory after that is taken again; or, if that was
 * lent, in memory of its own. */
static mpk_status leave(walk *z, int32_t s, int worker) {
    mpki_node *node = &z->f->node[s];
    T **all = atomic_load(&z->lent), *lent = all ? all[s] : NULL, *rest = NULL;
    const bool some = node->nelim < node->w;
    if (!lent && rest_bytes(node) < MPKI_LEFT) return MPK_OK;
    const int64_t panels = mpki_trapezoid(node->nrows, node->nelim) * (int64_t)sizeof(T);
    const int64_t had = mpki_node_bytes(node, sizeof(T));
    const int64_t numbers = had - ((char *)node->d - (char *)node->a);
    char *to = lent ? new_memory(z, worker, panels + numbers) : node->a;
    if (!to || !(all = lent_to(z))) return MPK_ERR_MEMORY;
    if (some && !(rest = take_rest(z, node, worker))) return MPK_ERR_MEMORY;
    if (lent) memcpy(to, node->a, (size_t)panels);
    memmove(to + panels, node->d, (size_t)numbers);
    node->a = to;
    node->d = to + panels;
    all[s] = rest;
    if (lent)
        lent_put(z, worker, lent, had);
    else
        cut_memory(z, worker, to, had, panels + numbers);
    return MPK_OK;
}

static mpk_status storage(walk *z, mpki_node *node, int64_t *room, mpki_pool *pool, int worker) {
    if (z->low_tolerance > 0 && mpki_low_pays(node->nrows, node->w))
        return FN(low_storage)(z, node, pool, worker);
    const int64_t bytes = mpki_node_bytes(node, sizeof(T));
    T **all = is_lent(z, node) ? lent_to(z) : NULL;
    char *at = all ? (char *)lent_get(z, worker, bytes) : node_memory(z, node, worker, bytes, room);
    if (!at) return MPK_ERR_MEMORY;
    if (all) all[node - z->f->node] = (T *)(void *)at;
    mpki_node_place(node, sizeof(T), at);
    return clear_node(z, node->a, (size_t)((char *)node->d - at), pool, worker);
}

static void assemble(walk *z, int32_t s, int32_t own, int32_t delayed, mpki_pool *pool,
                     int worker) {
    const mpki_tree_view *tree = z->tree;
    mpki_node *nodes = z->f->node;
    const FN(front) f = front_of(&nodes[s]);
    for (int32_t j = 0; j < own; j++) f.id[j] = tree->sptr[s] + j;
    scatter_entries(z, s, &f, own, delayed);
    int32_t offset = 0;
    for (int32_t k = tree->child_ptr[s]; delayed > 0 && k < tree->child_ptr[s + 1]; k++) {
        int32_t c = tree->child[k];
        int32_t count = nodes[c].w - nodes[c].nelim;
        if (count) gather_delayed(z, c, &f, own, delayed, offset);
        release_lent(z, worker, c);
        offset += count;
    }
    gather g = {.z = z, .s = s, .own = own, .delayed = delayed, .f = &f, .c1 = own};
    gather_children(&g, pool, worker);
}

/* The front's tiles, where these pay, and memory is not limited or there is room: without them it is
 * factored panel by panel, to the same bits. *bytes [out] of them; 0: none. MPK_OK | MPK_ERR_MEMORY */
static mpk_status make_tiles(walk *z, FN(front) * f, T *c, mpki_pool *pool, void **memory,
                             int64_t *bytes) {
    const int workers = mpki_pool_threads(pool);
    *bytes = f->low || f->free > 0 ? 0 : FN(tiles_bytes)(f->nrows, f->w, workers);
    if (*bytes > 0 && !mpki_tickets_lend(&z->tickets, *bytes)) *bytes = 0;
    if (*bytes == 0) return MPK_OK;
    *memory = MPKI_NEW(z->f->ctx, "factorize", *bytes, char);
    if (!*memory) return MPK_ERR_MEMORY;
    f->tiles = FN(tiles_set)(*memory, f->nrows, f->w, workers, c);
    return MPK_OK;
}

static mpk_status eliminate(walk *z, int32_t s, T *c, mpki_pool *pool, int worker,
                            mpki_pivots *pivots) {
    mpki_node *node = &z->f->node[s];
    void *tiles = NULL;
    int64_t bytes = 0;
    FN(front) f = front_of(node);
    f.last = mpki_is_outer(z->tree, s);
    f.free = outer_rows(z->tree, s);
    if (pool && mpk_failed(make_tiles(z, &f, c, pool, &tiles, &bytes))) return MPK_ERR_MEMORY;
    const mpk_status status =
        FN(front_factor)(&f, &z->rules, &z->works[worker], pool, worker, pivots);
    node->nelim = f.nelim;
    if (!mpk_failed(status) && c) FN(front_update)(&f, &z->rules, z->works, c, pool, worker);
    if (tiles) {
        FN(tiles_end)(f.tiles);
        mpki_release(z->f->ctx, tiles);
        mpki_tickets_return(&z->tickets, bytes);
    }
    return status;
}

static void gather_rest(const walk *z, int32_t s, int32_t own, int32_t delayed, T *c, int64_t m,
                        mpki_pool *pool, int worker) {
    gather g = {.z = z,
                .s = s,
                .own = own,
                .delayed = delayed,
                .c = c,
                .w = own + delayed,
                .ldc = mpki_leading(m),
                .c0 = own,
                .c1 = own + (int32_t)m};
    gather_children(&g, pool, worker);
}

static int64_t contribution(int64_t m) {
    return mpki_trapezoid(m, m);
}

static int64_t entries(int64_t e, int64_t rows) {
    return e * rows - e * (e - 1) / 2;
}

const FN(node_kind) FN(symmetric_node) = {.leaf = leaf,
                                          .contribution = contribution,
                                          .storage = storage,
                                          .assemble = assemble,
                                          .eliminate = eliminate,
                                          .gather = gather_rest,
                                          .leave = leave,
                                          .flops = mpki_front_flops,
                                          .entries = entries};
