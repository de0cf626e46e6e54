/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of a solver with a factor on blocks, in the order in which warps take them. */
#include "sweeps_solver.h"

static const char STAGE[] = "solve";

enum {
    TASK_SEGMENTS = 6, /* longer units are shared by several warps */
    PARTS = 32         /* but not by more, as a rule */
};

/* ---- making: tasks ------------------------------------------------------------------------------
 */

/* Level set of a slot. */
static int32_t level_at(const mpki_solver_making *m, int32_t slot) {
    int32_t low = 0, high = m->s->stages->levels.count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (m->level_slot[middle] <= slot)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A task: `count` segments from `from` on; final: with the unit's result. Parts come as early as
 * what they need allows. */
typedef struct task {
    int64_t from;
    int32_t count, unit,
        turn; /* turn: twice the level set from where the sweep begins, + 1: final */
    bool final;
} task;

static int32_t turn_of(const mpki_solver_making *m, int half, const task *t) {
    const int32_t levels = m->s->stages->levels.count;
    int32_t level = m->level_of[t->unit];
    if (!t->final) {
        int32_t due = -1;
        for (int64_t k = t->from; k < t->from + t->count; k++) {
            const int32_t last = m->measure[half][k].last;
            if (last >= 0 && (due < 0 || (half ? last < due : last > due))) due = last;
        }
        level = level_at(m, due) + (half ? -1 : 1);
    }
    return 2 * (half ? levels - 1 - level : level) + t->final;
}

/* The unit's next task from segment `from` on. */
static task next_task(const mpki_solver_making *m, int half, int32_t u, int64_t from) {
    const int64_t end = m->first[half][u + 1];
    int64_t of_l = 0;
    for (int64_t k = m->first[half][u]; k < end; k++) of_l += m->measure[half][k].last > -2;
    int64_t most = (of_l + PARTS - 1) / PARTS;
    if (most < TASK_SEGMENTS) most = TASK_SEGMENTS;
    task t = {.from = from, .unit = u, .final = true, .count = (int32_t)(end - from)};
    if (m->first[half][u] + of_l - from > most) t.count = (int32_t)most, t.final = false;
    t.turn = turn_of(m, half, &t);
    return t;
}

/* Tickets of one direction in order; sizes, places. at: [inout] in 16 bytes. */
static mpk_status make_tasks_of(mpki_solver_making *m, int half, int64_t *at, task **list,
                                int64_t *count) {
    mpk_context *ctx = m->s->ctx;
    const int64_t turns = 2 * (int64_t)m->s->stages->levels.count + 1;
    int64_t all = 0, *begin = MPKI_ZNEW(ctx, STAGE, turns + 1, int64_t);
    for (int32_t u = 0; u < m->units; u++)
        for (int64_t k = m->first[half][u]; k < m->first[half][u + 1]; all++)
            k += next_task(m, half, u, k).count;
    task *sorted = *list = MPKI_NEW(ctx, STAGE, all, task);
    if (!begin || !sorted) {
        mpki_release(ctx, begin);
        return mpki_failed(ctx);
    }
    for (int turn = 0; turn < 2; turn++) { /* count, then place */
        for (int32_t u = 0; u < m->units; u++)
            for (int64_t k = m->first[half][u]; k < m->first[half][u + 1];) {
                const task t = next_task(m, half, u, k);
                if (turn)
                    sorted[begin[t.turn]++] = t;
                else
                    begin[t.turn + 1]++;
                k += t.count;
            }
        for (int64_t k = 0; !turn && k < turns; k++) begin[k + 1] += begin[k];
    }
    mpki_release(ctx, begin);
    *count = all;
    /* parts have numbers by unit, so that they are added in the order of columns */
    int32_t part = (int32_t)m->s->parts;
    for (int32_t u = 0; u < m->units; u++) {
        const int32_t before = part;
        for (int64_t k = m->first[half][u]; k < m->first[half][u + 1];) {
            const task t = next_task(m, half, u, k);
            for (int64_t j = k; j < k + t.count; j++)
                m->place[half][j] = (mpki_sweeps_place){.part = t.final ? -1 : part,
                                                        .first_part = before,
                                                        .parts = t.final ? part - before : 0};
            part += !t.final;
            k += t.count;
        }
    }
    m->s->parts = part;
    for (int64_t j = 0; j < all; j++)
        for (int64_t k = sorted[j].from; k < sorted[j].from + sorted[j].count; k++) {
            m->place[half][k].at = (uint32_t)*at;
            m->place[half][k].next =
                k + 1 < sorted[j].from + sorted[j].count ? m->measure[half][k + 1].size : 0;
            *at += m->measure[half][k].size;
        }
    return MPK_OK;
}

mpk_status mpki_solver_make_tasks(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    task *list[2] = {NULL, NULL};
    int64_t at = 0, count[2] = {0, 0};
    mpk_status status = make_tasks_of(m, 0, &at, &list[0], &count[0]);
    if (!mpk_failed(status)) status = make_tasks_of(m, 1, &at, &list[1], &count[1]);
    if (!mpk_failed(status) && (at > UINT32_MAX || count[0] + count[1] > INT32_MAX / 2))
        status = mpki_error(s->ctx, MPK_ERR_SIZE, STAGE, at,
                            "the factor is too large for solves on a device: %.1f GiB of packets",
                            (double)at * 0x1p-26);
    if (!mpk_failed(status))
        m->tasks = MPKI_NEW(s->ctx, STAGE, count[0] + count[1], mpki_sweeps_task);
    if (!mpk_failed(status) && !m->tasks) status = mpki_failed(s->ctx);
    for (int64_t half = 0, to = 0; half < 2 && !mpk_failed(status); half++)
        for (int64_t j = 0; j < count[half]; j++, to++)
            m->tasks[to] = (mpki_sweeps_task){m->place[half][list[half][j].from].at,
                                              m->measure[half][list[half][j].from].size};
    s->packet_bytes = 16 * at;
    s->task[1] = count[0], s->task[2] = count[0] + count[1];
    mpki_release(s->ctx, list[0]);
    mpki_release(s->ctx, list[1]);
    return status;
}
