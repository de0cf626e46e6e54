/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of approximate inverses: powers of a pattern by breadth-first search from each column;
 * diagonal blocks; the caller's. What a search finds its worker keeps until all columns have their
 * places; what needs none is counted, then written to its place. */
#include "inverse.h"
#include "tuning.h"

#include <string.h>

static const char STAGE[] = "isai";

int mpki_isai_class(int64_t count) {
    static const int64_t most[MPK_ISAI_CLASSES - 1] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
    int k = 0;
    while (k < MPK_ISAI_CLASSES - 1 && count > most[k]) k++;
    return k;
}

/* ---- the rows that a search has met ---------------------------------------------------------- */

/* A set of rows as bits, with a bit for each word of bits that is not 0, and one for each of those
 * words: so what a search has met comes out in order, without a look at all of n, and a worker
 * needs n / 8 bytes and little more. */
enum { LEVELS = 3 };

typedef struct rows_met {
    uint64_t *bits[LEVELS];
    int32_t least, most; /* words of the last level that may not be 0 */
} rows_met;

static int64_t words_of(int64_t bits) {
    return bits / 64 + 1;
}

/* Is row i new? */
static inline bool meet(rows_met *s, int32_t i) {
    const int32_t w0 = i >> 6, w1 = i >> 12, w2 = i >> 18;
    const uint64_t had = s->bits[0][w0], bit = (uint64_t)1 << (i & 63);
    if (had & bit) return false;
    s->bits[0][w0] = had | bit;
    if (had) return true;
    s->bits[1][w1] |= (uint64_t)1 << (w0 & 63);
    s->bits[2][w2] |= (uint64_t)1 << (w1 & 63);
    if (w2 < s->least) s->least = w2;
    if (w2 > s->most) s->most = w2;
    return true;
}

/* ---- one column ------------------------------------------------------------------------------ */

typedef struct block { /* rows of columns that were found, before their place is known */
    struct block *link;
    int32_t rows[];
} block;

/* Bytes of a cache line: workers, which write to their own in every column, share none. */
enum { LINE = 64 };

typedef struct worker {
    _Alignas(LINE) bool ready; /* met is empty: it clears its bits itself */
    rows_met met;
    int32_t *list;  /* rows met, in the order of the search, those of the last step left out */
    int32_t listed; /* length of the array */
    block *blocks;
    int32_t *free; /* in the first block, `left` of them */
    int64_t left;
    bool failed;     /* no memory */
    bool disordered; /* a column's rows do not ascend */
    int64_t over;
    int32_t first_over; /* the first column over the limit; n: none */
    int64_t longest;    /* its entries */
} worker;

typedef struct making {
    mpk_context *ctx;
    const mpki_isai_rule *rule;
    const mpki_sparse *graph;
    mpki_sparse *s;
    int32_t n;
    worker *worker;
    int32_t **found; /* by portion: the rows of its columns; NULL: nothing is searched for */
    uint64_t *bits;  /* all workers', `words` each */
    int32_t *first;  /* all workers' first blocks: few large ones are soon released */
    int64_t words;   /* of a worker's bits */
    int64_t block;   /* rows that a block holds, or more */
} making;

/* The worker's list becomes longer. False: no memory. */
static bool lengthen(const making *m, worker *me) {
    enum { FIRST = 1024 };
    const int64_t twice = 2 * (int64_t)me->listed < FIRST ? FIRST : 2 * (int64_t)me->listed;
    const int32_t capacity = (int32_t)(twice < m->n ? twice : m->n);
    int32_t *list = mpki_resize(m->ctx, STAGE, me->list, capacity, sizeof *list);
    if (!list) {
        me->failed = true;
        return false;
    }
    me->list = list, me->listed = capacity;
    return true;
}

/* Is row i kept in column j? */
static inline bool keeps(const making *m, int32_t i, int32_t j) {
    const mpki_isai_rule *r = m->rule;
    if (i == j || (r->group && r->group[i] == r->group[j])) return false;
    return r->kind == MPK_ISAI_GENERAL || (r->kind == MPK_ISAI_LOWER ? i > j : i < j);
}

/* Meet the rows within `power` steps of column j. Returns how many belong to the pattern. With LESS
 * the search ends before the step that goes beyond the limit, whose rows are taken out again. */
