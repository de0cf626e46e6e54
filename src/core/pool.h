/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_POOL_H
#define MPKI_POOL_H
/** A pool of threads: tasks by priority, and loops inside tasks that idle workers help with.
 *  Nothing waits for a worker that has not started: a task goes to the first worker that asks,
 *  the owner of a loop runs all items that nobody has claimed, and a run ends while other
 *  workers still sleep. So a worker that the system has suspended delays only the item it holds.
 *  Waiting spins for some microseconds, then blocks. A forked child has none of the threads: the
 *  first call there makes a pool anew. */
#include "core.h"

typedef struct mpki_pool mpki_pool;
typedef void (*mpki_task_fn)(mpki_pool *pool, int worker, void *arg, int64_t item);

/** The context's pool with this many workers (>= 1, the caller of mpki_pool_run among them) and
 *  room for `capacity` queued tasks; created when first asked for, and again when the number
 *  differs or after a fork. If the system gives fewer threads, those run. NULL on
 *  MPK_ERR_MEMORY. Borrowed: the context destroys it. */
mpki_pool *mpki_context_pool(mpk_context *ctx, int threads, int64_t capacity);
/** Only the context calls these four. Lost: its threads were those of a process that has forked. */
bool mpki_pool_is_lost(const mpki_pool *pool);
void mpki_pool_destroy(mpki_pool **pool);
mpki_pool *mpki_pool_create(mpk_context *ctx, int threads);
bool mpki_pool_reserve(mpki_pool *pool, int64_t capacity);

/** Queue fn(pool, worker, arg, item); the highest priority runs first. From any worker or before
 * the run. */
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
/** Workers, 1 for NULL. */
int mpki_pool_threads(const mpki_pool *pool);

#endif
