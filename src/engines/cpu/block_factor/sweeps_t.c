/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks, exact or by Jacobi sweeps. */
#include "engines/cpu/isa/cpu.h"
#include "core/precision.h"
#include "border.h"
#include "inverse.h"
#include "rows.h"
#include "widened.h"

#include <string.h>

#define LD(cols) mpki_block_ld(cols, sizeof(T))
enum { ROWS = 4096, CLAIM = 4 };

/* One pass over all frames. */
typedef struct pass {
    mpki_block_solver *s;
    int nrhs;
    bool backward;
    const T *from; /* Jacobi: the iterate before; exact: the vector that is being written */
    const T *b;
    T *to;
    _Atomic int64_t next;
    mpk_part part;
    char *x; /* the caller's vectors */
    int64_t ldx;
    double unit;                       /* a power of two by which they are multiplied */
    const int32_t *problem, *position; /* rows of the caller's vectors, by ours; NULL: the same */
} pass;

static int rows_of(const mpki_blocks *bf, int32_t f) {
    return bf->stages->blocking->bptr[f + 1] - bf->stages->blocking->bptr[f];
}

/* In one of the two sweeps blocks lie all over memory: prefetch the headers of the next frame's
 * blocks, and the first lines of what those of this frame point to. */
static void ask_ahead(const pass *p, int32_t f, int32_t next) {
    enum { LINE = 64, LINES = 6 };
    const mpki_ibcsr *x = &p->s->bf->stages->index;
    const mpki_block *blocks = p->backward ? p->s->bf->upper : p->s->bf->lower;
    for (int64_t e = p->backward ? x->diagonal[f] + 1 : x->ptr[f],
                 end = p->backward ? x->ptr[f + 1] : x->diagonal[f];
         e < end; e++) {
        const char *data = blocks[x->entry[e].block].data;
        for (int k = 0; k < LINES && data; k++) __builtin_prefetch(data + k * LINE);
    }
    if (next < 0) return;
    for (int64_t e = p->backward ? x->diagonal[next] + 1 : x->ptr[next],
                 end = p->backward ? x->ptr[next + 1] : x->diagonal[next];
         e < end; e++)
        __builtin_prefetch(&blocks[x->entry[e].block]);
}

/* One frame. Forward: to_i = M_i (b_i - sum_k L_ik from_k). Backward: to_i = M_i^T (b_i - sum_j
 * L_ji^T from_j); for LDU with N_i^T and U. */
static inline __attribute__((always_inline)) void frame_with(const pass *p, int32_t f,
                                                             widened_block *scratch) {
    const mpki_blocks *bf = p->s->bf;
    const FN(block_kernels) *kernels = p->s->kernels;
    const mpki_ibcsr *x = &bf->stages->index;
    const int w = rows_of(bf, f), nrhs = p->nrhs;
    const int64_t at = (int64_t)bf->stages->blocking->bptr[f] * nrhs;
    const int hermitian = bf->stages->symmetry == MPK_HERMITIAN && bf->upper == bf->lower;
    const bool narrow = scratch != NULL;
    T acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    memcpy(acc, p->b + at, (size_t)w * (size_t)nrhs * sizeof(T));
    const int64_t begin = p->backward ? x->diagonal[f] + 1 : x->ptr[f];
    const int64_t end = p->backward ? x->ptr[f + 1] : x->diagonal[f];
    const mpki_block *blocks = p->backward ? bf->upper : bf->lower;
    for (int64_t e = begin; e < end; e++) {
        const mpki_block *block = widened_block_of(narrow, &blocks[x->entry[e].block], scratch);
        if (block->format == MPKI_EMPTY) continue;
        const T *v = p->from + (int64_t)bf->stages->blocking->bptr[x->entry[e].other] * nrhs;
        if (p->backward)
            kernels->apply_t(block, v, nrhs, hermitian, acc);
        else
            kernels->apply(block, v, nrhs, acc);
    }
    const mpki_frame *pivot = &bf->frame[f];
    memset(p->to + at, 0, (size_t)w * (size_t)nrhs * sizeof(T));
    if (p->backward)
        kernels->apply_t(widened_block_of(narrow, &pivot->n, scratch), acc, nrhs, hermitian,
                         p->to + at);
    else
        kernels->apply(widened_block_of(narrow, &pivot->m, scratch), acc, nrhs, p->to + at);
}

