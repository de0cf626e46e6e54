/* SPDX-License-Identifier: BSD-3-Clause */
/* What the caller gives, checked and taken on all threads; what columns a pattern has. */
#include "object.h"

#include <string.h>

static const char STAGE[] = "isai";

enum { COLUMNS = 4096 }; /* that a worker takes at a time */

static int64_t items_of(int32_t n) {
    return ((int64_t)n + COLUMNS - 1) / COLUMNS;
}

static int32_t end_of(int32_t n, int64_t item) {
    return (int32_t)((item + 1) * COLUMNS < n ? (item + 1) * COLUMNS : n);
}

/* Columns are looked through by all; the first bad one counts. */
static void tell(_Atomic int32_t *first, int32_t j) {
    int32_t had = *first;
    while (j < had && !atomic_compare_exchange_weak(first, &had, j)) {}
}

/* The first column from j0 on, before j1, whose rows do not ascend from 0 to n - 1; or j1. */
static int32_t disordered(int32_t n, const int64_t *ptr, const int32_t *row, int32_t j0,
                          int32_t j1) {
    for (int32_t j = j0; j < j1; j++) {
        int32_t last = -1;
        bool good = true;
        for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
            good = good && row[e] > last;
            last = row[e];
        }
        if (!good || last >= n) return j;
    }
    return j1;
}

static mpk_status bad_rows(mpk_context *ctx, int32_t j, const char *whose) {
    return mpki_error(ctx, MPK_ERR_INPUT, STAGE, j,
                      "column %d of %s: rows must ascend, from 0 to n - 1", j + 1, whose);
}

/* ---- patterns -------------------------------------------------------------------------------- */

typedef struct checking {
    int32_t n;
    const int64_t *ptr;
    const int32_t *row; /* NULL: ptr is checked */
    _Atomic int32_t bad;
} checking;

static void check_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    checking *c = arg;
    const int32_t end = end_of(c->n, item);
    int32_t j = (int32_t)(item * COLUMNS);
    if (c->row)
        j = disordered(c->n, c->ptr, c->row, j, end);
    else
        while (j < end && c->ptr[j + 1] >= c->ptr[j]) j++;
    if (j < end) tell(&c->bad, j);
}

mpk_status mpki_isai_check_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ptr,
                                   const int32_t *row, const char *whose) {
    checking c = {.n = n, .ptr = ptr, .bad = n};
    if (ptr[0] != 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, 0, "ptr[0] of %s is not 0", whose);
    mpki_pool_for_near(pool, 0, items_of(n), check_item, &c);
    if (c.bad < n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, c.bad, "ptr of %s descends at column %d",
                          whose, c.bad + 1);
    c.row = row;
    mpki_pool_for_near(pool, 0, row ? items_of(n) : 0, check_item, &c);
    return c.bad == n ? MPK_OK : bad_rows(ctx, c.bad, whose);
}

/* ---- a matrix -------------------------------------------------------------------------------- */

typedef struct taking {
    mpk_isai *s;
    const int64_t *ptr; /* NULL: s->given has the pattern */
    const int32_t *row;
    const char *val;
    mpki_isai_split split;
    _Atomic int32_t unordered, infinite, zero; /* the first such column; n: none */
} taking;

static void take_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    taking *t = arg;
    mpk_isai *s = t->s;
    const int32_t j0 = (int32_t)(item * COLUMNS), j1 = end_of(s->n, item);
    const int64_t *ptr = t->ptr ? t->ptr : s->given.ptr, begin = ptr[j0], count = ptr[j1] - begin;
    int64_t bad;
    if (t->ptr) {
        const int32_t j = disordered(s->n, ptr, t->row, j0, j1);
        if (j < j1) {
            tell(&t->unordered, j);
            return;
        }
        memcpy(s->given.ptr + j0 + 1, ptr + j0 + 1, (size_t)(j1 - j0) * sizeof *ptr);
        if (count) memcpy(s->given.index + begin, t->row + begin, (size_t)count * sizeof *t->row);
    }
    if (!MPKI_DISPATCH(s->scalar, isai_finite)(
            count, t->val + (size_t)begin * mpk_scalar_size(s->scalar), &bad)) {
        int32_t j = j0;
        while (ptr[j + 1] <= begin + bad) j++;
        tell(&t->infinite, j);
    } else if (s->cut) {
        tell(&t->zero, MPKI_DISPATCH(s->scalar, isai_split)(&t->split, j0, j1));
    }
}

