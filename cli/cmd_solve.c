/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"
#include "dense.h"

#include <string.h>

/** metapack solve A [-b B] [-o X]: solve A X = B. */
int cmd_solve(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_SOLVE, .rhs = args->rhs, .output = args->output};
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (job.matrix && job.rhs && !strcmp(job.matrix, "-") && !strcmp(job.rhs, "-"))
        return cli_usage_error(args,
                               "standard input cannot be both the matrix and the right-hand side");
    const bool off = args->dense && !strcmp(args->dense, "off");
    if (args->dense && !off) {
        const int method = cli_dense_method(args->dense);
        if (method < 0)
            return cli_usage_error(args, "--dense: there is no method '%s'", args->dense);
        return cli_solve_dense(args, &job, method);
    }
    if (!off && !job.perm && !job.plot && args->options.method == MPK_METHOD_AUTO &&
        cli_is_array(job.matrix))
        return cli_solve_dense(args, &job, MPK_DENSE_AUTO);
    return cli_run(args, &job);
}
