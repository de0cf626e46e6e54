/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack solve: A x = b, sparse or dense, from files to files. */
#include "cli.h"
#include "dense.h"

#include <stdio.h>
#include <string.h>

/* On the machine that --backend names. */
static int solve_there(cli_args *args, const mpk_job *job) {
    cli_backend backend = {NULL};
    int code = cli_backend_begin(args, &backend);
    if (!code) code = cli_check_read(args, NULL);
    if (!code) {
        code = cli_run(args, job, &backend);
        cli_backend_tell(args, &backend);
    }
    cli_backend_end(args, &backend);
    return code;
}

/* Options that this dense method does not read. by [in] the words that chose it */
static int check_dense(const cli_args *args, int method, const char *by) {
    const mpk_option *o;
    const int code = cli_check_read(args, by);
    for (int k = 0; !code && (o = mpk_option_at(k)); k++)
        if (cli_asked(args) >> k & 1 && !cli_dense_reads(args, method, o->key)) {
            char name[64];
            snprintf(name, sizeof name, "%s", o->key);
            for (char *c = name; *c; c++)
                if (*c == '_') *c = '-';
            return cli_usage_error(args, "option --%s is not read by %s", name, by);
        }
    return code;
}

/** metapack solve A [-b B] [-o X]: solve A X = B. */
int cmd_solve(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_SOLVE, .rhs = args->rhs, .output = args->output};
    char by[64];
    int code = cli_matrix(args, &job);
    if (code) return code;
    if (args->backend) return solve_there(args, &job);
    const bool off = args->dense && !strcmp(args->dense, "off");
    if (args->dense && !off) {
        const int method = cli_dense_method(args->dense);
        if (method < 0)
            return cli_usage_error(args, "--dense: there is no method '%s'", args->dense);
        snprintf(by, sizeof by, "--dense %s", args->dense);
        const char *const other = job.plot           ? "plot"
                                  : job.perm         ? "given-perm"
                                  : job.trace        ? "trace"
                                  : job.given_blocks ? "given-blocks"
                                  : job.given_pivots ? "given-pivots"
                                                     : NULL;
        if (other) return cli_usage_error(args, "option --%s is not read by %s", other, by);
        code = check_dense(args, method, by);
        return code ? code : cli_solve_dense(args, &job, method);
    }
    if (!off && !job.perm && !job.plot && !job.trace && args->options.method == MPK_METHOD_AUTO &&
        cli_is_array(job.matrix)) {
        code = check_dense(args, MPK_DENSE_AUTO,
                           "the dense solver, which takes array files; --dense off asks for "
                           "another");
        return code ? code : cli_solve_dense(args, &job, MPK_DENSE_AUTO);
    }
    code = cli_check_read(args, NULL);
    return code ? code : cli_run(args, &job, NULL);
}
