/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H
/** What the fuzzers share: an allocator that holds METAPACK to memory in proportion to the input.
 */
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stop where the fuzzer and a debugger see it. */
#define FUZZ_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct fuzz_purse {
    size_t held, limit;
    int strict; /* more than the limit is a finding; else the allocation just fails */
} fuzz_purse;

static void *fuzz_alloc(void *user, size_t size) {
    fuzz_purse *p = user;
    if (size > p->limit - p->held) {
        FUZZ_ASSERT(!p->strict);
        return NULL;
    }
    void *ptr = aligned_alloc(64, (size + 63) / 64 * 64);
    if (ptr) p->held += size;
    return ptr;
}

static void fuzz_release(void *user, void *ptr, size_t size) {
    ((fuzz_purse *)user)->held -= size;
    free(ptr);
}

static inline mpk_context *fuzz_context(fuzz_purse *purse) {
    mpk_allocator allocator = {fuzz_alloc, fuzz_release, purse};
    mpk_context *ctx = NULL;
    FUZZ_ASSERT(mpk_context_create(&allocator, &ctx) == MPK_OK);
    return ctx;
}

/* Everything was given back. */
static inline void fuzz_end(mpk_context *ctx, const fuzz_purse *purse) {
    mpk_context_destroy(&ctx);
    FUZZ_ASSERT(purse->held == 0);
}

/* A failure says why and leaves no result; a success leaves one. */
static inline void fuzz_check_status(mpk_context *ctx, mpk_status status, const void *result) {
    const char *text = NULL;
    mpk_status last = mpk_last_error(ctx, NULL, NULL, &text);
    FUZZ_ASSERT(status <= 0 && status != MPK_ERR_INTERNAL);
    FUZZ_ASSERT((status == MPK_OK) == (result != NULL));
    FUZZ_ASSERT(status == last && (status == MPK_OK) == (text[0] == '\0'));
}

#endif
