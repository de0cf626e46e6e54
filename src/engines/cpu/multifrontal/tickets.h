/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_TICKETS_H
#define MPKI_CPU_MULTIFRONTAL_TICKETS_H
/** Which tasks of a walk are begun where memory is limited. One worker that does them in their order
 *  holds no more contributions than an analysis predicts. So the first task in order that is not done
 *  may always be begun; another one, ahead of its turn, where what it holds fits beside that
 *  prediction. Then all together never hold more, and the walk goes on whatever is held back. */
#include "core/lock.h"
#include "tasks.h"

typedef struct mpki_tickets {
    mpk_context *ctx;
    mpki_lock lock;
    const mpki_tasks *tasks;
    int32_t first; /* of those that are not done */
    int64_t spare; /* bytes for what is ahead of its turn */
    int64_t *need; /* tasks: most that each holds while it is done, beside what its children left */
    int64_t *left; /* and what it leaves to its parent */
    char *state;   /* tasks */
    int32_t *held; /* those that are ready and must wait: */
    int32_t count;
    int32_t *child_ptr, *child; /* tasks that each waits for */
} mpki_tickets;

/** bytes [in] of the contribution of each node; room [in] that all of them may take
 *  Returns MPK_OK | MPK_ERR_MEMORY: there is nothing to free */
mpk_status mpki_tickets_make(mpk_context *ctx, const mpki_tree_view *tree, const mpki_tasks *tasks,
                             const int64_t *bytes, int64_t room, mpki_tickets *t);
void mpki_tickets_free(mpki_tickets *t);
/** May task k, which is ready, be begun? If not, mpki_tickets_end() of another will return it.
 *  Thread-safe. */
bool mpki_tickets_begin(mpki_tickets *t, int32_t k);
/** Task k is done. ready [out] tasks that may be begun now and were held back: at most `most`, the
 *  others follow with the next one; returns how many. Thread-safe. */
int32_t mpki_tickets_end(mpki_tickets *t, int32_t k, int32_t most, int32_t *ready);
/** May so many bytes more be taken for a while, until they are returned? Always without tickets.
 *  Thread-safe. */
bool mpki_tickets_lend(mpki_tickets *t, int64_t bytes);
void mpki_tickets_return(mpki_tickets *t, int64_t bytes);

#endif
