/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_OPTIONS_H
#define METAPACK_OPTIONS_H
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mpk_method { MPK_METHOD_AUTO = 0, MPK_METHOD_LDLT = 1 } mpk_method;

typedef enum mpk_ordering {
    MPK_ORDERING_AUTO = 0, /**< AMD, or nested dissection where that pays for its own time */
    MPK_ORDERING_AMD = 1,
    MPK_ORDERING_METIS = 2,
    MPK_ORDERING_SCOTCH = 3,
    MPK_ORDERING_RCM = 4,
    MPK_ORDERING_GIVEN = 5, /**< options.given_perm */
    MPK_ORDERING_NATURAL = 6,
    MPK_ORDERING_ND = 7 /**< our own nested dissection, in parallel */
} mpk_ordering;

/** Three-valued switch. */
typedef enum mpk_switch { MPK_OFF = 0, MPK_ON = 1, MPK_AUTO = 2 } mpk_switch;

/** All choices of the direct solver. The name of a field is the key of mpk_options_set() and, with
 *  dashes, the flag of the command: pivot_threshold, --pivot-threshold.
 *  Call mpk_options_init() first; later versions add fields at the end. */
typedef struct mpk_options {
    size_t struct_size; /**< set by mpk_options_init(): how much of this struct the caller knows */
    mpk_method method;  /**< auto | ldlt */
    mpk_ordering ordering; /**< auto | amd | nd | metis | scotch | rcm | given | natural */
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
    double accuracy;          /**< refine until the componentwise backward error is at most this.
                                   < 0 (default): a small multiple of the unit roundoff */
    mpk_switch deterministic; /**< on: the same bits for any number of threads. The direct solver
                                 always is; kept so that scripts can say what they rely on */
    mpk_switch condition;     /**< on: estimate the condition number in mpk_solve. Default off */
    int64_t seed;             /**< of everything random. Default 1 */
    double memory_limit; /**< bytes; 0 (default): what the machine has free. A prediction above it
                            is refused before anything is allocated */
    const int32_t *given_perm; /**< size n, for ordering = given: old index at each new position;
                                 borrowed during mpk_analyse only */
} mpk_options;

/** Fill *options with the defaults. */
MPK_API void mpk_options_init(mpk_options *options);

/** Set one option from text, as the command line does: key "pivot_threshold" or "pivot-threshold",
 *  value "0.1". Returns MPK_OK, or MPK_ERR_ARGUMENT with the reason in mpk_last_error(). */
MPK_API mpk_status mpk_options_set(mpk_context *ctx, mpk_options *options, const char *key,
                                   const char *value);

/** Names for reports: "auto", "amd", ... */
MPK_API const char *mpk_ordering_name(mpk_ordering ordering);
MPK_API const char *mpk_method_name(mpk_method method);

#ifdef __cplusplus
}
#endif
#endif
