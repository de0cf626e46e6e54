/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SHARE_H
#define TEST_SHARE_H
#include <stdbool.h>
#include <stdlib.h>

/** All cases? METAPACK_TEST_WHOLE=1 in the environment asks for them (tools/check-all). */
static inline bool test_all_cases(void) {
    const char *wish = getenv("METAPACK_TEST_WHOLE");
    return wish && *wish == '1';
}

/** Of cases that differ in numbers alone a run takes one of `every`, always the same ones: is case
 *  k none of them? */
static inline bool test_left_out(int k, int every) {
    return k % every && !test_all_cases();
}

#endif
