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

/* Rows of s: those of its columns in A and those of its children, below its own columns. */
mpk_status mpki_structure_rows(mpk_context *ctx, const mpki_graph *graph, mpk_analysis *an) {
    mpki_rowset set = {0};
    mpki_asking asking = {ctx, "analyse", 0};
    mpk_status status = MPK_OK;
    an->ridx = MPKI_NEW(ctx, STAGE, an->rptr[an->nsuper], int32_t);
    if (!an->ridx || !mpki_rowset_create(ctx, STAGE, graph->n, &set)) return mpki_failed(ctx);
    const int32_t outer = mpki_split_rows(an->split);
    for (int32_t s = 0; s < an->nsuper; s++) {
        int32_t end = an->sptr[s + 1];
        if (outer && s == an->nsuper - 1) {
            for (int32_t k = 0; k < outer; k++) an->ridx[an->rptr[s] + k] = an->n + k;
            break;
        }
        if (mpki_asks(&asking, 8 * (an->rptr[s + 1] - an->rptr[s] + end - an->sptr[s]))) {
            status = mpki_stopped(ctx, STAGE);
            break;
        }
        if (an->rptr[s + 1] == an->rptr[s]) continue; /* a root */
        for (int32_t c = an->sptr[s]; c < end; c++) {
            int32_t v = an->perm[c];
            for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
                int32_t i = an->iperm[graph->adj[k]];
                if (i >= end) mpki_rowset_add(&set, i);
            }
        }
        for (int32_t q = an->child_ptr[s]; q < an->child_ptr[s + 1]; q++) {
            int32_t child = an->child[q];
            asking.done += an->rptr[child + 1] - an->rptr[child];
            int64_t k = an->rptr[child], last = an->rptr[child + 1];
            while (k < last && an->ridx[k] < end) k++;
            for (; k < last; k++) mpki_rowset_add(&set, an->ridx[k]);
        }
        int32_t *stop = mpki_rowset_take(&set, set.top, 0, an->ridx + an->rptr[s]);
        if (stop != an->ridx + an->rptr[s + 1]) {
            status = mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, s,
                                "supernode %d has other rows than were counted", s);
            break;
        }
    }
    mpki_release(ctx, set.block);
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

/* The entries of the rows of A's core, from the other side: those of row v, but for the diagonal,
 * are ptr[v] .. ptr[v + 1] - 1, by increasing column. */
typedef struct rows_of {
    int64_t *ptr;    /* n + 1 */
    int64_t *place;  /* places in the core */
    int32_t *column; /* in the problem's order */
} rows_of;

/* Entries of A whose earlier position is a column of s. */
static int64_t place_entries(const mpk_analysis *an, const rows_of *rows, int32_t s,
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
            an->scatter[fill++] = (mpki_scatter){rows->place[k], flip ? ~row : row, c - first};
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

/* MPK_OK | MPK_ERR_MEMORY; what there is is to be freed after that, too. */
static mpk_status rows_make(mpk_context *ctx, const mpk_analysis *an, rows_of *rows) {
    const int64_t *ap = an->core.ap;
    const int32_t *ai = an->core.ai;
    int32_t n = an->n;
    *rows = (rows_of){.ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t),
                      .place = MPKI_NEW(ctx, STAGE, ap[n], int64_t),
                      .column = MPKI_NEW(ctx, STAGE, ap[n], int32_t)};
    if (!rows->ptr || !rows->place || !rows->column) return mpki_failed(ctx);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) rows->ptr[ai[k]] += ai[k] != j;
    int64_t sum = 0;
    for (int32_t v = 0; v <= n; v++) {
        int64_t count = rows->ptr[v];
        rows->ptr[v] = sum;
        sum += count;
    }
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (ai[k] == j) continue;
            const int64_t at = rows->ptr[ai[k]]++;
            rows->place[at] = k;
            rows->column[at] = j;
        }
    for (int32_t v = n; v > 0; v--) rows->ptr[v] = rows->ptr[v - 1];
    rows->ptr[0] = 0;
    return MPK_OK;
}

/* The entries of a general matrix: each belongs to the supernode that owns the earlier one of its
 * two positions, and is row or column of it by its local indices there. */
static mpk_status place_general(mpk_context *ctx, mpk_analysis *an, int32_t *local) {
    const int32_t n = an->n;
    int32_t *owner = MPKI_NEW(ctx, STAGE, n, int32_t), *row_at = MPKI_NEW(ctx, STAGE, n, int32_t);
    int64_t *at = an->scatter_ptr;
    mpk_status status = owner && row_at ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
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

mpk_status mpki_structure_maps(mpk_context *ctx, mpk_analysis *an) {
    rows_of rows = {0};
    an->rel = MPKI_NEW(ctx, STAGE, an->rptr[an->nsuper], int32_t);
    an->scatter_ptr = MPKI_NEW(ctx, STAGE, (int64_t)an->nsuper + 1, int64_t);
    const int64_t below = mpki_split_rows(an->split) ? mpki_split_entries(an->split) : 0;
    an->scatter = MPKI_NEW(ctx, STAGE, an->nnz + below, mpki_scatter);
    int32_t *local = MPKI_ZNEW(ctx, STAGE, (int64_t)an->n + mpki_split_rows(an->split), int32_t);
    const bool general = an->symmetry == MPK_GENERAL;
    mpk_status status =
        an->rel && an->scatter_ptr && an->scatter && local ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status))
        status = general ? place_general(ctx, an, local) : rows_make(ctx, an, &rows);
    if (mpk_failed(status) || general) goto done;
    mpki_asking asking = {ctx, "analyse", 0};
    an->scatter_ptr[0] = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        if (mpki_asks(&asking,
                      8 * (an->rptr[s + 1] - an->rptr[s] + an->sptr[s + 1] - an->sptr[s]))) {
            status = mpki_stopped(ctx, STAGE);
            goto done;
        }
        map_front(an, s, local);
        map_children(an, s, local);
        an->scatter_ptr[s + 1] = place_entries(an, &rows, s, local, an->scatter_ptr[s]);
    }
    for (int64_t k = 0; mpki_core_is_part(&an->core) && k < an->scatter_ptr[an->nsuper]; k++)
        an->scatter[k].src = an->core.src[an->scatter[k].src];
done:
    mpki_release(ctx, local);
    mpki_release(ctx, rows.ptr);
    mpki_release(ctx, rows.place);
    mpki_release(ctx, rows.column);
    return status;
}
