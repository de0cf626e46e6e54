/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the installed plug-ins, and quotes their paths for a shell. */
#define _GNU_SOURCE
#include "cli.h"

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
