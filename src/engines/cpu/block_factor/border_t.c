/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense pivot that ends the stages: its entries, its pivots, its part of a solve. */
#include "engines/cpu/isa/cpu.h"
#include "engines/cpu/dense/host.h"
#include "kernels/pivot.h"
#include "border.h"

#define LD(cols) mpki_block_ld(cols, sizeof(T))

void FN(border_take)(const mpki_meta *meta, int64_t t0, int64_t t1) {
    const mpki_chunk_work *c = &meta->chunk;
    const mpki_ibcsr *x = &meta->stages->index;
    const mpki_border *b = meta->bf->border;
    for (int64_t t = t0; t < t1; t++) {
        const int32_t row = mpki_row_frame(x, c->batch->target[t]);
        const int32_t col = mpki_col_frame(x, c->batch->target[t]);
        const int rows = mpki_frame_rows(meta->stages->blocking, row);
        const int cols = mpki_frame_rows(meta->stages->blocking, col), ld = LD(cols);
        const T *from = (const T *)c->flight + c->at[t];
        T *to = (T *)b->s + b->start[row] + (int64_t)b->start[col] * b->rows;
        for (int k = 0; k < cols; k++)
            for (int i = row == col ? k : 0; i < rows; i++)
                to[i + (int64_t)k * b->rows] = from[(int64_t)i * ld + k];
    }
}

/* ---- pivots ---------------------------------------------------------------------------------- */

static void count(mpki_dense_pivot *me, double modulus, bool positive, int rows) {
    *(positive ? &me->positive : &me->negative) += rows;
    if (modulus < me->smallest) me->smallest = modulus;
    if (modulus > me->largest) me->largest = modulus;
}

/* A 1x1 pivot; one not above the floor is replaced. */
static T single(T d, bool real, R floor, mpki_dense_pivot *me) {
    const R modulus = t_abs(d);
    const bool positive = !real || t_re(d) >= 0;
    count(me, (double)modulus, positive, real);
    if (modulus > floor) return d;
    if (!(floor > 0)) {
        if (real) --*(positive ? &me->positive : &me->negative);
        me->zero++;
        return d;
    }
    me->perturbed++;
    if (!real && modulus > 0) return d * (floor / modulus);
    return t_make(positive ? floor : -floor, 0);
}

/* A 2x2 pivot [d11 .; d21 d22]: its eigenvalues in modulus, by those of a Hermitian matrix, which
 * bound them for a complex symmetric one. */
static void pair(T d11, T d21, T d22, bool real, mpki_dense_pivot *me) {
    const double a = (double)t_re(d11), c = (double)t_re(d22), b = (double)t_abs(d21);
    const double mean = a / 2 + c / 2, radius = hypot(a / 2 - c / 2, b);
    if (!real) {
        count(me, b, true, 0);
        return;
    }
    count(me, fabs(mean + radius), mean + radius >= 0, 1);
    count(me, fabs(mean - radius), mean - radius >= 0, 1);
}

void FN(border_pivots)(const mpki_stages *stages, mpki_dense_pivot *me) {
    const bool hermitian = stages->hermitian, real = !MPKI_COMPLEX || hermitian;
    const int64_t n = me->rows;
    T *s = me->s, *dinv = me->dinv;
    for (int64_t k = 0; k < n; k++) {
        T *d = s + k * (n + 1);
        if (me->pivots[k] < 0) {
            const FN(pivot) p = FN(pivot_inverse)(d[0], d[1], d[n + 1], hermitian);
            pair(d[0], d[1], d[n + 1], real, me);
            dinv[2 * k] = p.i11, dinv[2 * k + 1] = p.i21;
            dinv[2 * k + 2] = p.i22, dinv[2 * k + 3] = t_make(0, 0);
            k++;
            continue;
        }
        const T pivot =
            single(hermitian ? t_make(t_re(d[0]), 0) : d[0], real, (R)stages->floor, me);
        dinv[2 * k] = t_abs1(pivot) > 0 ? t_inv(pivot) : t_make(0, 0);
        dinv[2 * k + 1] = t_make(0, 0);
    }
}

/* ---- solves ---------------------------------------------------------------------------------- */

int64_t FN(border_bytes)(const mpki_dense_call *call, int nrhs) {
    return FN(sweep_bytes)(call, nrhs) + call->dense.n * nrhs * (int64_t)sizeof(T) + 64;
}

void FN(border_apply)(mpki_block_solver *solver, mpk_part part, int nrhs, void *vector) {
    const mpki_blocks *f = solver->bf;
    const mpki_border *b = f->border;
    const FN(block_kernels) *kernels = solver->kernels;
    const int64_t n = b->rows;
    mpki_dense_call call = b->call;
    T *y = vector, *x = solver->border;
    char *work = (char *)solver->border + n * nrhs * (int64_t)sizeof(T);
    call.threads = solver->pool ? solver->threads : 1;
    call.pool = solver->pool;
    if (part == MPK_PART_D || part == MPK_PART_ABS) { /* x: by rows, as the kernel wants it */
        for (int64_t k = 0; k < n; k++)
            for (int r = 0; r < nrhs; r++) x[k * nrhs + r] = y[(int64_t)b->position[k] * nrhs + r];
        kernels->diagonal((int)n, NULL, b->dinv, part == MPK_PART_ABS, f->stages->hermitian, nrhs,
                          x);
        for (int64_t k = 0; k < n; k++)
            for (int r = 0; r < nrhs; r++) y[(int64_t)b->position[k] * nrhs + r] = x[k * nrhs + r];
        return;
    }
    const bool forward = part == MPK_PART_L;
    for (int64_t k = 0; k < n; k++) { /* row k of L was row `old` of S */
        const int64_t old = b->pivots[k] < 0 ? ~b->pivots[k] : b->pivots[k];
        for (int r = 0; r < nrhs; r++)
            x[k + r * n] = y[(int64_t)b->position[forward ? old : k] * nrhs + r];
    }
    if (forward)
        FN(sweep_forward)(&call, nrhs, x, n, work);
    else
        FN(sweep_backward)(&call, nrhs, x, n, work);
    for (int64_t k = 0; k < n; k++) {
        const int64_t old = b->pivots[k] < 0 ? ~b->pivots[k] : b->pivots[k];
        for (int r = 0; r < nrhs; r++)
            y[(int64_t)b->position[forward ? k : old] * nrhs + r] = x[k + r * n];
    }
}
