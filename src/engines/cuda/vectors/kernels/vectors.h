/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_VECTORS_H
#define MPKI_CUDA_VECTORS_VECTORS_H
/** The vectors of Krylov methods on the device: what libmetapack asks of its CUDA module. Plain C.
 *  Vectors lie in device memory, aligned to 16 bytes; arguments have been checked. What kernels do
 *  is queued in the space's stream; a function that gives numbers back waits for them. */
#include "engines/cuda/module/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of a cycle of gmres, in device memory; numbers are pairs: real and imaginary part. */
typedef struct mpki_cuda_cycle {
    int32_t m;    /**< steps of a cycle; 0: there is no room yet */
    double *g;    /**< m + 1 numbers: the right-hand side, rotated; h follows it */
    double *h;    /**< m columns of m + 1 numbers: R */
    double *sine; /**< m numbers; and `cosine`: m doubles */
    double *cosine;
    double *c;       /**< m + 1 numbers: products of a pass of Gram-Schmidt */
    double *partial; /**< their sums by block */
} mpki_cuda_cycle;

/** What the kernels of one run share. */
typedef struct mpki_cuda_space {
    mpk_scalar scalar;
    int32_t n;
    void *stream;                  /**< cudaStream_t */
    void *memory;                  /**< device: all that follows, and the vectors */
    double *h;                     /**< device: as the report has it */
    double *partial;               /**< device: sums of each block, until the last one adds them */
    unsigned *ticket;              /**< device: blocks that are done; 0 between kernels */
    struct mpki_cuda_state *state; /**< device: scalars of a method in batches (steps.cuh) */
    struct mpki_cuda_vectors_report *report; /**< page-locked: what the host reads */
    void *graph;                             /**< cudaGraphExec_t of a whole batch, or NULL */
    mpki_cuda_cycle cycle;                   /**< memory of its own, at cycle.g */
} mpki_cuda_space;

/** A run of entries of A that one thread block multiplies: whole rows, or a piece of one long row,
 *  whose sum the block that is last with it adds up in order. */
typedef struct mpki_cuda_chunk {
    int64_t first;         /**< entry */
    int32_t count;         /**< entries */
    int32_t row, rows;     /**< rows 0: a piece of `row` */
    int32_t slot, pieces;  /**< of a piece: where its sum goes; how many the row has */
    int32_t number, which; /**< of the piece in its row; of the long row */
} mpki_cuda_chunk;

/** Most entries and rows of a chunk. */
#define MPKI_CUDA_CHUNK(scalar) ((scalar) == MPK_Z ? 1024 : 2048)
enum { MPKI_CUDA_CHUNK_ROWS = 1024 };
/** Thread blocks of a product that a multiprocessor has at work at once; of 132 of them. */
#define MPKI_CUDA_PRODUCT_RESIDENT(size) ((size) == 16 ? 3 : 4)
#define MPKI_CUDA_PRODUCT_BLOCKS(size) (132 * MPKI_CUDA_PRODUCT_RESIDENT(size))

/** A in both triangles, by rows. */
typedef struct mpki_cuda_rows {
    int32_t n, chunks, split; /**< split: long rows, cut into pieces */
    const int64_t *ptr;       /**< n + 1 */
    const int32_t *col;       /**< and val: ptr[n] entries */
    const void *val;
    const mpki_cuda_chunk *chunk;
    double *piece; /**< pieces x 5: sums of pieces */
    /** 2 split: pieces of each long row that are done, 0 between kernels; the slots of their
     *  first pieces */
    unsigned *done;
} mpki_cuda_rows;

