/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_PROBLEM_H
#define MPKI_DENSE_PROBLEM_H
/** A problem as files have it, solved as one dense matrix. */
#include "../core/core.h"
#include <metapack/dense.h>
#include <metapack/problem.h>

/** The method of that name; MPK_DENSE_COUNT: there is none. */
mpk_dense_method mpki_dense_method_of(const char *name);

/** Why an option is not read by this method with these options: what follows "not read by the
 *  method"; NULL: it is read. */
const char *mpki_dense_idle(const mpk_option *option, const mpk_options *options,
                            mpk_dense_method method);

/** Solve A X = B by mpk_dense_sysv(), on the processor or on a GPU as options->device says; auto:
 *  on a GPU where there is one that does it, and A is large enough for it.
 *  a       [in]    symmetric or Hermitian, n >= 1
 *  options [in]    those that dense methods read
 *  x       [inout] n x nrhs: B, then X; B after a failure
 *  info    [out]   with the inertia of Aasen's factors, too
 *  Returns as mpk_dense_sysv(); MPK_ERR_MEMORY: also what memory_limit or device_memory_limit does
 *          not allow. */
mpk_status mpki_dense_solve_problem(mpk_context *ctx, const mpk_problem_view *a,
                                    const mpk_options *options, mpk_dense_method method,
                                    int32_t nrhs, void *x, mpk_dense_info *info);

#endif
