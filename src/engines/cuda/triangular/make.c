/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a solver with a factor on blocks on the device: units of rows, their segments, memory. */
#include "core/trace.h"
#include "state.h"
#include "engines/cuda/module/transfer.h"

#include <string.h>

static const char STAGE[] = "solve";

/* ---- making: units --------------------------------------------------------------------------- */

static void making_free(mpki_solver_making *m) {
    mpk_context *ctx = m->s->ctx;
    mpki_release(ctx, m->levels[1].ptr);
    mpki_release(ctx, m->levels[1].frame);
    for (int half = 0; half < 2; half++) {
        void *const host[] = {m->unit[half],      m->slot[half],       m->level_of[half],
                              m->deferred[half],  m->level_slot[half], m->part_unit[half],
                              m->part_block[half]};
        for (size_t k = 0; k < sizeof host / sizeof *host; k++) mpki_release(ctx, host[k]);
    }
}

/* Shall frame f join the unit's `rows` rows? `work`: rows times blocks of the unit, either way. */
static bool joins(const mpki_stages *stages, int32_t f, int rows, bool many_units,
                  int64_t work[2]) {
    const mpki_ibcsr *x = &stages->index;
    const int w = mpki_frame_rows(stages->blocking, f);
    work[0] += w * (x->diagonal[f] - x->ptr[f]);
    work[1] += w * (x->ptr[f + 1] - x->diagonal[f] - 1);
    return rows + w <= MPKI_STORE_ROWS &&
           (many_units || (work[0] <= UNIT_WORK && work[1] <= UNIT_WORK));
}

/* Units of level l; returns how many rows it has. */
static int32_t units_of(mpki_solver_making *m, int half, int32_t l, int32_t at) {
    const mpki_stages *stages = m->s->stages;
    const mpki_levels *v = &m->levels[half];
    int32_t sum = 0, here = at;
    for (int32_t j = v->ptr[l]; j < v->ptr[l + 1]; j++)
        sum += mpki_frame_rows(stages->blocking, v->frame[j]);
    const bool many_units = sum >= MANY_UNITS * MPKI_STORE_ROWS;
    int64_t work[2] = {0, 0};
    for (int32_t j = v->ptr[l], rows = MPKI_STORE_ROWS + 1; j < v->ptr[l + 1]; j++) {
        const int32_t f = v->frame[j];
        m->slot[half][f] = here;
        if (!joins(stages, f, rows, many_units, work)) {
            work[0] = work[1] = 0;
            joins(stages, f, 0, many_units, work);
            m->level_of[half][m->units[half]] = l;
            m->unit[half][m->units[half]++] = j;
            rows = 0;
        }
        rows += mpki_frame_rows(stages->blocking, f);
        here += mpki_frame_rows(stages->blocking, f);
    }
    return here - at;
}

/* Columns of slots from where on have segments of their own. */
static void find_deferred(mpki_solver_making *m, int half) {
    const int32_t levels = m->levels[half].count, *level_slot = m->level_slot[half];
    for (int32_t u = 0, end; u < m->units[half]; u = end) {
        const int32_t l = m->level_of[half][u];
        for (end = u; end < m->units[half] && m->level_of[half][end] == l;) end++;
        const bool few_units = end - u < FEW_UNITS;
        for (int32_t k = u; k < end; k++)
            m->deferred[half][k] = half ? (few_units && l + 1 < levels ? level_slot[l + 2] : -1)
                                        : (few_units && l > 0 ? level_slot[l - 1] : INT32_MAX);
    }
}

static mpk_status make_units(mpki_solver_making *m) {
    mpk_context *ctx = m->s->ctx;
    const int64_t frames = m->store->m;
    m->levels[0] = m->s->stages->levels;
    mpk_status status = mpki_cuda_sweeps_latest_levels(ctx, m->s->stages, &m->levels[1]);
    for (int half = 0; half < 2 && !mpk_failed(status); half++) {
        const int32_t levels = m->levels[half].count;
        int32_t at = 0;
        m->unit[half] = MPKI_NEW(ctx, STAGE, frames + 1, int32_t);
        m->slot[half] = MPKI_NEW(ctx, STAGE, frames, int32_t);
        m->level_of[half] = MPKI_NEW(ctx, STAGE, frames, int32_t);
        m->level_slot[half] = MPKI_NEW(ctx, STAGE, (int64_t)levels + 2, int32_t);
        m->deferred[half] = MPKI_NEW(ctx, STAGE, frames, int32_t);
        status = mpki_failed(ctx);
        for (int32_t l = 0; l < levels && !mpk_failed(status); l++) {
            m->level_slot[half][l] = at;
            at += units_of(m, half, l, at);
        }
        if (mpk_failed(status)) break;
        m->level_slot[half][levels] = m->level_slot[half][levels + 1] = at;
        m->unit[half][m->units[half]] = (int32_t)frames;
        find_deferred(m, half);
    }
    return status;
}

