/* SPDX-License-Identifier: BSD-3-Clause */
/* From amalgamated nodes to the arrays of the analysis: final numbers, row structures, positions of
 * each child's rows in its parent, and of each entry of A in its front. */
#include "structure.h"

#include "rowset.h"

#include <string.h>

static const char STAGE[] = "symbolic";

/* ---- numbers --------------------------------------------------------------------------------- */

/* Final numbers of nodes (postorder, children as sorted) and of columns. number[d], place[column].
 */
static void number_nodes(mpki_nodes *nodes, int32_t *number, int32_t *place, mpk_analysis *an) {
    int32_t s = 0, position = 0, roots = -1;
    for (int32_t d = nodes->count - 1; d >= 0; d--) {
        if (!nodes->alive[d] || nodes->parent[d] >= 0) continue;
        nodes->sibling[d] = roots;
        roots = d;
    }
    for (int32_t d = roots; d >= 0;) {
        while (nodes->child[d] >= 0) d = nodes->child[d];
        for (;;) {
            number[d] = s;
            an->sptr[s] = position;
            an->rptr[s + 1] = an->rptr[s] + nodes->rows[d];
            an->flops[s++] = mpki_front_flops(nodes->width[d], nodes->rows[d]);
            for (int32_t c = nodes->head[d]; c >= 0; c = nodes->next[c]) place[c] = position++;
            if (nodes->sibling[d] >= 0) {
                d = nodes->sibling[d];
                break;
            }
            d = nodes->parent[d];
            if (d < 0) break;
        }
    }
    an->sptr[s] = position;
    for (int32_t d = 0; d < nodes->count; d++) {
        if (!nodes->alive[d]) continue;
        an->parent[number[d]] = nodes->parent[d] < 0 ? -1 : number[nodes->parent[d]];
    }
}

void mpki_structure_children(mpk_analysis *an) {
    int32_t n = an->nsuper;
    memset(an->child_ptr, 0, ((size_t)n + 1) * sizeof *an->child_ptr);
    for (int32_t s = 0; s < n; s++)
        if (an->parent[s] >= 0) an->child_ptr[an->parent[s] + 1]++;
    for (int32_t s = 0; s < n; s++) an->child_ptr[s + 1] += an->child_ptr[s];
    int32_t total = an->child_ptr[n];
    /* from the back, so that lists come out increasing: the end of p's list walks down to its start
     */
    for (int32_t s = n - 1; s >= 0; s--)
        if (an->parent[s] >= 0) an->child[--an->child_ptr[an->parent[s] + 1]] = s;
    memmove(an->child_ptr, an->child_ptr + 1, (size_t)n * sizeof *an->child_ptr);
    an->child_ptr[n] = total;
}

/* The last supernode, of the outer rows: no column, and the roots as children. */
static void add_outer(mpk_analysis *an, int32_t outer) {
    const int32_t last = an->nsuper - 1;
    an->sptr[last] = an->sptr[last + 1] = an->n;
    an->rptr[last + 1] = an->rptr[last] + outer;
    an->flops[last] = 0;
    an->parent[last] = -1;
    for (int32_t s = 0; s < last; s++)
        if (an->parent[s] < 0) an->parent[s] = last;
}

mpk_status mpki_structure_number(mpk_context *ctx, mpki_nodes *nodes, mpk_analysis *an) {
    const int32_t n = an->n, outer = mpki_split_rows(an->split);
    int32_t count = outer > 0;
    mpk_status status = MPK_OK;
    for (int32_t d = 0; d < nodes->count; d++) count += nodes->alive[d];
    an->nsuper = count;
    an->sptr = MPKI_NEW(ctx, STAGE, (int64_t)count + 1, int32_t);
    an->parent = MPKI_NEW(ctx, STAGE, count, int32_t);
    an->child_ptr = MPKI_NEW(ctx, STAGE, (int64_t)count + 1, int32_t);
    an->child = MPKI_NEW(ctx, STAGE, count, int32_t);
    an->rptr = MPKI_NEW(ctx, STAGE, (int64_t)count + 1, int64_t);
    an->flops = MPKI_NEW(ctx, STAGE, count, double);
    int32_t *number = MPKI_NEW(ctx, STAGE, nodes->count, int32_t);
    int32_t *place = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *old = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!an->sptr || !an->parent || !an->child_ptr || !an->child || !an->rptr || !an->flops ||
        !number || !place || !old) {
        status = mpki_failed(ctx);
        goto done;
    }
    an->rptr[0] = 0;
    number_nodes(nodes, number, place, an);
    if (outer) add_outer(an, outer);
    mpki_structure_children(an);
    memcpy(old, an->perm, (size_t)n * sizeof *old);
    for (int32_t c = 0; c < n; c++) {
        an->perm[place[c]] = old[c];
        an->iperm[old[c]] = place[c];
    }