mpk_status mpki_isai_take(mpk_context *ctx, mpki_pool *pool, const int64_t *ptr, const int32_t *row,
                          const void *val, mpk_isai *s) {
    const int32_t n = s->n;
    taking t = {.s = s, .ptr = ptr, .row = row, .val = val};
    t.unordered = t.infinite = t.zero = n;
    if (!s->dinv) s->dinv = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(s->scalar));
    if (!s->cut && mpki_isai_is_triangle(s)) s->cut = MPKI_NEW(ctx, STAGE, n, int64_t);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    t.split = (mpki_isai_split){.ptr = ptr ? ptr : s->given.ptr,
                                .row = ptr ? row : s->given.index,
                                .val = val,
                                .upper = s->options.kind == MPK_ISAI_UPPER,
                                .cut = s->cut,
                                .dinv = s->dinv};
    s->given.ptr[0] = 0;
    mpki_pool_for_near(pool, 0, items_of(n), take_item, &t);
    if (t.unordered < n) return bad_rows(ctx, t.unordered, "the matrix");
    if (t.infinite < n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, t.infinite,
                          "column %d holds a NaN or an infinity", t.infinite + 1);
    if (t.zero < n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, t.zero,
                          "the diagonal entry of column %d is zero", t.zero + 1);
    return MPK_OK;
}

/* ---- the matrix kept ------------------------------------------------------------------------- */

typedef struct keeping {
    mpk_isai *s;
    const char *val;
    bool fill; /* else count */
} keeping;

static void keep_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const keeping *k = arg;
    const mpk_isai *s = k->s;
    const bool upper = s->options.kind == MPK_ISAI_UPPER;
    const size_t size = mpk_scalar_size(s->scalar);
    for (int32_t j = (int32_t)(item * COLUMNS); j < end_of(s->n, item); j++) {
        const int64_t begin = s->cut && !upper ? s->cut[j] : s->given.ptr[j];
        const int64_t end = s->cut && upper ? s->cut[j] : s->given.ptr[j + 1];
        if (!k->fill) {
            s->a.ptr[j + 1] = end - begin;
            continue;
        }
        const int64_t to = s->a.ptr[j];
        if (begin == end) continue;
        memcpy(s->a.index + to, s->given.index + begin, (size_t)(end - begin) * sizeof *s->a.index);
        memcpy((char *)s->a.val + (size_t)to * size, k->val + (size_t)begin * size,
               (size_t)(end - begin) * size);
    }
}

mpk_status mpki_isai_keep_matrix(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s) {
    keeping k = {.s = s, .val = val};
    if (!s->a.ptr) {
        s->a.ptr = MPKI_NEW(ctx, STAGE, (int64_t)s->n + 1, int64_t);
        if (!s->a.ptr) return mpki_failed(ctx);
        s->a.ptr[0] = 0;
        mpki_pool_for_near(pool, 0, items_of(s->n), keep_item, &k);
        mpki_sparse_sum(pool, s->n, s->a.ptr);
        s->a.index = MPKI_NEW(ctx, STAGE, s->a.ptr[s->n], int32_t);
        s->a.val = mpki_alloc(ctx, STAGE, s->a.ptr[s->n], mpk_scalar_size(s->scalar));
        if (!s->a.index || !s->a.val) {
            mpki_sparse_free(ctx, &s->a); /* all of it or nothing */
            return mpki_failed(ctx);
        }
    }
    k.fill = true;
    mpki_pool_for_near(pool, 0, items_of(s->n), keep_item, &k);
    return MPK_OK;
}

/* ---- columns by length ----------------------------------------------------------------------- */

typedef struct counting {
    int32_t n;
    const mpki_sparse *m;
    _Atomic int64_t columns[MPK_ISAI_CLASSES], longest;
} counting;

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    counting *c = arg;
    int64_t columns[MPK_ISAI_CLASSES] = {0}, longest = 0;
    for (int32_t j = (int32_t)(item * COLUMNS); j < end_of(c->n, item); j++) {
        const int64_t count = c->m->ptr[j + 1] - c->m->ptr[j] + 1;
        columns[mpki_isai_class(count)]++;
        if (count > longest) longest = count;
    }
    for (int k = 0; k < MPK_ISAI_CLASSES; k++)
        if (columns[k]) atomic_fetch_add(&c->columns[k], columns[k]);
    int64_t had = c->longest;
    while (longest > had && !atomic_compare_exchange_weak(&c->longest, &had, longest)) {}
}

void mpki_isai_count(mpki_pool *pool, int32_t n, const mpki_sparse *m, mpk_isai_info *info) {
    counting c = {.n = n, .m = m};
    mpki_pool_for_near(pool, 0, items_of(n), count_item, &c);
    for (int k = 0; k < MPK_ISAI_CLASSES; k++) info->columns[k] += c.columns[k];
    if (c.longest > info->longest) info->longest = (int32_t)c.longest;
    info->entries += m->ptr[n] + n;
}
