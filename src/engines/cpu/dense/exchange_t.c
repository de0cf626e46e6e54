/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of factors in LAPACK's form, one pivot or a block of columns at a time. */
#include "lapack.h"

#include <string.h>

int64_t FN(lapack_pivot)(const mpki_dense_call *call, int64_t k, bool *pair) {
    const int64_t n = call->dense.n;
    const bool upper = call->dense.uplo == MPK_UPPER;
    int64_t p = call->f->pivots[upper ? n - 1 - k : k];
    *pair = p < 0;
    p = (p < 0 ? -p : p) - 1;
    return upper ? n - 1 - p : p;
}

/* Exchanges of the pivot at column k of the lower factor: rows place[c] and with[c], in order.
 * Returns the pivot's width. */
static int exchanges(const mpki_dense_call *call, int64_t k, int64_t place[2], int64_t with[2]) {
    bool pair;
    with[0] = with[1] = FN(lapack_pivot)(call, k, &pair);
    place[0] = place[1] = k;
    if (!pair) {
        with[1] = k;
        return 1;
    }
    place[1] = k + 1;
    with[1] = FN(lapack_pivot)(call, k + 1, &pair);
    if (call->dense.method != MPK_DENSE_ROOK) with[0] = k;
    return 2;
}

typedef struct copy_job {
    const mpki_dense_call *call;
    int64_t j0, j1, ld;
    T *panel;
} copy_job;

static void copy_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const copy_job *c = arg;
    const int64_t n = c->call->dense.n, j = c->j0 + item;
    T *to = c->panel + item * c->ld;
    int64_t ld, place[2], with[2];
    (void)pool, (void)worker;
    const T *from = FN(factor_block_at)(c->call, j, n - j, j, 1, to + item, &ld);
    if (from != to + item) memcpy(to + item, from, (size_t)(n - j) * sizeof(T));
    for (int64_t k = c->j0; k < c->j1;) {
        const int width = exchanges(c->call, k, place, with);
        for (int h = 0; h < 2 && k > j; h++) {
            T *x = to + place[h] - c->j0, *y = to + with[h] - c->j0, t = *x;
            *x = *y, *y = t;
        }
        k += width;
    }
}

void FN(lapack_panel)(const mpki_dense_call *call, int64_t j0, int64_t j1, T *panel, int64_t ld) {
    copy_job c = {call, j0, j1, ld, panel};
    mpki_pool_for(call->pool, 0, j1 - j0, copy_item, &c);
}

void FN(lapack_interchange)(const mpki_dense_call *call, int64_t j0, int64_t j1, int32_t nrhs, T *x,
                            int64_t ldx, bool inverse) {
    int64_t rows[2][2 * MPKI_BLOCK + 4], place[2], with[2];
    int32_t count = 0;
    for (int64_t k = j0; k < j1;) {
        const int width = exchanges(call, k, place, with);
        for (int h = 0; h < 2; h++)
            if (place[h] != with[h]) rows[0][count] = place[h], rows[1][count++] = with[h];
        k += width;
    }
    for (int32_t c = 0; c < nrhs; c++, x += ldx)
        for (int32_t h = 0; h < count; h++) {
            T *y = x + rows[0][inverse ? count - 1 - h : h],
              *z = x + rows[1][inverse ? count - 1 - h : h], t = *y;
            *y = *z, *z = t;
        }
}
