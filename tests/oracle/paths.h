/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_PATHS_H
#define ORACLE_PATHS_H
/** The paths through the library: each calls it and passes what it says to the judge. */
#include "given.h"
#include "verdict.h"

void run_sparse(verdicts *v, mpk_context *ctx);   /* analyse, factorize, solve; adaptive */
void run_operator(verdicts *v, mpk_context *ctx); /* mpk_krylov_solve */
void run_dense(verdicts *v, mpk_context *ctx);
void run_batch(verdicts *v, mpk_context *ctx);

/** One trial, from a context's beginning to its end. */
void trial_run(verdicts *v);

/** What a context holds: its allocator marks each block with its owner and its size. */
typedef struct memory {
    int64_t held, foreign, missized; /* blocks; given back though another's; with another size */
} memory;

/** A context with such an allocator; NULL: it could not be made, which is told. */
mpk_context *memory_context(verdicts *v, memory *m);
/** Destroy it, and judge what is left. */
void memory_end(verdicts *v, memory *m, mpk_context **ctx);

/** Right-hand sides and solutions as the library gets them, with copies that show whether it wrote
 *  where it must not. */
typedef struct sides {
    const equations *eq;
    int64_t ld;
    void *b, *x;           /* one array where b is x */
    void *b_copy, *x_copy; /* as they were */
} sides;

sides sides_make(const equations *eq, const setup *s, int in_place);
void sides_free(sides *s);

/** After the call: a failure must leave x, and nothing may change b or rows beyond n. */
void sides_check(const sides *s, verdicts *v, const char *call, mpk_status status);

/** Structures that a call reports in are filled with a pattern before it; if the call fails, it
 *  must still be there. */
void pattern_fill(void *info, size_t bytes);
void pattern_check(verdicts *v, const char *call, mpk_status status, const void *info,
                   size_t bytes);

#endif
