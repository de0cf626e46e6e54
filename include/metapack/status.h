/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_STATUS_H
#define METAPACK_STATUS_H
/** What a call returns, and the version of the library. All functions here may be called from any
 *  thread; their strings are static. */
#include <metapack/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Outcome of a call. 0 is success; > 0 is a numerical outcome whose result can be used; < 0 is a
 *  failure that left the outputs as they were. A status never carries a count: numbers are in the
 *  info structures and in mpk_last_error(). */
typedef enum mpk_status {
    MPK_OK = 0,
    MPK_SINGULAR = 1,         /**< zero pivots were met; the factor solves consistent systems */
    MPK_PERTURBED = 2,        /**< static perturbation was asked for and used */
    MPK_INACCURATE = 3,       /**< solved, but the backward error asked for was not reached */
    MPK_NOT_CONVERGED = 4,    /**< an iterative method stopped at its limit */
    MPK_PARTIAL = 5,          /**< some matrices of a batch have no result: see each outcome */
    MPK_ERR_ARGUMENT = -1,    /**< a NULL, a negative size, an unknown option, a wrong length */
    MPK_ERR_FILE = -2,        /**< a file cannot be opened, read or written */
    MPK_ERR_FORMAT = -3,      /**< the content of a file does not follow its format */
    MPK_ERR_INPUT = -4,       /**< the data: NaN, Inf, index out of range, not symmetric */
    MPK_ERR_SIZE = -5,        /**< a size does not fit its type */
    MPK_ERR_MEMORY = -6,      /**< an allocation failed, or would exceed memory_limit */
    MPK_ERR_DEVICE = -7,      /**< a backend is absent or failed */
    MPK_ERR_CANCELLED = -8,   /**< the progress callback asked to stop */
    MPK_ERR_UNSUPPORTED = -9, /**< valid, but this build or version cannot do it */
    MPK_ERR_NUMERIC = -10,    /**< overflow: factors or a solution are not finite */
    MPK_ERR_INTERNAL = -11    /**< a checker found a broken invariant: a defect of METAPACK */
} mpk_status;

/** Did the call fail? The question to ask of a status: `if (mpk_failed(status))`. Neither
 *  `if (status)` nor `if (!status)` asks it, since a positive status comes with a result. */
static inline int mpk_failed(mpk_status status) {
    return status < 0;
}

/** Name of a status in lower case ("ok", "singular", ...), "unknown" for another number. */
MPK_API const char *mpk_status_name(mpk_status status);

/** The status in a few words; never NULL. */
MPK_API const char *mpk_status_text(mpk_status status);

/** "major.minor.patch" of the library that runs; and how it was built in one line. */
MPK_API const char *mpk_version(void);
MPK_API const char *mpk_build_config(void);

#ifdef __cplusplus
}
#endif
#endif
