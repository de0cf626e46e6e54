/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_REPORT_H
#define METAPACK_REPORT_H
/** Reports: the numbers of one run as text, JSON and pictures. All work is done in the caller's
 *  thread. */
#include <metapack/adaptive.h>
#include <metapack/analysis.h>
#include <metapack/block.h>
#include <metapack/dense.h>
#include <metapack/factor.h>
#include <metapack/problem.h>
#include <metapack/selected.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Energy, by counters of the machine: those of the processor's packages (RAPL, through Linux's
 *  powercap) and of the GPU at work (NVML). They count all that runs there, other processes
 *  included, and move in steps of about a millisecond (GPU: up to 100). Where a GPU is metered, a
 *  factorization or solve of less than a second is repeated, once all is done, until a second has
 *  passed, and the means of these runs are told (mpk_run.energy_factorizations, energy_solves). What
 *  no meter told, what was too short and is not repeated (method auto, dense matrices, shortest
 *  solutions, with a trace), or what did not run, is -1, never 0. Of method auto and of dense
 *  matrices all is in solve. */
typedef struct mpk_energy {
    int asked;                           /**< 0: nobody did, and all else is 0 */
    double factorize_cpu_j, solve_cpu_j; /**< joules; < 0: not measured */
    double factorize_gpu_j, solve_gpu_j; /**< likewise, and where no GPU was asked for */
    char no_cpu[128], no_gpu[128];       /**< why there is no meter; empty: there is one */
} mpk_energy;

/** All numbers of one run. The `have_` flag of a part that did not run is 0. */
typedef struct mpk_run {
    const char *source;       /**< file name or generator spec; borrowed */
    mpk_problem_view problem; /**< arrays borrowed during mpk_report_create() */
    double time_read_s;
    int have_analysis, have_factor, have_solve;
    mpk_analysis_info analysis;
    mpk_factor_info factor;
    mpk_solve_info solve;
    int32_t nrhs;
    mpk_status status;     /**< of the run as a whole */
    const char *message;   /**< of the failure, or NULL; borrowed */
    const char *backend;   /**< "cpu-avx512", "cpu-neon", "cpu-generic", "cuda: NVIDIA H200" */
    double peak_bytes;     /**< of the context */
    const double *history; /**< relative residual after each iteration of a Krylov method, or NULL;
                                borrowed */
    int32_t history_count;
    mpk_options options;  /**< those in force; of method auto the ones chosen */
    mpk_block_info block; /**< methods on blocks; block_rows 0: the direct solver */
    int32_t attempts;     /**< of method auto; 0: the method was given */
    mpk_attempt attempt[MPK_ATTEMPTS];
    char no_direct[256];   /**< why method auto did not take the direct solver; empty: it did */
    mpk_estimate estimate; /**< of an analysis for a device, without a factor; else engine NULL */
    mpk_certificate certificate; /**< of the inertia, where factor.inertia.examined */
    mpk_asymmetry asymmetry; /**< of the matrix, if it was given whole and is taken for symmetric */
    int have_dense;          /**< 1: solved as one dense matrix: `dense` says how, and no analysis,
                                  factor or solve does */
    mpk_dense_info dense;
    mpk_energy energy;       /**< job.energy */
    int64_t have_selected;   /**< 1: entries of the inverse were computed */
    mpk_selection selection; /**< which */
    mpk_selected_info selected;
    int64_t minimum_norm; /**< 1: of all x with the least residual the shortest was found */
    int64_t loaded; /**< from a file: 1 the analysis, 2 the factor, too; their times are of that */
    int64_t energy_factorizations,
        energy_solves; /**< runs that energy is the mean of; 0: of the one
                                                       that is told of here */
} mpk_run;

/** Create a report of a run. Everything is copied, strings included.
 *  report [out] created; *report must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY. */
MPK_API mpk_status mpk_report_create(mpk_context *ctx, const mpk_run *run, mpk_report **report);
MPK_API void mpk_report_destroy(mpk_report **report);

/** The report as text (UTF-8, at most 100 columns) and as one JSON object
 *  (docs/reference/json.md). The strings live as long as the report; "" for NULL. */
MPK_API const char *mpk_report_text(const mpk_report *report);
MPK_API const char *mpk_report_json(const mpk_report *report);

/** The numbers of the report, with problem.ap, ai and ax NULL; they live as long as it. NULL for
 *  NULL. */
MPK_API const mpk_run *mpk_report_run(const mpk_report *report);

/** Draw pattern of A, pattern of the factor, time of each phase, residuals.
 *  problem [in] the one that the report is of
 *  an, fac [in] likewise; either may be NULL
 *  path    [in] the file, as of mpk_text_write()
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _FILE, _CANCELLED. */
MPK_API mpk_status mpk_report_plot(mpk_context *ctx, const mpk_report *report,
                                   const mpk_problem *problem, const mpk_analysis *an,
                                   const mpk_factor *fac, const char *path);

/** Write a text to a file, which appears whole or not at all.
 *  path [in] a name that ends in .gz or .xz is compressed; "-": standard output. Where the text is
 *            one of our SVG pictures and the name ends in .png or .pdf, it is drawn as such.
 *  text [in] size bytes
 *  Returns MPK_OK | MPK_ERR_ARGUMENT, _MEMORY, _FILE, _CANCELLED. */
MPK_API mpk_status mpk_text_write(mpk_context *ctx, const char *path, const char *text,
                                  int64_t size);

/** Exit code of the command for a status: 0 good, 1 usage, 2 input, 3 singular, 4 not converged,
 *  5 accuracy not reached, 6 memory, 7 device, 130 cancelled. */
MPK_API int mpk_exit_code(mpk_status status);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_report_create_sized(size_t size, mpk_context *ctx, const mpk_run *run,
                                           mpk_report **report);
#ifndef MPKI_LIBRARY
#define mpk_report_create(...) mpk_report_create_sized(sizeof(mpk_run), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
