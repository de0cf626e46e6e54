/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_FACTOR_H
#define METAPACK_FACTOR_H
/** The factor: L, D and scaling, from the values of A. Methods and sources:
 *  docs/design/factorization.md, docs/guide/numerics.md (tolerances, verdicts),
 *  docs/design/meta-algorithm.md (methods on blocks). */
#include <metapack/analysis.h>
#include <metapack/block.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of the rank. A zero pivot is a column of which nothing is above zero_tolerance
 *  when its turn comes. That alone does not show that A is singular; a vector v with A v = 0 up to
 *  rounding does. docs/guide/numerics.md */
typedef enum mpk_rank {
    MPK_RANK_FULL = 0,       /**< no zero pivot. A may be singular for all that: only a certificate
                                  (mpk_certify) says more */
    MPK_RANK_STRUCTURAL = 1, /**< singular whatever the values: the matching found fewer than n */
    MPK_RANK_NUMERICAL = 2,  /**< singular: such a vector was found */
    MPK_RANK_UNDECIDED = 3   /**< zero pivots, no such vector found with the work that a verdict
                                  may cost: half of a factorization, twice one for the first
                                  numbers. With zero_tolerance set there is no such limit. Also
                                  where pivots were zero by an analysis of other values alone,
                                  and solves do not rule out such a vector */
} mpk_rank;

/** Why a direct factor of a matrix in double is not in single precision although options.precision
 *  asks for it, or not in low rank although options.low_rank_tolerance does. docs/guide/direct.md */
typedef enum mpk_unfit {
    MPK_FIT = 0,             /**< it is, or nobody asked */
    MPK_UNFIT_PIVOTS = 1,    /**< zero or replaced pivots */
    MPK_UNFIT_RANGE = 2,     /**< entries, or the factor's, were too large for single precision */
    MPK_UNFIT_GROWTH = 3,    /**< pivots became too large */
    MPK_UNFIT_CONDITION = 4, /**< steps of refinement of a trial system did not become rounding */
    MPK_UNFIT_PATTERN = 5,   /**< A is structurally singular: not tried */
    MPK_UNFIT_BEFORE = 6     /**< older values of this factor did not do: not tried */
} mpk_unfit;

/** What a factorization did. Methods on blocks count frames where this says columns (rejected), and
 *  rows of the largest block where it says front; mpk_block_info has more. */
typedef struct mpk_factor_info {
    mpk_inertia inertia;
    int64_t nnz;        /**< entries of L with its unit diagonal */
    double flops;       /**< of the factorization, delayed pivots included */
    int64_t bytes;      /**< held by the factor when this is asked: what solves have left for later
                             ones counts (vectors of a kernel; on a GPU their room), values not */
    int64_t peak_bytes; /**< most memory held during the factorization, the factor included */
    int64_t rejected;   /**< columns delayed to their parent, each as often as it was delayed */
    int32_t stages;     /**< 1; more when outer pivoting re-matched and re-ordered */
    int64_t two_by_two; /**< 2x2 pivots */
    int64_t perturbed;  /**< pivots changed by the static shift */
    double growth;      /**< max |D| / max |A|, both scaled */
    double min_pivot;   /**< smallest absolute eigenvalue of a nonzero block of D, scaled matrix */
    int32_t max_front;  /**< rows of the largest front, delayed columns included */
    int32_t threads;    /**< at work; may be fewer than options.threads */
    double time_s;
    mpk_rank rank;     /**< of A; methods on blocks: always 0, as their pivots say nothing of A */
    double rank_bound; /**< numerical, undecided: the least eta found for which (A + E) v = 0 with
                            |E| <= eta |A|, in any scaling; structural: 0, or the backward error of
                            a known solution that shows that A has more rank than its factor */
    int again; /**< 1: factorized a second time, with another scaling or bound for zero pivots, and
                    that was better; the next values begin with it */
    mpk_asymmetry
        asymmetry; /**< of the values: S, the mean of both triangles, is what was factorized */
    mpk_precision precision;   /**< single: the factor is stored so although A is in double */
    mpk_unfit unfit;           /**< direct: single or low rank was asked for, and this is why not */
    int64_t kept_bytes;        /**< of `bytes`: what options.updates keeps for the next values */
    int64_t untouched;         /**< fronts that kept their numbers, since no value of theirs, or of
                                  those below them, changed; options.updates */
    double redone;             /**< share of `flops` that was computed: 1, or less with untouched
                                  fronts; 0: a method on blocks */
    double low_rank_tolerance; /**< direct: blocks of L are in low rank, to this; 0: none are */
    int64_t low_rank_nnz;      /**< direct: numbers of L that are held; nnz, if no block is so */
    double low_rank_flops;     /**< direct: of the factorization with such blocks, their compression
                                    included; `flops`, if there are none */
    int64_t emulated;          /**< direct, on a GPU: large fronts that were updated by emulated
                                    doubles; options.fp64_emulation */
} mpk_factor_info;

