/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_DENSE_H
#define METAPACK_DENSE_H
/** One dense symmetric indefinite matrix: P A P^T = L D L^T (or L T L^T) by a choice of methods, on
 *  the processor or on a device. Which method when, and what each one promises:
 *  docs/guide/dense.md. Example: examples/dense.c.
 *
 *  Matrices are column-major, entry (i, j) at a[i + j * lda]; one triangle is read, the other never
 *  touched. Matrices, factors and work space lie in the caller's memory, all on the host or all on
 *  the device (dense->memory); mpk_dense_query() says how much there must be. Structs lie on the
 *  host. A call works with dense->threads worker threads, or in the device's stream, and
 *  gives the same bits for any number of threads. */
#include <metapack/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the matrix is factored. */
typedef enum mpk_dense_method {
    MPK_DENSE_AUTO = 0, /**< sysv: the cheapest one whose backward error passes.
                             factorize: the tile method */
    MPK_DENSE_TILE = 1, /**< pivots inside tiles, |L| <= 1/u tested afterwards, what fails is
                             delayed to a second stage */
    MPK_DENSE_BUNCH_KAUFMAN = 2, /**< partial pivoting; pivots and factors as LAPACK's xSYTRF */
    MPK_DENSE_ROOK = 3,          /**< bounded Bunch-Kaufman; as LAPACK's xSYTRF_ROOK */
    MPK_DENSE_AASEN = 4,         /**< communication-avoiding Aasen: L T L^T, T a band */
    MPK_DENSE_BUTTERFLY = 5,     /**< U^T A U by random butterflies U, then without pivoting */
    MPK_DENSE_NONE = 6,          /**< 1x1 pivots in the order given; only a column whose pivot is
                                      exactly zero waits for others of its block */
    MPK_DENSE_COUNT = 7
} mpk_dense_method;

/** The arithmetic of the factorization; with less than the matrix has, solutions are refined. */
typedef enum mpk_dense_precision {
    MPK_DENSE_WORKING = 0, /**< that of the matrix */
    MPK_DENSE_SINGLE = 1,  /**< single, for a matrix in double */
    MPK_DENSE_TF32 = 2,    /**< products in TF32, sums and factors in single; devices only */
    MPK_DENSE_HALF = 3     /**< products in half, scaled, the rest in single; devices only */
} mpk_dense_precision;

/** How a solution is refined. */
typedef enum mpk_dense_refinement {
    MPK_DENSE_REFINE_AUTO = 0,    /**< classical; GMRES where that converges too slowly */
    MPK_DENSE_REFINE_CLASSIC = 1, /**< x += (LDL^T)^-1 (b - A x) */
    MPK_DENSE_REFINE_GMRES = 2    /**< the correction by GMRES, the factors as preconditioner */
} mpk_dense_refinement;

/** What a call is about. mpk_dense_init() first; later versions add fields at the end. */
typedef struct mpk_dense {
    size_t struct_size;
    mpk_scalar scalar;
    mpk_symmetry symmetry; /**< Hermitian: complex entries only; imaginary parts of the diagonal are
                                taken as zero */
    mpk_triangle uplo;     /**< MPK_LOWER or MPK_UPPER. Upper: P A P^T = U D U^T, as in LAPACK */
    int64_t n;             /**< order, 0 .. INT32_MAX - 8 */
    mpk_memory memory;     /**< where a, f, pivots, extra, b, x and work lie */
    int device;            /**< number of the device, for MPK_DEVICE */
    void *stream;          /**< MPK_DEVICE: the caller's stream (a cudaStream_t), NULL: the default.
                                A call returns when its results are complete */
    mpk_dense_method method;
    mpk_dense_precision precision; /**< method auto of sysv: single is tried first, whatever n is */
    double pivot_threshold; /**< u in (0, 0.5]: |L| <= 1/u of the tile method. Default 0.01 */
    double zero_tolerance;  /**< a pivot column with no entry above this times max |A| is a zero
                                 pivot; < 0 (default): n eps */
    int tile;     /**< width of tiles, panels or the band, 32 .. 256; 0 (default): chosen */
    int depth;    /**< of the butterflies: 1 or 2 (default) */
    int64_t seed; /**< of the butterflies. Default 1 */
    int refine;   /**< most steps of refinement in a solve. Default 10; 0: none */
    mpk_dense_refinement refinement;
    double accuracy;      /**< componentwise backward error aimed at; < 0 (default): n^(1/2) eps of
                               the working precision, at least 4 eps */
    mpk_switch condition; /**< on: estimate ||A||_1 ||A^-1||_1 in a solve or sysv. Default off */
    int threads;          /**< 0 (default): OMP_NUM_THREADS, else all cores of the process */
} mpk_dense;

