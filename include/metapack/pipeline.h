/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_PIPELINE_H
#define METAPACK_PIPELINE_H
#include <metapack/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How far a job goes: each goal contains those before it. */
typedef enum mpk_goal {
    MPK_GOAL_READ = 0,
    MPK_GOAL_ANALYSE = 1,
    MPK_GOAL_FACTORIZE = 2,
    MPK_GOAL_SOLVE = 3
} mpk_goal;

/** One run from files to files, as the command does it. Strings are borrowed during the call; "-"
 * is standard input or output. Set struct_size = sizeof(mpk_job); later versions add fields at the
 * end. */
typedef struct mpk_job {
    size_t struct_size;
    mpk_goal goal;
    const char *matrix;   /**< file of A; NULL: `generate` is asked */
    const char *generate; /**< spec for mpk_problem_generate(); used when matrix is NULL */
    const char *rhs;      /**< file of B (SOLVE); NULL: A times ones */
    const char *perm; /**< file of an order for ordering = given: n integers, the old index at each
                           new position, counted from 0 or from 1; NULL: options.given_perm */
    const char *output; /**< written: X (SOLVE), else A (READ only); NULL: nothing */
    const char *plot;   /**< SVG with patterns and times; NULL: none */
} mpk_job;

/** Run a job: read -> analyse -> factorize -> solve -> write, report.
 *  ctx     [inout] errors are recorded here
 *  job     [in]    borrowed during the call
 *  options [in]    NULL: the defaults
 *  report  [out]   created also when the run failed, and then it says why, unless memory for the
 *                  report itself is missing; *report must be NULL before
 *  Returns the worst status of the parts: >= 0: every file asked for was written; < 0: none was
 *          left half-written. B is read, and the folder of the output looked at, before the
 *          expensive parts begin. */
MPK_API mpk_status mpk_job_run(mpk_context *ctx, const mpk_job *job, const mpk_options *options,
                               mpk_report **report);

#ifdef __cplusplus
}
#endif
#endif