done:
    mpki_release(ctx, number);
    mpki_release(ctx, place);
    mpki_release(ctx, old);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct finding {
    mpk_context *ctx;
    const mpki_graph *graph;
    mpk_analysis *an;
    mpki_rowset *set;     /* one for each worker; empty, and without memory, until it is wanted */
    int32_t *first, *top; /* subtrees that are tasks: supernodes first[k] .. top[k] */
    char *inside;         /* nsuper: in one of these */
    int32_t tasks;
    _Atomic int failed;
} finding;

/* Rows of s: those of its columns in A and those of its children, below its own columns. */
static mpk_status find_rows(const finding *f, int32_t s, mpki_rowset *set, mpki_asking *asking) {
    const mpki_graph *graph = f->graph;
    const mpk_analysis *an = f->an;
    const int32_t end = an->sptr[s + 1], outer = mpki_split_rows(an->split);
    if (outer && s == an->nsuper - 1) {
        for (int32_t k = 0; k < outer; k++) an->ridx[an->rptr[s] + k] = an->n + k;
        return MPK_OK;
    }
    if (mpki_asks(asking, 8 * (an->rptr[s + 1] - an->rptr[s] + end - an->sptr[s])))
        return mpki_stopped(f->ctx, STAGE);
    if (an->rptr[s + 1] == an->rptr[s]) return MPK_OK; /* a root */
    for (int32_t c = an->sptr[s]; c < end; c++) {
        int32_t v = an->perm[c];
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            int32_t i = an->iperm[graph->adj[k]];
            if (i >= end) mpki_rowset_add(set, i);
        }
    }
    for (int32_t q = an->child_ptr[s]; q < an->child_ptr[s + 1]; q++) {
        int32_t child = an->child[q];
        asking->done += an->rptr[child + 1] - an->rptr[child];
        int64_t k = an->rptr[child], last = an->rptr[child + 1];
        while (k < last && an->ridx[k] < end) k++;
        for (; k < last; k++) mpki_rowset_add(set, an->ridx[k]);
    }
    int32_t *stop = mpki_rowset_take(set, set->top, 0, an->ridx + an->rptr[s]);
    if (stop == an->ridx + an->rptr[s + 1]) return MPK_OK;
    return mpki_error(f->ctx, MPK_ERR_INTERNAL, STAGE, s,
                      "supernode %d has other rows than were counted", s);
}

static void find_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    finding *f = arg;
    mpki_rowset *set = &f->set[worker];
    mpki_asking asking = {f->ctx, "analyse", 0};
    mpk_status status = (mpk_status)f->failed;
    (void)pool;
    if (!mpk_failed(status) && !set->block && !mpki_rowset_create(f->ctx, STAGE, f->graph->n, set))
        status = mpki_failed(f->ctx);
    for (int32_t s = f->first[item]; !mpk_failed(status) && s <= f->top[item]; s++)
        status = find_rows(f, s, set, &asking);
    if (mpk_failed(status)) f->failed = status;
}

/* Subtrees with at most so much of all rows and columns that each thread gets several. They are
 * ranges of supernodes. size, low [work] nsuper */
static void cut_subtrees(finding *f, int threads, int64_t *size, int32_t *low) {
    const mpk_analysis *an = f->an;
    const int32_t ns = an->nsuper, last = mpki_split_rows(an->split) ? ns - 1 : ns;
    const int64_t most = threads > 1 ? (an->rptr[ns] + an->n) / (4 * (int64_t)threads) : 0;
    for (int32_t s = 0; s < ns; s++) low[s] = s, size[s] = 0;
    for (int32_t s = 0; s < ns; s++) { /* children first */
        const int32_t p = an->parent[s];
        size[s] += an->rptr[s + 1] - an->rptr[s] + an->sptr[s + 1] - an->sptr[s];
        f->inside[s] = s < last && size[s] <= most;
        if (p < 0) continue;
        size[p] += size[s];
        if (low[s] < low[p]) low[p] = low[s];
    }
    for (int32_t s = 0; s < last; s++)
        if (f->inside[s] && (an->parent[s] < 0 || !f->inside[an->parent[s]])) {
            f->first[f->tasks] = low[s];
            f->top[f->tasks++] = s;
        }
}

