/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack info: statistics of a matrix, without analysis. */
#include "cli.h"

/** metapack info A: what the file holds; nothing is computed. */
int cmd_info(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_READ};
    int code = cli_matrix(args, &job);
    return code ? code : cli_run(args, &job, NULL);
}