static int64_t reach(const making *m, worker *me, int32_t j, bool *cut) {
    const mpki_isai_rule *r = m->rule;
    const int64_t *ptr = m->graph->ptr;
    const int32_t *index = m->graph->index;
    const bool less = r->limit > 0 && r->over == MPK_ISAI_LESS;
    const int power = r->source == MPK_ISAI_GIVEN ? 1 : r->power;
    int32_t begin = 0, count = 1;
    int64_t kept = 0;
    if (me->listed == 0 && !lengthen(m, me)) return 0;
    me->list[0] = j;
    meet(&me->met, j);
    for (int step = 0; step < power && begin < count; step++) {
        const bool list = less || step + 1 < power;
        const int32_t end = count;
        const int64_t before = kept;
        for (int32_t k = begin; k < end; k++)
            for (int64_t e = ptr[me->list[k]]; e < ptr[me->list[k] + 1]; e++) {
                const int32_t i = index[e];
                if (!meet(&me->met, i)) continue;
                if (list && count == me->listed && !lengthen(m, me)) return 0;
                if (list) me->list[count++] = i;
                kept += keeps(m, i, j);
            }
        if (less && kept >= r->limit) {
            for (int32_t k = end; k < count; k++)
                me->met.bits[0][me->list[k] >> 6] &= ~((uint64_t)1 << (me->list[k] & 63));
            *cut = true;
            return before;
        }
        begin = end;
    }
    return kept;
}

/* The rows of column j that were met and are kept, to `to` (NULL: nowhere), in order; none is met
 * then. */
static void drain(const making *m, rows_met *s, int32_t j, int32_t *to) {
    for (int32_t w2 = s->least; w2 <= s->most; w2++) {
        uint64_t top = s->bits[2][w2];
        s->bits[2][w2] = 0;
        for (; top; top &= top - 1) {
            const int32_t w1 = 64 * w2 + __builtin_ctzll(top);
            uint64_t middle = s->bits[1][w1];
            s->bits[1][w1] = 0;
            for (; middle; middle &= middle - 1) {
                const int32_t w0 = 64 * w1 + __builtin_ctzll(middle);
                uint64_t low = s->bits[0][w0];
                s->bits[0][w0] = 0;
                for (; to && low; low &= low - 1) {
                    const int32_t i = 64 * w0 + __builtin_ctzll(low);
                    if (keeps(m, i, j)) *to++ = i;
                }
            }
        }
    }
    s->least = INT32_MAX, s->most = -1;
}

/* Memory for `count` more rows after those of this portion, of which there are `used`: they stay
 * together. NULL: no memory. */
static int32_t *reserve_rows(const making *m, worker *me, int64_t used, int64_t count) {
    if (count > me->left) {
        const int64_t size = 2 * (used + count) < m->block ? m->block : 2 * (used + count);
        block *b = mpki_alloc(m->ctx, STAGE, size * 4 + (int64_t)sizeof *b, 1);
        if (!b) {
            me->failed = true;
            return NULL;
        }
        if (used) memcpy(b->rows, me->free - used, (size_t)used * sizeof *b->rows);
        b->link = me->blocks;
        me->blocks = b, me->free = b->rows + used, me->left = size - used;
    }
    return me->free;
}

/* Column j of the pattern, to the worker's block. Returns its entries. */
static int64_t by_search(const making *m, worker *me, int32_t j, int64_t used, bool keep) {
    bool cut = false;
    const int64_t kept = reach(m, me, j, &cut);
    int32_t *to = keep && kept ? reserve_rows(m, me, used, kept) : NULL;
    drain(m, &me->met, j, to);
    me->over += cut;
    return kept;
}

/* ---- columns that need no search ------------------------------------------------------------- */

/* One step, from a column whose rows ascend: they are copied to `to` (NULL: counted). -1: they do
 * not ascend. */
static int64_t by_copy(const making *m, int32_t j, int32_t *to) {
    const int32_t *index = m->graph->index;
    int64_t kept = 0;
    int32_t last = -1;
    for (int64_t e = m->graph->ptr[j]; e < m->graph->ptr[j + 1]; e++) {
        const int32_t i = index[e];
        if (i <= last) return -1;
        last = i;
        if (!keeps(m, i, j)) continue;
        if (to) to[kept] = i;
        kept++;
    }
    return kept;
}

/* The rows of column j in its diagonal block. */
static int64_t in_block(const making *m, int32_t j, int32_t *to) {
    const mpki_isai_rule *r = m->rule;
    const int64_t from = j / (int64_t)r->block * r->block;
    const int64_t end = from + r->block < m->n ? from + r->block : m->n;
    int64_t kept = 0;
    for (int64_t i = from; i < end; i++) {
        if (!keeps(m, (int32_t)i, j)) continue;
        if (to) to[kept] = (int32_t)i;
        kept++;
    }
    return kept;
}

