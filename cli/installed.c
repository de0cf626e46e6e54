/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the installed plug-ins, and quotes their paths for a shell. */
#define _GNU_SOURCE
#include "cli.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_installed(const char *const *places, int count, const char *file, char folder[PATH_MAX]) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (int k = 0; k < count; k++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s/%s", self, places[k], file);
        if (access(path, R_OK)) continue;
        *strrchr(path, '/') = '\0';
        if (realpath(path, folder)) return true;
    }
    return false;
}

bool cli_cuda_module(char path[PATH_MAX]) {
    const char *const wish = getenv("METAPACK_CUDA_MODULE");
    Dl_info library;
    if (wish && *wish) {
        snprintf(path, PATH_MAX, "%s", wish);
    } else {
        if (!dladdr((void *)(uintptr_t)&mpk_version, &library) || !library.dli_fname) return false;
        const char *slash = strrchr(library.dli_fname, '/');
        snprintf(path, PATH_MAX, "%.*slibmetapack_cuda.so",
                 slash ? (int)(slash - library.dli_fname) + 1 : 0, library.dli_fname);
    }
    return access(path, R_OK) == 0;
}

void cli_print_quoted(const char *text) {
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
    }
    putchar('\'');
}
