/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_THERE_H
#define TESTS_DEVICE_THERE_H
/** What tests of a device run on: a GPU where METAPACK_TEST_DEVICE is 1, else the module whose
 *  kernels run on the host (cuda_host/). */
#include "engines/cuda/module/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline bool device_is_real(void) {
    const char *must = getenv("METAPACK_TEST_DEVICE");
    return must && !strcmp(must, "1");
}

/** Rooms that a module may lack. */
typedef enum device_room { DEVICE_ANY, DEVICE_BLOCKS, DEVICE_DIRECT } device_room;

/** Is it there, with that room? A GPU that is asked for and cannot be opened counts as there, so
 *  that tests fail. */
static inline bool device_has(device_room room) {
    mpk_context *ctx = NULL;
#ifdef METAPACK_CUDA_HOST
    if (!device_is_real()) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#endif
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return false;
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    const bool there = !d                      ? device_is_real()
                       : room == DEVICE_BLOCKS ? d->table->blocks != NULL
                       : room == DEVICE_DIRECT ? d->table->direct != NULL
                                               : true;
    mpk_context_destroy(&ctx);
    return there;
}

static inline bool device_there(void) {
    return device_has(DEVICE_ANY);
}

/** For main(): it is not there, which is told, and then there is nothing to test. */
static inline bool device_lacks(device_room room) {
    if (device_has(room)) return false;
    print_message("no device, and no module that does without: nothing to test\n");
    return true;
}

#endif