static int64_t at_once(const making *m, int32_t j, int32_t *to) {
    return m->rule->source == MPK_ISAI_BLOCKS ? in_block(m, j, to) : by_copy(m, j, to);
}

/* Is column j, with so many entries, over the limit? There is no smaller power but 0. */
static bool is_over(const making *m, int64_t kept) {
    return m->rule->limit > 0 && kept >= m->rule->limit;
}

/* ---- all columns ----------------------------------------------------------------------------- */

static int64_t portion_end(const making *m, int64_t item) {
    return (item + 1) * PATTERN_COLUMNS_EACH < m->n ? (item + 1) * PATTERN_COLUMNS_EACH : m->n;
}

static void refuse(worker *me, int32_t j, int64_t kept) {
    if (j < me->first_over) me->first_over = j, me->longest = kept + 1;
}

static void count_item(mpki_pool *pool, int number, void *arg, int64_t item) {
    (void)pool;
    const making *m = arg;
    const mpki_isai_rule *r = m->rule;
    worker *me = &m->worker[number];
    if (mpki_stop_wanted(m->ctx, "factorize")) return;
    for (int32_t j = (int32_t)(item * PATTERN_COLUMNS_EACH); j < portion_end(m, item); j++) {
        int64_t kept = at_once(m, j, NULL);
        if (kept < 0) {
            me->disordered = true;
            return;
        }
        if (is_over(m, kept) && r->over == MPK_ISAI_REFUSE) refuse(me, j, kept);
        if (is_over(m, kept) && r->over == MPK_ISAI_LESS) me->over++, kept = 0;
        m->s->ptr[j + 1] = kept;
    }
}

static void find_item(mpki_pool *pool, int number, void *arg, int64_t item) {
    (void)pool;
    const making *m = arg;
    worker *me = &m->worker[number];
    if (mpki_stop_wanted(m->ctx, "factorize")) return;
    int64_t used = 0;
    if (!me->ready) memset(me->met.bits[0], 0, (size_t)m->words * sizeof(uint64_t));
    me->ready = true;
    for (int32_t j = (int32_t)(item * PATTERN_COLUMNS_EACH);
         j < portion_end(m, item) && !me->failed; j++) {
        /* after a refusal nothing but the first such column is looked for */
        const bool keep = me->first_over == m->n;
        const int64_t kept = by_search(m, me, j, used, keep);
        m->s->ptr[j + 1] = kept;
        if (is_over(m, kept) && m->rule->over == MPK_ISAI_REFUSE) {
            refuse(me, j, kept);
        } else if (keep && !me->failed) {
            if (kept) me->free += kept; /* may be NULL where nothing was kept yet */
            me->left -= kept, used += kept;
        }
    }
    m->found[item] = used ? me->free - used : me->free;
}

static void place_item(mpki_pool *pool, int number, void *arg, int64_t item) {
    (void)pool, (void)number;
    const making *m = arg;
    const int64_t begin = m->s->ptr[item * PATTERN_COLUMNS_EACH];
    const int64_t count = m->s->ptr[portion_end(m, item)] - begin;
    if (m->found) {
        if (count) memcpy(m->s->index + begin, m->found[item], (size_t)count * sizeof(int32_t));
        return;
    }
    for (int32_t j = (int32_t)(item * PATTERN_COLUMNS_EACH); j < portion_end(m, item); j++)
        if (m->s->ptr[j] < m->s->ptr[j + 1]) at_once(m, j, m->s->index + m->s->ptr[j]);
}

/* Few and large blocks where there is much to find: the context has huge pages for those of 8
 * MiB. */
static int64_t block_of(int64_t rows) {
    enum { LEAST = 1 << 12, LARGE = 1 << 18, MOST = 1 << 21 };
    return rows < LEAST ? LEAST : rows < LARGE ? rows : MOST;
}

static mpk_status begin_making(making *m, int workers) {
    m->s->ptr = MPKI_NEW(m->ctx, STAGE, (int64_t)m->n + 1, int64_t);
    m->worker = MPKI_ZNEW(m->ctx, STAGE, workers, worker);
    for (int k = 0; m->worker && k < workers; k++) m->worker[k].first_over = m->n;
    if (m->s->ptr) m->s->ptr[0] = 0;
    return mpki_failed(m->ctx);
}