/** Fill with defaults: double, lower, host, n = 0, method auto. */
MPK_API void mpk_dense_init(mpk_dense *dense);

/** What the caller has to provide. */
typedef struct mpk_dense_sizes {
    int64_t factor_bytes; /**< of f with ldf = n: n^2 entries of the factor's scalar */
    int64_t pivots;       /**< int32 entries of pivots */
    int64_t extra_bytes;  /**< of extra: what a method keeps beside L (T, butterflies); may be 0 */
    int64_t factorize_bytes; /**< work of mpk_dense_factorize() */
    int64_t solve_bytes;     /**< work of mpk_dense_solve(), refinement and condition included */
    int64_t sysv_bytes;      /**< work of mpk_dense_sysv() and mpk_dense_inertia() */
} mpk_dense_sizes;

/** Sizes for `dense` and nrhs right-hand sides; method auto: enough for every step of the ladder.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT
 *          | MPK_ERR_SIZE: n is too large | MPK_ERR_DEVICE: no such device
 *          | MPK_ERR_UNSUPPORTED: a method or precision that the host or device does not have. */
MPK_API mpk_status mpk_dense_query(mpk_context *ctx, const mpk_dense *dense, int32_t nrhs,
                                   mpk_dense_sizes *sizes);

/** A factorization: memory of the caller's, and what a call left in it. extra is aligned to 64
 *  bytes, f and pivots as their entries. Only the memory that factors were made in can read them,
 *  host or device. */
typedef struct mpk_dense_factor {
    size_t struct_size;
    void *f;                       /**< n x n: L and D in the triangle of dense->uplo; entries in
                                        single where precision is not working. f == a: in place */
    int64_t ldf;                   /**< >= max(1, n) */
    int32_t *pivots;               /**< sizes.pivots; see below */
    void *extra;                   /**< sizes.extra_bytes; may be NULL where that is 0 */
    mpk_dense_method method;       /**< [out] what was used; never auto */
    mpk_dense_precision precision; /**< [out] */
    int64_t n;                     /**< [out] */
    double scale;                  /**< [out] f holds the factors of scale A: a power of two, 1 in
                                        working precision but for entries near the ends of the
                                        range (host, not in place) */
    mpk_inertia inertia;           /**< [out] as in mpk_dense_info */
} mpk_dense_factor;

/*  Pivots. Bunch-Kaufman, rook: LAPACK's ipiv, 1-based, negative in 2x2 pivots; D(k+1,k) of a 2x2
 *  pivot lies at (k+1,k), where L has a zero; xSYTRS and xSYTRS_ROOK read these factors.
 *  Tile, none, butterfly: pivots[k] = p, the old index (0-based) of the row now at k, or ~p in both
 *  rows of a 2x2 pivot; L is in its final order, D(k+1,k) at (k+1,k). With MPK_UPPER the matrix is
 *  reversed, its lower triangle factored, and the factors reversed again: U unit upper, D(k-1,k) of
 *  a 2x2 pivot at (k-1,k).
 *  Aasen: pivots[k] = the old index; how L and T are stored: docs/design/dense.md. */

enum { MPK_DENSE_ATTEMPTS = 8 }; /**< most steps of the ladder */

