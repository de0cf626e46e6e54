/* SPDX-License-Identifier: BSD-3-Clause */
/* What the caller gives, checked and taken on all threads; what columns a pattern has. */
#include "object.h"

#include <string.h>

static const char STAGE[] = "isai";

enum { COLUMNS = 4096, BYTES = 1 << 20 }; /* that a worker takes at a time */

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

/* ---- patterns ----------------------------------------------------------------------------------- */

typedef struct checking {
    int32_t n;
    const int64_t *ptr;
    const int32_t *row; /* NULL: ptr is checked */
    _Atomic int32_t bad;
} checking;

static void check_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    checking *c = arg;
    const int32_t n = c->n;
    for (int32_t j = (int32_t)(item * COLUMNS); j < end_of(n, item); j++) {
        bool good = c->ptr[j + 1] >= c->ptr[j];
        for (int64_t e = c->ptr[j]; c->row && e < c->ptr[j + 1]; e++)
            good = good && c->row[e] >= 0 && c->row[e] < n &&
                   (e == c->ptr[j] || c->row[e] > c->row[e - 1]);
        if (good) continue;
        tell(&c->bad, j);
        return;
    }
}

mpk_status mpki_isai_check_pattern(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ptr,
                                   const int32_t *row, const char *whose) {
    checking c = {.n = n, .ptr = ptr, .bad = n};
    if (ptr[0] != 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, 0, "ptr[0] of %s is not 0", whose);
    mpki_pool_for(pool, 0, items_of(n), check_item, &c);
    if (c.bad < n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, c.bad, "ptr of %s descends at column %d",
                          whose, c.bad + 1);
    c.row = row;
    mpki_pool_for(pool, 0, row ? items_of(n) : 0, check_item, &c);
    if (c.bad == n) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_INPUT, STAGE, c.bad,
                      "column %d of %s: rows must ascend, from 0 to n - 1", c.bad + 1, whose);
}

typedef struct copying {
    char *to;
    const char *from;
    size_t bytes;
} copying;

static void copy_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const copying *c = arg;
    const size_t begin = (size_t)item * BYTES, left = c->bytes - begin;
    memcpy(c->to + begin, c->from + begin, left < BYTES ? left : BYTES);
}

void mpki_isai_copy(mpki_pool *pool, void *to, const void *from, size_t bytes) {
    copying c = {.to = to, .from = from, .bytes = bytes};
    mpki_pool_for(pool, 0, (int64_t)((bytes + BYTES - 1) / BYTES), copy_item, &c);
}

/* ---- values ------------------------------------------------------------------------------------- */

typedef struct taking {
    mpk_isai *s;
    const char *val;
    mpki_isai_split split;
    _Atomic int32_t bad;
} taking;

static void finite_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    taking *t = arg;
    const int64_t *ptr = t->s->given.ptr, begin = ptr[item * COLUMNS];
    const int64_t count = ptr[end_of(t->s->n, item)] - begin;
    int64_t bad;
    if (MPKI_DISPATCH(t->s->scalar, isai_finite)(
            count, t->val + (size_t)begin * mpk_scalar_size(t->s->scalar), &bad))
        return;
    int32_t j = (int32_t)(item * COLUMNS);
    while (ptr[j + 1] <= begin + bad) j++;
    tell(&t->bad, j);
}

static void split_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    taking *t = arg;
    const int32_t bad = MPKI_DISPATCH(t->s->scalar, isai_split)(
        &t->split, (int32_t)(item * COLUMNS), end_of(t->s->n, item));
    tell(&t->bad, bad);
}

mpk_status mpki_isai_take_values(mpk_context *ctx, mpki_pool *pool, const void *val, mpk_isai *s) {
    const int64_t nnz = s->given.ptr[s->n], items = items_of(s->n);
    const size_t size = mpk_scalar_size(s->scalar);
    taking t = {.s = s, .val = val, .bad = s->n};
    mpki_pool_for(pool, 0, items, finite_item, &t);
    if (t.bad < s->n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, t.bad, "column %d holds a NaN or an infinity",
                          t.bad + 1);
    if (!s->a.ptr) s->a.ptr = MPKI_NEW(ctx, STAGE, (int64_t)s->n + 1, int64_t);
    if (!s->a.index) s->a.index = MPKI_NEW(ctx, STAGE, nnz, int32_t);
    if (!s->a.val) s->a.val = mpki_alloc(ctx, STAGE, nnz, size);
    if (!s->dinv) s->dinv = mpki_alloc(ctx, STAGE, s->n, size);
    if (!s->a.ptr || !s->a.index || !s->a.val || !s->dinv) return mpki_failed(ctx);
    if (!mpki_isai_is_triangle(s)) {
        mpki_isai_copy(pool, s->a.ptr, s->given.ptr, ((size_t)s->n + 1) * sizeof *s->a.ptr);
        mpki_isai_copy(pool, s->a.index, s->given.index, (size_t)nnz * sizeof *s->a.index);
        mpki_isai_copy(pool, s->a.val, val, (size_t)nnz * size);
        return MPK_OK;
    }
    t.split = (mpki_isai_split){.ptr = s->given.ptr,
                                .row = s->given.index,
                                .val = val,
                                .upper = s->options.kind == MPK_ISAI_UPPER,
                                .strict = &s->a,
                                .dinv = s->dinv};
    s->a.ptr[0] = 0;
    mpki_pool_for(pool, 0, items, split_item, &t);
    if (t.bad < s->n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, t.bad,
                          "the diagonal entry of column %d is zero", t.bad + 1);
    mpki_sparse_sum(pool, s->n, s->a.ptr);
    t.split.fill = true;
    mpki_pool_for(pool, 0, items, split_item, &t);
    return MPK_OK;
}

/* ---- columns by length -------------------------------------------------------------------------- */

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
    mpki_pool_for(pool, 0, items_of(n), count_item, &c);
    for (int k = 0; k < MPK_ISAI_CLASSES; k++) info->columns[k] += c.columns[k];
    if (c.longest > info->longest) info->longest = (int32_t)c.longest;
    info->entries += m->ptr[n] + n;
}
