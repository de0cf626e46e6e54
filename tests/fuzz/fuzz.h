/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H
/** What the fuzzers share: an allocator that holds METAPACK to memory in proportion to the input.
 */
#include <metapack/metapack.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* From any thread: what is above the limit is given back before it was taken. */
static void *fuzz_alloc(void *user, size_t size) {
    fuzz_purse *p = user;
    const size_t now = __atomic_add_fetch(&p->held, size, __ATOMIC_SEQ_CST);
    void *ptr = now > p->limit || now < size ? NULL : aligned_alloc(64, (size + 63) / 64 * 64);
    if (!ptr) {
        FUZZ_ASSERT(!p->strict);
        __atomic_sub_fetch(&p->held, size, __ATOMIC_SEQ_CST);
    }
    return ptr;
}

static void fuzz_release(void *user, void *ptr, size_t size) {
    __atomic_sub_fetch(&((fuzz_purse *)user)->held, size, __ATOMIC_SEQ_CST);
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

/* What mpk_problem promises: sorted columns of the lower triangle, or of all of a general matrix,
 * finite values, a real diagonal where Hermitian. */
static inline void fuzz_check_problem(const mpk_problem *problem) {
    mpk_problem_view v;
    mpk_problem_view_get(problem, &v);
    const bool single = v.scalar == MPK_S || v.scalar == MPK_C;
    const int64_t parts = v.scalar == MPK_C || v.scalar == MPK_Z ? 2 : 1;
    FUZZ_ASSERT(v.n >= 0 && v.nnz >= 0 && v.ap[0] == 0 && v.ap[v.n] == v.nnz);
    const bool general = v.symmetry == MPK_GENERAL;
    FUZZ_ASSERT(v.symmetry == MPK_SYMMETRIC || general ||
                (parts == 2 && v.symmetry == MPK_HERMITIAN));
    for (int32_t j = 0; j < v.n; j++) {
        FUZZ_ASSERT(v.ap[j] <= v.ap[j + 1]);
        for (int64_t k = v.ap[j]; k < v.ap[j + 1]; k++) {
            const int32_t first = general ? 0 : j;
            FUZZ_ASSERT(v.ai[k] >= (k == v.ap[j] ? first : v.ai[k - 1] + 1) && v.ai[k] < v.n);
            for (int64_t p = parts * k; p < parts * (k + 1); p++)
                FUZZ_ASSERT(
                    isfinite(single ? ((const float *)v.ax)[p] : ((const double *)v.ax)[p]));
            if (v.symmetry == MPK_HERMITIAN && v.ai[k] == j)
                FUZZ_ASSERT((single ? ((const float *)v.ax)[2 * k + 1]
                                    : ((const double *)v.ax)[2 * k + 1]) == 0);
        }
    }
}

/* The input, taken piece by piece; zeros behind its end. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t left;
} fuzz_input;

static inline size_t fuzz_take(fuzz_input *in, void *to, size_t size) {
    const size_t got = size < in->left ? size : in->left;
    memset(to, 0, size);
    if (got) memcpy(to, in->data, got);
    in->data += got;
    in->left -= got;
    return got;
}

static inline int fuzz_byte(fuzz_input *in) {
    uint8_t byte;
    fuzz_take(in, &byte, 1);
    return byte;
}

#endif
