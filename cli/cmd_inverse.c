/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack inverse: entries of the inverse. */
#include "cli.h"

/** metapack inverse A [--pattern] [-o FILE]: the diagonal of A^-1, or its entries where A has
 *  some. */
int cmd_inverse(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_INVERSE,
                   .output = args->output,
                   .selection = args->pattern ? MPK_SELECT_PATTERN : MPK_SELECT_DIAGONAL};
    int code = cli_matrix(args, &job);
    args->options.method = MPK_METHOD_LDLT;
    if (!code) code = cli_check_read(args);
    return code ? code : cli_run(args, &job, NULL);
}