/** Iterations of a method without the host: steps at a time. */
enum { MPKI_CUDA_STEPS = 32 }; /**< most of a batch */
/** Kernels of an iteration, in this order. */
typedef enum mpki_cuda_part {
    MPKI_CUDA_SQMR_DIRECTION,   /**< q := u + beta q; then t := A q */
    MPKI_CUDA_SQMR_ALPHA,       /**< alpha, from q^T t */
    MPKI_CUDA_SQMR_RESIDUAL,    /**< r -= alpha t and its norm; then u := M^-1 r */
    MPKI_CUDA_SQMR_ITERATE,     /**< d, x, s and the norm of s; beta, from r^T u */
    MPKI_CUDA_CG_BETA,          /**< after z := M^-1 r: beta, from r^H z */
    MPKI_CUDA_CG_DIRECTION,     /**< q := z + beta q; then t := A q */
    MPKI_CUDA_CG_ALPHA,         /**< alpha, from q^H t */
    MPKI_CUDA_CG_ITERATE,       /**< x, r and its norm */
    MPKI_CUDA_MINRES_DIRECTION, /**< v := u / beta; then y := A v */
    MPKI_CUDA_MINRES_ALPHA,     /**< y -= beta / oldb r1; alfa = v^H y */
    MPKI_CUDA_MINRES_LANCZOS,   /**< r1, r2; then u := M^-1 r2 */
    MPKI_CUDA_MINRES_BETA,      /**< beta and the rotation */
    MPKI_CUDA_MINRES_ITERATE,   /**< w1, w2, x, r and its norm */
    MPKI_CUDA_BICG_DIRECTION,   /**< p; then z := M^-1 p, v := A z */
    MPKI_CUDA_BICG_ALPHA,       /**< alpha, from the shadow's with v */
    MPKI_CUDA_BICG_HALF,        /**< x, r; then zs := M^-1 r, t := A zs */
    MPKI_CUDA_BICG_OMEGA,       /**< omega, from t^H r */
    MPKI_CUDA_BICG_ITERATE,     /**< x, r and its norm; rho and beta */
    MPKI_CUDA_CYCLE_PRODUCT,    /**< gmres: after z := M^-1 p, t := A z */
    MPKI_CUDA_CYCLE_PROJECT,    /**< the basis, a column of R, the residual */
    MPKI_CUDA_CYCLE_REPORT      /**< the batch reports */
} mpki_cuda_part;

/** How a batch ended; mpki_batch_end in engines/interface/engine.h has the same numbers. */
enum {
    MPKI_CUDA_GO = 0,
    MPKI_CUDA_REACHED,  /**< the recurred residual is at most the target */
    MPKI_CUDA_A_BAD,    /**< the product with A is not finite */
    MPKI_CUDA_M_BAD,    /**< so M^-1 */
    MPKI_CUDA_OVERFLOW, /**< a coefficient or a norm */
    MPKI_CUDA_A_VANISHES,
    MPKI_CUDA_M_VANISHES,
    MPKI_CUDA_A_UNFIT,
    MPKI_CUDA_M_UNFIT,
    MPKI_CUDA_SECOND_A_BAD,
    MPKI_CUDA_SECOND_M_BAD,
    MPKI_CUDA_OMEGA,
    MPKI_CUDA_HALF,
    MPKI_CUDA_INVARIANT
};

/** Scalars of a method between two kernels: in device memory. */
typedef struct mpki_cuda_state {
    double rho[2], tau, theta;
    double alpha[2], beta[2], c2, before; /**< before: theta of the step before */
    double sign;                          /**< cg: of q^H A q; 0: not known */
    double b_norm, target;
    double a_norm; /**< largest ||A q|| / ||q|| */
    /* minres, with names of its file; alfa and beta are alpha[0] and beta[0] */
    double oldb, dbar, epsln, phibar, cs, sn;
    double gamma, delta, oldeps, phi, r2_of_r; /**< of the step: r := r2_of_r r2 + sn^2 r */
    int32_t whole, unfit;                      /**< of the step: it is the last one */
    double omega[2];                           /**< bicgstab */
    /* gmres; beta is what is left of the right-hand side */
    int32_t column, phase; /**< of the step; its phase (arnoldi.cuh) */
    double square, factor; /**< ||w||^2 before Gram-Schmidt; 1 / ||w|| after it */
    int32_t end, steps;
    double recurred[MPKI_CUDA_STEPS], quasi[MPKI_CUDA_STEPS];
} mpki_cuda_state;

/** Most vectors that one call of `project` or `combine` takes; a cycle in batches has fewer
 *  steps. */
enum { MPKI_CUDA_BASIS = 256 };