/** Factorize: P S A S P^T + E = L D L^T (L D L^H when Hermitian), L unit lower triangular, D block
 *  diagonal (1x1, 2x2), S diagonal scaling, E static shifts (0 unless asked for). Incomplete
 *  methods drop entries of L; factor_type has other forms. Of an MPK_GENERAL matrix
 *  P R Q A C P'^T = L U, with scalings R and C, the rows Q that its matching brings to the
 *  diagonal, and rows exchanged in each front (docs/guide/general.md); on blocks
 *  P R Q A C P^T = L D U. Where A is structurally singular,
 *  rows and columns that depend on the others whatever their values are replaced by zero, and give
 *  zero pivots.
 *  an      [in]    borrowed: must outlive *fac; may be of another context
 *  ax      [in]    one value for each entry that the problem was made from, in the order in which
 *                  they were given; they are summed, mirrored and checked as then. NULL: the values
 *                  of the problem as it was analysed
 *  options [in]    its method is ignored: that of the analysis counts
 *  fac     [inout] *fac == NULL: created; else refactorized in place: of the same analysis, made
 *                  with the same context
 *  Returns MPK_OK | MPK_SINGULAR, MPK_PERTURBED: *fac is usable, see the info
 *          | MPK_ERR_ARGUMENT, _INPUT: as mpk_problem_from_csc(); *fac is as it was
 *          | MPK_ERR_MEMORY, _NUMERIC (overflow, or LLT: a pivot that is not positive), _CANCELLED:
 *            a new *fac stays NULL, an old one holds no factorization any more
 *          | MPK_ERR_UNSUPPORTED: likewise; precision = single or a low_rank_tolerance with method
 *            ldlt on a device, or of an interior (metapack/schur.h); fp64_emulation = on without a
 *            device, or of a matrix that is not real and in double
 *  Threads: options.threads. Example: examples/refactor.c */
MPK_API mpk_status mpk_factorize(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                 const mpk_options *options, mpk_factor **fac);

/** Refactorize with new values of the same pattern: mpk_factorize() with an existing factor. */
MPK_API mpk_status mpk_refactorize(mpk_context *ctx, const void *ax, const mpk_options *options,
                                   mpk_factor *fac);

/** mpk_factorize() with values in the order of mpk_problem_view: size nnz, the lower triangle by
 *  columns, or all of a general matrix. That is the given order, too, of a problem that was read
 *  from a file or generated. */
MPK_API mpk_status mpk_factorize_lower(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                       const mpk_options *options, mpk_factor **fac);

/** mpk_factorize() with the values of a problem, of the same pattern and kind as the analysed one;
 *  so their two triangles, where they differ, are known to the factor.
 *  problem [in] borrowed for the call; of any context
 *  Returns as mpk_factorize() | MPK_ERR_ARGUMENT, too, where the pattern or the kind is another */
MPK_API mpk_status mpk_factorize_problem(mpk_context *ctx, const mpk_analysis *an,
                                         const mpk_problem *problem, const mpk_options *options,
                                         mpk_factor **fac);

/** Where the factor is and its solves run: "cpu-avx512", "cuda: NVIDIA H200"; empty for fac NULL.
 *  It stays there whatever options later calls have. Lives as long as the context. */
MPK_API const char *mpk_factor_engine(const mpk_factor *fac);

/** What mpk_factorize() will take, as far as it can be known before. */
typedef struct mpk_estimate {
    const char *engine;   /**< where it will run, as mpk_factor_engine(); lives as long as ctx */
    int64_t host_bytes;   /**< most host memory, with the delayed columns that the analysis
                                    expects; 0: depends on what is dropped */
    int64_t device_bytes; /**< most memory of the device, likewise: where more columns are
                                    delayed, more is taken; 0: there is none; -1: known when the
                                    factor is made */
    int64_t device_delayed_bytes; /**< part of device_bytes that is kept for delayed columns: a
                                    factor is made without it where it does not fit */
    int64_t device_free_bytes;    /**< of the device, now; at most options.device_memory_limit */
    double flops;                 /**< 0: depends on what is dropped */
    double time_s;                /**< on the device; 0: not known */
    int64_t reserved[8];          /**< 0: for numbers to come; metapack.h, Structs */
} mpk_estimate;

