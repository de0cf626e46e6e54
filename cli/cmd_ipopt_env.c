/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack ipopt-env: where the library for Ipopt lies, as a line for the shell. */
#define _GNU_SOURCE
#include "cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef METAPACK_IPOPT_FROM_BIN /* of an installed command, from its folder */
#define METAPACK_IPOPT_FROM_BIN "../lib/metapack/ipopt"
#endif

/* The folder of libhsl.so: beside the installed command, or in the build folder it was made in. */
static bool find(char folder[PATH_MAX]) {
    static const char *const places[] = {METAPACK_IPOPT_FROM_BIN, "ipopt"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s/libhsl.so", self, places[k]);
        if (access(path, R_OK)) continue;
        *strrchr(path, '/') = '\0';
        if (realpath(path, folder)) return true;
    }
    return false;
}

/* In single quotes, so that the shell takes every byte as it is. */
static void print_quoted(const char *text) {
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
    }
    putchar('\'');
}

static void print_json_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

int cmd_ipopt_env(cli_args *args) {
    char folder[PATH_MAX], library[PATH_MAX + 32];
    if (args->nwords) return cli_usage_error(args, "ipopt-env takes no argument");
    if (!find(folder)) {
        const char *message = "libhsl.so is neither beside the installed command nor in its build";
        if (!args->quiet) fprintf(stderr, "metapack ipopt-env: %s\n", message);
        if (args->json) cli_print_failure(args, MPK_ERR_FILE, message);
        return mpk_exit_code(MPK_ERR_FILE);
    }
    snprintf(library, sizeof library, "%s/libmetapack_ipopt.so", folder);
    if (args->json) {
        printf("{\"folder\": ");
        print_json_string(folder);
        printf(", \"hsllib\": ");
        print_json_string(library);
        printf("}\n");
        return 0;
    }
    if (!args->quiet)
        fprintf(stderr,
                "Ipopt 3.14:  options linear_solver = ma97 and\n"
                "             hsllib = %s\n"
                "Ipopt 3.11:  eval \"$(metapack ipopt-env -q)\", then linear_solver = ma97\n"
                "             (ma86 where hessian_approximation = limited-memory)\n",
                library);
    printf("export LD_LIBRARY_PATH=");
    print_quoted(folder);
    printf("\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n");
    return 0;
}
