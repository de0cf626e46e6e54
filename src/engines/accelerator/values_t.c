/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the engine of an accelerator knows the precision: A into staging memory, and from there
 * into the processor's factor. */
#include "engines/cpu/block_factor/entry.h"
#include "engines/cpu/isa/cpu.h"
#include "core/random.h"
#include "offload.h"

#include <string.h>

static T *staging(const mpki_blocks *f, int64_t k) {
    return mpki_offload_staging(f->offload, k);
}

/* ---- A, onto the accelerator ----------------------------------------------------------------- */

/* Entry e of row g: of A, or of Q A (upper halves) or its transpose (lower ones). */
static T entry_of(const mpki_blocks *f, const mpki_full *from, int32_t g, int64_t e) {
    const mpki_stages *s = f->stages;
    if (!s->at) return FN(entry_scaled)(f->meta, g, e);
    const int32_t row = from == s->at ? from->col[e] : g, col = from == s->at ? g : from->col[e];
    const double left = s->row_scale[MPKI_ROW(s, row)], right = s->scale[col];
    double re, im;
    t_parts(from->scalar, from->val, e, &re, &im);
    return t_make((R)mpki_scaled(re, left, right), (R)mpki_scaled(im, left, right));
}

void FN(offload_fill)(const mpki_blocks *f, int32_t frame, mpki_half half, const int32_t *slot) {
    const struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_blocking *b = s->blocking;
    const mpki_full *from = s->at && half == MPKI_HALF_LOWER ? s->at : s->a;
    const bool conjugated = s->symmetry == MPK_HERMITIAN && half == MPKI_HALF_LOWER;
    for (int32_t p = b->bptr[frame]; p < b->bptr[frame + 1]; p++) {
        const int32_t g = b->perm[p];
        for (int64_t e = from->ptr[g]; e < from->ptr[g + 1]; e++) {
            const int32_t q = b->iperm[from->col[e]], across = b->of[q];
            if (slot[across] < 0) continue;
            T v = entry_of(f, from, g, e);
            if (p == q) v = FN(entry_shifted)(f->meta, v);
            staging(f, slot[across])[(int64_t)(q - b->bptr[across]) * o->n + p - b->bptr[frame]] +=
                conj_if(conjugated, v);
        }
    }
}

void FN(offload_pad)(const mpki_blocks *f, int64_t slot, int rows, double padding) {
    const int n = f->offload->n;
    for (int i = rows; i < n; i++) staging(f, slot)[i * (n + 1)] = t_make((R)padding, 0);
}

bool FN(offload_is_zero)(const mpki_blocks *f, int64_t slot) {
    const int64_t each = mpki_offload_entries(f->offload);
    const T *values = staging(f, slot);
    int64_t k = 0;
    while (k < each && values[k] == 0) k++;
    return k == each;
}

/* ---- constant blocks ------------------------------------------------------------------------- */

void FN(offload_minus)(const mpki_blocks *f) {
    const int n = f->offload->n;
    memset(staging(f, 0), 0, (size_t)mpki_offload_bytes(f->offload));
    for (int k = 0; k < n; k++) staging(f, 0)[k * (n + 1)] = t_make(-1, 0);
}

/* B = [R0 R1; R0 -R1] / sqrt(2), random diagonals as Baboulin et al. choose them; the last row of
 * an odd w stands alone. The processor's kernels have the same. */
void FN(offload_butterfly)(const mpki_blocks *f, uint64_t state, int w) {
    const int half = w / 2, n = f->offload->n;
    T *bt = staging(f, 0);
    memset(bt, 0, (size_t)mpki_offload_bytes(f->offload));
    for (int k = w; k < n; k++) bt[k * (n + 1)] = 1;
    for (int k = 0; k < w; k++) {
        const double own = exp((mpki_random_unit(mpki_random_lcg(&state)) - 0.5) / 10);
        const double r = 0.70710678118654752440 * own;
        if (k == 2 * half) {
            bt[k * (n + 1)] = (R)own;
            break;
        }
        const int c = k % half; /* column k of B has rows c and c + half */
        bt[k * n + c] = (R)r;
        bt[k * n + c + half] = (R)(k < half ? r : -r);
    }
}

