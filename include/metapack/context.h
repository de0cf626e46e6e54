/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_CONTEXT_H
#define METAPACK_CONTEXT_H
#include <metapack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Source of all host memory of a context. Both functions must be thread-safe.
 *  alloc returns `size` > 0 bytes aligned to 64, or NULL;
 *  release gets what alloc returned, with the same size. */
typedef struct mpk_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *ptr, size_t size);
    void *user;
} mpk_allocator;

/** Progress of a long call: `stage` is "read", "analyse", "factorize", "solve", and "write" where a
 *  signal comes while a pipe keeps a file waiting; 0 <= fraction <= 1. Called from one thread at a
 *  time (not always the caller's), at most about 20 times a second. A return other than 0 cancels
 *  the call, which then returns MPK_ERR_CANCELLED. */
typedef int (*mpk_progress_fn)(const char *stage, double fraction, void *user);

/** Create a context: the place of errors, memory and threads. It holds no matrix.
 *  allocator [in] NULL: the C library's (huge pages for large blocks); copied
 *  ctx       [out] created context; *ctx must be NULL before
 *  Returns MPK_OK | MPK_ERR_ARGUMENT (also: METAPACK_CPU in the environment is none of generic,
 *  avx2, avx512) | MPK_ERR_UNSUPPORTED (it asks for more than the processor has) | MPK_ERR_MEMORY.
 *  mpk_last_error(NULL, ...) has the text of what METAPACK_CPU is refused for.
 *  Threads: one context serves one calling thread at a time; any number of contexts may be in use
 *  at once, they share nothing. */
MPK_API mpk_status mpk_context_create(const mpk_allocator *allocator, mpk_context **ctx);

/** Free a context and set it to NULL; objects made with it must have been destroyed before. */
MPK_API void mpk_context_destroy(mpk_context **ctx);

MPK_API void mpk_context_set_progress(mpk_context *ctx, mpk_progress_fn progress, void *user);

/** How unsymmetric rounding may make a matrix that is given with both triangles (MPK_FULL, a
 *  general file). Entries (i, j) and (j, i) may differ by tolerance times the largest entry of rows
 *  i and j, and their mean is taken; a Hermitian diagonal may have such imaginary parts, which are
 *  dropped. Holds for problems made from now on, and for all values that come to their patterns.
 *  tolerance [in] 0 .. 1; below 0: the default, 1.5e-6, for MPK_S and MPK_C 1e-4
 *  Returns MPK_OK | MPK_ERR_ARGUMENT */
MPK_API mpk_status mpk_context_set_symmetry_tolerance(mpk_context *ctx, double tolerance);

/** The last failure on this context: status, the stage that failed ("read", "match", ...), the
 *  index it is about (row, column, line or byte count; -1: none) and a text for people. Each out
 *  parameter may be NULL. The text lives until the next call on the context. ctx NULL: why none can
 *  be created, if METAPACK_CPU in the environment is the reason; the text is static. */
MPK_API mpk_status mpk_last_error(const mpk_context *ctx, const char **stage, int64_t *index,
                                  const char **text);

/** Bytes now in use through this context, and the most since the last reset. Freed blocks that the
 * context keeps for its next calls (at most 32 MiB) are not counted; mpk_context_destroy frees
 * them. */
MPK_API void mpk_memory_usage(const mpk_context *ctx, int64_t *now_bytes, int64_t *peak_bytes);
MPK_API void mpk_memory_reset_peak(mpk_context *ctx);

/** Bytes that the machine could still give this process: the least of what Linux calls available
 *  and what the process's control group leaves. INT64_MAX where neither can be read. */
MPK_API int64_t mpk_memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
