/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack ipopt-env: where the library for Ipopt lies, as a line for the shell. */
#include "cli.h"

#include <stdio.h>

#ifndef METAPACK_IPOPT_FROM_BIN /* of an installed command, from its folder */
#define METAPACK_IPOPT_FROM_BIN "../lib/metapack/ipopt"
#endif

int cmd_ipopt_env(cli_args *args) {
    static const char *const places[] = {METAPACK_IPOPT_FROM_BIN, "ipopt"}; /* or its build */
    char folder[PATH_MAX], library[PATH_MAX + 32];
    if (args->nwords) return cli_usage_error(args, "ipopt-env takes no argument");
    if (!cli_installed(places, 2, "libhsl.so", folder)) {
#ifdef METAPACK_IPOPT_MADE
        const char *message =
            "libhsl.so is not built yet, nor installed beside the command: the build makes it";
#else
        const char *message =
            "METAPACK was built without its plug-in for Ipopt: METAPACK_IPOPT=OFF";
#endif
        if (!args->quiet) fprintf(stderr, "metapack ipopt-env: %s\n", message);
        if (args->json) cli_print_failure(args, MPK_ERR_FILE, message);
        return mpk_exit_code(MPK_ERR_FILE);
    }
    snprintf(library, sizeof library, "%s/libmetapack_ipopt.so", folder);
    if (args->json) {
        printf("{\"folder\": ");
        cli_print_json_string(stdout, folder);
        printf(", \"hsllib\": ");
        cli_print_json_string(stdout, library);
        printf("}\n");
        return 0;
    }
    if (!args->quiet)
        fprintf(stderr,
                "Ipopt 3.14:  options linear_solver = ma57 (or ma27, ma86, ma97) and\n"
                "             hsllib = %s\n"
                "Ipopt 3.11:  eval \"$(metapack ipopt-env -q)\", then linear_solver = ma57\n"
                "             (not ma97 where hessian_approximation = limited-memory)\n",
                library);
    printf("export LD_LIBRARY_PATH=");
    cli_print_quoted(folder);
    printf("\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n");
    return 0;
}