/* ---- pivots that the host replaces ----------------------------------------------------------- */

bool FN(offload_factor)(mpki_blocks *f) {
    const int n = f->offload->n;
    const R floor = (R)f->stages->floor;
    T *a = staging(f, 0);
    for (int k = 0; k < n; k++) {
        T d = a[k * n + k];
        if (!isfinite(t_abs(d))) return false;
        if (!(t_abs(d) > floor)) {
            f->meta->worker[0].perturbed++;
            d = a[k * n + k] = t_make(t_re(d) < 0 ? -floor : floor > 0 ? floor : 0, 0);
        }
        const T inverse = d == 0 ? 0 : t_inv(d);
        for (int i = k + 1; i < n; i++) {
            const T l = MPKI_COMPLEX ? t_mul(a[i * n + k], inverse) : d == 0 ? 0 : a[i * n + k] / d;
            for (int j = k + 1; j < n; j++) a[i * n + j] -= t_mul(l, a[k * n + j]);
            a[i * n + k] = l;
        }
        for (int j = k + 1; j < n; j++)
            a[k * n + j] = f->offload->ldu ? t_mul(inverse, a[k * n + j]) : 0;
    }
    for (int r = 0; f->offload->ldu && r < n; r++)
        for (int c = 0; c < n; c++) staging(f, 1)[r * n + c] = a[c * n + r];
    return true;
}

/* ---- back ------------------------------------------------------------------------------------ */

/* rows x cols values with this distance between rows, into the factor's memory in their smallest
 * format. */
static mpk_status keep(mpki_blocks *f, int rows, int cols, const T *c, int ld, mpki_block *to) {
    const FN(block_kernels) *kernels = f->meta->kernels;
    const int own = mpki_block_ld(cols, sizeof *c);
    T *block = f->meta->worker[0].w; /* padded with zeros, as the kernels want it */
    size_t bytes;
    memset(block, 0, (size_t)rows * (size_t)own * sizeof *block);
    for (int r = 0; r < rows; r++)
        memcpy(block + r * own, c + r * ld, (size_t)cols * sizeof *block);
    *to = (mpki_block){.rows = (uint8_t)rows,
                       .cols = (uint8_t)cols,
                       .format = MPKI_EMPTY,
                       .scalar = (uint8_t)MPKI_PRECISION};
    const int format = kernels->smallest(rows, cols, block, own, &bytes);
    if (format == MPKI_EMPTY) return MPK_OK;
    void *data = mpki_arena_alloc(&f->arena, (int64_t)bytes);
    if (!data) return mpki_failed(f->stages->ctx);
    to->data = data;
    to->format = (uint8_t)format;
    kernels->pack(rows, cols, block, own, to);
    return MPK_OK;
}

/* -M := -L^-1 P B^T from the factors of a pivot block; dense, w x w, ld n. bt NULL: B = I. */
static void invert(int w, int n, const T *l, const int32_t *perm, const T *bt, T *m) {
    for (int r = 0; r < w; r++) /* P B^T, negated */
        for (int c = 0; c < w; c++) {
            const int from = perm ? perm[r] : r;
            m[r * n + c] = bt ? -bt[from * n + c] : t_make(-(R)(from == c), 0);
        }
    for (int r = 0; r < w; r++)
        for (int k = 0; k < r; k++)
            for (int c = 0; c < w; c++) m[r * n + c] -= t_mul(l[r * n + k], m[k * n + c]);
}