/* ---- making: segments ------------------------------------------------------------------------ */

/* Blocks of frame f in one direction. */
static int64_t blocks_of(const mpki_ibcsr *x, int half, int32_t f) {
    return half ? x->ptr[f + 1] - x->diagonal[f] - 1 : x->diagonal[f] - x->ptr[f];
}

/* Units in parts: those of one follow each other. */
static mpk_status make_parts(mpki_solver_making *m, int half) {
    const mpki_stages *stages = m->s->stages;
    for (int turn = 0; turn < 2; turn++) { /* count, then list */
        int32_t part = 0;
        for (int32_t u = 0; u < m->units[half]; u++) {
            int64_t blocks = 0;
            for (int32_t j = m->unit[half][u]; j < m->unit[half][u + 1]; j++)
                blocks += blocks_of(&stages->index, half, m->levels[half].frame[j]);
            for (int64_t k = 0; k == 0 || k < blocks; k += MPKI_SWEEPS_PART, part++) {
                if (!turn) continue;
                m->part_unit[half][part] = u;
                m->part_block[half][part] = (int32_t)k;
            }
        }
        m->parts[half] = part;
        if (turn) break;
        m->part_unit[half] = MPKI_NEW(m->s->ctx, STAGE, part, int32_t);
        m->part_block[half] = MPKI_NEW(m->s->ctx, STAGE, part, int32_t);
        if (!m->part_unit[half] || !m->part_block[half]) return mpki_failed(m->s->ctx);
    }
    return MPK_OK;
}

/* Arrays that only packing needs, in one piece: where an address goes, what is sent there (NULL:
 * nothing). */
typedef struct array {
    void *to; /* the address of a pointer */
    const void *from;
    int64_t bytes;
} array;

static mpk_status lay_out(mpki_solver_making *m, const array *list, int count) {
    enum { APART = 256 };
    mpki_block_solver *s = m->s;
    char *at = NULL;
    int64_t bytes = 0;
    for (int k = 0; k < count; k++) bytes += (list[k].bytes + APART - 1) / APART * APART + APART;
    mpk_status status = mpki_solver_may_take(s, bytes, 1);
    if (!mpk_failed(status)) status = mpki_solver_take(s, bytes, (void **)&at);
    if (mpk_failed(status)) return status;
    m->piece[m->pieces] = at, m->piece_bytes[m->pieces++] = bytes;
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        memcpy(list[k].to, &at, sizeof at);
        if (list[k].from) status = mpki_solver_copy(s, at, list[k].from, list[k].bytes, true);
        at += (list[k].bytes + APART - 1) / APART * APART + APART;
    }
    return status;
}

/* Units and their parts, and memory for what is known by them. */
static mpk_status send_units(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    mpki_cuda_packing *p = &m->p;
    const int64_t frames = m->store->m, four = sizeof(int32_t), eight = sizeof(int64_t);
    const int64_t lists = s->stages->index.ptr[frames], levels = m->levels[0].count;
    mpk_status status = make_parts(m, 0);
    if (!mpk_failed(status)) status = make_parts(m, 1);
    if (mpk_failed(status)) return status;
    for (int half = 0; half < 2; half++) {
        const int64_t units = m->units[half], parts = m->parts[half];
        const int64_t trial = parts * MPKI_SWEEPS_FIRST * (int64_t)sizeof(mpki_sweeps_measure);
        const array list[] = {{&p->unit[half], m->unit[half], four * (units + 1)},
                              {&p->slot[half], m->slot[half], four * frames},
                              {&p->frame[half], m->levels[half].frame, four * frames},
                              {&p->deferred[half], m->deferred[half], four * units},
                              {&p->level_of[half], m->level_of[half], four * units},
                              {&p->level_slot[half], m->level_slot[half], four * levels},
                              {&p->part_unit[half], m->part_unit[half], four * parts},
                              {&p->part_block[half], m->part_block[half], four * parts},
                              {&p->count[half], NULL, four * parts},
                              {&p->first[half], NULL, eight * parts},
                              {&p->trial[half], NULL, trial},
                              {&p->begin[half], NULL, eight * (units + 1)},
                              {&p->unit_task[half], NULL, four * units},
                              {&p->unit_part[half], NULL, four * units},
                              {&p->task_of[half], NULL, four * units},
                              {&p->order, NULL, half ? 0 : four * lists},
                              {&p->summary, NULL, half ? 0 : (int64_t)sizeof *p->summary}};
        enum { COUNT = sizeof list / sizeof *list };
        status = lay_out(m, list, COUNT - 2 * half); /* the last two are of both */
        if (mpk_failed(status)) return status;
        p->parts[half] = m->parts[half], p->units[half] = m->units[half];
    }
    p->levels = (int32_t)levels, p->store = m->store, p->entries = lists;
    return mpki_solver_status(
        s, s->d->table->sweeps->set(s->d->cuda, p->summary, 0, (int64_t)sizeof *p->summary));
}

