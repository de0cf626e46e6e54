/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BORG_LIBRARY_H
#define TESTS_BORG_LIBRARY_H
/** The library's kernels, src/kernels/cl, and those of tests/borg ("./kernels/NAME"), compiled.
 * Behind cmocka.h. */
#include <stdio.h>
#include <string.h>
#include "borg/files.h"

static const char *const library_kernels[] = {"gema",
                                              "gemm",
                                              "gemm_ab",
                                              "gemm_adb",
                                              "trsv",
                                              "trsm",
                                              "ldus",
                                              "pade",
                                              "enum",
                                              "frcg",
                                              "ldlt",
                                              "ldlt_static",
                                              "ldlt_partial",
                                              "ldlt_rook",
                                              "ldlt_complete",
                                              "ldlt_solve",
                                              "llt",
                                              "llt_complete",
                                              "ldu",
                                              "ldu_static",
                                              "ldu_partial",
                                              "ldu_rook",
                                              "ldu_complete",
                                              "invert_diagonal",
                                              "invert_triangle"};
enum { LIBRARY_KERNELS = sizeof library_kernels / sizeof *library_kernels };

static inline borg_program *library_compile(const char *kernel, const borg_options *options) {
    static char path[512]; /* messages of the program name it */
    borg_options o = *options;
    borg_program *p = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s.cl", *kernel == '.' ? BORG_TESTS : METAPACK_KERNELS, kernel);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    char *text = borg_read_all(file, &length);
    fclose(file);
    assert_non_null(text);
    o.reader = &borg_file_reader;
    if (borg_compile(path, text, length, &o, NULL, &p) != BORG_OK)
        fail_msg("%s", p ? borg_program_messages(p) : "memory");
    free(text);
    return p;
}

#endif
