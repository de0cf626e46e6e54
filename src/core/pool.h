/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_POOL_H
#define MPKI_POOL_H
/** A pool of threads for one call: tasks by priority, and loops inside tasks that idle workers help
 * with. Nobody waits for a worker that has not begun: a loop's owner runs every item that nobody
 * claimed, so a worker that the system has put aside delays no more than the item it holds. Waiting
 * spins for some microseconds and then blocks. */
#include "core.h"

typedef struct mpki_pool mpki_pool;
typedef void (*mpki_task_fn)(mpki_pool *pool, int worker, void *arg, int64_t item);

/** threads >= 1 workers, the caller of mpki_pool_run included; capacity: most tasks queued at once.
 * Fewer threads are used when the system gives no more. NULL on MPK_ERR_MEMORY. */
mpki_pool *mpki_pool_create(mpk_context *ctx, int threads, int64_t capacity);
void mpki_pool_destroy(mpki_pool **pool);

/** Queue fn(pool, worker, arg, item); the highest priority runs first. From any worker or before
 * the run. */
void mpki_pool_push(mpki_pool *pool, double priority, mpki_task_fn fn, void *arg, int64_t item);
/** Run until no task is queued or running; the caller is worker 0. */
void mpki_pool_run(mpki_pool *pool);
/** Run items 0 .. count-1, the caller and idle workers; returns when all are done. Inside a task,
 * or anywhere with pool == NULL (serially, as worker 0). */
void mpki_pool_for(mpki_pool *pool, int worker, int64_t count, mpki_task_fn fn, void *arg);
/** Workers, 1 for NULL. */
int mpki_pool_threads(const mpki_pool *pool);

#endif