/* Apart, for it takes much of the stack. */
static __attribute__((noinline)) void frame_widened(const pass *p, int32_t f) {
    widened_block scratch;
    frame_with(p, f, &scratch);
}

static void frame(const pass *p, int32_t f) {
    if (p->s->single || p->s->bf->narrow)
        frame_widened(p, f);
    else
        frame_with(p, f, NULL);
}

/* Wait until all frames that f needs are done in this pass. */
static void wait_for(const pass *p, int32_t f) {
    mpki_block_solver *s = p->s;
    const mpki_ibcsr *x = &s->bf->stages->index;
    const int64_t begin = p->backward ? x->diagonal[f] + 1 : x->ptr[f];
    const int64_t end = p->backward ? x->ptr[f + 1] : x->diagonal[f];
    for (int64_t e = begin; e < end; e++) {
        const int32_t k = x->entry[e].other;
        for (int spins = 0;
             atomic_load_explicit(&s->done[k], memory_order_acquire) != s->generation;)
            mpki_sweep_wait(&spins);
    }
}

static void claim_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker, (void)item;
    pass *p = arg;
    const mpki_levels *v = &p->s->bf->stages->levels;
    const int64_t m = p->s->bf->stages->index.m;
    for (int64_t k; (k = atomic_fetch_add(&p->next, CLAIM)) < m;)
        for (int64_t j = k; j < k + CLAIM && j < m; j++) {
            const int32_t f = v->frame[p->backward ? m - 1 - j : j];
            ask_ahead(p, f, j + 1 < m ? v->frame[p->backward ? m - 2 - j : j + 1] : -1);
            wait_for(p, f);
            frame(p, f);
            atomic_store_explicit(&p->s->done[f], p->s->generation, memory_order_release);
        }
}

static void alone(pass *p) {
    const mpki_levels *v = &p->s->bf->stages->levels;
    const int64_t m = p->s->bf->stages->index.m;
    mpki_asking asking = {p->s->ctx, "solve", 0};
    for (int64_t j = 0; j < m && !mpki_asks(&asking, MPKI_ASK / 256); j++) {
        const int32_t f = v->frame[p->backward ? m - 1 - j : j];
        ask_ahead(p, f, j + 1 < m ? v->frame[p->backward ? m - 2 - j : j + 1] : -1);
        frame(p, f);
    }
}

/* One frame of a Jacobi sweep, in which no frame depends on another. */
static void jacobi_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const pass *p = arg;
    frame(p, (int32_t)item);
}

/* s->z := the triangular solve of s->y. */
static void triangular(mpki_block_solver *s, int nrhs, bool backward) {
    const int64_t m = s->bf->stages->index.m;
    pass p = {.s = s, .nrhs = nrhs, .backward = backward, .from = s->z, .b = s->y, .to = s->z};
    if (s->bf->isai) {
        FN(isai_triangle)(s, nrhs, backward);
        return;
    }
    if (!s->jacobi) {
        const bool shared = mpki_sweep_share(s);
        const double start = mpki_now_s();
        s->generation++;
        if (shared)
            mpki_pool_for(s->pool, 0, s->threads, claim_item, &p);
        else
            alone(&p);
        mpki_sweep_note(s, shared, mpki_now_s() - start);
        return;
    }
    /* x := M b, then `jacobi` sweeps of x := M (b - (L - M^-1) x) */
    const int64_t n = (int64_t)s->bf->stages->blocking->n * nrhs;
    memset(s->z, 0, (size_t)n * sizeof(T));
    T *from = s->z, *to = s->other;
    for (int sweep = 0; sweep <= s->jacobi; sweep++) {
        p.from = from, p.to = to;
        mpki_pool_for(s->pool, 0, m, jacobi_item, &p);
        T *swap = from;
        from = to, to = swap;
    }
    s->z = from, s->other = to;
}

