/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack generate: a matrix of a family, to a file. */
#include "cli.h"

#include <stdio.h>

/** metapack generate FAMILY [PARAMETERS] [-o FILE]: write a test matrix. */
int cmd_generate(cli_args *args) {
    char spec[1024] = "";
    size_t used = 0;
    if (!args->nwords)
        return cli_usage_error(args, "no family: give one, as in: metapack generate nlpkkt 20");
    for (int k = 0; k < args->nwords; k++) {
        int more = snprintf(spec + used, sizeof spec - used, "%s%s", k ? " " : "", args->words[k]);
        if (more < 0 || (size_t)more >= sizeof spec - used)
            return cli_usage_error(args, "the specification is too long");
        used += (size_t)more;
    }
    mpk_job job = {.struct_size = sizeof job,
                   .goal = MPK_GOAL_READ,
                   .generate = spec,
                   .output = args->output ? args->output : "-",
                   .most_bytes = args->force ? 0 : CLI_MOST_BYTES};
    return cli_run(args, &job, NULL);
}
