/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_REFINE_H
#define MPKI_CUDA_MULTIFRONTAL_REFINE_H
/** Residuals and backward errors on the device. Plain C. */
#include "values.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Errors of one solution, in device memory while they are formed. Moduli are kept as the bits of
 *  doubles that are not negative, whose order is that of integers: NaN is the largest of all. */
typedef struct mpki_cuda_errors {
    unsigned long long x_norm, b_norm, r_norm,
        norm_inf;                      /**< largest entries; largest row sum of |A| */
    unsigned long long omega1, omega2; /**< Arioli, Demmel & Duff 1989, eq. 2.13 */
    unsigned long long odd;            /**< not 0: a row's numbers are near the ends of the range */
    unsigned long long rows_r, rows_b, unresolved, missed; /**< mpki_by_rows; 0: not asked for */
    unsigned long long step, stepped; /**< largest entries of a step and of what it changed, scaled
                                           (mpk_solve_info.correction) */
    double r2, b2; /**< sums of squares of r and b, each entry divided by b_norm */
    unsigned long long
        more; /**< not 0: nothing is odd, and the errors ask for a step of refinement */
    unsigned long long ended; /**< blocks that are through */
} mpki_cuda_errors;

enum { MPKI_CUDA_REFINE_ROWS = 8, MPKI_CUDA_REFINE_SUMS = 10 };

/** What is measured. All in device memory. */
typedef struct mpki_cuda_refine {
    mpki_cuda_by_rows a;
    const void *ax;
    const double *scale;    /**< n */
    int32_t lanes;          /**< 4, 8 or 32: threads of a row that is not long */
    double *partial;        /**< 2 for each MPKI_CUDA_REFINE_ROWS rows, and for as many long ones */
    double *piece;          /**< MPKI_CUDA_REFINE_SUMS for each of a.pieces */
    int64_t partials, sums; /**< of these for one place: those of the next lie behind them */
    mpki_cuda_errors *errors;
    /** page-locked: what measure() has in `errors` at its end; NULL: nobody reads it there */
    mpki_cuda_errors *report;
    /* errors->more, for those who are queued behind: not where omega1 + omega2 are no more than
     * `accuracy`, or ||A|| ||x|| / ||b|| is more than `lost` */
    double accuracy, lost;
    const unsigned long long *wanted; /**< 0 there: nothing is done. NULL: it is in any case */
    int32_t by_rows;                  /**< 1: mpki_by_rows is wanted */
    double *w; /**< n for each number of a column: |A| |x| + |b|; NULL: not wanted */
} mpki_cuda_refine;

/** Vectors of the kernel of S A S, of length 1 and orthogonal. */
typedef struct mpki_cuda_null {
    int32_t n, count;
    int32_t chunks;    /**< of a vector, each summed up by a thread block */
    int32_t symmetric; /**< A = A^T, complex: v^T A = 0, not v^H A */
    const void *v;     /**< n x count */
    const double *scale;
    double *partial;  /**< MPKI_CUDA_NULL_SUMS for each column, vector and chunk */
    int32_t *outside; /**< for each number of a column: what `in_range` finds */
} mpki_cuda_null;

enum { MPKI_CUDA_NULL_SUMS = 3, MPKI_CUDA_NULL_MOST = 64, MPKI_CUDA_NULL_CHUNK = 2048 };

enum { MPKI_CUDA_REFINE_COLUMNS = 64 };

/** Solutions that are measured together, at most MPKI_CUDA_REFINE_COLUMNS: those in places
 *  place[k] are columns number[k] of `before`, x and b; r, errors, report, partial and piece go by
 *  places. */
typedef struct mpki_cuda_columns {
    int32_t count;
    int8_t place[MPKI_CUDA_REFINE_COLUMNS], number[MPKI_CUDA_REFINE_COLUMNS];
    int64_t before_step, x_step, b_step, r_step; /**< entries from one to the next */
} mpki_cuda_columns;