/* ---- in and out of the problem's order ------------------------------------------------------- */

/* y := P S x, or x := S P^T z; without P and S where the vector is between two parts. Of a general
 * matrix y := P Q R x and x := C P^T z. */

/* Index of the problem, and its scale, for index i of the matrix that is factorized. */
static int64_t index_of(const mpki_stages *stages, int64_t i, bool out) {
    return out ? i : MPKI_ROW(stages, i);
}
static double scale_of(const mpki_stages *stages, int64_t index, bool out) {
    return out || !stages->row_scale ? stages->scale[index] : stages->row_scale[index];
}

/* The caller's vectors in double, these in single: scaling may leave the range of floats in
 * between. */
static bool mixed(const mpki_block_solver *s) {
    const mpk_scalar scalar = s->bf->stages->scalar;
    return sizeof(R) == sizeof(float) && (scalar == MPK_D || scalar == MPK_Z);
}

static void move_widened(const pass *p, char *column, int64_t i, int64_t at, bool in_order) {
    const mpk_scalar scalar = p->s->bf->stages->scalar;
    const double scale = in_order ? 1 : scale_of(p->s->bf->stages, i, p->to == NULL);
    double re, im;
    if (p->to) {
        t_parts(scalar, column, i, &re, &im);
        p->to[at] = t_make((R)(re * scale * p->unit), (R)(im * scale * p->unit));
        return;
    }
    double *x = (double *)(void *)column + (MPKI_COMPLEX ? 2 : 1) * i;
    x[0] = (double)t_re(p->from[at]) * scale / p->unit;
    if (MPKI_COMPLEX) x[1] = (double)t_im(p->from[at]) * scale / p->unit;
}

