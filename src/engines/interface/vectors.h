/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_VECTORS_H
#define MPKI_INTERFACE_VECTORS_H
/** The vectors of a Krylov method as an engine offers them; what holds for every slot stands in
 *  engine.h. */
#include "core/pool.h"
#include "engines/interface/views.h"
#include <metapack/krylov.h>

typedef struct mpki_matrix mpki_matrix; /* an engine's copy of A, in both triangles */
typedef struct mpki_space mpki_space;   /* where an engine holds vectors and forms sums */
typedef struct mpki_scaler mpki_scaler; /* an engine's copy of a scaling */

/** r := b - A x, in a precision high enough that the error of r is small beside the larger of
 *  ||r||_2 and `wanted`; where none is, as accurately as can be.
 *  x, b [in], r [out] n entries; *error [out] a bound of the 2-norm of the error of r */
typedef mpk_status (*mpki_residual_fn)(void *self, const void *x, const void *b, double wanted,
                                       void *r, double *error);

/** What a caller inside the library may add to a task. */
typedef struct mpki_krylov_extra {
    mpki_residual_fn residual; /* NULL: by a product in the task's precision */
    void *self;                /* of residual */
    double a_norm;             /* ||A||, used with `residual`; without that it is estimated */
    double from, share;        /* the solve reports its progress as from .. from + share */
    mpki_matrix *matrix;       /* the task's A is a product with this; NULL: it is not */
    bool queued;               /* all that the task's operators do is to queue work on the device */
    double limit;              /* most bytes of device memory; 0: what the device has */
    const char *asked;         /* for in words, where that is not the task's tolerance; or NULL */
    struct mpki_floats
        *theirs; /* in which a caller's operators compute (core/floats.h); else NULL */
} mpki_krylov_extra;

enum { MPKI_KRYLOV_MESSAGE = 400 }; /* bytes */

/** A scalar of a method: in double always; im is 0 where entries are real. */
typedef struct mpki_number {
    double re, im;
} mpki_number;

/** The product of two vectors with their norms: |dot| beside norm_x norm_y tells whether it is more
 *  than rounding. */
typedef struct mpki_product {
    mpki_number dot;
    double norm_x, norm_y;
} mpki_product;

/** How a batch of iterations ended: at what the method's file would have found at the same
 *  place. */
typedef enum mpki_batch_end {
    MPKI_BATCH_GO = 0,
    MPKI_BATCH_REACHED,    /* the last residual is at most the target */
    MPKI_BATCH_A_BAD,      /* a product with A is not finite */
    MPKI_BATCH_M_BAD,      /* nor what the preconditioner made */
    MPKI_BATCH_OVERFLOW,   /* of a coefficient or a norm */
    MPKI_BATCH_A_VANISHES, /* q^T A q */
    MPKI_BATCH_M_VANISHES, /* r^T M^-1 r */
    MPKI_BATCH_A_UNFIT,    /* A or M is not definite */
    MPKI_BATCH_M_UNFIT,
    MPKI_BATCH_SECOND_A_BAD, /* bicgstab: of the iteration's second product, */
    MPKI_BATCH_SECOND_M_BAD, /* its second preconditioner */
    MPKI_BATCH_OMEGA,        /* bicgstab: omega vanishes */
    MPKI_BATCH_HALF,         /* bicgstab: half a step sufficed for the last residual */
    MPKI_BATCH_INVARIANT,    /* gmres: so is the Krylov space */
    MPKI_BATCH_A_FAILED,     /* an operator returned a failure: the status of the batch */
    MPKI_BATCH_M_FAILED
} mpki_batch_end;

/** Iterations of sqmr, cg, minres, bicgstab, gmres or fgmres that an engine does without asking the
 *  host in between. */
typedef struct mpki_batch {
    mpk_krylov method;
    int hermitian;
    const mpk_operator *a, *m;
    mpki_matrix *matrix; /* and queued: as in mpki_krylov_extra */
    bool queued;
    void *const *v; /* the method's vectors, as its file numbers them */
    void *x;
    double b_norm, target; /* it ends when the residual's norm / b_norm <= target */
    bool first;            /* of a cycle: it begins with these */
    mpki_number rho;       /* r^T M^-1 r, and v holds M^-1 r; sqmr. The shadow's with r; bicgstab */
    double tau;            /* ||r||; sqmr */
    double beta; /* (r^H M^-1 r)^1/2, and v holds M^-1 r; minres. ||r||, and v the basis's first
                              vector twice; gmres */
    int32_t cycle, unit; /* gmres: steps of a cycle; of which a graph is made, if one is */
    bool repeats;        /* others with as many steps will follow, or did */
    int32_t steps;       /* iterations to do at most; [out] how many were done */
    int32_t called;      /* [out] products and preconditioners: after the end they were in vain */
    mpki_batch_end end;
    const double *recurred, *quasi;   /* [out] norms after each step; till the next batch */
    double a_norm;                    /* [out] largest ||A q|| / ||q|| */
    double product_s, precondition_s; /* [out] what one of these took, where it was measured */
} mpki_batch;

