/* SPDX-License-Identifier: BSD-3-Clause */
/* How many dimensions the kernel of a real matrix has, exactly as its file states it: n minus the
 * rank modulo a prime of 61 bits. That rank is at most the true one, so the nullity is certainly no
 * larger than what is printed, and smaller only if the prime divides certain minors. Sparse
 * elimination by Markowitz' rule, the rest as a dense matrix; nothing of the library takes part.
 *
 *   nullity A.mtx [MOST]      MOST: rows of a dense rest for which it gives up ("?"); 4000 unless given */
#include "table.h"

#include <stdbool.h>

/* 4 q + 1 with q prime, 2 a primitive root, so no two powers of two in the range of doubles are
 * congruent (tests/oracle/exact.c) */
#define PRIME UINT64_C(0x23c87c73c59d3cdd)

__extension__ typedef unsigned __int128 wide;

/* ---- residues, by Montgomery's form: x is kept as x 2^64 ------------------------------------- */

static uint64_t negative_inverse, square; /* of PRIME modulo 2^64; 2^128 modulo PRIME */

static void start(void) {
    uint64_t x = 1;
    for (int k = 0; k < 6; k++) x *= 2 - PRIME * x;
    negative_inverse = 0 - x;
    const wide r = ((wide)1 << 64) % PRIME;
    square = (uint64_t)(r * r % PRIME);
}

static inline uint64_t times(uint64_t a, uint64_t b) {
    const wide t = (wide)a * b;
    const uint64_t r = (uint64_t)((t + (wide)((uint64_t)t * negative_inverse) * PRIME) >> 64);
    return r >= PRIME ? r - PRIME : r;
}

static inline uint64_t minus(uint64_t a, uint64_t b) {
    return a >= b ? a - b : a + PRIME - b;
}

static uint64_t power(uint64_t a, uint64_t exponent) {
    uint64_t result = times(1, square);
    for (; exponent; exponent >>= 1, a = times(a, a))
        if (exponent & 1) result = times(result, a);
    return result;
}

static uint64_t inverse(uint64_t a) {
    return power(a, PRIME - 2);
}

static uint64_t residue(double x) {
    int exponent;
    const uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
    exponent -= 53;
    const uint64_t two = power(times(2, square), (uint64_t)(exponent < 0 ? -exponent : exponent));
    const uint64_t r = times(times(m % PRIME, square), exponent < 0 ? inverse(two) : two);
    return x < 0 ? minus(0, r) : r;
}

/* ---- sparse rows ----------------------------------------------------------------------------- */

typedef struct list {
    int32_t *at;
    uint64_t *value; /* NULL in lists of rows */
    int32_t count, room;
} list;

static void *grown(void *old, size_t bytes) {
    void *p = realloc(old, bytes);
    if (!p) table_fail("nullity", "no memory");
    return p;
}

static void put(list *l, int32_t at, uint64_t value, bool with_values) {
    if (l->count == l->room) {
        l->room = 2 * l->room + 8;
        l->at = grown(l->at, (size_t)l->room * sizeof *l->at);
        if (with_values) l->value = grown(l->value, (size_t)l->room * sizeof *l->value);
    }
    if (with_values) l->value[l->count] = value;
    l->at[l->count++] = at;
}

/* Rows that are left lie in buckets by their entries; of a column the rows that may have an entry
 * there. */
typedef struct sparse {
    int32_t n, left;
    int64_t entries;
    list *row, *column;
    int32_t *in_column;              /* entries of each column in rows that are left */
    int32_t *bucket, *next, *before; /* n + 1, n, n */
    bool *gone;
    uint64_t *work;
    int32_t *stamp, now;
} sparse;

static void file_row(sparse *s, int32_t i) {
    int32_t *head = &s->bucket[s->row[i].count];
    s->next[i] = *head;
    s->before[i] = -1;
    if (*head >= 0) s->before[*head] = i;
    *head = i;
}

static void take_row(sparse *s, int32_t i) {
    if (s->before[i] >= 0)
        s->next[s->before[i]] = s->next[i];
    else
        s->bucket[s->row[i].count] = s->next[i];
    if (s->next[i] >= 0) s->before[s->next[i]] = s->before[i];
}

static sparse sparse_of(const table *a) {
    const size_t n = (size_t)a->rows;
    sparse s = {.n = (int32_t)n, .left = (int32_t)n};
    s.row = calloc(n + 1, sizeof *s.row), s.column = calloc(n + 1, sizeof *s.column);
    s.in_column = calloc(n + 1, sizeof *s.in_column), s.stamp = calloc(n + 1, sizeof *s.stamp);
    s.bucket = calloc(n + 1, sizeof *s.bucket), s.next = calloc(n + 1, sizeof *s.next);
    s.before = calloc(n + 1, sizeof *s.before), s.gone = calloc(n + 1, sizeof *s.gone);
    s.work = calloc(n + 1, sizeof *s.work);
    if (!s.row || !s.column || !s.in_column || !s.stamp || !s.bucket || !s.next || !s.before ||
        !s.gone || !s.work)
        table_fail("nullity", "no memory");
    for (long k = 0; k < a->count; k++) {
        const quad_entry *e = &a->entry[k];
        list *row = &s.row[e->i];
        int32_t same = 0;
        if (e->re == 0) continue;
        if (!isfinite(e->re)) table_fail("nullity", "an entry is not finite");
        const uint64_t value = residue(e->re);
        while (same < row->count && row->at[same] != e->j) same++;
        if (same < row->count) { /* given twice: the sum */
            row->value[same] = minus(row->value[same], minus(0, value));
            continue;
        }
        put(row, e->j, value, true);
        put(&s.column[e->j], e->i, 0, false);
        s.in_column[e->j]++, s.entries++;
    }
    for (size_t k = 0; k <= n; k++) s.bucket[k] = -1;
    for (int32_t i = 0; i < s.n; i++) file_row(&s, i);
    return s;
}

