/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack convert: a matrix from one file format to another. */
#include "cli.h"

/** metapack convert A FILE: read in any known format, write in the one that FILE's ending says. */
int cmd_convert(cli_args *args) {
    int given = args->generate ? 0 : 1; /* words before the target */
    if (!args->output && args->nwords == given + 1) args->output = args->words[--args->nwords];
    mpk_job job = {.goal = MPK_GOAL_READ, .output = args->output};
    if (!job.output)
        return cli_usage_error(
            args,
            "no target: metapack convert A FILE, with FILE .mtx, .rb or .npy, also .gz or .xz");
    int code = cli_matrix(args, &job);
    return code ? code : cli_run(args, &job, NULL);
}
