/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with a sparse matrix by rows and a diagonal, of vectors in the matrix's precision or a
 * higher one. */
#include "core/precision.h"
#include "engines/cpu/isa/single.h"
#include "inverse.h"

/* Prefetch entries some rows ahead; the hardware's prefetcher misses them where rows are short. */
static inline void fetch(const void *val, const int32_t *col) {
    __builtin_prefetch((const char *)val + 2048);
    __builtin_prefetch(col + 512);
}

/* A row times x. Four sums, so that a long row does not wait for its own additions; their order is
 * fixed. */
#define ROW_DOT(name, V)                                                                           \
    static inline T name(int64_t k, int64_t end, const int32_t *col, const V *val, const T *x,     \
                         bool conjugate) {                                                         \
        T s0 = t_make(0, 0), s1 = s0, s2 = s0, s3 = s0;                                            \
        for (; k + 4 <= end; k += 4) {                                                             \
            fetch(val + k, col + k);                                                               \
            s0 += t_mul(conj_if(conjugate, (T)val[k]), x[col[k]]);                                 \
            s1 += t_mul(conj_if(conjugate, (T)val[k + 1]), x[col[k + 1]]);                         \
            s2 += t_mul(conj_if(conjugate, (T)val[k + 2]), x[col[k + 2]]);                         \
            s3 += t_mul(conj_if(conjugate, (T)val[k + 3]), x[col[k + 3]]);                         \
        }                                                                                          \
        for (; k < end; k++) s0 += t_mul(conj_if(conjugate, (T)val[k]), x[col[k]]);                \
        return (s0 + s1) + (s2 + s3);                                                              \
    }                                                                                              \
    static inline void name##_many(const int nrhs, int64_t k, int64_t end, const int32_t *col,     \
                                   const V *val, const T *x, bool conjugate, T *sum) {             \
        for (; k < end; k++) {                                                                     \
            const T *from = x + (int64_t)col[k] * nrhs, v = conj_if(conjugate, (T)val[k]);         \
            for (int r = 0; r < nrhs; r++) sum[r] += t_mul(v, from[r]);                            \
        }                                                                                          \
    }
ROW_DOT(row_dot, T)
ROW_DOT(row_dot_single, single_entry)

/* Entry i of the diagonal as it is multiplied with. */
static inline T scale_of(const mpki_isai_product *p, int32_t i) {
    const T *diagonal = p->diagonal;
    if (p->no_diagonal) return t_make(0, 0);
    if (!diagonal) return t_make(1, 0);
    return conj_if(p->conjugate, p->inverse_diagonal ? t_inv(diagonal[i]) : diagonal[i]);
}

/* What becomes of a row's sum. */
static inline T settle(const mpki_isai_product *p, int64_t at, T sum) {
    if (p->b) return ((const T *)p->b)[at] - sum;
    return p->add ? ((const T *)p->y)[at] + sum : sum;
}

static inline __attribute__((always_inline)) void rows(const mpki_isai_product *p, int32_t r0,
                                                       int32_t r1, bool single, bool conjugate) {
    const int64_t *ptr = p->a->ptr;
    const int32_t *col = p->a->index;
    const void *val = p->a->val;
    const T *x = p->x;
    T *y = p->y;
    for (int32_t i = r0; i < r1; i++) {
        T sum = single ? row_dot_single(ptr[i], ptr[i + 1], col, val, x, conjugate)
                       : row_dot(ptr[i], ptr[i + 1], col, val, x, conjugate);
        if (!p->no_diagonal) sum += p->diagonal ? t_mul(scale_of(p, i), x[i]) : x[i];
        y[i] = settle(p, i, sum);
    }
}

static void many(const mpki_isai_product *p, int32_t r0, int32_t r1) {
    const int nrhs = p->nrhs;
    const T *x = p->x;
    T *y = p->y;
    for (int32_t i = r0; i < r1; i++) {
        const int64_t begin = p->a->ptr[i], end = p->a->ptr[i + 1], at = (int64_t)i * nrhs;
        const T d = scale_of(p, i);
        T sum[MPKI_ISAI_RHS];
        for (int r = 0; r < nrhs; r++) sum[r] = p->no_diagonal ? t_make(0, 0) : t_mul(d, x[at + r]);
        if (p->single)
            row_dot_single_many(nrhs, begin, end, p->a->index, p->a->val, x, p->conjugate, sum);
        else
            row_dot_many(nrhs, begin, end, p->a->index, p->a->val, x, p->conjugate, sum);
        for (int r = 0; r < nrhs; r++) y[at + r] = settle(p, at + r, sum[r]);
    }
}

void FN(isai_rows)(const mpki_isai_product *p, int32_t r0, int32_t r1) {
    const bool conjugate = MPKI_COMPLEX && p->conjugate;
    if (p->nrhs > 1)
        many(p, r0, r1);
    else if (p->single && conjugate)
        rows(p, r0, r1, true, true);
    else if (p->single)
        rows(p, r0, r1, true, false);
    else if (conjugate)
        rows(p, r0, r1, false, true);
    else
        rows(p, r0, r1, false, false);
}
