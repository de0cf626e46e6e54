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
static int32_t level_at(const mpki_solver_making *m, int half, int32_t slot) {
    int32_t low = 0, high = m->levels[half].count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (m->level_slot[half][middle] <= slot)
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
    const int32_t levels = m->levels[half].count;
    int32_t level = m->level_of[half][t->unit];
    if (!t->final) {
        int32_t due = -1;
        for (int64_t k = t->from; k < t->from + t->count; k++) {
            const int32_t last = m->measure[half][k].last;
            if (last >= 0 && (due < 0 || (half ? last < due : last > due))) due = last;
        }
        level = level_at(m, half, due) + (half ? -1 : 1);
    }
    return 2 * (half ? levels - 1 - level : level) + t->final;
}

/* The unit's next task from segment `from` on. Segments of M are the last ones. */
static task next_task(const mpki_solver_making *m, int half, int32_t u, int64_t from) {
    const int64_t begin = m->first[half][u], end = m->first[half][u + 1];
    int64_t of_l = end;
    while (of_l > begin && m->measure[half][of_l - 1].last < -1) of_l--;
    int64_t most = (of_l - begin + PARTS - 1) / PARTS;
    if (most < TASK_SEGMENTS) most = TASK_SEGMENTS;
    task t = {.from = from, .unit = u, .final = true, .count = (int32_t)(end - from)};
    if (of_l - from > most) t.count = (int32_t)most, t.final = false;
    t.turn = turn_of(m, half, &t);
    return t;
}

/* All tasks of one direction by units; what its segments leave and add. Parts have numbers by unit, so
 * that they are added in the order of columns. Returns how many tasks; begin[turn + 1]: of a turn. */
static int64_t list_tasks(mpki_solver_making *m, int half, task *list, int64_t *begin) {
    int64_t count = 0;
    int32_t part = (int32_t)m->s->parts;
    for (int32_t u = 0; u < m->units[half]; u++) {
        const int32_t before = part;
        for (int64_t k = m->first[half][u]; k < m->first[half][u + 1];) {
            const task t = list[count++] = next_task(m, half, u, k);
            const mpki_sweeps_place place = {.part = t.final ? -1 : part,
                                             .first_part = before,
                                             .parts = t.final ? part - before : 0};
            for (const int64_t end = k + t.count; k < end; k++) m->place[half][k] = place;
            part += !t.final;
            begin[t.turn + 1]++;
        }
    }
    m->s->parts = part;
    return count;
}

/* Does the task's last segment, M in tiles, come first? Which segment is its k-th then? */
static bool tiles_first(const mpki_solver_making *m, int half, const task *t) {
    return m->measure[half][t->from + t->count - 1].last == -3;
}
static int32_t segment_at(const task *t, bool ahead, int32_t k) {
    return !ahead ? k : k == 0 ? t->count - 1 : k - 1;
}

/* Tickets of one direction in order; sizes, places. at: [inout] in 16 bytes. */
static mpk_status make_tasks_of(mpki_solver_making *m, int half, int64_t *at, task **list,
                                int64_t *count) {
    mpk_context *ctx = m->s->ctx;
    const int64_t turns = 2 * (int64_t)m->levels[half].count + 1;
    int64_t *begin = MPKI_ZNEW(ctx, STAGE, turns + 1, int64_t);
    task *by_unit = MPKI_NEW(ctx, STAGE, m->segments[half], task);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        *count = list_tasks(m, half, by_unit, begin);
        *list = MPKI_NEW(ctx, STAGE, *count, task);
        status = mpki_failed(ctx);
    }
    if (!mpk_failed(status)) {
        for (int64_t k = 0; k < turns; k++) begin[k + 1] += begin[k];
        for (int64_t j = 0; j < *count; j++) (*list)[begin[by_unit[j].turn]++] = by_unit[j];
        for (int64_t j = 0; j < *count; j++) {
            const task *t = &(*list)[j];
            const mpki_sweeps_measure *measure = m->measure[half] + t->from;
            mpki_sweeps_place *place = m->place[half] + t->from;
            const bool ahead = tiles_first(m, half, t);
            m->s->tiles += ahead;
            for (int32_t k = 0; k < t->count; k++) {
                const int32_t here = segment_at(t, ahead, k), then = segment_at(t, ahead, k + 1);
                m->s->full += measure[here].full;
                place[here].at = (uint32_t)*at;
                place[here].next = k + 1 < t->count ? measure[then].size : 0;
                *at += measure[here].size;
            }
        }
    }
    mpki_release(ctx, begin);
    mpki_release(ctx, by_unit);
    return status;
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
        for (int64_t j = 0; j < count[half]; j++, to++) {
            const task *t = &list[half][j];
            const int64_t k = t->from + segment_at(t, tiles_first(m, (int)half, t), 0);
            m->tasks[to] = (mpki_sweeps_task){m->place[half][k].at, m->measure[half][k].size};
        }
    s->packet_bytes = 16 * at;
    s->task[1] = count[0], s->task[2] = count[0] + count[1];
    mpki_release(s->ctx, list[0]);
    mpki_release(s->ctx, list[1]);
    return status;
}
