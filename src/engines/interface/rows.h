/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_ROWS_H
#define MPKI_INTERFACE_ROWS_H
/** What single rows say of a solution, wherever they are gone through: on the processor and in a
 *  device's kernels (mpki_quality in problem/measure.h). Plain C. */
#include <stdbool.h>

#ifdef __CUDACC__
#define MPKI_BOTH static __host__ __device__ inline
#else
#define MPKI_BOTH static inline
#endif

/** What is measured by rows, while they are gone through. */
typedef struct mpki_by_rows {
    double r, b, unresolved;
    bool missed;
} mpki_by_rows;

/** The share of w = |A| |x| + |b| that a residual must have to be no rounding. */
MPKI_BOTH double mpki_row_least(bool single) {
    return single ? 2e-6 : 1e-13;
}

/** One more row, of residual r, b, w, and norm, the sum of |A|. least: of w, what r must have to be
 *  no rounding; of b a thousandth of that will do */
MPKI_BOTH void mpki_row_beside(double r, double b, double w, double norm, double least,
                               mpki_by_rows *rows) {
    const double unit = norm > 0 ? norm : 1, bi = b / unit, ri = r / unit;
    if (ri > rows->r) rows->r = ri;
    if (bi > rows->b) rows->b = bi;
    if (!(r > 1e-2 * b) || b == 0) return;
    if (bi > rows->unresolved) rows->unresolved = bi;
    rows->missed |= r > least * w && b > 1e-3 * least * w;
}

#endif
