/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_OPTIONS_H
#define METAPACK_OPTIONS_H
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is factorized, and so how mpk_solve goes about it. */
typedef enum mpk_method {
    MPK_METHOD_AUTO = 0,   /**< direct where it fits, else ildlt with a ladder of parameters */
    MPK_METHOD_LDLT = 1,   /**< the direct solver */
    MPK_METHOD_ILDLT = 2,  /**< the meta-algorithm on blocks: complete or incomplete */
    MPK_METHOD_JACOBI = 3, /**< the same by fixed-point sweeps (schedule = jacobi) */
    MPK_METHOD_ILU0 =
        4,              /**< scalar blocks, no fill, no pivoting, nothing dropped: for comparison */
    MPK_METHOD_NONE = 5 /**< no preconditioner; the diagonal scaling stays */
} mpk_method;

/** Iterative methods; the first three and CG keep symmetry. */
typedef enum mpk_krylov {
    MPK_KRYLOV_AUTO = 0, /**< refinement after ldlt, else sqmr (gmres where the factor is ldu) */
    MPK_KRYLOV_NONE = 1, /**< iterative refinement only */
    MPK_KRYLOV_SQMR = 2,
    MPK_KRYLOV_MINRES = 3, /**< preconditioned by L |D| L^T */
    MPK_KRYLOV_SYMMLQ = 4, /**< likewise */
    MPK_KRYLOV_CG = 5,     /**< likewise; for definite matrices */
    MPK_KRYLOV_GMRES = 6,
    MPK_KRYLOV_FGMRES = 7,
    MPK_KRYLOV_BICGSTAB = 8,
    MPK_KRYLOV_IDR = 9
} mpk_krylov;

/** How rows are gathered into blocks (docs/blocking.md). */
typedef enum mpk_strategy {
    MPK_STRATEGY_AUTO = 0,
    MPK_STRATEGY_BR = 1, /**< block, then reorder the blocks */
    MPK_STRATEGY_RB = 2, /**< reorder the rows, then cut blocks of neighbours */
    MPK_STRATEGY_RBR = 3 /**< reorder, cut, reorder the blocks */
} mpk_strategy;

/** What the meta-algorithm makes of the matrix. */
typedef enum mpk_factor_type {
    MPK_TYPE_LDLT = 0,
    MPK_TYPE_LLT = 1, /**< positive definite matrices, real or Hermitian: a pivot <= 0 is an error
                           if the factorization is complete, else part of the diagonal is added
                           (mpk_block_info.diagonal_shift) and it starts again */
    MPK_TYPE_LDU = 2  /**< rows and columns pivoted apart; twice the memory */
} mpk_factor_type;

/** In which order the blocks are computed, and who writes where. */
typedef enum mpk_schedule {
    MPK_SCHEDULE_PULL = 0,    /**< a block gathers its updates when its level set is due */
    MPK_SCHEDULE_SUBSETS = 1, /**< updates are pushed, in conflict-free subsets of level sets */
    MPK_SCHEDULE_ATOMIC = 2,  /**< updates are pushed by atomic subtraction: not reproducible */
    MPK_SCHEDULE_JACOBI = 3   /**< all blocks at once, in sweeps */
} mpk_schedule;

/** Entries of the stored factor beneath a double precision solver. */
typedef enum mpk_precision {
    MPK_PRECISION_DOUBLE = 0, /**< that of the matrix */
    MPK_PRECISION_SINGLE = 1
} mpk_precision;

typedef enum mpk_ordering {
    MPK_ORDERING_AUTO = 0, /**< AMD, or nested dissection where that pays for its own time */
    MPK_ORDERING_AMD = 1,
    MPK_ORDERING_METIS = 2,
    MPK_ORDERING_SCOTCH = 3,
    MPK_ORDERING_RCM = 4,
    MPK_ORDERING_GIVEN = 5, /**< options.given_perm */
    MPK_ORDERING_NATURAL = 6,
    MPK_ORDERING_ND = 7, /**< our own nested dissection, in parallel */
    MPK_ORDERING_GMC = 8 /**< greedy multicolouring: independent sets first; only on blocks */
} mpk_ordering;

/** Three-valued switch. */
typedef enum mpk_switch { MPK_OFF = 0, MPK_ON = 1, MPK_AUTO = 2 } mpk_switch;

/** All choices. The name of a field is the key of mpk_options_set() and, with
 *  dashes, the flag of the command: pivot_threshold, --pivot-threshold.
 *  Call mpk_options_init() first; later versions add fields at the end. */