/* A power of two that brings the largest entry near 1, where it is far from that. */
static double unit_of(const mpki_block_solver *s, mpk_part part, int nrhs, const char *x,
                      int64_t ldx) {
    const mpk_scalar scalar = s->bf->stages->scalar;
    const bool scaled = part != MPK_PART_D && part != MPK_PART_LT;
    double most = 0;
    int exponent;
    if (!mixed(s)) return 1;
    for (int r = 0; r < nrhs; r++)
        for (int32_t i = 0; i < s->bf->stages->blocking->n; i++) {
            double re, im;
            t_parts(scalar, x + (size_t)r * (size_t)ldx * mpk_scalar_size(scalar), i, &re, &im);
            most = fmax(most, fmax(fabs(re), fabs(im)) *
                                  (scaled ? scale_of(s->bf->stages, i, false) : 1));
        }
    if (!(most > 0) || !isfinite(most) || (most > 0x1p-40 && most < 0x1p40)) return 1;
    frexp(most, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

static void move_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const pass *p = arg;
    const mpki_block_solver *s = p->s;
    const int32_t n = s->bf->stages->blocking->n;
    const mpk_scalar scalar = s->bf->stages->scalar;
    const bool out = p->to == NULL;
    const bool in_order = out ? p->part == MPK_PART_L || p->part == MPK_PART_D
                              : p->part == MPK_PART_D || p->part == MPK_PART_LT;
    const int64_t end = (item + 1) * ROWS < n ? (item + 1) * ROWS : n;
    for (int64_t k = item * ROWS; k < end; k++) {
        const int64_t i = !in_order     ? index_of(s->bf->stages, p->problem[k], out)
                          : p->position ? p->position[k]
                                        : k;
        const R scale = in_order ? 1 : (R)scale_of(s->bf->stages, i, out);
        for (int r = 0; r < p->nrhs; r++) {
            char *column = p->x + (size_t)r * (size_t)p->ldx * mpk_scalar_size(scalar);
            if (p->unit != 1)
                move_widened(p, column, i, k * p->nrhs + r, in_order);
            else if (out)
                t_store(scalar, column, i, scale * p->from[k * p->nrhs + r]);
            else
                p->to[k * p->nrhs + r] = scale * t_load(scalar, column, i);
        }
    }
}

static void move(mpki_block_solver *s, mpk_part part, int nrhs, char *x, int64_t ldx, double unit,
                 const T *from, T *to) {
    pass p = {.s = s, .nrhs = nrhs, .part = part, .x = x, .ldx = ldx, .unit = unit, .from = from};
    p.to = to;
    p.problem = s->bf->stages->blocking->perm;
    if (s->rows) { /* numbered by the slots of the first or the last sweep */
        const bool last = to ? part == MPK_PART_LT : part != MPK_PART_L;
        p.problem = s->rows->half[last].problem;
        p.position = s->rows->half[last].position;
    }
    mpki_pool_for(s->pool, 0, ((int64_t)s->bf->stages->blocking->n + ROWS - 1) / ROWS, move_item,
                  &p);
}

static void diagonal(mpki_block_solver *s, int nrhs, bool absolute, T *x) {
    const mpki_blocks *bf = s->bf;
    const int hermitian = bf->stages->symmetry == MPK_HERMITIAN && bf->upper == bf->lower;
    const FN(block_kernels) *kernels = s->kernels;
    if (bf->isai && bf->isai->dinv) {
        FN(isai_diagonal)(s, nrhs, absolute, x);
        return;
    }
    for (int32_t f = 0; f < bf->stages->index.m; f++) { /* D = I in frames of the border */
        const T *dinv = bf->frame[f].dinv;
        T scratch[2 * MPKI_BLOCK_MAX];
        if (s->single) widen(2 * rows_of(bf, f), dinv, scratch), dinv = scratch;
        kernels->diagonal(rows_of(bf, f), NULL, dinv, absolute, hermitian, nrhs,
                          x + (int64_t)bf->stages->blocking->bptr[f] * nrhs);
    }
    if (bf->border) FN(border_apply)(s, absolute ? MPK_PART_ABS : MPK_PART_D, nrhs, x);
}

void FN(block_begin)(mpki_block_solver *s) {
    s->kernels = FN(cpu_block_kernels)();
}

/* A part of a solve with a factor that is held by rows. */
static void solve_by_rows(mpki_block_solver *s, mpk_part part, int nrhs, void *x, int64_t ldx) {
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    if (all && nrhs == 1 && FN(rows_through)(s, part == MPK_PART_ABS, x)) return;
    const double unit = unit_of(s, part, nrhs, x, ldx);
    move(s, part, nrhs, x, ldx, unit, NULL, s->y);
    if (all || part == MPK_PART_L) FN(rows_triangle)(s, 0, nrhs);
    if (part == MPK_PART_L) FN(rows_root)(s, 0, nrhs);
    if (part == MPK_PART_LT) FN(rows_root)(s, 1, nrhs);
    if (all || part == MPK_PART_D)
        FN(rows_diagonal)(s, nrhs, part == MPK_PART_ABS, part == MPK_PART_D);
    if (all || part == MPK_PART_LT) FN(rows_triangle)(s, 1, nrhs);
    move(s, part, nrhs, x, ldx, unit, s->y, NULL);
}

void FN(block_solve)(mpki_block_solver *s, mpk_part part, int nrhs, void *x, int64_t ldx) {
    const bool all = part == MPK_PART_ALL || part == MPK_PART_ABS;
    const double unit = unit_of(s, part, nrhs, x, ldx);
    if (s->rows) {
        solve_by_rows(s, part, nrhs, x, ldx);
        return;
    }
    move(s, part, nrhs, x, ldx, unit, NULL, s->y);
    if (all || part == MPK_PART_L) {
        triangular(s, nrhs, false);
        T *swap = s->y;
        s->y = s->z, s->z = swap;
        if (s->bf->border) FN(border_apply)(s, MPK_PART_L, nrhs, s->y);
    }
    if (all || part == MPK_PART_D) diagonal(s, nrhs, part == MPK_PART_ABS, s->y);
    if (all || part == MPK_PART_LT) {
        if (s->bf->border) FN(border_apply)(s, MPK_PART_LT, nrhs, s->y);
        triangular(s, nrhs, true);
        move(s, part, nrhs, x, ldx, unit, s->z, NULL);
    } else {
        move(s, part, nrhs, x, ldx, unit, s->y, NULL);
    }
}
