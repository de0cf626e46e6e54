/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor in its final order, by blocks of columns that never part a 2x2
 * pivot: for few right-hand sides by matrix times vector, for many by the packed product. */
#include "engines/cpu/isa/cpu.h"
#include "kernels/pivot.h"
#include "lapack.h"

#include <string.h>

enum { ROWS = 256, FEW = 4, COLS = 32 };

typedef struct sweep {
    const mpki_dense_call *call;
    const FN(kernels) * k;
    int32_t nrhs;
    T *x;
    int64_t ldx;
    int hermitian;
    int64_t *starts; /* of blocks, and n at the end */
    int64_t count;
    T *packed; /* threads x ROWS x (nrhs and a sliver) */
    int64_t packed_size;
    T *turned;      /* threads x ROWS x MPKI_BLOCK */
    int64_t j0, j1; /* the block at work */
    T *panel;       /* factors in LAPACK's form: columns first .. of L, in an order of their own */
    int64_t first;
} sweep;

static bool lapack_form(const mpki_dense_call *call) {
    return call->dense.method == MPK_DENSE_BUNCH_KAUFMAN || call->dense.method == MPK_DENSE_ROOK;
}

int64_t FN(sweep_bytes)(const mpki_dense_call *call, int32_t nrhs) {
    int64_t padded = (nrhs < MPKI_BLOCK ? nrhs : MPKI_BLOCK) + 16;
    return (call->dense.n / (MPKI_BLOCK - 1) + 10) * 8 +
           (call->threads * (ROWS * padded + 2 * ROWS * MPKI_BLOCK + 64) +
            (lapack_form(call) ? (call->dense.n + 8) * MPKI_BLOCK : 0)) *
               (int64_t)sizeof(T) +
           256;
}

static sweep prepare(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx, char *work) {
    sweep s = {.call = call, .k = FN(cpu_kernels)(), .nrhs = nrhs, .x = x, .ldx = ldx};
    const int64_t n = call->dense.n, padded = (nrhs < MPKI_BLOCK ? nrhs : MPKI_BLOCK) + 16;
    bool pair;
    s.hermitian = call->dense.symmetry == MPK_HERMITIAN;
    work = (char *)(((uintptr_t)work + 63) / 64 * 64); /* sweep_bytes() includes the padding */
    s.starts = (int64_t *)work;
    for (int64_t k = 0, first = 0; k < n;) {
        if (k == 0) s.starts[s.count++] = 0;
        FN(place)(call, k, &pair);
        int64_t next = k + (pair ? 2 : 1);
        if (next - first > MPKI_BLOCK) {
            s.starts[s.count++] = first = k;
            continue;
        }
        k = next;
    }
    s.starts[s.count] = n;
    s.packed = (T *)(work + ((n / (MPKI_BLOCK - 1) + 10) * 8 + 63) / 64 * 64);
    s.packed_size = ROWS * padded;
    s.turned = s.packed + call->threads * s.packed_size;
    if (lapack_form(call)) s.panel = s.turned + (int64_t)call->threads * 2 * ROWS * MPKI_BLOCK;
    return s;
}

static void begin(sweep *s, int64_t k) {
    s->j0 = s->first = s->starts[k], s->j1 = s->starts[k + 1];
    if (s->panel)
        FN(lapack_panel)(s->call, s->j0, s->j1, s->panel, (s->call->dense.n - s->j0 + 7) / 8 * 8);
}

static bool begins_pair(const sweep *s, int64_t k) { /* k: the first column of a pivot */
    bool pair;
    FN(place)(s->call, k, &pair);
    return pair;
}

static const T *block(const sweep *s, int worker, int64_t i0, int64_t rows, int64_t cols,
                      int64_t *ld) {
    if (s->panel) {
        *ld = (s->call->dense.n - s->first + 7) / 8 * 8;
        return s->panel + (i0 - s->first) + (s->j0 - s->first) * *ld;
    }
    return FN(factor_block_at)(s->call, i0, rows, s->j0, cols,
                               s->turned + (int64_t)worker * 2 * ROWS * MPKI_BLOCK, ld);
}

