/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses by frames: columns by substitution on the factor's blocks, products with
 * dense blocks, residuals. */
#include "engines/cpu/isa/cpu.h"
#include "engines/cpu/isa/single.h"
#include "core/precision.h"
#include "inverse_frames.h"
#include "sweeps.h"

#include <math.h>
#include <string.h>

static const mpki_ibcsr *index_of(const mpki_blocks *bf) {
    return &bf->stages->index;
}

static int rows_of(const mpki_blocks *bf, int32_t f) {
    return mpki_frame_rows(bf->stages->blocking, f);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Rows `first` .. of the identity, some columns of them. */
static void identity(T *e, int w, int c0, int count) {
    memset(e, 0, (size_t)w * (size_t)count * sizeof(T));
    for (int c = 0; c < count; c++) e[(c0 + c) * count + c] = t_make(1, 0);
}

/* X_i -= L^_if X_f for the frames i of the column, of which v has M_f X_f. */
static void push_down(const mpki_frames_making *w, const int32_t *mark, int32_t f, const T *v,
                      int count, T *work) {
    const FN(block_kernels) *kernels = FN(cpu_block_kernels)();
    const mpki_ibcsr *x = index_of(w->bf);
    for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
        const int32_t to = mark[x->place[x->entry[e].other]];
        const mpki_block *b = &w->bf->lower[x->entry[e].block];
        if (to < 0 || b->format == MPKI_EMPTY) continue;
        kernels->apply(b, v, count, work + (int64_t)to * count);
    }
}

/* Likewise with U: X_i -= U_if X_f, of which N_i^T times the sum becomes X_i later. */
static void push_up(const mpki_frames_making *w, const int32_t *mark, int32_t f, const T *v,
                    int count, T *work) {
    const FN(block_kernels) *kernels = FN(cpu_block_kernels)();
    const mpki_ibcsr *x = index_of(w->bf);
    for (int64_t e = x->ptr[f]; e < x->diagonal[f]; e++) {
        const int32_t to = mark[x->place[x->entry[e].other]];
        const mpki_block *b = &w->bf->upper[x->entry[e].block];
        if (to < 0 || b->format == MPKI_EMPTY) continue;
        kernels->apply_t(b, v, count, 0, work + (int64_t)to * count);
    }
}

