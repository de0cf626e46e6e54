/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

/** metapack analyse A: scaling, ordering, prediction of entries, flops and memory; no factor. */
int cmd_analyse(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_ANALYSE};
    int code = cli_matrix(args, &job);
    return code ? code : cli_run(args, &job);
}
