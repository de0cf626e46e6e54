/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_POOL_H
#define MPKI_POOL_H
/** A pool of threads: tasks by priority, and loops inside tasks that idle workers help with. Nobody
 * waits for a worker that has not begun: tasks go to whoever asks, a loop's owner runs every item
 * that nobody claimed, and a run ends without those who are still asleep; so a worker that the
 * system has put aside delays no more than the item it holds. Waiting spins for some microseconds
 * and then blocks. */
#include "core.h"

typedef struct mpki_pool mpki_pool;
typedef void (*mpki_task_fn)(mpki_pool *pool, int worker, void *arg, int64_t item);

/** The context's pool with this many workers (>= 1, the caller of mpki_pool_run among them) and
 * room for `capacity` queued tasks; made when first asked for, and again when the number differs.
 * Fewer threads run when the system gives no more. NULL on MPK_ERR_MEMORY. Borrowed: the context
 * ends it. */
mpki_pool *mpki_context_pool(mpk_context *ctx, int threads, int64_t capacity);
/** For the context alone. */
void mpki_pool_destroy(mpki_pool **pool);
mpki_pool *mpki_pool_create(mpk_context *ctx, int threads);
bool mpki_pool_reserve(mpki_pool *pool, int64_t capacity);

/** Queue fn(pool, worker, arg, item); the highest priority runs first. From any worker or before
 * the run. */
void mpki_pool_push(mpki_pool *pool, double priority, mpki_task_fn fn, void *arg, int64_t item);
/** Run until no task is queued or running; the caller is worker 0. */
void mpki_pool_run(mpki_pool *pool);
/** Run items 0 .. count-1, the caller and idle workers; returns when all are done. Inside a task,
 * by worker 0 between two runs, or anywhere with pool == NULL (serially). */
void mpki_pool_for(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg);
/** Workers, 1 for NULL. */
int mpki_pool_threads(const mpki_pool *pool);

#endif