/* Columns c0 .. of the frame f, whose rows are marked. */
static void solve(const mpki_frames_making *w, int32_t place, const int32_t *mark, int c0,
                  int count, T *work) {
    const FN(block_kernels) *kernels = FN(cpu_block_kernels)();
    const mpki_ibcsr *x = index_of(w->bf);
    const mpki_isai_blocks *m = w->m;
    T e[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS], v[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    const int32_t f = x->frame[place];
    const int64_t begin = m->ptr[place], end = m->ptr[place + 1];
    identity(e, rows_of(w->bf, f), c0, count);
    if (w->half) {
        push_up(w, mark, f, e, count, work);
        for (int64_t q = end - 1; q >= begin; q--) {
            const int32_t g = x->frame[m->row[q]];
            T *at = work + (int64_t)mark[m->row[q]] * count;
            const size_t bytes = (size_t)rows_of(w->bf, g) * (size_t)count * sizeof(T);
            memcpy(v, at, bytes);
            memset(at, 0, bytes);
            kernels->apply_t(&w->bf->frame[g].n, v, count, 0, at);
            push_up(w, mark, g, at, count, work);
        }
        return;
    }
    memset(v, 0, (size_t)rows_of(w->bf, f) * (size_t)count * sizeof(T));
    kernels->apply(&w->bf->frame[f].m, e, count, v);
    push_down(w, mark, f, v, count, work);
    for (int64_t q = begin; q < end; q++) {
        const int32_t g = x->frame[m->row[q]];
        const T *at = work + (int64_t)mark[m->row[q]] * count;
        memset(v, 0, (size_t)rows_of(w->bf, g) * (size_t)count * sizeof(T));
        kernels->apply(&w->bf->frame[g].m, at, count, v);
        push_down(w, mark, g, v, count, work);
    }
}

__attribute__((noinline)) /* it takes much of the stack */
bool FN(isai_frames_column)(const mpki_frames_making *w, int32_t place, int worker) {
    const mpki_ibcsr *x = index_of(w->bf);
    const mpki_isai_blocks *m = w->m;
    const int cols = rows_of(w->bf, x->frame[place]);
    int32_t *mark = w->mark + (int64_t)worker * x->m, rows = 0;
    T *work = (T *)w->work + (int64_t)worker * w->rows * MPKI_SWEEP_RHS;
    bool finite = true;
    for (int64_t q = m->ptr[place]; q < m->ptr[place + 1]; q++) {
        mark[m->row[q]] = rows;
        rows += rows_of(w->bf, x->frame[m->row[q]]);
    }
    for (int c0 = 0; c0 < cols; c0 += MPKI_SWEEP_RHS) {
        const int count = cols - c0 < MPKI_SWEEP_RHS ? cols - c0 : MPKI_SWEEP_RHS;
        memset(work, 0, (size_t)rows * (size_t)count * sizeof(T));
        solve(w, place, mark, c0, count, work);
        for (int64_t q = m->ptr[place]; q < m->ptr[place + 1]; q++) {
            const int h = rows_of(w->bf, x->frame[m->row[q]]);
            const T *from = work + (int64_t)mark[m->row[q]] * count;
            T *to = (T *)m->val + m->at[q] + (int64_t)c0 * h;
            for (int c = 0; c < count; c++)
                for (int r = 0; r < h; r++) {
                    const T v = from[r * count + c];
                    finite = finite && isfinite(t_re(v)) && isfinite(t_im(v));
                    to[c * h + r] = v;
                }
        }
    }
    for (int64_t q = m->ptr[place]; q < m->ptr[place + 1]; q++) mark[m->row[q]] = -1;
    return finite;
}

double FN(isai_frames_norm2)(const mpki_isai_blocks *m, int64_t block) {
    const T *val = m->val;
    double sum = 0;
    for (int64_t k = m->at[block]; k < m->at[block + 1]; k++) {
        const double re = (double)t_re(val[k]), im = (double)t_im(val[k]);
        sum += re * re + im * im;
    }
    return sum;
}

/* ---- products -------------------------------------------------------------------------------- */

/* acc += B x and acc += B^T x (B^H) for a block of rows x cols. Transposed: four sums, whose order
 * is fixed. */
#define BLOCK_TIMES(name, V)                                                                       \
    static inline void name(const V *b, int rows, int cols, const T *x, int nrhs, T *acc) {        \
        if (nrhs == 1) {                                                                           \
            for (int c = 0; c < cols; c++, b += rows)                                              \
                for (int r = 0; r < rows; r++) acc[r] += t_mul((T)b[r], x[c]);                     \
            return;                                                                                \
        }                                                                                          \
        for (int c = 0; c < cols; c++, b += rows)                                                  \
            for (int r = 0; r < rows; r++) {                                                       \
                const T v = (T)b[r];                                                               \
                for (int k = 0; k < nrhs; k++) acc[r * nrhs + k] += t_mul(v, x[c * nrhs + k]);     \
            }                                                                                      \
    }                                                                                              \
    static inline void name##_transposed(const V *b, int rows, int cols, bool conjugate,           \
                                         const T *x, int nrhs, T *acc) {                           \
        for (int c = 0; c < cols; c++, b += rows) {                                                \
            if (nrhs == 1) {                                                                       \
                T s[4] = {t_make(0, 0), t_make(0, 0), t_make(0, 0), t_make(0, 0)};                 \
                int r = 0;                                                                         \
                for (; r + 4 <= rows; r += 4)                                                      \
                    for (int k = 0; k < 4; k++)                                                    \
                        s[k] += t_mul(conj_if(conjugate, (T)b[r + k]), x[r + k]);                  \
                for (; r < rows; r++) s[0] += t_mul(conj_if(conjugate, (T)b[r]), x[r]);            \
                acc[c] += (s[0] + s[1]) + (s[2] + s[3]);                                           \
                continue;                                                                          \
            }                                                                                      \
            for (int r = 0; r < rows; r++) {                                                       \
                const T v = conj_if(conjugate, (T)b[r]);                                           \
                for (int k = 0; k < nrhs; k++) acc[c * nrhs + k] += t_mul(v, x[r * nrhs + k]);     \
            }                                                                                      \
        }                                                                                          \
    }
BLOCK_TIMES(block_times, T)
BLOCK_TIMES(block_times_single, single_entry)