/* Moduli of the eigenvalues of a pivot, and their signs where they have any. */
static void count(const struct mpki_offload *o, T d, T over, T d2, mpki_pivot_counts *c) {
    const bool two = over != 0, signs = !MPKI_COMPLEX || o->hermitian;
    R size[2] = {t_abs(d), t_abs(d2)};
    if (two && signs) {
        const R middle = (t_re(d) + t_re(d2)) / 2, half = (t_re(d) - t_re(d2)) / 2;
        const R apart = r_hypot(half, t_abs(over));
        c->positive += (middle + apart > 0) + (middle - apart > 0);
        c->negative += (middle + apart < 0) + (middle - apart < 0);
        size[0] = r_abs(middle + apart), size[1] = r_abs(middle - apart);
    } else if (two) {
        size[0] = size[1] = t_abs(over);
    } else if (!MPKI_COMPLEX || (signs && !o->ldu)) {
        c->positive += t_re(d) > 0;
        c->negative += t_re(d) < 0;
    }
    c->two_by_two += two;
    for (int k = 0; k <= two; k++) {
        c->zero += size[k] == 0;
        if (size[k] < c->smallest) c->smallest = size[k];
        if (size[k] > c->largest) c->largest = size[k];
    }
}

/* D of w rows from a pivot block: d and dinv as frames have them. */
static void take_diagonal(const struct mpki_offload *o, int w, const T *l, T *d, T *dinv,
                          mpki_pivot_counts *c) {
    const int n = o->n;
    for (int k = 0; k < w; k++) {
        const T pivot = l[k * (n + 1)];
        const T over = o->pairs && k + 1 < w ? l[k * (n + 1) + 1] : 0;
        d[2 * k] = pivot;
        d[2 * k + 1] = dinv[2 * k + 1] = 0;
        if (over == 0) {
            dinv[2 * k] = pivot == 0 ? 0 : MPKI_COMPLEX ? t_inv(pivot) : 1 / pivot;
            count(o, pivot, 0, 0, c);
            continue;
        }
        const T under = conj_if(o->hermitian, over), other = l[(k + 1) * (n + 1)];
        const T r = t_mul(pivot, t_inv(under)), s = t_mul(other, t_inv(over));
        const T by = t_inv(t_mul(r, s) - 1);
        d[2 * k + 1] = under;
        dinv[2 * k] = t_mul(by, t_mul(s, t_inv(under)));
        dinv[2 * k + 1] = -t_mul(by, t_inv(over));
        count(o, pivot, over, other, c);
        k++;
        d[2 * k] = other;
        dinv[2 * k] = t_mul(by, t_mul(r, t_inv(over)));
        d[2 * k + 1] = dinv[2 * k + 1] = 0;
    }
}

/* -M of w rows as a block of n, whole or as M^* is. */
static void send(const struct mpki_offload *o, int w, const T *m, bool back, T *to) {
    const int n = o->n;
    memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
    for (int r = 0; r < w; r++)
        for (int c = 0; c < w; c++) {
            if (back)
                to[c * n + r] = conj_if(o->hermitian, m[r * n + c]);
            else
                to[r * n + c] = m[r * n + c];
        }
}

/* -D^-1 as a block of n. */
static void send_inverse(const struct mpki_offload *o, int w, const T *dinv, T *to) {
    const int n = o->n;
    memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
    for (int k = 0; k < w; k++) {
        to[k * (n + 1)] = -dinv[2 * k];
        if (dinv[2 * k + 1] == 0) continue;
        to[(k + 1) * n + k] = -dinv[2 * k + 1];
        to[k * n + k + 1] = -conj_if(o->hermitian, dinv[2 * k + 1]);
    }
}

mpk_status FN(offload_keep_pivot)(mpki_blocks *f, int32_t frame, int64_t at, const int32_t *perm,
                                  const int32_t *columns, bool turned,
                                  void *const sent[MPKI_SENT]) {
    const struct mpki_offload *o = f->offload;
    const int w = mpki_frame_rows(f->stages->blocking, frame), n = o->n;
    const T *bt = turned ? staging(f, at + 1 + o->ldu) : NULL;
    T *l = staging(f, at), *m = staging(f, 0);
    mpki_frame *to = &f->frame[frame];
    mpki_pivot_counts counts = {.smallest = INFINITY};
    T *d = mpki_arena_alloc(&f->arena, 4 * (int64_t)w * (int64_t)sizeof *d);
    if (!d) return mpki_failed(f->stages->ctx);
    take_diagonal(o, w, l, d, d + 2 * w, &counts);
    mpki_count_pivots(&f->meta->worker[0], &counts);
    to->d = d;
    to->dinv = d + 2 * w;
    invert(w, n, l, perm, bt, m);
    if (sent) {
        send(o, w, m, false, sent[MPKI_SENT_M]);
        send(o, w, m, true, sent[MPKI_SENT_BACK]);
        send_inverse(o, w, to->dinv, sent[MPKI_SENT_D]);
    }
    for (int r = 0; o->type == MPK_TYPE_LLT && r < w; r++)
        for (int c = 0; c < w; c++) m[r * n + c] *= 1 / r_sqrt(t_re(d[2 * r]));
    mpk_status status = keep(f, w, w, m, n, &to->m);
    to->n = to->m;
    if (mpk_failed(status) || !o->ldu) return status;
    invert(w, n, staging(f, at + 1), columns, bt, m);
    if (sent) send(o, w, m, true, sent[MPKI_SENT_BACK]);
    return keep(f, w, w, m, n, &to->n);
}