/* ---- making: segments and tasks -------------------------------------------------------------- */

static mpk_status pass(mpki_solver_making *m, int which) {
    return mpki_solver_status(m->s, m->s->d->table->sweeps->pack(m->s->d->cuda, &m->p, which));
}

static mpk_status read_summary(mpki_solver_making *m) {
    const mpk_status status =
        mpki_solver_copy(m->s, &m->summary, m->p.summary, (int64_t)sizeof m->summary, false);
    return mpk_failed(status) ? status : mpki_solver_wait(m->s);
}

static mpk_status count_segments(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpk_status status = mpki_solver_status(s, table->order(s->d->cuda, &m->p));
    if (!mpk_failed(status)) status = pass(m, MPKI_SWEEPS_COUNT);
    if (!mpk_failed(status)) status = mpki_solver_status(s, table->segments(s->d->cuda, &m->p));
    return mpk_failed(status) ? status : read_summary(m);
}

/* Their sizes, and tasks in the order of tickets. */
static mpk_status list_tasks(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpki_cuda_packing *p = &m->p;
    const int64_t *segments = m->summary.segments, all = segments[0] + segments[1], four = 4;
    const int64_t measure = sizeof(mpki_sweeps_measure), place = sizeof(mpki_sweeps_place);
    const array list[] = {{&p->measure[0], NULL, segments[0] * measure},
                          {&p->measure[1], NULL, segments[1] * measure},
                          {&p->place[0], NULL, segments[0] * place},
                          {&p->place[1], NULL, segments[1] * place},
                          {&p->listed, NULL, all * (int64_t)sizeof *p->listed},
                          {&p->sorted[0], NULL, four * all},
                          {&p->sorted[1], NULL, four * all},
                          {&p->task_at, NULL, four * all},
                          {&p->digits, NULL, four * table->digits(all)}};
    mpk_status status =
        all > INT32_MAX / 2
            ? mpki_error(s->ctx, MPK_ERR_SIZE, STAGE, all,
                         "the factor is too large for solves on a device: %lld packets",
                         (long long)all)
            : lay_out(m, list, sizeof list / sizeof *list);
    if (!mpk_failed(status)) status = pass(m, MPKI_SWEEPS_MEASURE);
    if (!mpk_failed(status)) status = mpki_solver_status(s, table->tasks(s->d->cuda, p, all));
    if (!mpk_failed(status)) status = read_summary(m);
    if (!mpk_failed(status) && m->summary.packets > UINT32_MAX)
        status = mpki_error(s->ctx, MPK_ERR_SIZE, STAGE, m->summary.packets,
                            "the factor is too large for solves on a device: %.1f GiB of packets",
                            (double)m->summary.packets * 0x1p-26);
    if (mpk_failed(status)) return status;
    s->packet_bytes = 16 * m->summary.packets, s->parts = m->summary.parts;
    s->task[1] = m->summary.tasks[0], s->task[2] = m->summary.tasks[1];
    return MPK_OK;
}

/* ---- making: memory, numbers ----------------------------------------------------------------- */

