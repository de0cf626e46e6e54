/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PROBLEM_SUPPORT_H
#define TEST_PROBLEM_SUPPORT_H
/** What the tests of this folder share: contexts whose memory runs out on request. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sanitized.h"

/* Countdown to the allocation that fails; negative: never. Counts what is held. */
typedef struct purse {
    long left;
    long held;
} purse;

static void *purse_alloc(void *user, size_t size) {
    purse *p = user;
    if (p->left == 0) return NULL;
    if (p->left > 0) p->left--;
    p->held++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void purse_release(void *user, void *ptr, size_t size) {
    (void)size;
    ((purse *)user)->held--;
    free(ptr);
}

static inline mpk_context *new_context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

/* Call `verb` with contexts whose k-th allocation fails, k = 0, 1, ..., until it succeeds: each
 * failure must be MPK_ERR_MEMORY and leave nothing behind. */
static inline void sweep_allocations(mpk_status (*verb)(mpk_context *ctx)) {
    for (long k = 0;; k++) {
        assert_true(k < 10000);
        purse p = {.left = -1};
        mpk_allocator allocator = {purse_alloc, purse_release, &p};
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        p.left = k;
        mpk_status status = verb(ctx);
        int64_t now = -1;
        mpk_memory_usage(ctx, &now, NULL);
        mpk_context_destroy(&ctx);
        assert_int_equal(now, 0);
        assert_int_equal(p.held, 0);
        if (status == MPK_OK) {
            assert_true(k > 0);
            return;
        }
        assert_int_equal(status, MPK_ERR_MEMORY);
    }
}

/* The last error mentions `what`. */
static inline void assert_said(const mpk_context *ctx, const char *what) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, what)) fail_msg("\"%s\" does not say \"%s\"", text, what);
}

#endif