/** What the methods (solve/krylov/) ask of an engine: operations on vectors of n entries of one
 *  scalar type, in the engine's memory. x, y: vectors of the space, or others there. Sums are
 *  formed in double, in an order that depends on n alone. A slot that cannot fail on the processor
 *  may on a device: what it returns then is NaN (or false, or 0), and `status` has the reason. A
 *  device may still be at work when a slot returns that gives nothing back. */
typedef struct mpki_vector_ops {
    /** `count` vectors of n entries, whatever they hold.
     *  stream [in] where a device shall work (CUDA's: cudaStream_t); NULL: the engine's own
     *  limit [in] most bytes of device memory; 0: what the device has
     *  *s, v [out] the space; its vectors, which live as long
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE: *s is NULL then */
    mpk_status (*make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count, void *stream,
                       double limit, mpki_space **s, void **v);
    /** NULL *s is fine. */
    void (*free)(mpk_context *ctx, mpki_space **s);
    /** The first failure since `make`. */
    mpk_status (*status)(const mpki_space *s);
    /** x := a vector of the caller's, and the reverse: that one lies in host memory or in the
     *  engine's, and may be used at once when the slot returns. */
    void (*take)(mpki_space *s, const void *b, void *x);
    void (*give)(mpki_space *s, const void *x, void *out);
    /** y := x */
    void (*copy)(mpki_space *s, const void *x, void *y);
    /** x := 0 */
    void (*zero)(mpki_space *s, void *x);
    /** sum x_i y_i, the first factor conjugated when hermitian. */
    mpki_product (*product)(mpki_space *s, int hermitian, const void *x, const void *y);
    mpki_number (*dot)(mpki_space *s, int hermitian, const void *x, const void *y);
    double (*norm)(mpki_space *s, const void *x);
    /** y += a x; `axpy_norm` returns the norm of y */
    void (*axpy)(mpki_space *s, mpki_number a, const void *x, void *y);
    double (*axpy_norm)(mpki_space *s, mpki_number a, const void *x, void *y);
    /** y := a x + b y; `axpby_norm` returns the norm of y. b == 0 does not read y */
    void (*axpby)(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y);
    double (*axpby_norm)(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y);
    /** y := a x; x == y is allowed */
    void (*scale)(mpki_space *s, mpki_number a, const void *x, void *y);
    /** Entries in [-1, 1], complex ones in the square: the next numbers of the stream
     *  (mpki_random_signed(), core/random.h). */
    void (*random)(mpki_space *s, uint64_t *state, void *x);
    /** x_i := mpki_random_sign32(i) */
    void (*signs)(mpki_space *s, void *x);
    bool (*finite)(mpki_space *s, const void *x);
    /** Index of the first entry that is NaN or infinite; -1: there is none. */
    int64_t (*first_nonfinite)(mpki_space *s, const void *x);
    /** Largest |re| + |im|; infinity where there is a NaN. */
    double (*largest)(mpki_space *s, const void *x);
    /** Are all bits the same? */
    bool (*equal)(mpki_space *s, const void *x, const void *y);
    /** Gram-Schmidt of w against v[0] .. v[count-1], count > 0, in groups whose products are formed
     *  at once: w := w - sum h_i v_i, with h_i = v_i^H w, where w is what the groups before have
     *  left. NULL: the method does it one vector after the other, with the slots above.
     *  h [out] count; before [out] ||w||. Returns ||w|| after it */
    double (*project)(mpki_space *s, int32_t count, void *const *v, void *w, mpki_number *h,
                      double *before);
    /** y := x + sum c_k v_k of vectors that `make` gave one after the other, 0 < count; x NULL: 0.
     *  y is none of them. NULL: as with project */
    void (*combine)(mpki_space *s, int32_t count, void *const *v, const mpki_number *c,
                    const void *x, void *y);
    /** At most batch->steps iterations. NULL: the method does them one by one, with the slots
     *  above.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, or what an operator returned */
    mpk_status (*batch)(mpki_space *s, mpki_batch *batch);
    /** Most steps of a cycle of gmres that `batch` does; 0: none. */
    int32_t cycle_most;
    /** After batches of gmres or fgmres: the right-hand side, rotated, and the first `count`
     *  columns of R, each of cycle + 1 numbers, one after the other. */
    void (*columns)(mpki_space *s, int32_t count, mpki_number *out);
} mpki_vector_ops;

