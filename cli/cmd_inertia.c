/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack inertia: positive, negative and zero eigenvalues. */
#include "cli.h"

/** metapack inertia A: numbers of positive, negative and zero eigenvalues, from a factorization. */
int cmd_inertia(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_FACTORIZE, .output = args->output};
    int code = cli_matrix(args, &job);
    if (!code) code = cli_check_read(args);
    if (args->options.method == MPK_METHOD_AUTO) /* nothing else counts, and it refuses at once */
        args->options.method = MPK_METHOD_LDLT;
    return code ? code : cli_run(args, &job, NULL);
}
