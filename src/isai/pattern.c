/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of approximate inverses: powers of a pattern by breadth-first search from each column,
 * counted first, then written; diagonal blocks; the caller's. */
#include "isai.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "isai";

enum { PORTION = 128 }; /* columns that a worker takes at a time */

void mpki_sparse_free(mpk_context *ctx, mpki_sparse *a) {
    mpki_release(ctx, a->ptr);
    mpki_release(ctx, a->index);
    mpki_release(ctx, a->val);
    *a = (mpki_sparse){0};
}

void mpki_sparse_sum(int64_t n, int64_t *ptr) {
    for (int64_t k = 0; k < n; k++) ptr[k + 1] += ptr[k];
}

/* A transpose under way: a worker's item is a range of the result's rows, for which it looks through
 * all columns. Those that have no row of the range take two comparisons: indices ascend. */
typedef struct turning {
    const mpki_sparse *a;
    mpki_sparse *t;
    int64_t *next; /* by row: where its next entry goes; NULL: count */
    size_t size;
    int32_t n;
    int64_t items;
} turning;

static void put(const turning *w, int64_t e, int32_t j) {
    const int64_t to = w->next[w->a->index[e]]++;
    w->t->index[to] = j;
    if (!w->a->val) return;
    if (w->size == 8) /* a call for each entry costs more than the entry */
        ((uint64_t *)w->t->val)[to] = ((const uint64_t *)w->a->val)[e];
    else
        memcpy((char *)w->t->val + (size_t)to * w->size,
               (const char *)w->a->val + (size_t)e * w->size, w->size);
}

static void turn_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const turning *w = arg;
    const int32_t *index = w->a->index;
    const int32_t first = (int32_t)(w->n * item / w->items);
    const int32_t end = (int32_t)(w->n * (item + 1) / w->items);
    for (int32_t j = 0; j < w->n; j++) {
        int64_t e = w->a->ptr[j];
        const int64_t last = w->a->ptr[j + 1];
        if (e == last || index[last - 1] < first || index[e] >= end) continue;
        while (index[e] < first) e++;
        for (; e < last && index[e] < end; e++)
            if (w->next)
                put(w, e, j);
            else
                w->t->ptr[index[e] + 1]++;
    }
}

mpk_status mpki_sparse_turn(mpk_context *ctx, mpki_pool *pool, int32_t n, size_t size,
                            const mpki_sparse *a, mpki_sparse *t) {
    const int64_t nnz = a->ptr[n];
    int64_t *next = MPKI_NEW(ctx, STAGE, n, int64_t);
    turning w = {.a = a, .t = t, .size = size, .n = n, .items = mpki_pool_threads(pool)};
    t->ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    t->index = MPKI_NEW(ctx, STAGE, nnz, int32_t);
    t->val = a->val ? mpki_alloc(ctx, STAGE, nnz, size) : NULL;
    if (!next || !t->ptr || !t->index || (a->val && !t->val)) {
        mpki_sparse_free(ctx, t);
        mpki_release(ctx, next);
        return mpki_failed(ctx);
    }
    mpki_pool_for(pool, 0, w.items, turn_item, &w);
    mpki_sparse_sum(n, t->ptr);
    memcpy(next, t->ptr, (size_t)n * sizeof *next);
    w.next = next;
    mpki_pool_for(pool, 0, w.items, turn_item, &w);
    mpki_release(ctx, next);
    return MPK_OK;
}

int mpki_isai_class(int64_t count) {
    static const int64_t most[MPK_ISAI_CLASSES - 1] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
    int k = 0;
    while (k < MPK_ISAI_CLASSES - 1 && count > most[k]) k++;
    return k;
}

/* ---- one column ---------------------------------------------------------------------------------
 */

typedef struct worker {
    int32_t *seen; /* n: the last column that met a row */
    int32_t *list; /* n: rows met, in the order of the search */
    int64_t over;
    int32_t first_over; /* the first column over the limit; n: none */
    int64_t longest;    /* its entries */
} worker;

typedef struct making {
    const mpki_isai_rule *rule;
    const mpki_sparse *graph;
    mpki_sparse *s;
    int32_t n;
    worker *worker;
} making;

/* Is row i kept in column j? */
static bool keeps(const making *m, int32_t i, int32_t j) {
    const mpki_isai_rule *r = m->rule;
    if (i == j || (r->group && r->group[i] == r->group[j])) return false;
    return r->kind == MPK_ISAI_GENERAL || (r->kind == MPK_ISAI_LOWER ? i > j : i < j);
}

/* The rows within `power` steps of column j, to me->list. Returns how many; *kept of them belong to
 * the pattern. With LESS the search ends before the step that goes beyond the limit. */
static int32_t reach(const making *m, worker *me, int32_t j, int64_t *kept, bool *cut) {
    const mpki_isai_rule *r = m->rule;
    const int64_t *ptr = m->graph->ptr;
    const int32_t *index = m->graph->index;
    const bool less = r->limit > 0 && r->over == MPK_ISAI_LESS;
    const int power = r->source == MPK_ISAI_GIVEN ? 1 : r->power;
    int32_t begin = 0, count = 1;
    me->list[0] = j, me->seen[j] = j;
    *kept = 0, *cut = false;
    for (int step = 0; step < power && begin < count; step++) {
        const int32_t end = count;
        const int64_t before = *kept;
        for (int32_t k = begin; k < end; k++)
            for (int64_t e = ptr[me->list[k]]; e < ptr[me->list[k] + 1]; e++) {
                const int32_t i = index[e];
                if (me->seen[i] == j) continue;
                me->seen[i] = j;
                me->list[count++] = i;
                *kept += keeps(m, i, j);
            }
        if (less && *kept >= r->limit) {
            *kept = before, *cut = true;
            return end;
        }
        begin = end;
    }
    return count;
}

