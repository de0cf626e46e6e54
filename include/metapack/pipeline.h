/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_PIPELINE_H
#define METAPACK_PIPELINE_H
/** The whole path in one call, from files to files: what the command does. */
#include <metapack/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How far a job goes: each goal contains those before it, but INVERSE no solve. */
typedef enum mpk_goal {
    MPK_GOAL_READ = 0,
    MPK_GOAL_ANALYSE = 1,
    MPK_GOAL_FACTORIZE = 2, /**< as the last one, it is for the inertia, which is examined, too */
    MPK_GOAL_SOLVE = 3,
    MPK_GOAL_INVERSE = 4 /**< entries of the inverse, by mpk_selected_inverse() */
} mpk_goal;

/** One run. "-" is standard input or output; NULL: none. Set struct_size = sizeof(mpk_job); later
 *  versions add fields at the end. */
typedef struct mpk_job {
    size_t struct_size;
    mpk_goal goal;
    const char *matrix;   /**< file of A; NULL: `generate` says what A is */
    const char *generate; /**< spec for mpk_problem_generate(), with options.seed */
    const char *rhs;      /**< file of B (SOLVE); NULL: B is A times ones */
    const char *perm;   /**< file with the order for ordering = given: n integers, the old index at
                             each new position, from 0 or from 1; NULL: options.given_perm */
    const char *output; /**< file to write: X (SOLVE), A (READ), entries of A^-1 (INVERSE): the
                             diagonal as an array, those on A's pattern as a matrix, but not to
                             *.npy or a name that says no format: MPK_ERR_ARGUMENT; or of FACTORIZE
                             an orthonormal basis of A's kernel (mpk_null_space; n x 0 where A is
                             regular) */
    const char *plot;   /**< a picture with patterns and times, as mpk_report_plot() */
    const char *trace;  /**< what was done when, by the caller and by the inspector of a method on
                             blocks: to *.svg, *.png and *.pdf a picture, else JSON in Chrome's trace format; of
                             the direct solver and method none there is none: MPK_ERR_ARGUMENT */
    /** Files with the position at which each block, each pivot of that order begins, increasing,
     *  from 0 or from 1 as the first one says; NULL: options.given_blocks, options.given_pivots. */
    const char *given_blocks, *given_pivots;
    uint64_t
        asked; /**< bit k: the caller asked for option k < 64, mpk_option_at(k), and one that this run
                         does not read is an error; 0: nobody asks. Of method auto it is known once
                         the matrix is read: a symmetric one is solved directly, unless direct is off */
    double
        most_bytes; /**< most bytes of the text of `output`, which shall then fit its disk, too; 0:
                            nobody asks */
    /** SOLVE as one dense matrix by this method, a name of mpk_dense_method_name(); NULL: as a sparse
     *  one. plot, trace and files of an order are then MPK_ERR_ARGUMENT. */
    const char *dense;
    int dense_if_one;  /**< 1: only if the matrix is one that dense methods take as it is given,
                           symmetric, with triangles that do not differ; else as a sparse one */
    int64_t energy;    /**< 1: what factorization and solve take in joules, where the machine
                                tells it (mpk_energy) */
    int64_t selection; /**< which entries (INVERSE), an mpk_selection */
    int64_t
        minimum_norm; /**< SOLVE: 1: of all X with the least ||B - A X||_2 the one with the least
                               ||X||_2 (mpk_solve_minimum_norm), by the direct method */
    /** In place of an analysis, of the pattern of A: a file by `save` or mpk_analysis_save(); a file
     *  with the factor of A itself; or one with a tree, as `tree` is written. Method auto is then
     *  ldlt. NULL: none; one of them at most. */
    const char *analysis, *factor, *given_tree;
    const char *save; /**< file to write: the analysis (ANALYSE); the factor (FACTORIZE, SOLVE) */
    const char *tree; /**< file to write: the order and the tree, as text (ANALYSE) */
    uint64_t asked_more; /**< as `asked`: bit k is option 64 + k */
} mpk_job;

/** Run a job: read -> analyse -> factorize -> solve -> write, report. Method auto solves by
 *  mpk_solve_adaptive(), a dense job by mpk_dense_sysv(); INVERSE takes method auto for ldlt. B is
 *  read, and the names of files are checked, before anything expensive begins: each output can be
 *  written, is no file that is read, and no other output.
 *  report [out] created also when the run fails, and then says why; it stays NULL only after bad
 *               arguments or without memory for it; *report must be NULL before
 *  Returns the worst status of the parts. >= 0: all files asked for were written, but no inverse
 *          of a singular matrix; < 0: none was left half-written. MPK_ERR_ARGUMENT: also an output
 *          that is an input, an option that was asked for and is not read; MPK_ERR_SIZE: also an
 *          output above most_bytes.
 *  Threads: options.threads. */
MPK_API mpk_status mpk_job_run(mpk_context *ctx, const mpk_job *job, const mpk_options *options,
                               mpk_report **report);

#ifdef __cplusplus
}
#endif
#endif