/* What stays. */
static mpk_status take_all(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    const int64_t n = s->n, size = mpki_solver_size(s), vector = n * s->slot_width * size;
    const int64_t pivots = 2 * n * (int64_t)mpk_scalar_size(s->stored);
    const int64_t tasks = s->task[2] * (int64_t)sizeof(mpki_sweeps_task);
    const int64_t tickets = 2 * ((int64_t)s->stages->options->solve_sweeps + 1) * 4;
    const int64_t staged = n * s->slot_width * (int64_t)mpk_scalar_size(s->scalar);
    const int64_t part = s->parts * MPKI_STORE_ROWS * s->slot_width * size;
    const int64_t border = m->store->border;
    const int64_t border_pivots = 2 * border * (int64_t)mpk_scalar_size(s->stored);
    const struct {
        int64_t bytes;
        void **to;
    } list[] = {{s->packet_bytes, (void **)&s->packets},
                {tasks, (void **)&s->tasks},
                {vector, &s->vector[0]},
                {vector, &s->vector[1]},
                {vector, &s->vector[2]},
                {part, &s->part},
                {pivots, &s->diagonal[0]},
                {pivots, &s->diagonal[1]},
                {staged, &s->staging},
                {n, (void **)&s->partner},
                {border_pivots, &s->border_diagonal[0]},
                {border_pivots, &s->border_diagonal[1]},
                {border, (void **)&s->border_partner},
                {border * s->slot_width * size, &s->border.work},
                {tickets, (void **)&s->ticket},
                {n * 4, (void **)&s->position[0]},
                {n * 4, (void **)&s->position[1]},
                {n * 4, (void **)&s->row},
                {n * 4, (void **)&s->ahead},
                {n * 4, (void **)&s->slot_at[0]},
                {n * 4, (void **)&s->slot_at[1]},
                {n * 8, (void **)&s->scale[0]},
                {n * 8, (void **)&s->scale[1]}};
    enum { COUNT = sizeof list / sizeof *list };
    int64_t all = 0;
    for (int k = 0; k < COUNT; k++) all += list[k].bytes < 16 ? 16 : list[k].bytes;
    mpk_status status = mpki_solver_may_take(s, all, COUNT);
    for (int k = 0; k < COUNT && !mpk_failed(status); k++)
        status = mpki_solver_take(s, list[k].bytes, list[k].to);
    return status;
}

/* Positions, indices and scales by slot: made there from what they have by position. */
static mpk_status send_maps(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    const mpki_stages *stages = s->stages;
    const int64_t n = s->n;
    const struct {
        const void *from;
        int64_t bytes;
    } list[] = {{stages->blocking->perm, 4 * n},
                {stages->row_of, stages->row_of ? 4 * n : 0},
                {stages->scale, 8 * n},
                {stages->row_scale, stages->row_scale ? 8 * n : 0}};
    enum { COUNT = sizeof list / sizeof *list };
    void *there[COUNT] = {NULL};
    mpk_status status = mpki_solver_may_take(s, 24 * n, COUNT);
    for (int k = 0; k < COUNT && !mpk_failed(status); k++)
        if (list[k].bytes) {
            status = mpki_solver_take(s, list[k].bytes, &there[k]);
            if (!mpk_failed(status))
                status = mpki_cuda_send(s->ctx, STAGE, NULL, there[k], list[k].from, list[k].bytes);
        }
    const mpki_sweeps_maps maps = {.m = m->store->m,
                                   .bptr = m->store->bptr,
                                   .slot = {m->p.slot[0], m->p.slot[1]},
                                   .perm = there[0],
                                   .row_of = there[1],
                                   .columns = there[2],
                                   .rows = there[3],
                                   .position = {s->position[0], s->position[1]},
                                   .row = s->row,
                                   .ahead = s->ahead,
                                   .slot_at = {s->slot_at[0], s->slot_at[1]},
                                   .scale = {s->scale[0], s->scale[1]}};
    if (!mpk_failed(status))
        status = mpki_solver_status(s, s->d->table->sweeps->maps(s->d->cuda, &maps));
    if (!mpk_failed(status)) status = mpki_solver_wait(s);
    for (int k = 0; k < COUNT; k++) mpki_solver_give(s, there[k], list[k].bytes);
    return status;
}

static mpk_status fill(mpki_solver_making *m) {
    mpki_block_solver *s = m->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpki_cuda_packing *p = &m->p;
    for (int half = 0; half < 2; half++) {
        p->diagonal[half] = s->diagonal[half];
        p->border_diagonal[half] = s->border_diagonal[half];
    }
    p->border_partner = s->border_partner;
    p->packets = s->packets, p->partner = s->partner;
    mpk_status status = mpki_solver_status(s, table->tickets(s->d->cuda, p, s->task[2], s->tasks));
    if (!mpk_failed(status)) status = pass(m, MPKI_SWEEPS_FILL);
    if (!mpk_failed(status)) status = mpki_solver_status(s, table->pivots(s->d->cuda, p));
    if (!mpk_failed(status))
        status = mpki_solver_status(s, table->wait(s->d->cuda, s->stored, s->part,
                                                   s->parts * MPKI_STORE_ROWS * s->slot_width));
    if (!mpk_failed(status)) status = read_summary(m);
    s->tiles = m->summary.tiles, s->full = m->summary.full;
    return status;
}