/** Page-locked. */
typedef struct mpki_cuda_vectors_report {
    double sequence; /**< written last: the number that `next` has */
    double sums[8];  /**< of a reduction */
    mpki_cuda_state state;
    /* from the host to the device, for a batch */
    double next, target;
    double h[2 * MPKI_CUDA_BASIS]; /**< of `project` */
    double square;                 /**< likewise: of w before it */
} mpki_cuda_vectors_report;

/** Vectors of a method in batches. */
typedef struct mpki_cuda_batch_vectors {
    const void *u;               /**< M^-1 r, or r */
    void *q, *t, *r, *d, *s, *x; /**< d, s: sqmr */
    void *r1, *r2, *w1, *w2;     /**< minres, whose v and y are q and t */
    const void *m_of;            /**< what M^-1 is applied to: r, or r2 */
    const void *shadow, *u2;     /**< bicgstab: its p, z, v are q, u, t; u2 is M^-1 of its s */
    void *t2;                    /**< and A u2 */
    void *basis, *kept; /**< gmres, whose p, z, w are q, u, t; kept NULL, or fgmres: all z */
    int64_t stride;     /**< entries from one vector of either to the next */
    int hermitian;
} mpki_cuda_batch_vectors;

/** Rows of a residual r = b - A x, of which `judge` says how good x is: as
 *  problem/measure_t.c. Device memory, n each. */
typedef struct mpki_cuda_judging {
    const void *b, *r;
    const double *w, *row_norm; /**< |A| |x| + |b|; sums of |A| */
    double x_norm;
    double tiny;         /**< of row_norm x_norm + |b|: what w must exceed */
    double small, large; /**< numbers beyond these are near the ends of the range */
} mpki_cuda_judging;

/** For one kind of entries. Numbers are real and imaginary part. */
typedef struct mpki_cuda_vector_kernels {
    /** sum x_i y_i, sums of squares of both: re, im, xx, yy */
    int (*product)(mpki_cuda *cuda, mpki_cuda_space *s, int hermitian, const void *x, const void *y,
                   double sums[4]);
    /** y := a x + b y; b = 0 does not read y. square NULL, or [out] the sum of squares of y */
    int (*axpby)(mpki_cuda *cuda, mpki_cuda_space *s, const double a[2], const void *x,
                 const double b[2], void *y, double *square);
    int (*zero)(mpki_cuda *cuda, mpki_cuda_space *s, void *x);
    int (*signs)(mpki_cuda *cuda, mpki_cuda_space *s, void *x);
    int (*random)(mpki_cuda *cuda, mpki_cuda_space *s, uint64_t state, void *x);
    /** *bad: 0, or NaN where an entry is not finite */
    int (*finite)(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, double *bad);
    int (*largest)(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, double *most);
    /** *count: entries that differ */
    int (*differ)(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, const void *y, double *count);
    /** y := 2^exponent x */
    int (*shift)(mpki_cuda *cuda, mpki_cuda_space *s, int exponent, const void *x, void *y);
    /** ||x||_2 and ||y||_2 at any size that is not tiny */
    int (*norms)(mpki_cuda *cuda, mpki_cuda_space *s, const void *x, const void *y,
                 double norms[2]);
    /** x_j := rows_i columns_j b_i, i = from_j (NULL: j); rows, columns may be NULL: 1. Not in
     *  place unless from is NULL */
    int (*scales)(mpki_cuda *cuda, mpki_cuda_space *s, const double *rows, const double *columns,
                  const int32_t *from, const void *b, void *x);
    /** y := A x, or b - A x where b is not NULL; b may be y */
    int (*multiply)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const void *x,
                    const void *b, void *y);
    /** r := b - A x with sums in twice the precision of double; w NULL, or := |A| |x| + |b|, within
     *  a factor sqrt(2) where complex; norms: of both */
    int (*residual)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const void *x,
                    const void *b, void *r, double *w, double norms[2]);
    /** One kernel of an iteration. last: of a batch, so it reports */
    int (*step)(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_part part,
                const mpki_cuda_batch_vectors *v, int last);
    /** t := A q and MPKI_CUDA_SQMR_ALPHA or _CG_ALPHA in one pass */
    int (*multiply_step)(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_part part,
                         const mpki_cuda_rows *a, const mpki_cuda_batch_vectors *v);
    /** Values of a->val from ax, those of the lower triangle by columns (ap, ai: rows
     *  ascending). */
    int (*mirror)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const int64_t *ap,
                  const int32_t *ai, int hermitian, const void *ax);
    /** Of such a matrix with real entries; sums, largest, scale: n, in device memory. */
    int (*row_sums)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const int64_t *ap,
                    double *sums);
    /** largest[i] := the largest |scale_i a_ij scale_j|; *uneven: how many are not near 1 */
    int (*maxima)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_rows *a, const double *scale,
                  double *largest, double *uneven);
    /** scale_i /= sqrt(largest_i), where that is not 0 */
    int (*rescale)(mpki_cuda *cuda, mpki_cuda_space *s, const double *largest, double *scale);
    /** h_i := v_i^H w, w -= sum h_i v_i, in groups, 0 < count <= MPKI_CUDA_BASIS; h: real and
     *  imaginary part of each; squares [out] of ||w|| before and after */
    int (*project)(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, void *const *v, void *w,
                   double *h, double squares[2]);
    /** y := x - sum c_k v_k, 0 < count <= MPKI_CUDA_BASIS, v_k `stride` entries apart; x NULL: 0.
     *  c: real and imaginary part of each, host memory */
    int (*combine)(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, const void *v,
                   int64_t stride, const double *c, const void *x, void *y);
    /** Of real entries: the largest |r|, omega_1, omega_2, and not 0 where a row is near the
     *  ends. */
    int (*judge)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_judging *rows,
                 double most[4]);
} mpki_cuda_vector_kernels;

