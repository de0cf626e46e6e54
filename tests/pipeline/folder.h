/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_PIPELINE_FOLDER_H
#define TESTS_PIPELINE_FOLDER_H
/** A folder of the test's own: mkdtemp(folder) makes it. */
#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/metapack-test-XXXXXX";

/** The path of a file in it; good until four more were asked for. */
static inline const char *in_folder(const char *name) {
    static char path[4][128];
    static int turn;
    char *at = path[turn++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    return at;
}

#endif