/** What the rows of a residual say of a solution (problem/measure.h). */
typedef struct mpki_judged {
    double x_norm, b_norm,
        r_norm;            /* largest moduli of x, b and r; infinite where one is not finite */
    double b_two, r_two;   /* 2-norms */
    double omega1, omega2; /* largest errors of rows of either kind */
    bool odd;              /* some row is near the ends of what numbers hold */
} mpki_judged;
/** Smaller moduli may have lost digits to underflow, larger ones are near overflow. */
static inline double mpki_nearly_zero(bool single) {
    return single ? 1e-30 : 1e-270;
}
static inline double mpki_nearly_infinite(bool single) {
    return single ? 1e37 : 1e300;
}

typedef struct mpki_vector_engine {
    /** A for products.
     *  full  [inout] A in both triangles, or 2^-exponent A; its arrays are the engine's afterwards
     *                or released, also where it fails, and *full is empty
     *  pool  [in] for products of the processor's; may be NULL
     *  limit [in] most bytes of device memory; 0: what the device has
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
    mpk_status (*matrix_make)(mpk_context *ctx, mpki_full *full, mpki_pool *pool, double limit,
                              mpki_matrix **m);
    /** A symmetric or Hermitian A for products, whose pattern the engine gets in both triangles and
     *  its values in one: it mirrors them itself. NULL: the engine has matrix_make alone.
     *  a     [in] the lower triangle by columns, rows ascending; only its pattern is read
     *  full  [in] its pattern in both triangles, which stays the caller's; only read here
     *  pool, limit, and what it returns: as matrix_make has them. It has no values yet */
    mpk_status (*matrix_of)(mpk_context *ctx, const mpk_problem_view *a, const mpki_full *full,
                            mpki_pool *pool, double limit, mpki_matrix **m);
    /** Its values, from those of the lower triangle: the first ones, or others.
     *  ax [in] as many as ai has in matrix_of, in that order; host memory; may be used at once when
     *          the slot returns
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE: it then has no values */
    mpk_status (*matrix_values)(mpki_matrix *m, mpki_pool *pool, double limit, const void *ax);
    /** What is computed with the values of such a matrix, where its entries are real; both with the
     *  bits of the processor's. sums, scale: n, host memory.
     *  row_sums    sums [out] of moduli, as mpki_row_sums() has them (problem/problem.h)
     *  equilibrate scale [inout] as mpki_equilibrate() has it (analysis/analysis.h)
     *  Return MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*row_sums)(mpki_matrix *m, double *sums);
    mpk_status (*equilibrate)(mpki_matrix *m, int sweeps, double *scale);
    void (*matrix_free)(mpk_context *ctx, mpki_matrix **m);
    /** Bytes of device memory that it takes. */
    int64_t (*matrix_bytes)(const mpki_matrix *m);
    /** y := A x, with A as the copy holds it; both in the order of the problem.
     *  Returns MPK_OK | MPK_ERR_DEVICE, and so do the next two */
    mpk_status (*multiply)(mpki_matrix *m, const void *x, void *y);
    /** r := b - A x as mpki_residual_fn has it; norm: ||A||_inf of the copy. */
    mpk_status (*residual)(mpki_matrix *m, double norm, const void *x, const void *b, double wanted,
                           void *r, double *error);
    /** r := b - A x and w := |A| |x| + |b| as mpki_residual() has them (problem/problem.h), and
     *  what they say of x, for real entries; all in host memory. NULL: that function is as good
     *  w        [out] NULL: not wanted
     *  row_norm [in]  sums of moduli of rows; NULL: `judged` is not wanted
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*measure)(mpki_matrix *m, const void *x, const void *b, void *r, double *w,
                          const double *row_norm, mpki_judged *judged);
    /** y := 2^exponent x; x == y is allowed. */
    mpk_status (*shift)(mpki_matrix *m, int exponent, const void *x, void *y);
    /** Diagonal matrices R and C and a permutation, to be applied as x_j := R_ii C_jj b_i, i =
     *  from_j. NULL: the engine's vectors lie in host memory, where anybody can do that.
     *  rows, columns [in] n: R, C; host memory, like from
     *  from [in] n; NULL: i = j
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*scales_make)(mpk_context *ctx, mpk_scalar scalar, int32_t n, const double *rows,
                              const double *columns, const int32_t *from, mpki_scaler **s);
    void (*scales_free)(mpk_context *ctx, mpki_scaler **s);
    /** with_rows, with_columns: false: that factor is I, and without R no row changes its place.
     *  b, x [in, out] in host memory or the device's; b == x is allowed
     *  Returns MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*scales_apply)(mpki_scaler *s, bool with_rows, bool with_columns, const void *b,
                               void *x);
    const mpki_vector_ops *ops[4]; /* by scalar: s d c z */
} mpki_vector_engine;

#endif