/* ---- the diagonal blocks, a few right-hand sides a task -------------------------------------- */

static void diagonal_forward(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sweep *s = arg;
    const int64_t b = s->j1 - s->j0;
    int64_t ld;
    const T *l = block(s, worker, s->j0, b, b, &ld);
    (void)pool;
    for (int64_t c = item * FEW; c < item * FEW + FEW && c < s->nrhs; c++) {
        T *x = s->x + s->j0 + c * s->ldx;
        for (int64_t k = 0; k < b;) {
            const bool pair = begins_pair(s, s->j0 + k);
            for (int64_t h = 0; h <= pair; h++, k++)
                for (int64_t i = k + 1 + (pair && h == 0); i < b; i++)
                    x[i] -= t_mul(l[i + k * ld], x[k]);
        }
    }
}

static void diagonal_backward(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sweep *s = arg;
    const int64_t b = s->j1 - s->j0;
    int64_t ld;
    const T *l = block(s, worker, s->j0, b, b, &ld);
    (void)pool;
    bool first[MPKI_BLOCK + 1] = {false};
    for (int64_t k = 0; k < b;) {
        first[k] = begins_pair(s, s->j0 + k);
        k += first[k] ? 2 : 1;
    }
    for (int64_t c = item * FEW; c < item * FEW + FEW && c < s->nrhs; c++) {
        T *x = s->x + s->j0 + c * s->ldx;
        for (int64_t k = b - 1; k >= 0; k--) {
            T sum = t_make(0, 0);
            for (int64_t i = k + 1 + first[k]; i < b; i++)
                sum += t_mul(conj_if(s->hermitian, l[i + k * ld]), x[i]);
            x[k] -= sum;
        }
    }
}

/* ---- the rows below -------------------------------------------------------------------------- */

static void below_few(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sweep *s = arg;
    const int64_t r = s->j1 + item * ROWS, n = s->call->dense.n;
    const int64_t rows = n - r < ROWS ? n - r : ROWS, b = s->j1 - s->j0;
    int64_t ld;
    const T *l = block(s, worker, r, rows, b, &ld);
    (void)pool;
    for (int32_t c = 0; c < s->nrhs; c++)
        s->k->gemv(rows, (int)b, l, ld, s->x + s->j0 + c * s->ldx, s->x + r + c * s->ldx);
}

/* strips of rows, all right-hand sides, MPKI_BLOCK at a time */
static void below_many(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sweep *s = arg;
    const int64_t r = s->j1 + item * ROWS, n = s->call->dense.n;
    const int64_t rows = n - r < ROWS ? n - r : ROWS, b = s->j1 - s->j0;
    int64_t ld;
    const T *l = block(s, worker, r, rows, b, &ld);
    T *packed = s->packed + worker * s->packed_size;
    (void)pool;
    for (int32_t c = 0; c < s->nrhs; c += MPKI_BLOCK) {
        const int cols = s->nrhs - c < MPKI_BLOCK ? s->nrhs - c : MPKI_BLOCK;
        FN(pack_plain)(s->k, (int)b, cols, s->x + s->j0 + c * s->ldx, s->ldx, packed);
        s->k->multiply(rows, cols, (int)b, l, ld, packed, s->x + r + c * s->ldx, s->ldx, 0,
                       INT64_MAX / 2);
    }
}

void FN(sweep_forward)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx, char *work) {
    sweep s = prepare(call, nrhs, x, ldx, work);
    for (int64_t k = 0; k < s.count && !mpki_stop_wanted(call->ctx, "solve"); k++) {
        begin(&s, k);
        if (s.panel) FN(lapack_interchange)(call, s.j0, s.j1, nrhs, x, ldx, false);
        mpki_pool_for(call->pool, 0, (nrhs + FEW - 1) / FEW, diagonal_forward, &s);
        mpki_pool_for(call->pool, 0, (call->dense.n - s.j1 + ROWS - 1) / ROWS,
                      nrhs < FEW ? below_few : below_many, &s);
    }
}

/* ---- and those of the transposed ------------------------------------------------------------- */

