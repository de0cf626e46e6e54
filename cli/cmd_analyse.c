/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack analyse: fill, flops and memory, before anything is factorized. */
#include "cli.h"

/** metapack analyse A: scaling, ordering, prediction of entries, flops and memory; no factor. */
int cmd_analyse(cli_args *args) {
    mpk_job job = {.goal = MPK_GOAL_ANALYSE};
    int code = cli_matrix(args, &job);
    if (!code) code = cli_check_read(args);
    return code ? code : cli_run(args, &job, NULL);
}
