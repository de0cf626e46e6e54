/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BATCH_ACCESS_H
#define MPKI_CPU_BATCH_ACCESS_H
/** Where the entries of one matrix of a batch lie (host memory), and copies of it. */
#include "core/precision.h"
#include "batch.h"

/** Entry (i, j) is p[(i + j ld) step]. */
typedef struct FN(view) {
    T *p;
    int64_t ld, step;
} FN(view);

static inline FN(view) FN(view_of)(const mpk_batch_array *x, int64_t b) {
    FN(view) v = {x->data, x->ld, 1};
    if (x->layout == MPK_BATCH_POINTERS)
        v.p = ((T *const *)x->data)[b];
    else if (x->layout == MPK_BATCH_STRIDED)
        v.p += b * x->stride;
    else
        v.p += b / x->width * x->stride + b % x->width, v.step = x->width;
    return v;
}

/** out (leading dimension ld) := the matrix; lower: only rows i >= j. */
static inline void FN(fetch)(FN(view) v, int rows, int cols, bool lower, T *out, int64_t ld) {
    for (int j = 0; j < cols; j++)
        for (int i = lower ? j : 0; i < rows; i++) out[i + j * ld] = v.p[(i + j * v.ld) * v.step];
}

static inline void FN(bring)(FN(view) v, int rows, int cols, bool lower, const T *in, int64_t ld) {
    for (int j = 0; j < cols; j++)
        for (int i = lower ? j : 0; i < rows; i++) v.p[(i + j * v.ld) * v.step] = in[i + j * ld];
}

#endif