mpk_status mpki_structure_rows(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph,
                               mpk_analysis *an) {
    const int threads = mpki_pool_threads(pool);
    const int32_t ns = an->nsuper;
    finding f = {.ctx = ctx, .graph = graph, .an = an};
    int64_t *size = MPKI_NEW(ctx, STAGE, ns, int64_t);
    int32_t *low = MPKI_NEW(ctx, STAGE, ns, int32_t);
    an->ridx = MPKI_NEW(ctx, STAGE, an->rptr[ns], int32_t);
    f.set = MPKI_ZNEW(ctx, STAGE, threads, mpki_rowset);
    f.first = MPKI_NEW(ctx, STAGE, ns, int32_t);
    f.top = MPKI_NEW(ctx, STAGE, ns, int32_t);
    f.inside = MPKI_NEW(ctx, STAGE, ns, char);
    mpk_status status = an->ridx && size && low && f.set && f.first && f.top && f.inside
                            ? MPK_OK
                            : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        cut_subtrees(&f, threads, size, low);
        mpki_pool_for(pool, 0, f.tasks, find_item, &f);
        status = (mpk_status)f.failed;
    }
    mpki_asking asking = {ctx, "analyse", 0};
    if (!mpk_failed(status) && !f.set[0].block &&
        !mpki_rowset_create(ctx, STAGE, graph->n, &f.set[0]))
        status = mpki_failed(ctx);
    for (int32_t s = 0; !mpk_failed(status) && s < ns; s++)
        if (!f.inside[s]) status = find_rows(&f, s, &f.set[0], &asking);
    for (int w = 0; f.set && w < threads; w++) mpki_release(ctx, f.set[w].block);
    mpki_release(ctx, f.set);
    mpki_release(ctx, f.first);
    mpki_release(ctx, f.top);
    mpki_release(ctx, f.inside);
    mpki_release(ctx, size);
    mpki_release(ctx, low);
    return status;
}

/* ---- where children and entries go ----------------------------------------------------------- */

/* local[position] = local row in the front of s. */
static void map_front(const mpk_analysis *an, int32_t s, int32_t *local) {
    int32_t first = an->sptr[s], w = an->sptr[s + 1] - first;
    const int32_t *rows = an->ridx + an->rptr[s];
    int64_t m = an->rptr[s + 1] - an->rptr[s];
    for (int32_t k = 0; k < w; k++) local[first + k] = k;
    for (int64_t k = 0; k < m; k++) local[rows[k]] = w + (int32_t)k;
}

static void map_children(mpk_analysis *an, int32_t s, const int32_t *local) {
    for (int32_t q = an->child_ptr[s]; q < an->child_ptr[s + 1]; q++) {
        int32_t child = an->child[q];
        for (int64_t k = an->rptr[child]; k < an->rptr[child + 1]; k++)
            an->rel[k] = local[an->ridx[k]];
    }
}

/* Entries of A whose earlier position is a column of s. */
static int64_t place_entries(const mpk_analysis *an, const mpki_lower *rows, int32_t s,
                             const int32_t *local, int64_t fill) {
    const int64_t *ap = an->core.ap;
    const int32_t *ai = an->core.ai;
    int32_t first = an->sptr[s];
    bool flip = an->symmetry == MPK_HERMITIAN;
    const mpki_split *split = mpki_split_rows(an->split) ? an->split : NULL;
    for (int32_t c = first; c < an->sptr[s + 1]; c++) {
        int32_t v = an->perm[c];
        int64_t src = ap[v];
        if (src < ap[v + 1] && ai[src] == v)
            an->scatter[fill++] = (mpki_scatter){src++, c - first, c - first};
        for (int64_t k = rows->ptr[v]; k < rows->ptr[v + 1]; k++) {
            /* stored as (v, w), w < v: column w of the problem, so the triangle flips unless w
             * comes first */
            int32_t i = an->iperm[rows->column[k]];
            if (i < c) continue;
            int32_t row = local[i];
            an->scatter[fill++] =
                (mpki_scatter){mpki_lower_place(rows, k), flip ? ~row : row, c - first};
        }
        for (; src < ap[v + 1]; src++) {
            int32_t i = an->iperm[ai[src]];
            if (i > c) an->scatter[fill++] = (mpki_scatter){src, local[i], c - first};
        }
        if (!split) continue;
        for (int64_t k = split->ap[v]; k < split->ap[v + 1]; k++)
            an->scatter[fill++] =
                (mpki_scatter){an->nnz + k, local[an->n + split->ai[k]], c - first};
    }
    return fill;
}

