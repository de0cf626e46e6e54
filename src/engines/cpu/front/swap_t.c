/* SPDX-License-Identifier: BSD-3-Clause */
/* Two columns of a front change places. */
#include "low_rank.h"

void FN(front_swap)(FN(front) * f, int hermitian, int64_t i, int64_t j) {
    if (i == j) return;
#define EXCHANGE(x, y)                                                                             \
    do {                                                                                           \
        T t_ = *(x);                                                                               \
        *(x) = *(y);                                                                               \
        *(y) = t_;                                                                                 \
    } while (0)
    for (int64_t k = 0; k < i; k++) {
        T *row = at(f, i, k);
        EXCHANGE(row, row + (j - i));
    }
    EXCHANGE(at(f, i, i), at(f, j, j));
    for (int64_t k = i + 1; k < j; k++) {
        T *x = at(f, k, i), *y = at(f, j, k), t = conj_if(hermitian, *x);
        *x = conj_if(hermitian, *y);
        *y = t;
    }
    *at(f, j, i) = conj_if(hermitian, *at(f, j, i));
    T *x = at(f, j, i) - j, *y = at(f, j, j) - j;
    for (int64_t k = j + 1; k < f->nrows; k++) EXCHANGE(x + k, y + k);
#undef EXCHANGE
    int32_t t = f->id[i];
    f->id[i] = f->id[j];
    f->id[j] = t;
    if (f->low) FN(low_swap)(f, i, j);
}