/** Look ahead: which engine options.device leads to, and what it will take.
 *  an      [in]  fac's analysis to be
 *  out     [out] unchanged after a failure
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | what mpk_factorize() would return for the engine alone:
 *          MPK_ERR_DEVICE, _UNSUPPORTED */
MPK_API mpk_status mpk_factor_estimate(mpk_context *ctx, const mpk_analysis *an,
                                       const mpk_options *options, mpk_estimate *out);

/** Is the inertia that the factor counts that of A? A factorization does not know, and pays nothing
 *  for the question; it is asked here, once for each factorization: one product with A and one
 *  solve in most cases, at most 16 of each (mpk_certificate). Later calls return what was found,
 *  and mpk_factor_info_get() has it as well.
 *  Never certified, without a vector: complex symmetric and general matrices, factors on blocks,
 *  those in single precision of a matrix in double, zero pivots, perturbed ones.
 *  ctx [in]    any context; that of the factor, or another one that a thread has for itself
 *  fac [inout] holds a factorization; wherever it lies
 *  out [out]   may be NULL
 *  Returns MPK_OK, certified or not | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE: not examined
 *  Threads: those of the factorization, with the same result for any number; several threads may
 *  ask, or solve, at the same time. Example: examples/inertia.c */
MPK_API mpk_status mpk_certify(mpk_context *ctx, mpk_factor *fac, mpk_certificate *out);

/** Copy the numbers; all zero for fac NULL, and for one that holds no factorization. */
MPK_API void mpk_factor_info_get(const mpk_factor *fac, mpk_factor_info *info);
/** The same of a factorization on blocks; all zero for the direct solver. */
MPK_API void mpk_factor_block_info_get(const mpk_factor *fac, mpk_block_info *info);
MPK_API void mpk_factor_destroy(mpk_factor **fac);

/** What mpk_get() can return. T is the scalar type of the problem. */
typedef enum mpk_quantity {
    MPK_GET_INERTIA = 0, /**< int64_t[3]: positive, negative, zero */
    MPK_GET_PERM = 1,    /**< int32_t[n]: old index at each position of L, pivoting included; of an
                              MPK_GENERAL matrix of columns */
    MPK_GET_SCALE = 2,   /**< double[n]: the diagonal of S, in the order of the problem; of an
                              MPK_GENERAL matrix double[2n], of columns, then of rows */
    MPK_GET_D = 3,     /**< T[2 n]: for each position k D(k,k), then D(k+1,k), which is 0 where k is
                            not the first of a 2x2 block; of an MPK_GENERAL matrix the pivots of U */
    MPK_GET_LOGDET = 4 /**< double[3]: log|det A|, and the sign or phase of det A as (re, im); with
                            zero pivots: of the nonzero ones */
} mpk_quantity;

/** Bytes of a quantity; 0 for fac NULL. */
MPK_API size_t mpk_get_size(const mpk_factor *fac, mpk_quantity what);
/** Copy a quantity of the factor.
 *  out [out] `bytes` bytes, at least mpk_get_size(fac, what)
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_UNSUPPORTED: PERM, D or LOGDET of a factor that is
 *          not the direct solver's: on blocks, what pivots and butterflies exchange inside one is
 *          part of L's diagonal block, so there is no permutation that makes L triangular. */
MPK_API mpk_status mpk_get(mpk_context *ctx, const mpk_factor *fac, mpk_quantity what, void *out,
                           size_t bytes);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_factor_estimate_sized(size_t size, mpk_context *ctx, const mpk_analysis *an,
                                             const mpk_options *options, mpk_estimate *out);
MPK_API void mpk_factor_info_get_sized(size_t size, const mpk_factor *fac, mpk_factor_info *info);
MPK_API void mpk_factor_block_info_get_sized(size_t size, const mpk_factor *fac,
                                             mpk_block_info *info);
#ifndef MPKI_LIBRARY
#define mpk_factor_estimate(...) mpk_factor_estimate_sized(sizeof(mpk_estimate), __VA_ARGS__)
#define mpk_factor_info_get(...) mpk_factor_info_get_sized(sizeof(mpk_factor_info), __VA_ARGS__)
#define mpk_factor_block_info_get(...)                                                             \
    mpk_factor_block_info_get_sized(sizeof(mpk_block_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