/* acc += the product with its part of x of the block whose values begin there. */
static void add_block(const mpki_frames_product *p, int64_t begin, int32_t row, int32_t col,
                      T *acc) {
    const mpki_blocks *bf = p->bf;
    const int32_t g = index_of(bf)->frame[row], f = index_of(bf)->frame[col];
    const int rows = rows_of(bf, g), cols = rows_of(bf, f);
    const bool conjugate = MPKI_COMPLEX && p->conjugate;
    const T *x =
        (const T *)p->x + (int64_t)bf->stages->blocking->bptr[p->transposed ? g : f] * p->nrhs;
    const T *val = (const T *)p->m->val + (p->single ? 0 : begin);
    const single_entry *small = (const single_entry *)p->m->val + (p->single ? begin : 0);
    if (p->single && p->transposed)
        block_times_single_transposed(small, rows, cols, conjugate, x, p->nrhs, acc);
    else if (p->single)
        block_times_single(small, rows, cols, x, p->nrhs, acc);
    else if (p->transposed)
        block_times_transposed(val, rows, cols, conjugate, x, p->nrhs, acc);
    else
        block_times(val, rows, cols, x, p->nrhs, acc);
}

void FN(isai_frames_times)(const mpki_frames_product *p, int32_t place) {
    const mpki_isai_blocks *m = p->m;
    const int32_t f = index_of(p->bf)->frame[place];
    const int64_t at = (int64_t)p->bf->stages->blocking->bptr[f] * p->nrhs;
    const int64_t count = (int64_t)rows_of(p->bf, f) * p->nrhs;
    const T *x = (const T *)p->x + at;
    T *y = (T *)p->y + at, acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    for (int64_t k = 0; k < count; k++) acc[k] = x[k];
    if (p->transposed)
        for (int64_t b = m->ptr[place]; b < m->ptr[place + 1]; b++)
            add_block(p, m->at[b], m->row[b], place, acc);
    else
        for (int64_t b = m->turn.ptr[place]; b < m->turn.ptr[place + 1]; b++)
            add_block(p, ((const int64_t *)m->turn.val)[b], place, m->turn.index[b], acc);
    for (int64_t k = 0; k < count; k++) y[k] = p->add ? y[k] + acc[k] : acc[k];
}

/* ---- residuals ------------------------------------------------------------------------------- */

void FN(isai_frames_turn)(const mpki_frames_residual *w, int32_t f) {
    const mpki_blocks *bf = w->s->bf;
    const FN(block_kernels) *kernels = w->s->kernels;
    const int64_t at = (int64_t)bf->stages->blocking->bptr[f] * w->nrhs;
    T *to = (T *)w->turned + at;
    memset(to, 0, (size_t)rows_of(bf, f) * (size_t)w->nrhs * sizeof(T));
    kernels->apply(&bf->frame[f].m, (const T *)w->x + at, w->nrhs, to);
}

void FN(isai_frames_residual)(const mpki_frames_residual *w, int32_t f) {
    const mpki_blocks *bf = w->s->bf;
    const FN(block_kernels) *kernels = w->s->kernels;
    const mpki_ibcsr *x = index_of(bf);
    const int32_t *bptr = bf->stages->blocking->bptr;
    const int nrhs = w->nrhs, hermitian = bf->stages->hermitian;
    const int64_t at = (int64_t)bptr[f] * nrhs, count = (int64_t)rows_of(bf, f) * nrhs;
    const T *b = (const T *)w->b + at, *own = (const T *)w->x + at;
    T *r = (T *)w->r + at, acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    const mpki_block *blocks = w->backward ? bf->upper : bf->lower;
    const T *from = w->backward ? w->x : w->turned;
    memset(r, 0, (size_t)count * sizeof(T));
    memset(acc, 0, (size_t)count * sizeof(T));
    for (int64_t e = w->backward ? x->diagonal[f] + 1 : x->ptr[f],
                 end = w->backward ? x->ptr[f + 1] : x->diagonal[f];
         e < end; e++) {
        const mpki_block *block = &blocks[x->entry[e].block];
        const T *v = from + (int64_t)bptr[x->entry[e].other] * nrhs;
        if (block->format == MPKI_EMPTY) continue;
        if (w->backward)
            kernels->apply_t(block, v, nrhs, hermitian, acc);
        else
            kernels->apply(block, v, nrhs, acc);
    }
    if (w->backward)
        kernels->apply_t(&bf->frame[f].n, acc, nrhs, hermitian, r);
    else
        memcpy(r, acc, (size_t)count * sizeof(T));
    for (int64_t k = 0; k < count; k++) r[k] += b[k] - own[k];
}
