/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack petsc-env [BUILD]: the line for the shell that loads METAPACK into programs with PETSc.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#ifndef METAPACK_PETSC_FROM_BIN /* of an installed command, from its folder */
#define METAPACK_PETSC_FROM_BIN "../lib/metapack/petsc"
#endif

#ifndef METAPACK_PETSC_BUILDS /* those that plug-ins are made for, or why none is */
#define METAPACK_PETSC_BUILDS ""
#define METAPACK_PETSC_WHY ""
#endif

/* Builds of PETSc as cmake/petsc.cmake names them. */
static const char *const builds[] = {
    "real",        "complex",        "real-int64",        "complex-int64",
    "real-single", "complex-single", "real-single-int64", "complex-single-int64"};
enum { BUILDS = sizeof builds / sizeof *builds };

static bool find(const char *build, char folder[PATH_MAX]) {
    char installed[128], made[64];
    const char *places[] = {installed, made};
    snprintf(installed, sizeof installed, "%s/%s", METAPACK_PETSC_FROM_BIN, build);
    snprintf(made, sizeof made, "petsc/%s", build);
    return cli_installed(places, 2, "libmetapack_petsc.so", folder);
}

/* Is a plug-in for this build of PETSc made with METAPACK? */
static bool is_made(const char *build) {
    const char *made = METAPACK_PETSC_BUILDS;
    const size_t length = strlen(build);
    for (; *made; made += strcspn(made, " "), made += strspn(made, " "))
        if (!strncmp(made, build, length) && (made[length] == ',' || !made[length])) return true;
    return false;
}

static int fail(const cli_args *args, const char *message) {
    if (!args->quiet) fprintf(stderr, "metapack petsc-env: %s\n", message);
    if (args->json) cli_print_failure(args, MPK_ERR_FILE, message);
    return mpk_exit_code(MPK_ERR_FILE);
}

/* List the builds that are installed, in `text`. */
static int list(char *text, size_t size) {
    char folder[PATH_MAX];
    int count = 0;
    *text = '\0';
    for (int k = 0; k < BUILDS; k++) {
        if (!find(builds[k], folder)) continue;
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", count++ ? ", " : "", builds[k]);
    }
    return count;
}

int cmd_petsc_env(cli_args *args) {
    char folder[PATH_MAX], library[PATH_MAX + 32], there[160], message[320];
    const char *build = args->nwords ? args->words[0] : "real";
    if (args->nwords > 1) return cli_usage_error(args, "petsc-env takes one build of PETSc");
    const int count = list(there, sizeof there);
    if (count == 0 && *METAPACK_PETSC_BUILDS)
        return fail(args,
                    "libmetapack_petsc.so is not built yet, nor installed beside the command: "
                    "the build makes it for PETSc " METAPACK_PETSC_BUILDS);
    if (count == 0)
        return fail(args, "METAPACK was built without plug-ins for PETSc: " METAPACK_PETSC_WHY);
    if (!strchr(build, '/') && !find(build, folder) && is_made(build)) {
        snprintf(
            message, sizeof message,
            "the plug-in for PETSc build '%.64s' is not built yet, nor installed; there are: %s",
            build, there);
        return fail(args, message);
    }
    if (strchr(build, '/') || !find(build, folder)) {
        snprintf(message, sizeof message, "no plug-in for a PETSc build '%.64s'; there are: %s",
                 build, there);
        return fail(args, message);
    }
    snprintf(library, sizeof library, "%s/libmetapack_petsc.so", folder);
    if (strpbrk(library, " \t"))
        return fail(args, "PETSC_OPTIONS cannot hold a path with blanks in it");
    if (args->json) {
        printf("{\"build\": ");
        cli_print_json_string(stdout, build);
        printf(", \"library\": ");
        cli_print_json_string(stdout, library);
        printf("}\n");
        return 0;
    }
    if (!args->quiet)
        fprintf(stderr,
                "PETSc, %s (there are: %s): eval \"$(metapack petsc-env -q %s)\", then\n"
                "  -pc_type cholesky (or icc) -pc_factor_mat_solver_type metapack, -ksp_type "
                "sqmr\n",
                build, there, build);
    printf("export PETSC_OPTIONS=\"${PETSC_OPTIONS:+$PETSC_OPTIONS }\"");
    printf("'-dll_append '");
    cli_print_quoted(library);
    printf("\n");
    return 0;
}