/* row i := row i - m pivot row, so that its entry in `column` goes */
static void subtract(sparse *s, int32_t i, const list *pivot, int32_t column, uint64_t m) {
    list *row = &s->row[i];
    const int32_t old = row->count;
    int32_t kept = 0;
    take_row(s, i);
    s->now++;
    for (int32_t k = 0; k < pivot->count; k++) {
        s->stamp[pivot->at[k]] = s->now;
        s->work[pivot->at[k]] = times(m, pivot->value[k]);
    }
    for (int32_t k = 0; k < old; k++) {
        const int32_t j = row->at[k];
        uint64_t x = row->value[k];
        if (s->stamp[j] == s->now) x = minus(x, s->work[j]), s->stamp[j] = 0;
        if (x == 0 || j == column) {
            s->in_column[j]--;
            continue;
        }
        row->at[kept] = j, row->value[kept++] = x;
    }
    row->count = kept;
    for (int32_t k = 0; k < pivot->count; k++) {
        const int32_t j = pivot->at[k];
        if (s->stamp[j] != s->now) continue;
        put(row, j, minus(0, s->work[j]), true);
        put(&s->column[j], i, 0, false);
        s->in_column[j]++;
    }
    s->entries += row->count - old;
    file_row(s, i);
}

/* The entry of least cost in a few of the shortest rows. Returns its row, or -1: there is none. */
static int32_t choose(const sparse *s, int32_t *place) {
    double least = INFINITY;
    int32_t best = -1, looked = 0;
    for (int32_t b = 1; b <= s->n && looked < 8 && (b - 1.0) * (b - 1.0) < least; b++)
        for (int32_t i = s->bucket[b]; i >= 0 && looked < 8; i = s->next[i], looked++)
            for (int32_t k = 0; k < b; k++) {
                const double cost = (b - 1.0) * (s->in_column[s->row[i].at[k]] - 1);
                if (cost < least) least = cost, best = i, *place = k;
            }
    return best;
}

/* Eliminates until what is left is dense or nothing; returns the rank so far. */
static int32_t eliminate(sparse *s) {
    int32_t rank = 0, place = 0, i;
    while (s->left > 0 && !(s->left > 50 && (double)s->entries > 0.15 * s->left * s->left) &&
           (i = choose(s, &place)) >= 0) {
        list pivot = s->row[i];
        const int32_t column = pivot.at[place];
        const uint64_t inverted = inverse(pivot.value[place]);
        take_row(s, i);
        s->gone[i] = true;
        s->row[i] = (list){0};
        s->left--, rank++;
        s->entries -= pivot.count;
        for (int32_t k = 0; k < pivot.count; k++) s->in_column[pivot.at[k]]--;
        for (int32_t k = 0; k < s->column[column].count; k++) {
            const int32_t r = s->column[column].at[k];
            int32_t at = 0;
            while (at < s->row[r].count && s->row[r].at[at] != column) at++;
            if (s->gone[r] || at == s->row[r].count) continue;
            subtract(s, r, &pivot, column, times(s->row[r].value[at], inverted));
        }
        free(pivot.at), free(pivot.value);
    }
    return rank;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int32_t dense_rank(int32_t rows, int32_t columns, uint64_t **row) {
    int32_t rank = 0;
    for (int32_t j = 0; j < columns && rank < rows; j++) {
        int32_t p = rank;
        while (p < rows && row[p][j] == 0) p++;
        if (p == rows) continue;
        uint64_t *pivot = row[p];
        row[p] = row[rank], row[rank] = pivot;
        const uint64_t inverted = inverse(pivot[j]);
        for (int32_t i = rank + 1; i < rows; i++) {
            if (row[i][j] == 0) continue;
            const uint64_t m = times(row[i][j], inverted);
            for (int32_t k = j; k < columns; k++) row[i][k] = minus(row[i][k], times(m, pivot[k]));
        }
        rank++;
    }
    return rank;
}

static int32_t rest_rank(sparse *s) {
    int32_t columns = 0, rows = 0;
    int32_t *number = s->stamp;
    uint64_t **row = calloc((size_t)s->left + 1, sizeof *row);
    for (int32_t j = 0; j < s->n; j++) number[j] = s->in_column[j] > 0 ? columns++ : -1;
    for (int32_t i = 0; i < s->n; i++) {
        if (s->gone[i]) continue;
        if (!row || !(row[rows] = calloc((size_t)columns + 1, sizeof **row)))
            table_fail("nullity", "no memory");
        for (int32_t k = 0; k < s->row[i].count; k++)
            row[rows][number[s->row[i].at[k]]] = s->row[i].value[k];
        rows++;
    }
    const int32_t rank = dense_rank(rows, columns, row);
    for (int32_t i = 0; i < rows; i++) free(row[i]);
    free(row);
    return rank;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "nullity A.mtx [MOST]\n");
        return 2;
    }
    table a = table_load(argv[1]);
    if (a.complex_values) table_fail(argv[1], "is complex");
    table_expand(&a, argv[1]);
    start();
    sparse s = sparse_of(&a);
    const int32_t rank = eliminate(&s);
    if (s.left > (argc == 3 ? atoi(argv[2]) : 4000))
        printf("?\n");
    else
        printf("%d\n", s.n - rank - rest_rank(&s));
    for (int32_t i = 0; i < s.n; i++) free(s.row[i].at), free(s.row[i].value), free(s.column[i].at);
    free(s.row), free(s.column), free(s.in_column), free(s.stamp), free(s.bucket), free(s.next);
    free(s.before), free(s.gone), free(s.work), free(a.entry);
    return 0;
}