/* How many those are. */
static int64_t count_entries(const mpk_analysis *an, const mpki_lower *rows, int32_t s) {
    const int64_t *ap = an->core.ap;
    const int32_t *ai = an->core.ai;
    const mpki_split *split = mpki_split_rows(an->split) ? an->split : NULL;
    int64_t count = 0;
    for (int32_t c = an->sptr[s]; c < an->sptr[s + 1]; c++) {
        const int32_t v = an->perm[c];
        for (int64_t k = rows->ptr[v]; k < rows->ptr[v + 1]; k++)
            count += an->iperm[rows->column[k]] > c;
        for (int64_t k = ap[v]; k < ap[v + 1]; k++) count += an->iperm[ai[k]] >= c;
        if (split) count += split->ap[v + 1] - split->ap[v];
    }
    return count;
}

/* Supernodes share by share; each worker has a `local` of its own. */
typedef struct mapping {
    mpk_context *ctx;
    mpk_analysis *an;
    const mpki_lower *rows;
    int32_t *local; /* threads x positions; a worker clears its own when it begins */
    char *cleared;  /* threads */
    int64_t *work;  /* nsuper + 1: rows, columns and the like before each supernode */
    int64_t shares;
    bool counted; /* scatter_ptr is there, else it follows from share to share */
} mapping;

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const mapping *m = arg;
    mpk_analysis *an = m->an;
    mpki_asking asking = {m->ctx, "analyse", 0};
    const int32_t end = mpki_share_begin(m->work, an->nsuper, share + 1, m->shares);
    (void)pool, (void)worker;
    for (int32_t s = mpki_share_begin(m->work, an->nsuper, share, m->shares); s < end; s++) {
        if (mpki_asks(&asking, m->work[s + 1] - m->work[s])) return;
        an->scatter_ptr[s + 1] = count_entries(an, m->rows, s);
    }
}

static void map_item(mpki_pool *pool, int worker, void *arg, int64_t share) {
    const mapping *m = arg;
    mpk_analysis *an = m->an;
    const int64_t positions = (int64_t)an->n + mpki_split_rows(an->split);
    int32_t *local = m->local + worker * positions;
    mpki_asking asking = {m->ctx, "analyse", 0};
    const int32_t end = mpki_share_begin(m->work, an->nsuper, share + 1, m->shares);
    (void)pool;
    if (!m->cleared[worker]) memset(local, 0, (size_t)positions * sizeof *local);
    m->cleared[worker] = 1;
    for (int32_t s = mpki_share_begin(m->work, an->nsuper, share, m->shares); s < end; s++) {
        if (mpki_asks(&asking, 8 * (m->work[s + 1] - m->work[s]))) return;
        map_front(an, s, local);
        map_children(an, s, local);
        const int64_t first = an->scatter_ptr[s];
        const int64_t last = place_entries(an, m->rows, s, local, first);
        if (!m->counted) an->scatter_ptr[s + 1] = last;
        for (int64_t k = first; mpki_core_is_part(&an->core) && k < last; k++)
            an->scatter[k].src = an->core.src[an->scatter[k].src];
    }
}

/* A supernode's work: its rows, its children's, its columns and their entries. */
static void weigh(mapping *m) {
    const mpk_analysis *an = m->an;
    m->work[0] = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        int64_t work = an->rptr[s + 1] - an->rptr[s];
        for (int32_t q = an->child_ptr[s]; q < an->child_ptr[s + 1]; q++)
            work += an->rptr[an->child[q] + 1] - an->rptr[an->child[q]];
        for (int32_t c = an->sptr[s]; c < an->sptr[s + 1]; c++)
            work += 1 + an->core.ap[an->perm[c] + 1] - an->core.ap[an->perm[c]];
        m->work[s + 1] = m->work[s] + work;
    }
}

static mpk_status map_all(mpk_context *ctx, mpki_pool *pool, const mpki_lower *rows, int32_t *local,
                          mpk_analysis *an) {
    mapping m = {.ctx = ctx, .an = an, .rows = rows, .local = local};
    m.work = MPKI_NEW(ctx, STAGE, (int64_t)an->nsuper + 1, int64_t);
    m.cleared = MPKI_ZNEW(ctx, STAGE, mpki_pool_threads(pool), char);
    if (!m.work || !m.cleared) {
        mpki_release(ctx, m.work);
        mpki_release(ctx, m.cleared);
        return mpki_failed(ctx);
    }
    weigh(&m);
    m.shares = mpki_shares(pool);
    m.counted = m.shares > 1;
    an->scatter_ptr[0] = 0;
    if (m.counted) {
        mpki_pool_for(pool, 0, m.shares, count_item, &m);
        for (int32_t s = 0; s < an->nsuper; s++) an->scatter_ptr[s + 1] += an->scatter_ptr[s];
    }
    if (!mpki_cancelled(ctx)) mpki_pool_for(pool, 0, m.shares, map_item, &m);
    mpki_release(ctx, m.work);
    mpki_release(ctx, m.cleared);
    return mpki_cancelled(ctx) ? mpki_stopped(ctx, STAGE) : MPK_OK;
}

