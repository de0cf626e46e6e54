/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes back columns of a block that were eliminated and then failed the threshold test
 * (rank.h). */
#include "rank.h"

#include <string.h>

static void axpy(int64_t rows, T m, const T *restrict x, T *restrict y) {
    for (int64_t i = 0; i < rows; i++) y[i] += t_mul(x[i], m);
}

static void back_rows(const FN(rank_back) * s, T *packed, int64_t r0, int64_t rows) {
    enum { SLIVER = 8 };
    FN(front) *f = s->f;
    const FN(kernels) *k = s->rules->k;
    const int hermitian = s->rules->hermitian;
    const int64_t p = s->p, ldp = ld(f, p);
    T *x = at(f, r0, p); /* column j of the block: x + j ldp */
    T minus[2 * MPKI_PANEL];
    for (int32_t j = 0; j < s->b; j++)
        minus[2 * j] = t_make(-1, 0), minus[2 * j + 1] = t_make(0, 0);
    for (int32_t j = s->ne; j < s->np; j++) { /* L -> X = L D */
        const T *d = f->d + 2 * (p + j);
        T *x1 = x + j * ldp, *x2 = x1 + ldp;
        if (j + 1 < s->np && t_abs1(d[1]) > 0) {
            T d12 = conj_if(hermitian, d[1]);
            for (int64_t i = 0; i < rows; i++) {
                T l1 = x1[i], l2 = x2[i];
                x1[i] = t_mul(l1, d[0]) + t_mul(l2, d[1]);
                x2[i] = t_mul(l1, d12) + t_mul(l2, d[2]);
            }
            j++;
        } else {
            for (int64_t i = 0; i < rows; i++) x1[i] = t_mul(x1[i], d[0]);
        }
    }
    for (int32_t j1 = s->b, j0; j1 > s->ne;
         j1 = j0) { /* A(:,j) = X(:,j) + sum over k < j of X(:,k) L(j,k) */
        j0 = j1 - SLIVER > s->ne ? j1 - SLIVER : s->ne;
        for (int32_t j = j1 - 1; j > j0; j--)
            for (int32_t i = j0; i < (j < s->np ? j : s->np); i++)
                axpy(rows, conj_if(hermitian, *at(f, p + j, p + i)), x + i * ldp, x + j * ldp);
        int32_t depth = (j0 < s->np ? j0 : s->np) - s->ne;
        if (depth <= 0) continue;
        k->pack(j1 - j0, depth, at(f, p + j0, p + s->ne), ldp, minus, hermitian, packed);
        k->multiply(rows, j1 - j0, depth, x + s->ne * ldp, ldp, packed, x + j0 * ldp, ldp, 0,
                    INT64_MAX / 2);
    }
}

static void back_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const FN(rank_back) *s = arg;
    int64_t r0 = s->p + s->b + item * ROWS_PER_ITEM, left = s->f->nrows - r0;
    back_rows(s, s->works[worker].packed, r0, left < ROWS_PER_ITEM ? left : ROWS_PER_ITEM);
}

void FN(rank_take_back)(const FN(rank_back) * s, FN(front_work) * work, const int32_t *perm,
                        mpki_pool *pool, int worker) {
    FN(front) *f = s->f;
    const int hermitian = s->rules->hermitian;
    const int32_t b = s->b, ne = s->ne;
    const int64_t p = s->p;
    int64_t items = (f->nrows - p - b + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM;
    if (pool) {
        mpki_pool_for(pool, worker, items, back_item, (void *)s);
    } else {
        for (int64_t r0 = p + b; r0 < f->nrows; r0 += ROWS_PER_ITEM)
            back_rows(s, work->packed, r0,
                      f->nrows - r0 < ROWS_PER_ITEM ? f->nrows - r0 : ROWS_PER_ITEM);
    }
    const T *backup = work->backup;
    for (int32_t j = ne; j < b; j++)
        for (int32_t i = j; i < b; i++)
            *at(f, p + i, p + j) = perm[i] >= perm[j]
                                       ? backup[perm[i] + (int64_t)perm[j] * b]
                                       : conj_if(hermitian, backup[perm[j] + (int64_t)perm[i] * b]);
    if (ne == 0) return;
    const FN(kernels) *k = s->rules->k;
    k->pack(b - ne, ne, at(f, p + ne, p), ld(f, p), f->d + 2 * p, hermitian, work->packed);
    k->multiply(b - ne, b - ne, ne, at(f, p + ne, p), ld(f, p), work->packed, at(f, p + ne, p + ne),
                ld(f, p), 0, 0);
}