/* Warps of a launch: all that can be at work at once, until it was tried whether fewer do
 * better. */
static mpk_status choose_warps(mpki_block_solver *s) {
    mpk_status status = MPK_OK;
    for (int k = 0; k < 4 && 1 << k <= s->slot_width && !mpk_failed(status); k++) {
        int32_t most = 0;
        status =
            mpki_solver_status(s, s->d->table->sweeps->warps(s->d->cuda, s->stored, 1 << k, &most));
        if (most < 3) most = 3; /* a device that is none */
        s->warps[k] = s->most_warps[k] = most;
    }
    return status;
}

static int32_t widths(int32_t columns, int64_t size) {
    int32_t width = 1;
    while (width < columns && width < MPKI_SWEEPS_RHS && 2 * width * size <= 64) width *= 2;
    return width;
}

/* A step with its name in a trace, which waits for the device. */
typedef struct step {
    const char *name;
    mpk_status (*run)(mpki_solver_making *);
} step;

static mpk_status choose(mpki_solver_making *m) {
    return choose_warps(m->s);
}

static mpk_status run_steps(mpki_solver_making *m) {
    static const step steps[] = {{"units", make_units},
                                 {"blocks of units", send_units},
                                 {"segments counted", count_segments},
                                 {"tasks", list_tasks},
                                 {"memory", take_all},
                                 {"maps", send_maps},
                                 {"packets", fill},
                                 {"warps", choose}};
    mpk_status status = MPK_OK;
    for (size_t k = 0; k < sizeof steps / sizeof *steps && !mpk_failed(status); k++) {
        const double began = mpki_trace_begin(m->s->ctx);
        status = steps[k].run(m);
        if (mpki_trace_of(m->s->ctx) && !mpk_failed(status)) status = mpki_solver_wait(m->s);
        mpki_trace_end(m->s->ctx, MPKI_LANE_CALLER, steps[k].name, -1, began);
    }
    return status;
}

static mpk_status make(mpki_solver_making *m) {
    const mpk_status status = run_steps(m);
    if (mpk_failed(status)) return status;
    for (int k = 0; k < m->pieces; k++) mpki_solver_give(m->s, m->piece[k], m->piece_bytes[k]);
    return MPK_OK;
}

mpk_status mpki_cuda_sweeps_make(mpk_context *ctx, const mpki_stages *stages,
                                 const mpki_cuda_store *store, int32_t columns,
                                 mpki_block_solver **out, int32_t *takes) {
    mpki_block_solver *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_solver);
    *takes = 1;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx, s->d = mpki_cuda_kept(ctx), s->stages = stages;
    s->scalar = stages->scalar, s->stored = store->scalar;
    s->n = store->n;
    s->border = (mpki_sweeps_border){.scalar = store->scalar,
                                     .rows = store->border,
                                     .hermitian = store->hermitian,
                                     .l = store->border_l,
                                     .row = store->border_row};
    s->slot_width = *takes = widths(columns, mpki_solver_size(s));
    s->asked = columns, s->takes = *takes;
    mpki_solver_making m = {.s = s, .store = store};
    mpk_status status = s->d->table->sweeps
                            ? make(&m)
                            : mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1,
                                         "the CUDA module has no solves with factors on blocks");
    making_free(&m);
    if (mpk_failed(status)) mpki_cuda_sweeps_free(ctx, out);
    return status;
}

mpki_cuda_sweeps_numbers mpki_cuda_sweeps_summary(const mpki_block_solver *s) {
    return (mpki_cuda_sweeps_numbers){.bytes = s->bytes,
                                      .packets = s->packet_bytes,
                                      .tasks = s->task[2],
                                      .parts = s->parts,
                                      .tiles = s->tiles,
                                      .warps = s->warps[0],
                                      .full = s->full,
                                      .forward = s->task[1],
                                      .ticket = s->tasks,
                                      .packet = s->packets};
}

int32_t mpki_cuda_sweeps_warps(mpki_block_solver *s, int32_t warps) {
    s->trials = s->read = MPKI_SOLVER_TRIALS;
    for (int k = 0; k < 4; k++) s->warps[k] = warps < s->most_warps[k] ? warps : s->most_warps[k];
    return s->warps[0];
}