mpk_status FN(offload_keep_block)(mpki_blocks *f, int64_t b, mpki_half half, int64_t at) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int32_t col = mpki_col_frame(x, b);
    const int rows = mpki_frame_rows(s->blocking, mpki_row_frame(x, b));
    const int cols = mpki_frame_rows(s->blocking, col), n = f->offload->n;
    mpki_meta_worker *me = &f->meta->worker[0];
    mpki_block *to = half == MPKI_HALF_UPPER ? &f->upper[b] : &f->lower[b];
    const T *d = f->frame[col].d;
    T *values = staging(f, at);
    for (int c = 0; f->offload->type == MPK_TYPE_LLT && c < cols; c++)
        for (int r = 0; r < rows; r++) values[r * n + c] *= r_sqrt(t_re(d[2 * c]));
    const mpk_status status = keep(f, rows, cols, values, n, to);
    if (mpk_failed(status) || to->format == MPKI_EMPTY) return status;
    me->kept += to->nnz;
    me->dense += to->format == MPKI_DENSE;
    me->bitmap += to->format == MPKI_BITMAP;
    me->rows += to->format == MPKI_ROWS;
    me->fill_out += (double)to->nnz / ((double)rows * cols);
    return MPK_OK;
}

static void set_unit(mpki_frame *to, int w, T *d) {
    for (int k = 0; k < w; k++) {
        d[2 * k] = d[2 * w + 2 * k] = 1;
        d[2 * k + 1] = d[2 * w + 2 * k + 1] = 0;
    }
    to->d = d;
    to->dinv = d + 2 * w;
}

void FN(offload_take_root)(mpki_blocks *f, int32_t frame) {
    set_unit(&f->frame[frame], mpki_frame_rows(f->stages->blocking, frame), f->frame[frame].d);
}

mpk_status FN(offload_keep_unit)(mpki_blocks *f, int32_t frame, void *const sent[MPKI_SENT]) {
    const int w = mpki_frame_rows(f->stages->blocking, frame), n = f->offload->n;
    mpki_frame *to = &f->frame[frame];
    T *d = mpki_arena_alloc(&f->arena, 4 * (int64_t)w * (int64_t)sizeof *d);
    if (!d) return mpki_failed(f->stages->ctx);
    FN(offload_minus)(f);
    set_unit(to, w, d);
    for (int k = 0; sent && k < MPKI_SENT; k++) send(f->offload, w, staging(f, 0), false, sent[k]);
    const mpk_status status = keep(f, w, w, staging(f, 0), n, &to->m);
    to->n = to->m;
    return status;
}

void FN(offload_to_border)(mpki_blocks *f, int32_t row, int32_t col) {
    const mpki_border *b = f->border;
    const mpki_blocking *frames = f->stages->blocking;
    const T *from = staging(f, 0);
    T *to = (T *)b->s + b->start[row] + (int64_t)b->start[col] * b->rows;
    for (int k = 0; k < mpki_frame_rows(frames, col); k++)
        for (int i = row == col ? k : 0; i < mpki_frame_rows(frames, row); i++)
            to[i + (int64_t)k * b->rows] = from[(int64_t)i * f->offload->n + k];
}
