/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_SOLVE_REFINING_H
#define MPKI_CUDA_MULTIFRONTAL_SOLVE_REFINING_H
/** Vectors of refinement on the device, which a factor keeps from one solve to the next. */
#include "null_vectors.h"
#include "solver.h"

#include <math.h>
#include <string.h>

/** Vectors of a solve: residuals; right-hand sides where the caller's cannot stay where they are; the
 *  best x so far; x where the caller's is on the host. */
enum {
    MPKI_CUDA_EXTRA_R,
    MPKI_CUDA_EXTRA_B,
    MPKI_CUDA_EXTRA_BEST,
    MPKI_CUDA_EXTRA_X,
    MPKI_CUDA_EXTRAS
};

typedef struct mpki_cuda_refining {
    mpki_cuda_refine a;
    mpki_cuda_room sums; /* device: sums of residuals and errors */
    int32_t columns;     /* most right-hand sides that it is for */
    int32_t reported;    /* most that a.report is for */
    char *r;             /* n x columns: residuals, of the solve at work */
    /* n x columns of a solve each; empty: there was room to borrow */
    mpki_cuda_room extra[MPKI_CUDA_EXTRAS];
    int few;               /* solves in a row that have asked for far fewer columns */
    mpki_cuda_nulls nulls; /* of a singular A */
    mpki_cuda_room asked;  /* n: the vector that verdicts ask for (flatness.c), */
    uint64_t stamp;        /* and which it is; 0: none */
} mpki_cuda_refining;

/** A number that kernels have left as its bits. */
static inline double mpki_cuda_number(unsigned long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/** What the kernels for flatness have left. */
static inline mpki_near_zero mpki_cuda_near(const mpki_cuda_errors *e) {
    const double most = mpki_cuda_number(e->x_norm);
    if (!(most > 0) || !isfinite(most)) return (mpki_near_zero){NAN, NAN, NAN};
    return (mpki_near_zero){mpki_cuda_number(e->omega1), e->odd ? NAN : mpki_cuda_number(e->omega2),
                            mpki_cuda_number(e->rows_r)};
}

/** Those of an earlier solve, or new ones, for so many right-hand sides. NULL: there is no memory
 *  for them or for the rows, here or there, which is no error. */
mpki_cuda_refining *mpki_cuda_refining_take(const mpki_direct *f, int32_t columns);
/** Have such vectors for `columns` right-hand sides of a solve, where s has room to lend or in
 *  memory that is kept. NULL: there is no memory for them, which is no error. */
char *mpki_cuda_refining_extra(const mpki_direct *f, mpki_direct_solver *s, mpki_cuda_refining *z,
                               int32_t columns, int which);
/** Device memory that is held. */
int64_t mpki_cuda_refining_bytes(const mpki_direct *f, const mpki_cuda_refining *z);
/** For the next solve, without vectors of several right-hand sides. */
void mpki_cuda_refining_keep(const mpki_direct *f, mpki_cuda_refining *z);

#endif