/* Memory for searches. */
static mpk_status begin_search(making *m, int workers, int64_t portions) {
    enum { LINES = 16 }; /* words of two cache lines: workers share none */
    const int64_t w0 = words_of(m->n), w1 = words_of(w0), w2 = words_of(w1);
    m->words = (w0 + w1 + w2 + LINES - 1) / LINES * LINES;
    m->block = block_of(4 * m->graph->ptr[m->n] / workers);
    m->found = MPKI_NEW(m->ctx, STAGE, portions, int32_t *);
    m->bits = MPKI_NEW(m->ctx, STAGE, workers * m->words, uint64_t);
    m->first = MPKI_NEW(m->ctx, STAGE, workers * m->block, int32_t);
    for (int k = 0; m->bits && m->first && k < workers; k++) {
        uint64_t *bits = m->bits + k * m->words;
        m->worker[k] = (worker){.first_over = m->n,
                                .met = {{bits, bits + w0, bits + w0 + w1}, INT32_MAX, -1},
                                .free = m->first + k * m->block,
                                .left = m->block};
    }
    return mpki_failed(m->ctx);
}

static void end_making(making *m, int workers) {
    for (int k = 0; m->worker && k < workers; k++) {
        worker *me = &m->worker[k];
        for (block *b = me->blocks, *next; b; b = next) {
            next = b->link;
            mpki_release(m->ctx, b);
        }
        mpki_release(m->ctx, me->list);
    }
    mpki_release(m->ctx, m->bits);
    mpki_release(m->ctx, m->first);
    mpki_release(m->ctx, m->worker);
    mpki_release(m->ctx, m->found);
}

mpk_status mpki_isai_refuse(mpk_context *ctx, int32_t column, int64_t entries, int32_t limit) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, column,
                      "column %d of the approximate inverse would have %lld entries, the limit "
                      "is %d",
                      column + 1, (long long)entries, limit);
}

/* What the workers have found. */
static mpk_status outcome(const making *m, int workers, mpk_isai_info *info) {
    int32_t first = m->n;
    int64_t entries = 0;
    for (int k = 0; k < workers; k++) {
        const worker *me = &m->worker[k];
        if (me->failed) return mpki_failed(m->ctx);
        info->over += me->over;
        if (me->first_over < first) first = me->first_over, entries = me->longest;
    }
    if (first == m->n) return MPK_OK;
    return mpki_isai_refuse(m->ctx, first, entries, m->rule->limit);
}

/* Does a pattern come without a search? Its counts are there then, and what is over the limit. */
static bool counted(making *m, mpki_pool *pool, int64_t portions) {
    const mpki_isai_rule *r = m->rule;
    bool good = r->source != MPK_ISAI_POWER || r->power == 1;
    if (good) mpki_pool_for_near(pool, 0, portions, count_item, m);
    for (int k = 0; k < mpki_pool_threads(pool); k++) good = good && !m->worker[k].disordered;
    return good;
}

mpk_status mpki_isai_make_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n,
                                  const mpki_sparse *graph, const mpki_isai_rule *rule,
                                  mpki_sparse *s, mpk_isai_info *info) {
    const int workers = mpki_pool_threads(pool);
    const int64_t portions = ((int64_t)n + PATTERN_COLUMNS_EACH - 1) / PATTERN_COLUMNS_EACH;
    making m = {.ctx = ctx, .rule = rule, .graph = graph, .s = s, .n = n};
    *s = (mpki_sparse){0};
    mpk_status status = begin_making(&m, workers);
    if (!mpk_failed(status) && !counted(&m, pool, portions)) {
        status = begin_search(&m, workers, portions);
        if (!mpk_failed(status)) mpki_pool_for_near(pool, 0, portions, find_item, &m);
    }
    if (!mpk_failed(status) && mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    if (!mpk_failed(status)) status = outcome(&m, workers, info);
    if (!mpk_failed(status)) {
        mpki_sparse_sum(pool, n, s->ptr);
        s->index = MPKI_NEW(ctx, STAGE, s->ptr[n], int32_t);
        status = mpki_failed(ctx);
    }
    if (!mpk_failed(status)) mpki_pool_for_near(pool, 0, portions, place_item, &m);
    end_making(&m, workers);
    if (mpk_failed(status)) mpki_sparse_free(ctx, s);
    return status;
}