/** One step of the ladder. */
typedef struct mpk_dense_attempt {
    mpk_dense_method method;
    mpk_dense_precision precision;
    mpk_status status;    /**< MPK_OK: accurate enough; MPK_INACCURATE; or why it failed */
    double componentwise; /**< backward error reached; infinite where there are no factors */
    double time_s;
} mpk_dense_attempt;

/** What a call did. */
typedef struct mpk_dense_info {
    mpk_dense_method method; /**< that gave the result */
    mpk_dense_precision precision;
    const char *engine; /**< what computed: "cpu-avx512", ... Static */
    int32_t fallbacks;  /**< methods that were tried before that one and failed */
    int32_t attempts;   /**< entries of attempt */
    mpk_dense_attempt attempt[MPK_DENSE_ATTEMPTS];
    mpk_inertia inertia; /**< of f; after Aasen only `zero`: see mpk_dense_inertia(). Examined
                              where a solution was in doubt, or rungs of the ladder disagreed */
    int64_t two_by_two;  /**< 2x2 pivots */
    int64_t delayed;     /**< columns delayed to the second stage (tile) */
    int64_t zero_pivots;
    double growth;      /**< max |D| / max |A| */
    double max_l;       /**< max |L| off the diagonal; 0: not computed (tile: it is at most 1/u) */
    int32_t iterations; /**< steps of refinement, the most of all right-hand sides */
    int32_t gmres;      /**< steps of GMRES in all */
    double unrefined;   /**< componentwise, before refinement */
    double componentwise; /**< backward error max_i |b - A x|_i / (|A| |x| + |b|)_i, 0/0 = 0, of the
                               worst right-hand side; 0 where a was not given */
    double normwise;      /**< likewise ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf) */
    double condition;     /**< estimate; 0: not asked for */
    double factorize_s, solve_s, refine_s;
    int solved;          /**< as in mpk_solve_info; 0 where a was not given */
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_dense_info;

/** Factorize.
 *  a    [in]    n x n, lda >= max(1, n): the triangle dense->uplo. Not written unless it is f->f
 *  f    [inout] memory given, result described. f->f == a with ldf == lda: in place, in working
 *               precision only; any other overlap of a, f, pivots, extra, work is MPK_ERR_ARGUMENT
 *  work [inout] work_bytes >= sizes.factorize_bytes, aligned to 64 bytes; NULL: allocated for the
 *               length of the call
 *  Returns MPK_OK
 *          | MPK_SINGULAR: zero pivots; the factors solve consistent systems
 *          | MPK_ERR_ARGUMENT, _SIZE, _MEMORY, _DEVICE, _UNSUPPORTED: nothing was written
 *          | MPK_ERR_INPUT: NaN or Inf in the triangle; nothing was written
 *          | MPK_ERR_NUMERIC: overflow, or a zero pivot without pivoting; f is undefined, and in
 *            place so is a. MPK_ERR_CANCELLED: likewise. MPK_ERR_DEVICE, too, can come after f was
 *            written, if a kernel fails.
 */
MPK_API mpk_status mpk_dense_factorize(mpk_context *ctx, const mpk_dense *dense, const void *a,
                                       int64_t lda, mpk_dense_factor *f, void *work,
                                       int64_t work_bytes, mpk_dense_info *info);

/** Solve A X = B with a factorization.
 *  a    [in]    the matrix, for refinement and errors; NULL: neither. Not f->f
 *  b    [in]    n x nrhs, finite
 *  x    [out]   n x nrhs; x == b with ldx == ldb is allowed, any other overlap is not
 *  work [inout] work_bytes >= sizes.solve_bytes for nrhs; NULL as above
 *  Returns MPK_OK | MPK_SINGULAR
 *          | MPK_INACCURATE: a was given, and dense->accuracy was not reached, or b is so small
 *            beside A x that a small backward error says nothing (docs/guide/dense.md)
 *          | MPK_ERR_ARGUMENT, _SIZE, _MEMORY, _DEVICE, _UNSUPPORTED | _INPUT: NaN or Inf in a or
 *            b | _NUMERIC, _CANCELLED: x is undefined. */
MPK_API mpk_status mpk_dense_solve(mpk_context *ctx, const mpk_dense *dense, const void *a,
                                   int64_t lda, const mpk_dense_factor *f, int32_t nrhs,
                                   const void *b, int64_t ldb, void *x, int64_t ldx, void *work,
                                   int64_t work_bytes, mpk_dense_info *info);

/** Factorize and solve; with method auto up the ladder until dense->accuracy is reached. x == b is
 *  then not allowed. f->f == a: in place, and then there is no second attempt and no refinement.
 *  work: sizes.sysv_bytes. Else as the two above. */
MPK_API mpk_status mpk_dense_sysv(mpk_context *ctx, const mpk_dense *dense, const void *a,
                                  int64_t lda, mpk_dense_factor *f, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx, void *work, int64_t work_bytes,
                                  mpk_dense_info *info);

/** Inertia from the factors alone. Aasen: T is factored, block by block. What mpk_dense_certify()
 *  left in f is told as well. work: sizes.sysv_bytes.
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE, _UNSUPPORTED. */
MPK_API mpk_status mpk_dense_inertia(mpk_context *ctx, const mpk_dense *dense,
                                     const mpk_dense_factor *f, void *work, int64_t work_bytes,
                                     mpk_inertia *inertia);

/** Is that inertia A's? A factorization does not know; as mpk_certify() of a sparse factor, by at
 *  most 16 products with A and as many solves. Factors of any method and precision; never certified
 *  with zero pivots.
 *  a    [in]    the matrix that was factored, which is needed once more: not f->f
 *  f    [inout] its inertia: examined and certified are set
 *  work [inout] work_bytes >= sizes.sysv_bytes; NULL: allocated for the length of the call
 *  out  [out]   may be NULL
 *  Returns MPK_OK, certified or not | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE, _UNSUPPORTED, _INPUT:
 *          not examined. */
MPK_API mpk_status mpk_dense_certify(mpk_context *ctx, const mpk_dense *dense, const void *a,
                                     int64_t lda, mpk_dense_factor *f, void *work,
                                     int64_t work_bytes, mpk_certificate *out);

/** "auto", "tile", "bunch-kaufman", ...; "working", "single", "tf32", "half"; "unknown" for what is
 *  none. Static; from any thread. */
MPK_API const char *mpk_dense_method_name(mpk_dense_method method);
MPK_API const char *mpk_dense_precision_name(mpk_dense_precision precision);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_dense_init_sized(size_t size, mpk_dense *dense);
MPK_API mpk_status mpk_dense_query_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                         int32_t nrhs, mpk_dense_sizes *sizes);
MPK_API mpk_status mpk_dense_factorize_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                             const void *a, int64_t lda, mpk_dense_factor *f,
                                             void *work, int64_t work_bytes, mpk_dense_info *info);
MPK_API mpk_status mpk_dense_solve_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                         const void *a, int64_t lda, const mpk_dense_factor *f,
                                         int32_t nrhs, const void *b, int64_t ldb, void *x,
                                         int64_t ldx, void *work, int64_t work_bytes,
                                         mpk_dense_info *info);
MPK_API mpk_status mpk_dense_sysv_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                        const void *a, int64_t lda, mpk_dense_factor *f,
                                        int32_t nrhs, const void *b, int64_t ldb, void *x,
                                        int64_t ldx, void *work, int64_t work_bytes,
                                        mpk_dense_info *info);
#ifndef MPKI_LIBRARY
#define mpk_dense_init(...) mpk_dense_init_sized(sizeof(mpk_dense), __VA_ARGS__)
#define mpk_dense_query(...) mpk_dense_query_sized(sizeof(mpk_dense_sizes), __VA_ARGS__)
#define mpk_dense_factorize(...) mpk_dense_factorize_sized(sizeof(mpk_dense_info), __VA_ARGS__)
#define mpk_dense_solve(...) mpk_dense_solve_sized(sizeof(mpk_dense_info), __VA_ARGS__)
#define mpk_dense_sysv(...) mpk_dense_sysv_sized(sizeof(mpk_dense_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
