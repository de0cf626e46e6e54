/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ANALYSIS_CONTEXT_H
#define TEST_ANALYSIS_CONTEXT_H
#include "fixture.h"

/* A context for each test, and proof that all memory came back. */
static failing test_memory;
static mpk_context *ctx;
static int setup(void **state) {
    (void)state;
    const mpk_allocator allocator = {failing_alloc, failing_release, &test_memory};
    test_memory.countdown = -1;
    test_memory.held = 0;
    ctx = NULL;
    return mpk_context_create(&allocator, &ctx);
}
static int teardown(void **state) {
    (void)state;
    mpk_context_destroy(&ctx);
    return test_memory.held != 0;
}

#endif
