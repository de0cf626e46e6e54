/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_H
#define MPKI_PROBLEM_H
/** Inside of mpk_problem, and what other folders ask of a matrix. */
#include "shared.h"

struct mpk_problem {
    mpk_context *ctx; /* whose memory it is; must outlive the problem */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    mpki_layout *layout; /* shared with its analyses */
    mpki_values *values; /* likewise; NULL: ax is somebody else's */
    /* what these two hold */
    int32_t n;
    int64_t nnz;
    const int64_t *ap; /* n + 1 */
    const int32_t *ai; /* nnz */
    const void *ax;    /* nnz entries of `scalar` */
    const struct mpki_split
        *split;   /* what lies below this interior (analysis/split.h); else NULL */
    int32_t leaf; /* where nested dissection ends; 0: as it does elsewhere (order/order.h) */
};

/** Set n, nnz, ap, ai and ax from layout and values. */
void mpki_problem_look(mpk_problem *problem);

/** Index of the first entry from `from` on that is NaN or Inf, -1 if all are finite. */
int64_t mpki_next_nonfinite(mpk_scalar scalar, int64_t from, int64_t count, const void *values);
/** The same of all. */
int64_t mpki_first_nonfinite(mpk_scalar scalar, int64_t count, const void *values);

/** r = b - A x, as if in twice the precision and rounded once (S and C: summed in double), and
 *  w = |A| |x| + |b| (real, double), for one column; the pattern and values as in mpk_problem_view,
 *  so that a factor's own values serve. Sums that over- or underflow are not told here: w shows
 *  them.
 *  r    [out] n, may be b, not x
 *  w    [out] n
 *  work [out] MPKI_RESIDUAL_WORK(scalar) * n doubles */
void mpki_residual(const mpk_problem_view *a, const void *x, const void *b, void *r, double *w,
                   double *work);
#define MPKI_RESIDUAL_WORK(scalar) ((scalar) >= MPK_C ? 5 : 4)

/** sums [out] n: sum_j |a_ij|. Returns the largest, ||A||_inf; both may be infinite. */
double mpki_row_sums(const mpk_problem_view *a, double *sums);
/** The same by so many threads, whose number the bits do not depend on; they may be others than
 *  mpki_row_sums() has where A is large. Without memory for that one thread does it. */
double mpki_row_sums_by(mpk_context *ctx, int threads, const mpk_problem_view *a, double *sums);

/** Bytes of the text that mpk_problem_write() would write to `path`, from a sample of the values,
 *  to a few parts in a hundred. */
double mpki_problem_text_bytes(const mpk_problem *p, const char *path);

/** Does mpk_problem_write() to this path write the stored entries alone? Not to *.npy, and not
 *  where the name says no format. */
bool mpki_problem_sparse_named(const char *path);

#endif