typedef struct mpk_options {
    size_t struct_size; /**< set by mpk_options_init(): how much of this struct the caller knows */
    mpk_method method;  /**< auto | ldlt | ildlt | jacobi | ilu0 | none */
    mpk_ordering ordering; /**< auto | amd | nd | metis | scotch | rcm | gmc | given | natural */
    mpk_switch
        matching;       /**< maximum-product matching for scaling and 2x2 candidates: on|off|auto */
    mpk_switch scaling; /**< symmetric scaling before the factorization: on | off | auto */
    double pivot_threshold; /**< u in [0, 0.5]: accepted pivots give |L| <= 1/u. Default 0.01 */
    double zero_tolerance;  /**< a pivot column of the scaled matrix not above this is a zero pivot;
                                 < 0 (default): chosen from the precision, see docs/numerics.md */
    double static_shift;    /**< > 0: perturb failed pivots to this times ||A|| instead of delaying
                                 them; inertia is then not certified. Default 0: never */
    int threads; /**< 0 (default): OMP_NUM_THREADS if set, else the cores given to the process */
    int refine;  /**< most steps of iterative refinement. Default 10 */
    double accuracy;   /**< refine until the componentwise backward error is at most this.
                            < 0 (default): a small multiple of the unit roundoff */
    int model_threads; /**< threads of the machine that an ordering is chosen for (analysis by
                            predicted time). Not those at work: the same choice, and the same bits,
                            for any number of them. Default 2 */
    mpk_switch deterministic; /**< on: the same bits for any number of threads. The direct solver
                                   always is. off: leftover capacity of incomplete factorizations
                                   is dealt out by atomic operations. Default on */
    mpk_switch condition;     /**< on: estimate the condition number in mpk_solve. Default off */
    int64_t seed;             /**< of everything random. Default 1 */
    double memory_limit; /**< bytes; 0 (default): what the machine has free. A prediction above it
                            is refused before anything is allocated; a factor that delayed columns
                            let outgrow it ends in MPK_ERR_MEMORY */
    const int32_t *given_perm; /**< size n, for ordering = given: old index at each new position;
                                 borrowed during mpk_analyse only */
    mpk_krylov krylov;  /**< auto | none | sqmr | minres | symmlq | cg | gmres | fgmres | bicgstab |
                             idr */
    double tolerance;   /**< true relative residual ||b - A x||_2 / ||b||_2 that a Krylov method has
                             to reach. < 0 (default): as accurate as rounding allows, the
                             componentwise backward error at most `accuracy` */
    int max_iterations; /**< of a Krylov method. Default 1000 */
    int restart;        /**< m of gmres(m) and fgmres(m). Default 50 */
    int shadow;         /**< s of idr(s). Default 4 */
    mpk_switch direct;  /**< may method = auto end in the direct solver? on | off | auto: where it
                             fits */
    mpk_strategy strategy; /**< auto | br | rb | rbr */
    int block;             /**< most rows of a block, 1 .. 128. Default 32 */
    mpk_switch grid;       /**< on: all blocks of that size, cut on a regular grid. Default off */
    double similarity;  /**< cosine from which rows are gathered into a block; falls by 0.9 a level
                           of  the blocking. Default 0.8 */
    int level;          /**< of fill; -1: complete. Default 1 */
    double fill_factor; /**< entries a row of L may keep, times those of A's row; 0: any number.
                             Default 4 */
    double drop_tolerance;       /**< entries below this times their row's norm are dropped. 1e-4 */
    mpk_factor_type factor_type; /**< ldlt | llt | ldu */
    mpk_pivoting pivoting;   /**< inside a diagonal block: none | static | bk | rook | complete */
    int stages;              /**< of outer pivoting; 1 (default): none */
    mpk_switch butterfly;    /**< random butterflies on rejected diagonal blocks. Default off */
    mpk_schedule schedule;   /**< pull | subsets | atomic | jacobi */
    int sweeps;              /**< of the fixed-point factorization (schedule = jacobi). Default 8 */
    double jacobi_epsilon;   /**< damping of its pivots. Default 0.1 */
    double jacobi_decay;     /**< of the damping, a sweep. Default 0.95 */
    double shift;            /**< added to the scaled diagonal, with its sign. Default 0 */
    mpk_precision precision; /**< of the stored factor: double | single */
    int solve_sweeps; /**< triangular solves by this many Jacobi sweeps; 0 (default): exact */
} mpk_options;

/** Fill *options with the defaults. */
MPK_API void mpk_options_init(mpk_options *options);

/** Set one option from text, as the command line does: key "pivot_threshold" or "pivot-threshold",
 *  value "0.1". Returns MPK_OK, or MPK_ERR_ARGUMENT with the reason in mpk_last_error(). */
MPK_API mpk_status mpk_options_set(mpk_context *ctx, mpk_options *options, const char *key,
                                   const char *value);

/** The word for a value of an option that is a choice: ("schedule", MPK_SCHEDULE_PULL) gives
 * "pull"; "unknown" for anything else. Static. */
MPK_API const char *mpk_option_word(const char *key, int value);

/** Names for reports: "auto", "amd", ... */
MPK_API const char *mpk_ordering_name(mpk_ordering ordering);
MPK_API const char *mpk_method_name(mpk_method method);

#ifdef __cplusplus
}
#endif
#endif