/* The entries of a general matrix: each belongs to the supernode that owns the earlier one of its
 * two positions, and is row or column of it by its local indices there. */
static mpk_status place_general(mpk_context *ctx, mpk_analysis *an, int32_t *local) {
    const int32_t n = an->n;
    int32_t *owner = MPKI_NEW(ctx, STAGE, n, int32_t), *row_at = MPKI_NEW(ctx, STAGE, n, int32_t);
    int64_t *at = an->scatter_ptr;
    mpk_status status = owner && row_at ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    memset(local, 0, (size_t)n * sizeof *local);
    for (int32_t s = 0; s < an->nsuper; s++)
        for (int32_t k = an->sptr[s]; k < an->sptr[s + 1]; k++) owner[k] = s;
    for (int32_t j = 0; j < n; j++) row_at[an->row_of ? an->row_of[j] : j] = an->iperm[j];
    memset(at, 0, ((size_t)an->nsuper + 1) * sizeof *at);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++) {
            const int32_t row = row_at[an->ai[k]], col = an->iperm[j];
            at[owner[row < col ? row : col] + 1]++;
        }
    for (int32_t s = 0; s < an->nsuper; s++) at[s + 1] += at[s];
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++) {
            const int32_t row = row_at[an->ai[k]], col = an->iperm[j];
            an->scatter[at[owner[row < col ? row : col]]++] = (mpki_scatter){k, row, col};
        }
    for (int32_t s = an->nsuper; s > 0; s--) at[s] = at[s - 1];
    at[0] = 0;
    mpki_asking asking = {ctx, "analyse", 0};
    for (int32_t s = 0; s < an->nsuper; s++) {
        if (mpki_asks(&asking, 8 * (an->rptr[s + 1] - an->rptr[s] + at[s + 1] - at[s]))) {
            status = mpki_stopped(ctx, STAGE);
            break;
        }
        map_front(an, s, local);
        map_children(an, s, local);
        for (int64_t k = at[s]; k < at[s + 1]; k++) {
            mpki_scatter *e = &an->scatter[k];
            e->row = local[e->row], e->col = local[e->col];
        }
    }
done:
    mpki_release(ctx, owner);
    mpki_release(ctx, row_at);
    return status;
}

mpk_status mpki_structure_maps(mpk_context *ctx, const mpki_lower *rows, mpk_analysis *an) {
    const int64_t below = mpki_split_rows(an->split) ? mpki_split_entries(an->split) : 0;
    const bool general = an->symmetry == MPK_GENERAL;
    mpki_lower own = {0};
    mpk_status status = MPK_OK;
    mpki_pool *pool = mpki_loops_pool(ctx, an->options.threads,
                                      general ? 0 : an->rptr[an->nsuper] + an->nnz, &status);
    an->rel = MPKI_NEW(ctx, STAGE, an->rptr[an->nsuper], int32_t);
    an->scatter_ptr = MPKI_NEW(ctx, STAGE, (int64_t)an->nsuper + 1, int64_t);
    an->scatter = MPKI_NEW(ctx, STAGE, an->nnz + below, mpki_scatter);
    const int64_t positions = (int64_t)an->n + mpki_split_rows(an->split);
    int32_t *local = MPKI_NEW(ctx, STAGE, mpki_pool_threads(pool) * positions, int32_t);
    if (!mpk_failed(status) && (!an->rel || !an->scatter_ptr || !an->scatter || !local))
        status = mpki_failed(ctx);
    if (!mpk_failed(status) && !general && !rows)
        status = mpki_lower_make(ctx, pool, an->n, an->core.ap, an->core.ai, &own);
    if (!mpk_failed(status))
        status = general ? place_general(ctx, an, local)
                         : map_all(ctx, pool, rows ? rows : &own, local, an);
    mpki_release(ctx, local);
    mpki_lower_free(ctx, &own);
    return status;
}
