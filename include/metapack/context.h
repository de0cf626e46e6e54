/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_CONTEXT_H
#define METAPACK_CONTEXT_H
/** The context: what a thread needs to call METAPACK. It has the memory, the last error, the
 *  callback for progress and the worker threads; it holds no matrix. */
#include <metapack/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Source of all host memory of a context. Worker threads call both functions, at the same time.
 *  alloc   returns size > 0 bytes, aligned to 64, or NULL
 *  release gets what alloc returned, with the same size
 *  user    is passed to both */
typedef struct mpk_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *ptr, size_t size);
    void *user;
} mpk_allocator;

/** Told how far a long call is. Called by one thread at a time, not always the caller's, about 20
 *  times a second at most. It must not call METAPACK with the same context.
 *  stage    "read", "analyse", "factorize", "solve" or "inverse"; "write" where a signal arrives
 *           while a full pipe keeps the writer waiting
 *  fraction of the stage that is done, 0 to 1
 *  Returns 0 to go on; anything else, be it once, cancels the call, which then returns
 *  MPK_ERR_CANCELLED; at fraction 1 the stage has ended, and the answer to that comes too late. It
 *  is asked about ten times for each second of a processor's time, but not by METIS, SCOTCH and
 *  AMD, which order what they are given in one go (docs/design/analysis.md), nor by a device. */
typedef int (*mpk_progress_fn)(const char *stage, double fraction, void *user);

/** Create a context.
 *  allocator [in]  copied; NULL: the C library's memory, with huge pages for large blocks
 *  ctx       [out] created; *ctx must be NULL before
 *  Returns MPK_OK | MPK_ERR_MEMORY
 *          | MPK_ERR_ARGUMENT: ctx is NULL or *ctx is not, the allocator lacks a function, or
 *            METAPACK_CPU in the environment is none of generic, avx2, avx512 (Arm: neon, sve256)
 *          | MPK_ERR_UNSUPPORTED: METAPACK_CPU asks for more than the processor or this build has.
 *          mpk_last_error(NULL, ...) has the text where METAPACK_CPU is the reason.
 *  Threads: contexts share nothing; each serves one calling thread at a time. A calling thread
 *  needs 128 KiB of stack for the direct solver and dense matrices, 256 KiB for methods on blocks,
 *  twice that for complex ones or where the factor is stored in single precision; what a callback
 *  takes comes on top.
 *  Forks: a child of fork() goes on with what its parent made, in memory of its own, and starts
 *  worker threads anew. Not so on a GPU, which does not follow: calls return MPK_ERR_DEVICE, and
 *  destroying gives such an object up. What another thread was changing when the process forked
 *  holds nothing in the child. In a callback (progress, an operator, a monitor) a child may only
 *  exec or _exit.
 *  Floating point: a caller's traps (feenableexcept), rounding and flushing of tiny numbers are
 *  off while a call computes, and as they were when it returns, flags of exceptions too; the
 *  operators of mpk_krylov_solve() find them. */
MPK_API mpk_status mpk_context_create(const mpk_allocator *allocator, mpk_context **ctx);

/** Free a context; what was created with it must have been destroyed before. */
MPK_API void mpk_context_destroy(mpk_context **ctx);

/** Have progress told to `progress`, with `user` as its last argument; NULL: to nobody. Not while
 *  a call on the context runs. */
MPK_API void mpk_context_set_progress(mpk_context *ctx, mpk_progress_fn progress, void *user);

/** How unsymmetric a matrix may be that is given with both triangles (MPK_FULL, a general file) and
 *  is taken for symmetric: the mean of both is factorized, errors are measured in the matrix as
 *  given. By default entries (i, j) and (j, i) may differ as rounding makes them: by 1.5e-6 (MPK_S,
 *  MPK_C: 1e-4) of the larger of the two, or, r_i and r_j being the largest entries of their rows,
 *  by 1e-11 (1e-5) of sqrt(r_i r_j) and 1.5e-6 (1e-4) of the smaller of r_i and r_j. The same holds
 *  for imaginary parts of a Hermitian diagonal. For problems made from now on, and all values that
 *  come to their patterns.
 *  tolerance [in] 0 .. 1: they may differ by this times the larger of r_i and r_j; below 0: the
 *            default. A file that differs by more than the default gives a problem of MPK_GENERAL;
 *            by more than a tolerance that is set here, an error
 *  Returns MPK_OK | MPK_ERR_ARGUMENT */
MPK_API mpk_status mpk_context_set_symmetry_tolerance(mpk_context *ctx, double tolerance);

/** What the last call on this context had to say: its failure, or its positive status.
 *  ctx   [in]  NULL: why no context can be created, where METAPACK_CPU is the reason
 *  stage [out] what failed: "read", "match", "factorize", ...
 *  index [out] the row, column, line or number of bytes it is about, as the text says; -1: none
 *  text  [out] for people; stage and text live until the next call on the context
 *  Each of the three may be NULL. Returns the status; MPK_OK: nothing was said, the text is empty;
 *  for ctx NULL MPK_ERR_ARGUMENT, or what mpk_context_create() returns because of METAPACK_CPU. */
MPK_API mpk_status mpk_last_error(const mpk_context *ctx, const char **stage, int64_t *index,
                                  const char **text);

/** Host memory in use through this context, and the most since the last reset, either may be NULL.
 *  Freed blocks that the context keeps for its next calls (at most 32 MiB) are not counted. From
 *  any thread. */
MPK_API void mpk_memory_usage(const mpk_context *ctx, int64_t *now_bytes, int64_t *peak_bytes);
/** Let the peak begin again at what is in use now. */
MPK_API void mpk_memory_reset_peak(mpk_context *ctx);

/** Bytes that the machine could still give this process: the least of what Linux calls available
 *  and what the process's control group leaves. INT64_MAX where neither can be read. */
MPK_API int64_t mpk_memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
