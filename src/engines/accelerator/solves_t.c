/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of solves on an accelerator: from the problem into blocks of frames, and back. */
#include "core/precision.h"
#include "engines/cpu/block_factor/border.h"
#include "solves.h"

/* Row p of the matrix on frames: its place in a problem's vector, and the scale of that. */
static int64_t given(const mpki_stages *s, int64_t p, double *scale) {
    const int64_t i = MPKI_ROW(s, s->blocking->perm[p]);
    *scale = s->row_scale ? s->row_scale[i] : s->scale[i];
    return i;
}

void FN(offload_enter)(const mpki_blocks *f, int rows, const void *b, int64_t ldb, double unit,
                       void *blocks) {
    const mpki_stages *s = f->stages;
    const int n = f->offload->n;
    const size_t size = mpk_scalar_size(s->scalar);
    T *to = blocks;
    for (int32_t g = 0; g < s->blocking->nframes; g++, to += rows * n) {
        const int32_t first = s->blocking->bptr[g], w = mpki_frame_rows(s->blocking, g);
        for (int k = 0; k < n; k++) {
            double scale = 0;
            const int64_t i = k < w ? given(s, first + k, &scale) : 0;
            for (int r = 0; r < rows; r++) {
                double re = 0, im = 0;
                if (k < w)
                    t_parts(s->scalar, (const char *)b + (size_t)(r * ldb) * size, i, &re, &im);
                to[r * n + k] = conj_if(f->offload->hermitian,
                                        t_make((R)(re * scale * unit), (R)(im * scale * unit)));
            }
        }
    }
}

void FN(offload_leave)(const mpki_blocks *f, int rows, const void *blocks, double unit, void *x,
                       int64_t ldx) {
    const mpki_stages *s = f->stages;
    const int n = f->offload->n;
    const bool twice = s->scalar == MPK_D || s->scalar == MPK_Z;
    const size_t size = mpk_scalar_size(s->scalar);
    const T *from = blocks;
    for (int32_t g = 0; g < s->blocking->nframes; g++, from += rows * n)
        for (int32_t p = s->blocking->bptr[g]; p < s->blocking->bptr[g + 1]; p++) {
            const int32_t i = s->blocking->perm[p];
            const double by = s->scale[i] / unit;
            for (int r = 0; r < rows; r++) {
                const T v = conj_if(f->offload->hermitian, from[r * n + p - s->blocking->bptr[g]]);
                const double part[2] = {(double)t_re(v) * by, (double)t_im(v) * by};
                char *column = (char *)x + (size_t)(r * ldx) * size;
                for (int k = 0; k <= MPKI_COMPLEX; k++) {
                    const int64_t at = (1 + MPKI_COMPLEX) * (int64_t)i + k;
                    if (twice)
                        ((double *)(void *)column)[at] = part[k];
                    else
                        ((float *)(void *)column)[at] = (float)part[k];
                }
            }
        }
}

void FN(offload_border_rows)(const mpki_blocks *f, int rows, int first, int columns, bool out,
                             void *blocks, void *vectors) {
    const mpki_stages *s = f->stages;
    const int n = f->offload->n;
    T *y = vectors;
    for (int32_t g = 0; g < s->blocking->nframes; g++) {
        T *block = (T *)blocks + (int64_t)g * rows * n;
        for (int32_t p = s->blocking->bptr[g]; mpki_in_border(f, g) && p < s->blocking->bptr[g + 1];
             p++)
            for (int r = 0; r < columns; r++) {
                T *own = &block[(first + r) * n + p - s->blocking->bptr[g]];
                T *whole = &y[(int64_t)p * columns + r];
                if (out)
                    *whole = conj_if(f->offload->hermitian, *own);
                else
                    *own = conj_if(f->offload->hermitian, *whole);
            }
    }
}
