/* SPDX-License-Identifier: BSD-3-Clause */
/* Products shared by threads, and steps of relaxation. */
#include "inverse.h"

static const char STAGE[] = "isai";

/* Rows are cut into items of about WORK entries, a row counting ROW more. */
enum { WORK = 16384, ROW = 4, SHARED = 4 * WORK };

typedef struct sharing {
    const mpki_isai_product *p;
    mpk_scalar scalar;
    int64_t items;
} sharing;

static int64_t work_before(const mpki_isai_product *p, int64_t row) {
    return p->a->ptr[row] + ROW * row;
}

/* The first row of an item. */
static int32_t first_row(const sharing *s, int64_t item) {
    const int64_t all = work_before(s->p, s->p->n);
    const double goal = (double)all * ((double)item / (double)s->items);
    int32_t low = 0, high = s->p->n;
    if (item == s->items) return high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if ((double)work_before(s->p, middle) < goal)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void rows_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const sharing *s = arg;
    MPKI_DISPATCH(s->scalar, isai_rows)(s->p, first_row(s, item), first_row(s, item + 1));
}

void mpki_isai_multiply(mpki_pool *pool, mpk_scalar scalar, const mpki_isai_product *p) {
    sharing s = {.p = p, .scalar = scalar};
    const int64_t all = work_before(p, p->n);
    if (!pool || all * p->nrhs < SHARED) {
        MPKI_DISPATCH(scalar, isai_rows)(p, 0, p->n);
        return;
    }
    s.items = (all + WORK - 1) / WORK;
    mpki_pool_for(pool, 0, s.items, rows_item, &s);
}

void mpki_isai_relax(mpki_pool *pool, mpk_scalar scalar, const mpki_isai_step *step, int nrhs,
                     const void *b, void *x, void *r) {
    mpki_isai_product m = step->m, a = step->a;
    m.nrhs = a.nrhs = nrhs;
    m.x = b, m.y = x, m.add = false;
    mpki_isai_multiply(pool, scalar, &m);
    a.b = b, a.x = x, a.y = r;
    m.x = r, m.add = true;
    for (int k = 0; k < step->relax; k++) {
        mpki_isai_multiply(pool, scalar, &a);
        mpki_isai_multiply(pool, scalar, &m);
    }
}

mpk_status mpki_isai_to_single(mpk_context *ctx, mpk_scalar scalar, int64_t count, const void *val,
                               void **single) {
    *single = mpki_alloc(ctx, STAGE, count, mpk_scalar_size(scalar) / 2);
    if (!*single) return mpki_failed(ctx);
    if (MPKI_DISPATCH(scalar, isai_to_single)(count, val, *single)) return MPK_OK;
    mpki_release(ctx, *single);
    *single = NULL;
    return mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, -1,
                      "the approximate inverse does not fit into single precision");
}
