/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve: A x = b, sparse or dense, from files to files. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* On the machine that --backend names. */
static int solve_there(cli_args *args, const mpk_job *job) {
    cli_backend backend = {NULL};
    int code = cli_backend_begin(args, &backend);
    if (!code) code = cli_check_read(args);
    if (!code) {
        code = cli_run(args, job, &backend);
        cli_backend_tell(args, &backend);
    }
    cli_backend_end(args, &backend);
    return code;
}

/** metapack solve A [-b B] [-o X]: solve A X = B. */
int cmd_solve(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_SOLVE,
                   .rhs = args->rhs,
                   .output = args->output,
                   .minimum_norm = args->minimum_norm};
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (args->backend) return solve_there(args, &job);
    const bool off = args->dense && !strcmp(args->dense, "off");
    if (args->dense && !off) {
        job.dense = !strcmp(args->dense, "on") ? "auto" : args->dense;
    } else if (!off && !job.minimum_norm && !job.perm && !job.plot && !job.trace &&
               !job.given_blocks && !job.given_pivots && !job.analysis && !job.factor &&
               !job.given_tree && !job.save && args->options.method == MPK_METHOD_AUTO &&
               cli_is_array(job.matrix)) {
        job.dense = "auto", job.dense_if_one = 1;
    }
    code = job.dense ? 0 : cli_check_read(args);
    return code ? code : cli_run(args, &job, NULL);
}