/* columns of the block, COLS at a time, times everything below */
static void above_few(mpki_pool *pool, int worker, void *arg, int64_t item) {
    sweep s = *(const sweep *)arg;
    const int64_t n = s.call->dense.n;
    (void)pool;
    s.j0 += item * COLS;
    const int64_t cols = s.j1 - s.j0 < COLS ? s.j1 - s.j0 : COLS;
    for (int64_t r = s.j1; r < n; r += ROWS) {
        const int64_t rows = n - r < ROWS ? n - r : ROWS;
        int64_t ld;
        const T *l = block(&s, worker, r, rows, cols, &ld);
        for (int32_t c = 0; c < s.nrhs; c++)
            s.k->gemvt(rows, (int)cols, l, ld, s.x + r + c * s.ldx, s.x + s.j0 + c * s.ldx,
                       s.hermitian);
    }
}

/* COLS right-hand sides, everything below; L's blocks are transposed on the way */
static void above_many(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sweep *s = arg;
    const int64_t n = s->call->dense.n, b = s->j1 - s->j0;
    const int32_t c0 = (int32_t)item * COLS, cols = s->nrhs - c0 < COLS ? s->nrhs - c0 : COLS;
    T *packed = s->packed + worker * s->packed_size,
      *t = s->turned + ((int64_t)worker * 2 + 1) * ROWS * MPKI_BLOCK;
    (void)pool;
    for (int64_t r = s->j1; r < n; r += MPKI_BLOCK) {
        const int64_t rows = n - r < MPKI_BLOCK ? n - r : MPKI_BLOCK;
        int64_t ld;
        const T *l = block(s, worker, r, rows, b, &ld);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < b; j++) t[j + i * b] = conj_if(s->hermitian, l[i + j * ld]);
        FN(pack_plain)(s->k, (int)rows, cols, s->x + r + c0 * s->ldx, s->ldx, packed);
        s->k->multiply(b, cols, (int)rows, t, b, packed, s->x + s->j0 + c0 * s->ldx, s->ldx, 0,
                       INT64_MAX / 2);
    }
}

void FN(sweep_backward)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx, char *work) {
    sweep s = prepare(call, nrhs, x, ldx, work);
    for (int64_t k = s.count - 1; k >= 0 && !mpki_stop_wanted(call->ctx, "solve"); k--) {
        begin(&s, k);
        if (nrhs < FEW)
            mpki_pool_for(call->pool, 0, (s.j1 - s.j0 + COLS - 1) / COLS, above_few, &s);
        else
            mpki_pool_for(call->pool, 0, (nrhs + COLS - 1) / COLS, above_many, &s);
        mpki_pool_for(call->pool, 0, (nrhs + FEW - 1) / FEW, diagonal_backward, &s);
        if (s.panel) FN(lapack_interchange)(call, s.j0, s.j1, nrhs, x, ldx, true);
    }
}

void FN(sweep_diagonal)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx) {
    const int64_t n = call->dense.n;
    const int hermitian = call->dense.symmetry == MPK_HERMITIAN;
    T buffer[4];
    bool pair;
    for (int64_t k = 0; k < n;) {
        FN(place)(call, k, &pair);
        const int width = pair ? 2 : 1;
        int64_t ld;
        const T *d = FN(factor_block_at)(call, k, width, k, width, buffer, &ld);
        if (width == 1) {
            T pivot = hermitian ? t_make(t_re(d[0]), 0) : d[0];
            T inv = t_abs1(pivot) > 0 ? t_inv(pivot) : t_make(0, 0);
            for (int32_t c = 0; c < nrhs; c++) x[k + c * ldx] = t_mul(x[k + c * ldx], inv);
        } else {
            FN(pivot) q = FN(pivot_inverse)(d[0], d[1], d[1 + ld], hermitian);
            for (int32_t c = 0; c < nrhs; c++) {
                T *y = x + k + c * ldx, y1 = y[0], y2 = y[1];
                y[0] = t_mul(q.i11, y1) + t_mul(q.i12, y2);
                y[1] = t_mul(q.i21, y1) + t_mul(q.i22, y2);
            }
        }
        k += width;
    }
}
