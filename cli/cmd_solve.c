/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <string.h>

/** metapack solve A [-b B] [-o X]: solve A X = B. */
int cmd_solve(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_SOLVE, .rhs = args->rhs, .output = args->output};
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (job.matrix && job.rhs && !strcmp(job.matrix, "-") && !strcmp(job.rhs, "-"))
        return cli_usage_error(args,
                               "standard input cannot be both the matrix and the right-hand side");
    return cli_run(args, &job);
}