/** Vectors that go elsewhere: the one in place source[k] of `from` to place target[k] of `to`. Both
 *  may be one array if the places increase with k and no target lies behind its source. */
typedef struct mpki_cuda_moves {
    int32_t count;
    int8_t source[MPKI_CUDA_REFINE_COLUMNS], target[MPKI_CUDA_REFINE_COLUMNS];
    int64_t from_step, to_step; /**< entries from one place to the next */
} mpki_cuda_moves;

/** Of each column by its number, the least modulus of entries that stay. */
typedef struct mpki_cuda_least {
    double of[MPKI_CUDA_REFINE_COLUMNS];
} mpki_cuda_least;

/** Rows in which entries of this size, beside the largest, may be noise: where |A_i| |x| is no more
 *  than this of ||A_i||_1 max |x|, in the scaling (factor/rank_t.c, MOST). */
#define MPKI_CUDA_TOUCHED 1e-2

/** For one kind of entries; all vectors n long, in device memory. */
typedef struct mpki_cuda_refine_kind {
    /** Queues r := b - A x with sums in twice the precision of double, deep: four times, and the
     *  errors, to a->errors, which clear() has set to 0.
     *  step [in] 1: x := x + r first, and `before` is what it was
     *  tiny [in] 1000 n u: below that share of ||A_i|| ||x|| + |b_i| a row's denominator counts as
     *            0
     *  r may be neither x nor b */
    int (*measure)(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *columns,
                   double tiny, int step, int deep, void *before, void *x, const void *b, void *r);
    /** `count` of a->errors := 0. Queued. */
    int (*clear)(mpki_cuda *cuda, const mpki_cuda_refine *a, int32_t count);
    /** How nearly A takes vectors x to zero (factor/rank.h), to a->errors, which clear() has set to
     *  0: omega1 roughly, in the scaling; omega2 in each row by itself; rows_r in those that x does
     *  more than touch (MPKI_CUDA_TOUCHED); x_norm the largest entry in the scaling, b_norm without
     *  it; odd not 0 where a row's products may have underflowed. Queued.
     *  r [out] -A x, by place; NULL: not wanted */
    int (*flatness)(mpki_cuda *cuda, const mpki_cuda_refine *a, const mpki_cuda_columns *columns,
                    double tiny, const void *x, void *r);
    /** `count` of a->errors to host memory, when what was queued is done; those of a->report, where
     *  there are any. */
    int (*report_to_host)(mpki_cuda *cuda, const mpki_cuda_refine *a, int32_t count,
                          mpki_cuda_errors *out);
    /** r := r without what is not in A's range, for the places of `columns`. Queued. */
    int (*deflate)(mpki_cuda *cuda, const mpki_cuda_null *z, const mpki_cuda_columns *columns,
                   void *r);
    /** z->outside := 1 where the part of b along a vector is more than `within` of |v|^T w, else 0,
     *  for the numbers of `columns`; w as mpki_cuda_refine has it. Queued. */
    int (*in_range)(mpki_cuda *cuda, const mpki_cuda_null *z, const mpki_cuda_columns *columns,
                    double within, const void *b, const double *w);
    /** Columns of `to` := those of x without small entries, both by number. Queued. */
    int (*cut)(mpki_cuda *cuda, int32_t n, const mpki_cuda_columns *columns,
               const mpki_cuda_least *least, const void *x, void *to);
    /** Vectors go elsewhere. Queued. */
    int (*move)(mpki_cuda *cuda, int32_t n, const mpki_cuda_moves *moves, const void *from,
                void *to);
    /** Page-locked memory for `count` errors; *report NULL: release it. */
    int (*hold)(mpki_cuda *cuda, int32_t count, mpki_cuda_errors **report);
} mpki_cuda_refine_kind;

extern const mpki_cuda_refine_kind mpki_s_cuda_refine, mpki_d_cuda_refine, mpki_c_cuda_refine,
    mpki_z_cuda_refine;

#ifdef __cplusplus
}
#endif
#endif
