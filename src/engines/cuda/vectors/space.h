/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_SPACE_H
#define MPKI_CUDA_VECTORS_SPACE_H
/** Vectors of a Krylov method in device memory, for vectors.c (operations), vectors/iterate.c
 *  (iterations) and vectors/matrix.c (products, scales). */
#include "engines/cuda/module/engine.h"
#include "engines/cuda/module/load.h"
#include "kernels/vectors.h"

struct mpki_space {
    mpk_context *ctx;
    const mpki_device *d;
    const mpki_cuda_vectors_table *f;
    const mpki_cuda_vector_kernels *k;
    mpki_cuda_space at;
    double limit; /* most bytes of device memory; 0: what the device has */
    int64_t bytes;
    mpk_status status;
    mpki_cuda_state state; /* the end of the last batch */
    int plain, attempts;   /* batches run without a graph; captures that failed */
    double product_s, precondition_s;
};

struct mpki_matrix {
    mpk_context *ctx;
    const mpki_device *d;
    mpki_space *space; /* for sums */
    mpki_cuda_rows rows;
    void *memory; /* device: what rows points to */
    int64_t bytes;
    int32_t longest;
    /* of one whose values are mirrored: the lower triangle's pattern, in `memory`; else NULL */
    const int64_t *ap;
    const int32_t *ai;
    int64_t lower; /* entries of it */
    bool hermitian;
};

/** Refuse `bytes` of device memory for `what` beyond the limit. */
mpk_status mpki_cuda_within(mpk_context *ctx, const char *what, int64_t bytes, double limit);
/** As mpki_vector_ops.make, free. */
mpk_status mpki_cuda_space_make(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count,
                                void *stream, double limit, mpki_space **out, void **v);
void mpki_cuda_space_free(mpk_context *ctx, mpki_space **s);
/** A failed call of the module is kept; whoever asks for the status finds it. False: it failed. */
static inline bool good(mpki_space *s, int status) {
    if (mpk_failed(status) && !mpk_failed(s->status)) {
        mpki_cuda_status(s->ctx, "solve", status);
        s->status = (mpk_status)status;
    }
    return !mpk_failed(status);
}
/** As mpki_vector_ops.batch. */
mpk_status mpki_cuda_iterate(mpki_space *s, mpki_batch *b);

/* vectors/matrix.c: slots of mpki_vector_engine */
mpk_status mpki_cuda_matrix_make(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                                 mpki_matrix **m);
mpk_status mpki_cuda_matrix_of(mpk_context *ctx, const mpk_problem_view *a, const mpki_full *full,
                               mpki_pool *pool, double limit, mpki_matrix **m);
mpk_status mpki_cuda_matrix_values(mpki_matrix *m, mpki_pool *pool, double limit, const void *ax);
mpk_status mpki_cuda_row_sums(mpki_matrix *m, double *sums);
mpk_status mpki_cuda_equilibrate(mpki_matrix *m, int sweeps, double *scale);
void mpki_cuda_matrix_free(mpk_context *ctx, mpki_matrix **m);
mpk_status mpki_cuda_multiply(mpki_matrix *m, const void *x, void *y);
mpk_status mpki_cuda_residual(mpki_matrix *m, double norm, const void *x, const void *b,
                              double wanted, void *r, double *error);
mpk_status mpki_cuda_measure(mpki_matrix *m, const void *x, const void *b, void *r, double *w,
                             const double *row_norm, mpki_judged *judged);
mpk_status mpki_cuda_shift(mpki_matrix *m, int exponent, const void *x, void *y);
mpk_status mpki_cuda_scales_make(mpk_context *ctx, mpk_scalar scalar, int32_t n, const double *rows,
                                 const double *columns, const int32_t *from, mpki_scaler **s);
void mpki_cuda_scales_free(mpk_context *ctx, mpki_scaler **s);
mpk_status mpki_cuda_scales_apply(mpki_scaler *s, bool with_rows, bool with_columns, const void *b,
                                  void *x);

#endif