/* The rows of column j in its diagonal block, likewise. */
static int32_t in_block(const making *m, worker *me, int32_t j, int64_t *kept) {
    const int64_t size = m->rule->block;
    const int64_t from = j / size * size, to = from + size < m->n ? from + size : m->n;
    int32_t count = 0;
    *kept = 0;
    for (int64_t i = from; i < to; i++) {
        me->list[count++] = (int32_t)i;
        *kept += keeps(m, (int32_t)i, j);
    }
    return count;
}

static int32_t rows_of(const making *m, worker *me, int32_t j, int64_t *kept, bool *cut) {
    *cut = false;
    if (m->rule->source == MPK_ISAI_BLOCKS) {
        const int32_t count = in_block(m, me, j, kept);
        if (m->rule->limit > 0 && m->rule->over == MPK_ISAI_LESS && *kept >= m->rule->limit) {
            *kept = 0, *cut = true; /* there is no smaller power but 0 */
            return 0;
        }
        return count;
    }
    return reach(m, me, j, kept, cut);
}

/* ---- all columns --------------------------------------------------------------------------------
 */

static void count_item(mpki_pool *pool, int number, void *arg, int64_t item) {
    (void)pool;
    const making *m = arg;
    worker *me = &m->worker[number];
    const int64_t end = (item + 1) * PORTION < m->n ? (item + 1) * PORTION : m->n;
    for (int32_t j = (int32_t)(item * PORTION); j < end; j++) {
        int64_t kept;
        bool cut;
        rows_of(m, me, j, &kept, &cut);
        m->s->ptr[j + 1] = kept;
        me->over += cut;
        if (m->rule->limit > 0 && kept >= m->rule->limit && m->rule->over == MPK_ISAI_REFUSE &&
            j < me->first_over)
            me->first_over = j, me->longest = kept + 1;
    }
}

static int compare(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort(int64_t count, int32_t *row) {
    enum { SHORT = 24 };
    if (count > SHORT) {
        qsort(row, (size_t)count, sizeof *row, compare);
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        const int32_t i = row[k];
        int64_t to = k;
        for (; to > 0 && row[to - 1] > i; to--) row[to] = row[to - 1];
        row[to] = i;
    }
}

static void fill_item(mpki_pool *pool, int number, void *arg, int64_t item) {
    (void)pool;
    const making *m = arg;
    worker *me = &m->worker[number];
    const int64_t end = (item + 1) * PORTION < m->n ? (item + 1) * PORTION : m->n;
    for (int32_t j = (int32_t)(item * PORTION); j < end; j++) {
        int64_t kept;
        bool cut;
        const int32_t count = rows_of(m, me, j, &kept, &cut);
        int32_t *to = m->s->index + m->s->ptr[j];
        for (int32_t k = 0; k < count; k++)
            if (keeps(m, me->list[k], j)) *to++ = me->list[k];
        sort(kept, m->s->index + m->s->ptr[j]);
    }
}

/* Nobody has seen a row yet. */
static void forget(const making *m, int workers) {
    for (int k = 0; k < workers; k++)
        for (int32_t i = 0; i < m->n; i++) m->worker[k].seen[i] = -1;
}

mpk_status mpki_isai_make_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n,
                                  const mpki_sparse *graph, const mpki_isai_rule *rule,
                                  mpki_sparse *s, mpk_isai_info *info) {
    const int workers = mpki_pool_threads(pool);
    const int64_t portions = ((int64_t)n + PORTION - 1) / PORTION;
    making m = {.rule = rule, .graph = graph, .s = s, .n = n};
    int32_t first = n;
    int64_t entries = 0;
    *s = (mpki_sparse){.ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t)};
    m.worker = MPKI_ZNEW(ctx, STAGE, workers, worker);
    for (int k = 0; m.worker && k < workers; k++) {
        m.worker[k].seen = MPKI_NEW(ctx, STAGE, n, int32_t);
        m.worker[k].list = MPKI_NEW(ctx, STAGE, n, int32_t);
        m.worker[k].first_over = n;
    }
    mpk_status status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    forget(&m, workers);
    mpki_pool_for(pool, 0, portions, count_item, &m);
    for (int k = 0; k < workers; k++) {
        info->over += m.worker[k].over;
        if (m.worker[k].first_over < first)
            first = m.worker[k].first_over, entries = m.worker[k].longest;
    }
    if (first < n) {
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, first,
                            "column %d of the approximate inverse would have %lld entries, the "
                            "limit is %d",
                            first + 1, (long long)entries, rule->limit);
        goto done;
    }
    mpki_sparse_sum(n, s->ptr);
    s->index = MPKI_NEW(ctx, STAGE, s->ptr[n], int32_t);
    status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    forget(&m, workers);
    mpki_pool_for(pool, 0, portions, fill_item, &m);
done:
    for (int k = 0; m.worker && k < workers; k++) {
        mpki_release(ctx, m.worker[k].seen);
        mpki_release(ctx, m.worker[k].list);
    }
    mpki_release(ctx, m.worker);
    if (mpk_failed(status)) mpki_sparse_free(ctx, s);
    return status;
}
