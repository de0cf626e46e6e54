/* SPDX-License-Identifier: BSD-3-Clause */
/* A banker's account of the contributions of tasks that are done ahead of their turn. */
#include "tickets.h"

static const char STAGE[] = "factorize";

enum { WAITING, HELD, BEGUN, AHEAD, DONE, DONE_AHEAD }; /* states; AHEAD: begun, and counted */

/* need, left of each task; returns what one worker holds at most. */
static int64_t simulate(mpki_tickets *t, const mpki_tree_view *tree, const int64_t *bytes) {
    int64_t now = 0, most = 0;
    for (int32_t k = 0; k < t->tasks->count; k++) {
        const mpki_task *task = &t->tasks->task[k];
        int64_t own = 0;
        t->need[k] = t->left[k] = 0;
        for (int32_t s = task->first; s <= task->last; s++) {
            own += bytes[s], now += bytes[s];
            if (own > t->need[k]) t->need[k] = own;
            if (now > most) most = now;
            for (int32_t q = tree->child_ptr[s]; q < tree->child_ptr[s + 1]; q++) {
                const int32_t child = tree->child[q];
                now -= bytes[child];
                if (child >= task->first) own -= bytes[child];
            }
            if (tree->parent[s] < 0 || tree->parent[s] > task->last) t->left[k] += bytes[s];
        }
    }
    return most;
}

mpk_status mpki_tickets_make(mpk_context *ctx, const mpki_tree_view *tree, const mpki_tasks *tasks,
                             const int64_t *bytes, int64_t room, mpki_tickets *t) {
    *t = (mpki_tickets){.ctx = ctx, .tasks = tasks};
    if (!mpki_lock_init(&t->lock)) return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "no mutex");
    t->need = MPKI_NEW(ctx, STAGE, tasks->count, int64_t);
    t->left = MPKI_NEW(ctx, STAGE, tasks->count, int64_t);
    t->state = MPKI_ZNEW(ctx, STAGE, tasks->count, char);
    t->held = MPKI_NEW(ctx, STAGE, tasks->count, int32_t);
    mpk_status status = t->need && t->left && t->state && t->held ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_tasks_children(ctx, STAGE, tasks, &t->child_ptr, &t->child);
    if (mpk_failed(status))
        mpki_tickets_free(t);
    else
        t->spare = room - simulate(t, tree, bytes);
    return status;
}

void mpki_tickets_free(mpki_tickets *t) {
    if (!t->ctx) return;
    mpki_release(t->ctx, t->need);
    mpki_release(t->ctx, t->left);
    mpki_release(t->ctx, t->state);
    mpki_release(t->ctx, t->held);
    mpki_release(t->ctx, t->child_ptr);
    mpki_release(t->ctx, t->child);
    mpki_lock_end(&t->lock);
    *t = (mpki_tickets){0};
}

/* Under the lock: begin it, if that may be. */
static bool may_begin(mpki_tickets *t, int32_t k) {
    if (k == t->first) {
        t->state[k] = BEGUN;
    } else if (t->need[k] <= t->spare) {
        t->state[k] = AHEAD;
        t->spare -= t->need[k];
    } else {
        return false;
    }
    return true;
}

bool mpki_tickets_begin(mpki_tickets *t, int32_t k) {
    mpki_lock_take(&t->lock);
    bool may = t->state[k] == BEGUN || t->state[k] == AHEAD; /* it was held, and returned */
    if (!may) may = may_begin(t, k);
    if (!may) {
        t->state[k] = HELD;
        t->held[t->count++] = k;
    }
    mpki_lock_give(&t->lock);
    return may;
}

/* What it leaves is counted instead of what it took, and what its children left is gone. */
static void settle(mpki_tickets *t, int32_t k) {
    for (int32_t q = t->child_ptr[k]; q < t->child_ptr[k + 1]; q++) {
        const int32_t child = t->child[q];
        if (t->state[child] == DONE_AHEAD) t->spare += t->left[child];
        t->state[child] = DONE;
    }
    if (t->state[k] == AHEAD) {
        t->spare += t->need[k] - t->left[k];
        t->state[k] = DONE_AHEAD;
    } else {
        t->state[k] = DONE;
    }
}

/* Tasks whose turn has come are counted by the prediction. */
static void advance(mpki_tickets *t) {
    while (t->first < t->tasks->count && t->state[t->first] >= DONE) {
        if (t->state[t->first] == DONE_AHEAD) t->spare += t->left[t->first];
        t->state[t->first++] = DONE;
    }
    if (t->first == t->tasks->count || t->state[t->first] != AHEAD) return;
    t->spare += t->need[t->first];
    t->state[t->first] = BEGUN;
}

int32_t mpki_tickets_end(mpki_tickets *t, int32_t k, int32_t most, int32_t *ready) {
    int32_t found = 0, left = 0;
    mpki_lock_take(&t->lock);
    settle(t, k);
    advance(t);
    for (int32_t q = 0; q < t->count; q++) /* the one whose turn it is comes first */
        if (t->held[q] == t->first) {
            t->held[q] = t->held[0];
            t->held[0] = t->first;
        }
    for (int32_t q = 0; q < t->count; q++) {
        if (found < most && may_begin(t, t->held[q]))
            ready[found++] = t->held[q];
        else
            t->held[left++] = t->held[q];
    }
    t->count = left;
    mpki_lock_give(&t->lock);
    return found;
}

bool mpki_tickets_lend(mpki_tickets *t, int64_t bytes) {
    if (!t->ctx) return true;
    mpki_lock_take(&t->lock);
    const bool may = bytes <= t->spare;
    if (may) t->spare -= bytes;
    mpki_lock_give(&t->lock);
    return may;
}

void mpki_tickets_return(mpki_tickets *t, int64_t bytes) {
    if (!t->ctx) return;
    mpki_lock_take(&t->lock);
    t->spare += bytes;
    mpki_lock_give(&t->lock);
}
