/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CORE_H
#define MPKI_CORE_H
/** What all other folders use: memory, errors, progress, time, options. */
#include <metapack/options.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- memory: every byte of the library passes here; sizes are checked products -------------- */

/** count * size bytes aligned to 64, or NULL with MPK_ERR_MEMORY / _SIZE recorded under `stage`;
 *  stage NULL: nothing is recorded, since another thread may be in a call of that context. A zero product gives a valid pointer. Thread-safe. Freed with mpki_release(). */
void *mpki_alloc(mpk_context *ctx, const char *stage, int64_t count, size_t size);
/** The same, zeroed. */
void *mpki_calloc(mpk_context *ctx, const char *stage, int64_t count, size_t size);
/** Grow (or shrink) to count * size bytes, keeping the content; on failure NULL and *old is intact.
 */
void *mpki_resize(mpk_context *ctx, const char *stage, void *old, int64_t count, size_t size);
/** Bytes that the context takes for a request of `bytes`: its own header, large blocks rounded. */
double mpki_alloc_bytes(double bytes);
/** Free; NULL is fine. Any thread. */
void mpki_release(mpk_context *ctx, void *ptr);

#define MPKI_NEW(ctx, stage, count, type)                                                          \
    ((type *)mpki_alloc((ctx), (stage), (count), sizeof(type)))
#define MPKI_ZNEW(ctx, stage, count, type)                                                         \
    ((type *)mpki_calloc((ctx), (stage), (count), sizeof(type)))

/** Until it is called with limit 0, mpki_alloc refuses what would take the context beyond `limit`
 *  bytes; `held` bytes of what is in use now count towards them. One call at a time sets it. */
void mpki_memory_bound(mpk_context *ctx, int64_t held, double limit);
/** What may still be allocated under that bound; INT64_MAX where there is none. */
int64_t mpki_memory_left(const mpk_context *ctx);

/** mpk_memory_available(). */
int64_t mpki_memory_available(void);

/** Refuse what cannot fit before any of it is allocated. To ask the system takes as long as a small
 *  analysis, so what fits into any machine is not asked about.
 *  what  [in] "the factorization": what would take the bytes
 *  bytes [in] that are still to be taken
 *  limit [in] options.memory_limit; 0: what the machine has free
 *  Returns MPK_OK | MPK_ERR_MEMORY, with both numbers in the text and the bytes as the index */
mpk_status mpki_memory_check(mpk_context *ctx, const char *stage, const char *what, double bytes,
                             double limit);

/* ---- errors ---------------------------------------------------------------------------------- */

/** Record a failure and return its status: `return mpki_error(ctx, MPK_ERR_INPUT, "read", row,
 * "...")`. The first error since the call began is kept. ctx NULL is allowed. Thread-safe. */
