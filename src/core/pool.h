/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_POOL_H
#define MPKI_POOL_H
/** A pool of threads: tasks by priority, and loops inside tasks that idle workers help with.
 *  Nothing waits for a worker that has not started: a task goes to the first worker that asks,
 *  the owner of a loop runs all items that nobody has claimed, and a run ends while other
 *  workers still sleep. So a worker that the system has suspended delays only the item it holds.
 *  Waiting spins for some microseconds, then blocks. Only as many workers are woken as there is
 *  work for: one by a task, two by a loop if they sleep, and each of these wakes others. A forked
 *  child has none of the threads: the first call there makes a pool anew. */
#include "core.h"

typedef struct mpki_pool mpki_pool;
typedef void (*mpki_task_fn)(mpki_pool *pool, int worker, void *arg, int64_t item);

/** The context's pool with a team of this many workers (>= 1, the caller of mpki_pool_run among
 *  them), or as many as there are cores if these are fewer, and room for `capacity` queued tasks;
 *  created when first asked for, and again for a larger team or after a fork. If the system gives
 *  fewer threads, those run. NULL on MPK_ERR_MEMORY. Borrowed: the context destroys it. */
mpki_pool *mpki_context_pool(mpk_context *ctx, int threads, int64_t capacity);
/** This many threads, or as many as the process may use cores (its affinity mask), if these are
 *  fewer: a loop waits for a helper that is off its core. */
int mpki_context_threads(mpk_context *ctx, int threads);
/** So many cores from now on, and calls that have as many workers as they ask for, whether or not
 *  these pay; 0: those of the process again, and what pays. For tests. */
void mpki_context_set_cores(mpk_context *ctx, int cores);
bool mpki_context_takes_all(const mpk_context *ctx);
/** Workers of the largest team that has run anything since this was last asked, 1: there was none. For tests and
 *  benches. */
int mpki_context_took(mpk_context *ctx);
/** Seconds that it takes to wake a worker: measured in a pool of this many when first asked, in
 *  about a millisecond. */
double mpki_context_wake_s(mpk_context *ctx, int threads);
/** Only the context calls these six. Lost: its threads were those of a process that has forked. */
bool mpki_pool_is_lost(const mpki_pool *pool);
void mpki_pool_destroy(mpki_pool **pool);
mpki_pool *mpki_pool_create(mpk_context *ctx, int threads);
bool mpki_pool_reserve(mpki_pool *pool, int64_t capacity);
double mpki_pool_wake_s(mpki_pool *pool);
int mpki_pool_took(mpki_pool *pool);
/** Workers that there are, whether or not they are of the team. */
int mpki_pool_most(const mpki_pool *pool);

/** Let the next runs and loops have workers 0 .. team-1, but no more than there are. Between two
 *  runs. Returns how many it were before, for who takes fewer to give them back; 1 for NULL. */
int mpki_pool_set_team(mpki_pool *pool, int team);
/** What the pool has done since it was made. */
typedef struct mpki_pool_counts {
    int64_t pushes, loops, wakes; /* wakes: of workers that slept */
    /* What its workers worked, the caller's time counted as work from beginning to end, so that
     * what it waits is subtracted: between two looks, plus the time that has passed, this is the
     * work of all. */
    double busy_s;
} mpki_pool_counts;
mpki_pool_counts mpki_pool_count(mpki_pool *pool);

/** Queue fn(pool, worker, arg, item); the highest priority runs first. From any worker or before
 * the run, which then calls workers for all of them: two, who call others, and so on. */
void mpki_pool_push(mpki_pool *pool, double priority, mpki_task_fn fn, void *arg, int64_t item);
/** Run until no task is queued or running; the caller is worker 0. */
void mpki_pool_run(mpki_pool *pool);
/** Run items 0 .. count-1 on the caller and idle workers; returns when all are done. Called inside
 *  a task, by worker 0 between two runs, or anywhere with pool == NULL (serially). */
void mpki_pool_for(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg);
/** The same, but each worker has items that lie together, and takes others' only when it has done
 *  its own: what neighbours read comes to one cache, and pages that they are the first to write are
 *  cleared by one worker, where several that meet in one would each clear it. */
void mpki_pool_for_near(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg);
/** mpki_clear_slowly() by all workers where it is much: each is the first to touch its own pages. */
bool mpki_clear_shared(mpk_context *ctx, const char *stage, void *ptr, size_t bytes,
                       mpki_pool *pool, int worker);
/** Large memory whose contents do not matter is written to once in each page, each huge page by one
 *  worker: where several meet in one that is fresh from the system, each of them clears it. */
void mpki_touch_shared(void *ptr, size_t bytes, mpki_pool *pool, int worker);
/** Workers of the team, 1 for NULL. */
int mpki_pool_threads(const mpki_pool *pool);

#endif
