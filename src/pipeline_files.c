/* SPDX-License-Identifier: BSD-3-Clause */
/* Analyses, factors and trees that a job reads and writes. */
#include "pipeline_files.h"
#include "analysis/block/block.h"
#include "analysis/tree_file.h"
#include "factor/factor.h"
#include <metapack/save.h>

#include <string.h>

const char *mpki_job_instead(const mpk_job *job) {
    return job->analysis ? job->analysis : job->factor ? job->factor : job->given_tree;
}

/* By the order and the supernodes of a file. */
static mpk_status analyse_tree(mpk_context *ctx, const mpk_job *job, const mpk_problem *problem,
                               const mpk_options *options, mpk_analysis **an) {
    mpki_tree_file t = {0};
    mpk_status status = mpki_tree_read(ctx, job->given_tree, problem->n, &t);
    if (!mpk_failed(status))
        status =
            mpk_analyse_tree(ctx, problem, options, t.supernodes, t.perm, t.first, t.parent, an);
    mpki_tree_file_free(ctx, &t);
    return status;
}

static mpk_status check_method(mpk_context *ctx, const mpk_job *job, const mpk_options *options,
                               mpk_analysis **an) {
    const mpk_method in = (*an)->options.method, asked = options->method;
    const bool direct = !mpki_on_blocks(in);
    if (direct == !mpki_on_blocks(asked) && (direct || in == asked)) return MPK_OK;
    mpk_analysis_destroy(an);
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "load", -1,
                      "%.300s: the analysis is for method %s, and %s was asked for",
                      mpki_job_instead(job), direct ? "ldlt" : mpk_method_name(in),
                      mpk_method_name(asked));
}

mpk_status mpki_job_order(mpk_context *ctx, const mpk_job *job, const mpk_problem *problem,
                          const mpk_options *options, mpk_analysis **an) {
    if (job->given_tree) return analyse_tree(ctx, job, problem, options, an);
    if (!job->analysis && !job->factor) return mpk_analyse(ctx, problem, options, an);
    const mpk_status status = mpk_analysis_load(ctx, problem, mpki_job_instead(job), an);
    return mpk_failed(status) ? status : mpki_worse(status, check_method(ctx, job, options, an));
}

mpk_status mpki_job_factor(mpk_context *ctx, const mpk_job *job, const mpk_problem *problem,
                           const mpk_analysis *an, mpk_factor **fac) {
    const size_t size = (size_t)problem->nnz * mpk_scalar_size(problem->scalar);
    const mpk_status status = mpk_factor_load(ctx, an, job->factor, fac);
    if (mpk_failed(status) || !size || !memcmp((*fac)->ax, problem->ax, size)) return status;
    mpk_factor_destroy(fac);
    return mpki_error(ctx, MPK_ERR_INPUT, "load", -1,
                      "%.300s: the factor is of a matrix with other values: --analysis takes its "
                      "order alone",
                      job->factor);
}

mpk_status mpki_job_save(mpk_context *ctx, const mpk_job *job, const mpk_analysis *an,
                         const mpk_factor *fac) {
    mpk_tree tree;
    mpk_status status = MPK_OK;
    if (job->save)
        status = fac ? mpk_factor_save(ctx, fac, job->save) : mpk_analysis_save(ctx, an, job->save);
    if (!job->tree || mpk_failed(status)) return status;
    mpk_analysis_tree_get(an, &tree);
    return mpki_tree_write(ctx, job->tree, &tree);
}