mpk_status mpki_error(mpk_context *ctx, mpk_status status, const char *stage, int64_t index,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/** Forget the last error; every public function begins with it. */
void mpki_clear_error(mpk_context *ctx);
/** Status recorded since mpki_clear_error (MPK_OK if none): what to return after a failed
 *  mpki_alloc. Not mpk_failed(), which asks whether a status is a failure. */
mpk_status mpki_failed(const mpk_context *ctx);

/** The worse of two statuses: a failure before a reservation before MPK_OK. */
mpk_status mpki_worse(mpk_status a, mpk_status b);

/** The source of the context's memory, for one that a thread of its call has for itself. */
const mpk_allocator *mpki_context_allocator(const mpk_context *ctx);

/* ---- a device -------------------------------------------------------------------------------- */

/** What a device backend keeps with the context (handles, streams), or NULL. */
void *mpki_context_device(const mpk_context *ctx);
/** Keep `device`; `close` is called with it when another replaces it or the context is destroyed.
 */
void mpki_context_set_device(mpk_context *ctx, void *device, void (*close)(void *device));

/** The engine that factors of this context shall use (factor/factor.h); NULL: by options. */
const void *mpki_context_engine(const mpk_context *ctx);
void mpki_context_set_engine(mpk_context *ctx, const void *engine);
/** The same of an engine that the context owns: `close` is called with it when another one is
 *  owned, or the context is destroyed. */
void mpki_context_own_engine(mpk_context *ctx, void *engine,
                             void (*close)(void *engine, mpk_context *ctx));

/* ---- progress -------------------------------------------------------------------------------- */

/** What mpk_context_set_symmetry_tolerance said; below 0: the default. */
double mpki_symmetry_tolerance(const mpk_context *ctx);
/** The same, unchecked; leaves the last error alone. */
void mpki_set_symmetry_tolerance(mpk_context *ctx, double tolerance);
/** Is the rank what the caller is after, so that a factorization spares no work to find it? */
bool mpki_rank_is_asked(const mpk_context *ctx);
void mpki_ask_for_rank(mpk_context *ctx, bool ask);
/** Report progress; true: the caller wants to stop. Cheap (rate-limited); thread-safe. */
bool mpki_progress(mpk_context *ctx, const char *stage, double fraction);

/** The same in the midst of a stage: what was last told of it is told again. */
bool mpki_stop_wanted(mpk_context *ctx, const char *stage);
/** Tell at most once in so many seconds, for tests; at first 0.05. */
void mpki_progress_each(mpk_context *ctx, double seconds);
/** Has either found that the caller wants to stop? It is not asked. */
bool mpki_cancelled(const mpk_context *ctx);
/** Record that the caller wants to stop. Returns MPK_ERR_CANCELLED. */
mpk_status mpki_stopped(mpk_context *ctx, const char *stage);

/** A loop that may be long counts what it does, in entries or steps, and asks from time to time: by
 *  the clock of a slow machine some hundred times a second. One for each thread. */
typedef struct mpki_asking {
    mpk_context *ctx;
    const char *stage;
    int64_t done;
} mpki_asking;
enum { MPKI_ASK = 1 << 18 };
static inline bool mpki_asks(mpki_asking *a, int64_t work) {
    if ((a->done += work + 1) < MPKI_ASK) return false;
    a->done = 0;
    return mpki_stop_wanted(a->ctx, a->stage);
}
/** memset(ptr, 0, bytes) in parts: pages that are touched first take a while. True: it was stopped,
 *  and the rest is as it was. */
bool mpki_clear_slowly(mpki_asking *a, void *ptr, size_t bytes);

/* ---- time ------------------------------------------------------------------------------------ */

double mpki_now_s(void); /* monotonic seconds */

/* ---- options --------------------------------------------------------------------------------- */

/** A full copy of the caller's options, defaults for fields that an older caller lacks or for NULL;
 *  MPK_ERR_ARGUMENT where a value is out of its range. */
mpk_status mpki_options_resolve(mpk_context *ctx, const mpk_options *given, mpk_options *full);
/** mpk_option_is_read() where more is known: general 1: the matrix is not symmetric, 0: it is, and
 *  method auto then solves directly unless direct is off; -1: not known. */
bool mpki_option_is_read(const mpk_option *option, const mpk_options *options, int general,
                         char *why, size_t size);
/** Threads that a caller may ask for. */
enum { MPKI_THREADS_MOST = 1024 };
/** Cores that the process may use: its affinity mask. */
int mpki_cores(void);
/** Threads that options.threads = 0 means here: OMP_NUM_THREADS, else mpki_cores(). */
int mpki_threads_default(void);

/* ---- precisions ------------------------------------------------------------------------------ */

/** Call the function of the precision `scalar`. */
#define MPKI_DISPATCH(scalar, name)                                                                \
    ((scalar) == MPK_S   ? mpki_s_##name                                                           \
     : (scalar) == MPK_D ? mpki_d_##name                                                           \
     : (scalar) == MPK_C ? mpki_c_##name                                                           \
                         : mpki_z_##name)

/** The larger one; NaN if either is NaN, so that the largest of many values is NaN if any is. */
static inline double mpki_larger(double a, double b) {
    return a <= b ? b : b == b ? a : b;
}

#endif
