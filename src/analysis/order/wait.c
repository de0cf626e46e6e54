/* SPDX-License-Identifier: BSD-3-Clause */
/* Minimum degree, approximate as in Amestoy, Davis & Duff 1996, that asks of each vertex at its turn whether
 * its pivot would hold: one that would not waits until a neighbour has been eliminated. So a zero on the
 * diagonal gets its fill first, and needs no 2x2 pivot to be kept for it. */
#include "order.h"

#include <string.h>

static const char STAGE[] = "order";

enum { READY, WAITING, LISTS };

/* The quotient graph. A vertex is a variable, with a list of the elements and variables it is joined to; when
 * it is eliminated it becomes an element, whose list has the variables that it joins; or it is gone: in
 * another variable with the same neighbours (next_in), or an element in a later one. */
typedef struct quotient {
    mpk_context *ctx;
    int32_t n, placed;          /* columns; of those in the order */
    int32_t *list;              /* all lists */
    int64_t size, end;          /* of list; what of it is in use */
    int64_t *start;             /* of each one's list; -1: gone */
    int32_t *length, *elements; /* of its list; elements at the head of it, -1: it is one itself */
    int32_t *weight; /* columns of a variable; 0: it is none; negative: it is in the new element */
    int32_t *degree; /* columns that a variable is joined to, at most, or that an element joins */
    int64_t *mark, flag;        /* flag + columns of an element outside the new one; 0: gone */
    int32_t *last_in, *next_in; /* the columns of a variable, a chain from itself */
    int32_t *head, *next, *before, least[LISTS]; /* lists by degree */
    char *waits;
    int32_t *hash, *hash_next, *key;
    mpki_pivots *pivots;
    const int32_t *keep; /* vertex -> column of pivots; NULL: the same */
    int32_t *perm;
    double flops; /* so far, about */
} quotient;

static int32_t column(const quotient *q, int32_t v) {
    return q->keep ? q->keep[v] : v;
}

/* ---- lists by degree ------------------------------------------------------------------------- */

static void insert(quotient *q, int32_t v) {
    const int32_t d = q->degree[v];
    const int list = q->waits[v];
    int32_t *head = &q->head[(int64_t)list * q->n + d];
    q->next[v] = *head;
    q->before[v] = -1;
    if (*head >= 0) q->before[*head] = v;
    *head = v;
    if (d < q->least[list]) q->least[list] = d;
}

static void take_out(quotient *q, int32_t v) {
    const int32_t next = q->next[v], before = q->before[v];
    if (next >= 0) q->before[next] = before;
    if (before >= 0)
        q->next[before] = next;
    else
        q->head[(int64_t)q->waits[v] * q->n + q->degree[v]] = next;
}