typedef struct mpki_cuda_vectors_table {
    /** Bytes of device memory that `make` takes. */
    int64_t (*bytes)(mpk_scalar scalar, int32_t n, int64_t count);
    /** stream NULL: the engines' own. s->scalar and s->n are set; v [out] count vectors. */
    int (*make)(mpki_cuda *cuda, mpki_cuda_space *s, int64_t count, void *stream, void **v);
    void (*free)(mpki_cuda *cuda, mpki_cuda_space *s);
    /** n entries from anywhere to anywhere; wait: till it is done. */
    int (*copy)(mpki_cuda *cuda, mpki_cuda_space *s, const void *from, void *to, int wait);
    /** What was queued is done. */
    int (*wait)(mpki_cuda *cuda, mpki_cuda_space *s);
    /** The state of a method, before its first batch. */
    int (*set)(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_state *state);
    /** Before a batch: the residual that it is to stop at. begin: the first of its kernels. end:
     *  all are queued; *state is the batch's end. */
    void (*aim)(mpki_cuda *cuda, mpki_cuda_space *s, double target);
    int (*begin)(mpki_cuda *cuda, mpki_cuda_space *s);
    int (*end)(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_state *state);
    /** Seconds from mark k to mark k + 1, both passed; 0 <= k < 4. */
    int (*mark)(mpki_cuda *cuda, mpki_cuda_space *s, int k);
    int (*between)(mpki_cuda *cuda, int k, double *time_s);
    /** What is queued between these becomes s->graph; a failure leaves the stream as it was, and
     *  nothing is recorded as an error. */
    int (*capture)(mpki_cuda *cuda, mpki_cuda_space *s);
    int (*captured)(mpki_cuda *cuda, mpki_cuda_space *s, int keep);
    int (*replay)(mpki_cuda *cuda, mpki_cuda_space *s);
    /** Memory for cycles of m steps, 0 < m < MPKI_CUDA_BASIS, unless it is there; its bytes of
     *  device memory. */
    int64_t (*cycle_bytes)(const mpki_cuda_space *s, int32_t m);
    int (*cycle)(mpki_cuda *cuda, mpki_cuda_space *s, int32_t m);
    /** g and the first `count` columns of R, one after the other, as mpki_cuda_cycle has them. */
    int (*columns)(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, double *out);
    const mpki_cuda_vector_kernels *kernels[4]; /**< s d c z */
} mpki_cuda_vectors_table;

extern const mpki_cuda_vectors_table mpki_cuda_vectors_functions;
extern const mpki_cuda_vector_kernels mpki_s_cuda_vectors, mpki_d_cuda_vectors, mpki_c_cuda_vectors,
    mpki_z_cuda_vectors;

#ifdef __cplusplus
}
#endif
#endif
