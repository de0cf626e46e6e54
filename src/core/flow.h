/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FLOW_H
#define MPKI_FLOW_H
/** Work of a pool whose parts come up as others are done: a loop without a barrier inside. */
#include "pool.h"

/** Parts that are ready and that nobody has taken: counted by fn, under a lock of its own. */
typedef struct mpki_flow {
    _Atomic int64_t ready;
} mpki_flow;

/** fn(pool, worker, arg, 0) takes part after part until none is ready. Idle workers call it, too, as
 *  long as there are any. Returns when none is ready and nobody is at work on one. Called inside a
 *  task, by worker 0 between two runs, or anywhere with pool == NULL (serially). */
void mpki_pool_flow(mpki_pool *pool, int worker, mpki_flow *flow, mpki_task_fn fn, void *arg);
/** So many more parts are ready than the caller takes: others are called. */
void mpki_pool_more(mpki_pool *pool, const mpki_flow *flow, int64_t parts);

#endif