/* The first of least degree; -1: none. */
static int32_t first(quotient *q, int list) {
    const int32_t *head = q->head + (int64_t)list * q->n;
    int32_t *d = &q->least[list];
    while (*d < q->n && head[*d] < 0) ++*d;
    return *d < q->n ? head[*d] : -1;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* All lists to the front. The first entry of each names its owner meanwhile. */
static void squeeze(quotient *q) {
    int64_t to = 0;
    for (int32_t v = 0; v < q->n; v++) {
        if (q->start[v] < 0 || q->length[v] == 0) continue;
        const int64_t at = q->start[v];
        q->start[v] = q->list[at];
        q->list[at] = -v - 1;
    }
    for (int64_t from = 0; from < q->end;) {
        const int32_t owner = -q->list[from] - 1;
        if (owner < 0) {
            from++;
            continue;
        }
        q->list[from] = (int32_t)q->start[owner];
        q->start[owner] = to;
        for (int32_t k = 0; k < q->length[owner]; k++) q->list[to++] = q->list[from++];
    }
    q->end = to;
}

static mpk_status make_room(quotient *q, int64_t wanted) {
    if (q->end + wanted <= q->size) return MPK_OK;
    squeeze(q);
    if (q->end + wanted <= q->size) return MPK_OK;
    const int64_t size = q->end + wanted + q->size / 2;
    int32_t *list = MPKI_NEW(q->ctx, STAGE, size, int32_t);
    if (!list) return mpki_failed(q->ctx);
    memcpy(list, q->list, (size_t)q->end * sizeof *list);
    mpki_release(q->ctx, q->list);
    q->list = list;
    q->size = size;
    return MPK_OK;
}

/* ---- one elimination ------------------------------------------------------------------------- */

/* The columns of a variable into the order, one after the other. */
static void place(quotient *q, int32_t v) {
    for (int32_t k = v; k >= 0; k = q->next_in[k]) {
        q->perm[q->placed++] = k;
        if (q->pivots) (void)mpki_pivot_next(q->pivots, column(q, k), -1);
    }
}

static void gather(quotient *q, int64_t from, int64_t count, int32_t *joined) {
    for (int64_t k = from; k < from + count; k++) {
        const int32_t i = q->list[k], columns = q->weight[i];
        if (columns <= 0) continue;
        q->weight[i] = -columns;
        *joined += columns;
        take_out(q, i);
        q->list[q->end++] = i;
    }
}

/* me's list is that of a new element. */
static mpk_status make_element(quotient *q, int32_t me) {
    int64_t wanted = q->length[me] - q->elements[me];
    for (int32_t k = 0; k < q->elements[me]; k++) wanted += q->length[q->list[q->start[me] + k]];
    const mpk_status status = make_room(q, wanted);
    if (mpk_failed(status)) return status;
    const int64_t old = q->start[me], begin = q->end;
    const int32_t elements = q->elements[me], length = q->length[me];
    int32_t joined = 0;
    for (int32_t k = 0; k < elements; k++) {
        const int32_t e = q->list[old + k];
        gather(q, q->start[e], q->length[e], &joined);
        q->start[e] = -1;
        q->mark[e] = 0;
    }
    gather(q, old + elements, length - elements, &joined);
    q->start[me] = begin;
    q->length[me] = (int32_t)(q->end - begin);
    q->elements[me] = -1;
    q->degree[me] = joined;
    return MPK_OK;
}

/* mark[e] - flag = columns that e joins beside those of the new element. */
static void measure(quotient *q, int32_t me) {
    for (int64_t k = q->start[me]; k < q->end; k++) {
        const int32_t i = q->list[k], columns = -q->weight[i];
        for (int64_t p = q->start[i]; p < q->start[i] + q->elements[i]; p++) {
            const int32_t e = q->list[p];
            if (q->mark[e] >= q->flag)
                q->mark[e] -= columns;
            else if (q->mark[e] != 0)
                q->mark[e] = q->flag + q->degree[e] - columns;
        }
    }
}

/* i's list without what the new element has, which comes first in it. true: nothing else is left of it. */
static bool prune(quotient *q, int32_t i, int32_t me) {
    const int64_t begin = q->start[i], variables = begin + q->elements[i],
                  end = begin + q->length[i];
    int64_t to = begin, sum = 0;
    uint32_t key = 0;
    for (int64_t p = begin; p < variables; p++) {
        const int32_t e = q->list[p];
        if (q->mark[e] == 0) continue;
        if (q->mark[e] == q->flag) { /* all of it is in the new one */
            q->start[e] = -1;
            q->mark[e] = 0;
            continue;
        }
        sum += q->mark[e] - q->flag;
        key += (uint32_t)e;
        q->list[to++] = e;
    }
    const int64_t third = to;
    for (int64_t p = variables; p < end; p++) {
        const int32_t j = q->list[p];
        if (q->weight[j] <= 0) continue;
        sum += q->weight[j];
        key += (uint32_t)j;
        q->list[to++] = j;
    }
    q->list[to] = q->list[third]; /* there is room: me or an element in it has gone */
    q->list[third] = q->list[begin];
    q->list[begin] = me;
    q->elements[i] = (int32_t)(third - begin) + 1;
    q->length[i] = (int32_t)(to - begin) + 1;
    if (sum < q->degree[i]) q->degree[i] = (int32_t)sum;
    q->key[i] = (int32_t)(key % (uint32_t)q->n);
    return q->length[i] == 1;
}

/* i has gone into v. */
static void merge(quotient *q, int32_t v, int32_t i) {
    q->next_in[q->last_in[v]] = i;
    q->last_in[v] = q->last_in[i];
    q->start[i] = -1;
    q->weight[i] = 0;
}

static bool alike(const quotient *q, int32_t i, int32_t j) {
    if (q->length[i] != q->length[j] || q->elements[i] != q->elements[j]) return false;
    const int64_t from = q->start[j];
    for (int32_t k = 1; k < q->length[j]; k++)
        if (q->mark[q->list[from + k]] != q->flag) return false;
    return true;
}

/* Variables of the new element with the same neighbours become one. */
static void merge_twins(quotient *q, int32_t me) {
    const int64_t begin = q->start[me];
    for (int64_t k = begin; k < q->end; k++) {
        const int32_t i = q->list[k];
        if (q->weight[i] == 0) continue;
        int32_t *head = &q->hash[q->key[i]];
        q->hash_next[i] = *head;
        *head = i;
    }
    for (int64_t k = begin; k < q->end; k++) {
        const int32_t own = q->list[k];
        if (q->weight[own] == 0) continue;
        int32_t i = q->hash[q->key[own]];
        q->hash[q->key[own]] = -1;
        for (; i >= 0 && q->hash_next[i] >= 0; i = q->hash_next[i]) {
            for (int32_t p = 1; p < q->length[i]; p++) q->mark[q->list[q->start[i] + p]] = q->flag;
            for (int32_t before = i, j = q->hash_next[i]; j >= 0; j = q->hash_next[j]) {
                if (!alike(q, i, j)) {
                    before = j;
                    continue;
                }
                q->weight[i] += q->weight[j]; /* both are negative */
                merge(q, i, j);
                q->hash_next[before] = q->hash_next[j];
            }
            q->flag++;
        }
    }
}

static mpk_status eliminate(quotient *q, int32_t me) {
    int32_t own = q->weight[me];
    take_out(q, me);
    q->weight[me] = 0;
    place(q, me);
    const mpk_status status = make_element(q, me);
    if (mpk_failed(status)) return status;
    int32_t joined = q->degree[me];
    measure(q, me);
    for (int64_t k = q->start[me]; k < q->end; k++) {
        const int32_t i = q->list[k], columns = -q->weight[i];
        if (!prune(q, i, me) || (q->pivots && !mpki_pivot_holds(q->pivots, column(q, i)))) continue;
        place(q, i); /* its neighbours are those of me */
        q->start[i] = -1;
        q->weight[i] = 0;
        joined -= columns;
        own += columns;
    }
    q->degree[me] = joined;
    q->flops += mpki_front_flops(own, joined);
    q->flag += q->n;
    merge_twins(q, me);
    int64_t to = q->start[me];
    for (int64_t k = to; k < q->end; k++) {
        const int32_t i = q->list[k], columns = -q->weight[i];
        if (columns == 0) continue;
        const int64_t degree = (int64_t)q->degree[i] + joined - columns;
        const int32_t most = q->n - q->placed - columns;
        q->weight[i] = columns;
        q->degree[i] = degree < most ? (int32_t)degree : most;
        q->waits[i] = READY;
        insert(q, i);
        q->list[to++] = i;
    }
    q->end = to;
    q->length[me] = (int32_t)(to - q->start[me]);
    q->mark[me] = q->length[me] > 0;
    if (q->length[me] == 0) q->start[me] = -1;
    return MPK_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool allocate(quotient *q, const mpki_graph *graph) {
    const int32_t n = graph->n;
    const int64_t edges = graph->xadj[n];
    q->size = edges + edges / 5 + n;
    q->list = MPKI_NEW(q->ctx, STAGE, q->size, int32_t);
    q->start = MPKI_NEW(q->ctx, STAGE, 2 * (int64_t)n, int64_t);
    q->length = MPKI_NEW(q->ctx, STAGE, 13 * (int64_t)n, int32_t);
    q->waits = MPKI_ZNEW(q->ctx, STAGE, n, char);
    if (!q->list || !q->start || !q->length || !q->waits) return false;
    int32_t **part[] = {&q->elements, &q->weight, &q->degree, &q->last_in,   &q->next_in,
                        &q->next,     &q->before, &q->hash,   &q->hash_next, &q->key};
    q->mark = q->start + n;
    for (int k = 0; k < 10; k++) *part[k] = q->length + (k + 1) * (int64_t)n;
    q->head = q->length + 11 * (int64_t)n;
    memcpy(q->list, graph->adj, (size_t)edges * sizeof *q->list);
    q->end = edges;
    q->flag = 2;
    q->least[READY] = q->least[WAITING] = n;
    for (int64_t k = 0; k < LISTS * (int64_t)n; k++) q->head[k] = -1;
    for (int32_t v = 0; v < n; v++) {
        q->start[v] = graph->xadj[v];
        q->length[v] = (int32_t)(graph->xadj[v + 1] - graph->xadj[v]);
        q->elements[v] = 0;
        q->weight[v] = 1;
        q->mark[v] = 1;
        q->last_in[v] = v;
        q->next_in[v] = q->hash[v] = -1;
        q->degree[v] = q->length[v];
    }
    for (int strong = 0; strong < 2; strong++) /* the last of one degree comes first */
        for (int32_t v = n - 1; v >= 0; v--)
            if (strong == (!q->pivots || mpki_pivot_holds(q->pivots, column(q, v)))) insert(q, v);
    return true;
}

mpk_status mpki_order_wait(mpk_context *ctx, const mpki_graph *graph, const int32_t *keep,
                           mpki_pivots *pivots, double flops, int32_t *perm, bool *done) {
    quotient q = {.ctx = ctx, .n = graph->n, .perm = perm, .keep = keep, .pivots = pivots};
    mpki_asking asking = {ctx, "analyse", 0};
    mpk_status status = allocate(&q, graph) ? MPK_OK : mpki_failed(ctx);
    while (!mpk_failed(status) && q.placed < q.n && q.flops <= flops) {
        int32_t v = first(&q, READY);
        if (v >= 0 && pivots && !mpki_pivot_holds(pivots, column(&q, v))) {
            take_out(&q, v);
            q.waits[v] = WAITING;
            insert(&q, v);
            continue;
        }
        if (v < 0) v = first(&q, WAITING);
        status = eliminate(&q, v);
        if (!mpk_failed(status) && mpki_asks(&asking, q.degree[v]))
            status = mpki_stopped(ctx, STAGE);
    }
    *done = q.placed == q.n && q.flops <= flops;
    mpki_release(ctx, q.list);
    mpki_release(ctx, q.start);
    mpki_release(ctx, q.length);
    mpki_release(ctx, q.waits);
    return status;
}
