/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PIPELINE_FILES_H
#define MPKI_PIPELINE_FILES_H
/** What a job takes from files in place of an analysis or a factor, and what it leaves in some. */
#include "core/core.h"
#include <metapack/pipeline.h>

/** The file that stands in place of an analysis; NULL: none does. */
const char *mpki_job_instead(const mpk_job *job);
/** mpk_analyse(), or what the job has in its place. options [in] a method other than that of the
 *  file's analysis is MPK_ERR_ARGUMENT. Else as mpk_analyse(), mpk_analysis_load() */
mpk_status mpki_job_order(mpk_context *ctx, const mpk_job *job, const mpk_problem *problem,
                          const mpk_options *options, mpk_analysis **an);
/** The factor of job->factor. Returns as mpk_factor_load() | MPK_ERR_INPUT: it is of other values
 *  than the problem's, and its solutions would be of a matrix that nobody named */
mpk_status mpki_job_factor(mpk_context *ctx, const mpk_job *job, const mpk_problem *problem,
                           const mpk_analysis *an, mpk_factor **fac);
/** Write job->save, the factor where there is one and else the analysis, and job->tree. */
mpk_status mpki_job_save(mpk_context *ctx, const mpk_job *job, const mpk_analysis *an,
                         const mpk_factor *fac);

#endif
