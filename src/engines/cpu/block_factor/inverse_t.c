/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves by approximate inverses: the unit triangle of a factor on blocks, by columns,
 * and what is applied in its place. */
#include "engines/cpu/isa/cpu.h"
#include "core/precision.h"
#include "inverse_frames.h"
#include "sweeps.h"

#include <string.h>

#define LD(cols) mpki_block_ld(cols, sizeof(T))

static const mpki_block *pivot_of(const mpki_blocks *bf, int32_t f, int half) {
    return half ? &bf->frame[f].n : &bf->frame[f].m;
}

/* A pivot's or a stored entry's number, where blocks are 1 x 1. */
static T number(const mpki_block *b) {
    const T *value = (const T *)(const void *)((const char *)b->data +
                                               mpki_block_mask_bytes(b->format, 1, 1, 1));
    return b->format == MPKI_EMPTY ? t_make(0, 0) : *value;
}

static bool is_zero(T x) {
    return t_re(x) == 0 && t_im(x) == 0;
}

/* Entry (row, col) of N. */
static void put(const mpki_isai_gather *g, bool fill, int64_t *next, int32_t row, T value) {
    if (is_zero(value)) return;
    if (fill) {
        g->l->index[*next] = row;
        ((T *)g->l->val)[*next] = value;
    }
    ++*next;
}

static void gather_number(const mpki_isai_gather *g, int32_t f, bool fill) {
    const mpki_ibcsr *x = &g->bf->stages->index;
    const mpki_block *blocks = g->half ? g->bf->upper : g->bf->lower;
    const T m = -number(pivot_of(g->bf, f, g->half));
    const int32_t c = g->start[f];
    int64_t next = fill ? g->l->ptr[c] : 0;
    for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
        const mpki_block *b = &blocks[x->entry[e].block];
        if (b->format == MPKI_EMPTY) continue;
        put(g, fill, &next, g->start[x->entry[e].other], t_mul(number(b), m));
    }
    if (!fill) g->l->ptr[c + 1] = next;
}

/* Some columns of a frame at a time: acc = L_ik M_k(:, c0 ..) by rows. Apart, for it takes much of
 * the stack. */
static __attribute__((noinline)) void gather_frame(const mpki_isai_gather *g, int32_t f,
                                                   bool fill) {
    const mpki_blocks *bf = g->bf;
    const FN(block_kernels) *kernels = FN(cpu_block_kernels)();
    const mpki_ibcsr *x = &bf->stages->index;
    const mpki_block *blocks = g->half ? bf->upper : bf->lower;
    const int w = mpki_frame_rows(bf->stages->blocking, f), ld = LD(w);
    _Alignas(64) T minus[MPKI_BLOCK_MAX * MPKI_BLOCK_MAX];
    T v[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS], acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    kernels->unpack(pivot_of(bf, f, g->half), minus, ld);
    for (int c0 = 0; c0 < w; c0 += MPKI_SWEEP_RHS) {
        const int count = w - c0 < MPKI_SWEEP_RHS ? w - c0 : MPKI_SWEEP_RHS;
        int64_t next[MPKI_SWEEP_RHS];
        for (int c = 0; c < count; c++) next[c] = fill ? g->l->ptr[g->start[f] + c0 + c] : 0;
        for (int r = 0; r < w; r++)
            for (int c = 0; c < count; c++) v[r * count + c] = minus[r * ld + c0 + c];
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            const mpki_block *b = &blocks[x->entry[e].block];
            const int32_t first = g->start[x->entry[e].other];
            if (b->format == MPKI_EMPTY) continue;
            memset(acc, 0, (size_t)b->rows * (size_t)count * sizeof(T));
            kernels->apply(b, v, count, acc);
            for (int r = 0; r < b->rows; r++)
                for (int c = 0; c < count; c++)
                    put(g, fill, &next[c], first + r, acc[r * count + c]);
        }
        for (int c = 0; c < count && !fill; c++) g->l->ptr[g->start[f] + c0 + c + 1] = next[c];
    }
}

void FN(isai_gather)(const mpki_isai_gather *g, int32_t f, bool fill) {
    if (g->bf->stages->blocking->largest == 1)
        gather_number(g, f, fill);
    else
        gather_frame(g, f, fill);
}

bool FN(isai_scales)(const mpki_blocks *bf, void *ms, void *ns, void *inverses) {
    T *const scale[2] = {ms, ns}, *dinv = inverses;
    bool plain = true;
    for (int32_t f = 0; f < bf->stages->index.m; f++) {
        const int32_t at = bf->stages->blocking->bptr[f];
        for (int half = 0; half < 2; half++) {
            const T m = -number(pivot_of(bf, f, half));
            scale[half][at] = m;
            plain = plain && t_re(m) == 1 && t_im(m) == 0;
        }
        dinv[at] = ((const T *)bf->frame[f].dinv)[0];
    }
    return !plain;
}

/* ---- applications ---------------------------------------------------------------------------- */

static void times(int32_t n, const T *s, bool conjugate, int nrhs, T *x) {
    for (int32_t i = 0; i < n; i++) {
        const T e = conj_if(conjugate, s[i]);
        for (int r = 0; r < nrhs; r++)
            x[(int64_t)i * nrhs + r] = t_mul(e, x[(int64_t)i * nrhs + r]);
    }
}

/* x := M_f x or, backward, N_f^T x, frame by frame. */
static void times_pivots(const mpki_block_solver *s, bool backward, int nrhs, T *x) {
    const mpki_blocks *bf = s->bf;
    const FN(block_kernels) *kernels = s->kernels;
    T acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    for (int32_t f = 0; f < bf->stages->index.m; f++) {
        const int w = mpki_frame_rows(bf->stages->blocking, f);
        const size_t bytes = (size_t)w * (size_t)nrhs * sizeof(T);
        T *at = x + (int64_t)bf->stages->blocking->bptr[f] * nrhs;
        memcpy(acc, at, bytes);
        memset(at, 0, bytes);
        if (backward)
            kernels->apply_t(&bf->frame[f].n, acc, nrhs, bf->stages->hermitian, at);
        else
            kernels->apply(&bf->frame[f].m, acc, nrhs, at);
    }
}

static void pivots(const mpki_block_solver *s, bool backward, int nrhs, T *x) {
    const mpki_block_isai *isai = s->bf->isai;
    if (!isai->dinv)
        times_pivots(s, backward, nrhs, x);
    else if (isai->scale[backward])
        times(isai->n, isai->scale[backward], backward && isai->conjugate, nrhs, x);
}

/* s->z := the triangular solve of s->y. */
void FN(isai_triangle)(mpki_block_solver *s, int nrhs, bool backward) {
    const mpki_block_isai *isai = s->bf->isai;
    if (backward) pivots(s, true, nrhs, s->y);
    if (isai->frames)
        mpki_isai_frames_relax(s, nrhs, backward);
    else
        mpki_isai_relax(s->pool, s->bf->scalar, &isai->step[backward], nrhs, s->y, s->z, s->other);
    if (!backward) pivots(s, false, nrhs, s->z);
}

void FN(isai_diagonal)(const mpki_block_solver *s, int nrhs, bool absolute, void *vector) {
    const mpki_block_isai *isai = s->bf->isai;
    const T *dinv = isai->dinv;
    T *x = vector;
    for (int32_t i = 0; i < isai->n; i++) {
        const T e = absolute ? t_make(t_abs(dinv[i]), 0) : dinv[i];
        for (int r = 0; r < nrhs; r++)
            x[(int64_t)i * nrhs + r] = t_mul(e, x[(int64_t)i * nrhs + r]);
    }
}
