/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack synthesize: a solver of one's own, from a short description. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef METAPACK_SIM
#include "sim/synthesize/synthesize.h"

int cmd_synthesize(cli_args *args) {
    char text[SIM_SYNTHESIZE_TEXT], *end = "";
    sim_description d = sim_description_default(args->type ? args->type : "ldlt");
    if (args->fill) d.fill = args->fill;
    if (args->way) d.pivoting = args->way;
    if (args->way && strcmp(args->way, "outer") && strcmp(args->way, "both")) d.butterfly = "off";
    if (args->target) d.target = args->target;
    if (args->order) d.ordering = args->order;
    if (args->match) d.matching = args->match;
    if (args->butterfly) d.butterfly = args->butterfly;
    if (args->krylov) d.krylov = args->krylov;
    if (args->nwords) return cli_usage_error(args, "synthesize takes no arguments: -o DIR");
    if (!args->output) return cli_usage_error(args, "where to: -o DIR");
    if (args->size) d.block = (int32_t)strtol(args->size, &end, 10);
    if (*end) return cli_usage_error(args, "--block %s: expected a number", args->size);
    const int code = sim_synthesize(&d, args->output, text);
    if (code == 1) return cli_usage_error(args, "%s", text);
    if (code) {
        fprintf(stderr, "metapack synthesize: %s\n", text);
        cli_print_failure(args, code == 2 ? MPK_ERR_FILE : MPK_ERR_MEMORY, text);
        return code;
    }
    if (!args->quiet)
        fprintf(stderr,
                "%s: solver.h, main.c, kernels.%s, Makefile and the host's half; make -C %s\n",
                args->output, strcmp(d.target, "cuda") ? "c" : "cu", args->output);
    return 0;
}
#else
int cmd_synthesize(cli_args *args) {
    return cli_usage_error(args, "this command was built without simulators (METAPACK_SIM)");
}
#endif
