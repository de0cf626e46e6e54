/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks on the device: units, tasks and their order are found
 * here, the device packs and solves (sweeps/). */
#include "sweeps.h"
#include "isai_factor.h"
#include "load.h"
#include "sweeps/sweeps.h"

#include <string.h>

static const char STAGE[] = "solve";

enum {
    UNIT_ROWS = MPKI_STORE_ROWS,
    FEW = 256,         /* rows times blocks of frames that share a unit in narrow level sets */
    WIDE = 2048,       /* units of 32 rows that keep the device busy */
    NARROW = 1024,     /* in level sets of fewer units late columns are put last */
    TASK_SEGMENTS = 6, /* longer units are shared by several warps */
    PARTS = 32,        /* but not by more, as a rule */
    AHEAD = 16,        /* level sets that warps are at work on */
    WARPS_LEAST = 264,
    BUFFERS = 40,
    TRIALS = 9 /* applications that are timed: three numbers of warps, in turns */
};

struct mpki_block_solver {
    mpk_context *ctx;
    const mpki_device *d;
    const mpki_stages *stages;
    mpki_isai_factor *isai; /* the factor's, whose products take the place of all else; or NULL */
    mpk_scalar scalar, stored;
    int32_t n, wide; /* rows; most numbers by slot */
    int64_t task[3]; /* tickets: 0, end of forward ones, end */
    int64_t parts, bytes, packet_bytes;
    int32_t warps[4], most_warps[4]; /* of a launch with 1, 2, 4, 8 numbers by slot */
    /* how many warps are best is measured in the first applications */
    mpki_sweeps_clock *clock;
    int trial; /* from 0 to TRIALS */
    bool running;
    double best_s[3];
    bool mixed;            /* vectors in double, blocks in single precision */
    void *buffer[BUFFERS]; /* all device memory */
    int buffers;
    /* device memory */
    char *packets;
    mpki_sweeps_task *tasks;
    void *vector[3]; /* by slot */
    void *part, *diagonal[2], *staging;
    int8_t *partner;
    int32_t *ticket, *position, *index[2]; /* [2]: of b, of x */
    double *scale[2], *most;
};

/* ---- device memory ------------------------------------------------------------------------------
 */

static mpk_status told(const mpki_block_solver *s, int status) {
    return mpki_cuda_told(s->ctx, STAGE, status);
}

/* Refuse before anything is taken. */
static mpk_status may_take(const mpki_block_solver *s, int64_t more) {
    const double limit = s->stages->options->device_memory_limit;
    const double bytes = (double)s->bytes + (double)more;
    if (!(limit > 0) || bytes <= limit) return MPK_OK;
    return mpki_error(s->ctx, MPK_ERR_MEMORY, STAGE, (int64_t)bytes,
                      "solves need %.3f GiB of device memory beside the factor; "
                      "device_memory_limit is %.3f GiB",
                      bytes * 0x1p-30, limit * 0x1p-30);
}

static mpk_status take(mpki_block_solver *s, int64_t bytes, void **p) {
    if (bytes < 16) bytes = 16;
    const mpk_status status = told(s, s->d->table->alloc(s->d->cuda, bytes, p));
    if (mpk_failed(status)) return status;
    s->buffer[s->buffers++] = *p;
    s->bytes += bytes;
    return MPK_OK;
}

static void give(mpki_block_solver *s, void *p, int64_t bytes) {
    if (!p) return;
    s->d->table->release(s->d->cuda, p);
    for (int k = 0; k < s->buffers; k++)
        if (s->buffer[k] == p) s->buffer[k] = s->buffer[--s->buffers];
    s->bytes -= bytes < 16 ? 16 : bytes;
}

static mpk_status copy(const mpki_block_solver *s, void *to, const void *from, int64_t bytes,
                       bool up) {
    void *stream = s->d->table->sweeps->stream(s->d->cuda);
    return told(s, s->d->table->copy(s->d->cuda, to, bytes, from, bytes, bytes, 1, up, stream));
}

static mpk_status wait(const mpki_block_solver *s) {
    void *stream = s->d->table->sweeps->stream(s->d->cuda);
    return told(s, s->d->table->synchronize(s->d->cuda, stream));
}

static mpk_status upload(mpki_block_solver *s, const void *from, int64_t bytes, void **to) {
    const mpk_status status = take(s, bytes, to);
    return mpk_failed(status) ? status : copy(s, *to, from, bytes, true);
}

void mpki_cuda_sweeps_free(mpk_context *ctx, mpki_block_solver **handle) {
    mpki_block_solver *s = *handle;
    if (!s) return;
    for (int k = 0; k < s->buffers; k++) s->d->table->release(s->d->cuda, s->buffer[k]);
    if (s->clock) s->d->table->sweeps->clock_free(s->d->cuda, s->clock);
    mpki_release(ctx, s);
    *handle = NULL;
}

/* ---- making: units ------------------------------------------------------------------------------
 */

typedef struct making {
    mpki_block_solver *s;
    const mpki_cuda_store *store;
    mpki_cuda_packing p;
    int32_t units;
    /* host */
    int32_t *unit, *slot, *level_of, *late[2], *level_slot;
    int32_t *count[2];
    int64_t *first[2], segments[2];
    mpki_sweeps_measure *measure[2];
    mpki_sweeps_place *place[2];
    mpki_sweeps_task *tasks;
    /* device */
    void *d_unit, *d_slot, *d_late[2], *d_order, *d_count[2], *d_first[2], *d_measure[2],
        *d_place[2];
} making;

static void making_free(making *m) {
    mpk_context *ctx = m->s->ctx;
    void *const host[] = {m->unit,       m->slot,       m->level_of, m->late[0],  m->late[1],
                          m->level_slot, m->count[0],   m->count[1], m->first[0], m->first[1],
                          m->measure[0], m->measure[1], m->place[0], m->place[1], m->tasks};
    for (size_t k = 0; k < sizeof host / sizeof *host; k++) mpki_release(ctx, host[k]);
}

/* Shall frame f join the unit's `rows` rows? `work`: rows times blocks of the unit, either way. */
static bool joins(const mpki_stages *stages, int32_t f, int rows, bool wide, int64_t work[2]) {
    const mpki_ibcsr *x = &stages->index;
    const int w = mpki_frame_rows(stages->blocking, f);
    work[0] += w * (x->diagonal[f] - x->ptr[f]);
    work[1] += w * (x->ptr[f + 1] - x->diagonal[f] - 1);
    return rows + w <= UNIT_ROWS && (wide || (work[0] <= FEW && work[1] <= FEW));
}

/* Units of level l; returns how many rows it has. */
static int32_t units_of(making *m, int32_t l, int32_t at) {
    const mpki_stages *stages = m->s->stages;
    const mpki_levels *v = &stages->levels;
    int32_t sum = 0, here = at;
    for (int32_t j = v->ptr[l]; j < v->ptr[l + 1]; j++)
        sum += mpki_frame_rows(stages->blocking, v->frame[j]);
    const bool wide = sum >= WIDE * UNIT_ROWS;
    int64_t work[2] = {0, 0};
    for (int32_t j = v->ptr[l], rows = UNIT_ROWS + 1; j < v->ptr[l + 1]; j++) {
        const int32_t f = v->frame[j];
        m->slot[f] = here;
        if (!joins(stages, f, rows, wide, work)) {
            work[0] = work[1] = 0;
            joins(stages, f, 0, wide, work);
            m->level_of[m->units] = l;
            m->unit[m->units++] = j;
            rows = 0;
        }
        rows += mpki_frame_rows(stages->blocking, f);
        here += mpki_frame_rows(stages->blocking, f);
    }
    return here - at;
}

static mpk_status make_units(making *m) {
    const mpki_levels *v = &m->s->stages->levels;
    mpk_context *ctx = m->s->ctx;
    const int64_t frames = m->store->m;
    int32_t at = 0;
    m->unit = MPKI_NEW(ctx, STAGE, frames + 1, int32_t);
    m->slot = MPKI_NEW(ctx, STAGE, frames, int32_t);
    m->level_of = MPKI_NEW(ctx, STAGE, frames, int32_t);
    m->level_slot = MPKI_NEW(ctx, STAGE, (int64_t)v->count + 2, int32_t);
    for (int half = 0; half < 2; half++) m->late[half] = MPKI_NEW(ctx, STAGE, frames, int32_t);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    for (int32_t l = 0; l < v->count; l++) {
        m->level_slot[l] = at;
        at += units_of(m, l, at);
    }
    m->level_slot[v->count] = m->level_slot[v->count + 1] = at;
    m->unit[m->units] = (int32_t)frames;
    for (int32_t u = 0, end; u < m->units; u = end) {
        const int32_t l = m->level_of[u];
        for (end = u; end < m->units && m->level_of[end] == l;) end++;
        for (int32_t k = u; k < end; k++) {
            const bool narrow = end - u < NARROW;
            m->late[0][k] = narrow && l > 0 ? m->level_slot[l - 1] : INT32_MAX;
            m->late[1][k] = narrow && l + 1 < v->count ? m->level_slot[l + 2] : -1;
        }
    }
    return MPK_OK;
}

/* ---- making: segments ---------------------------------------------------------------------------
 */

static mpk_status send_units(making *m) {
    mpki_block_solver *s = m->s;
    const int64_t frames = m->store->m, four = sizeof(int32_t);
    const int64_t lists = s->stages->index.ptr[frames];
    mpk_status status = may_take(s, four * (2 * frames + 5 * m->units + lists) + 256);
    if (!mpk_failed(status)) status = upload(s, m->unit, four * (m->units + 1), &m->d_unit);
    if (!mpk_failed(status)) status = upload(s, m->slot, four * frames, &m->d_slot);
    if (!mpk_failed(status)) status = take(s, four * lists, &m->d_order);
    for (int half = 0; half < 2; half++) {
        if (!mpk_failed(status))
            status = upload(s, m->late[half], four * m->units, &m->d_late[half]);
        if (!mpk_failed(status)) status = take(s, four * m->units, &m->d_count[half]);
        m->p.late[half] = m->d_late[half], m->p.count[half] = m->d_count[half];
    }
    m->p.store = m->store, m->p.units = m->units;
    m->p.unit = m->d_unit, m->p.slot = m->d_slot, m->p.order = m->d_order;
    return status;
}

static mpk_status pass(making *m, int which) {
    return told(m->s, m->s->d->table->sweeps->pack(m->s->d->cuda, &m->p, which));
}

static mpk_status count_segments(making *m) {
    mpki_block_solver *s = m->s;
    const int64_t four = sizeof(int32_t), eight = sizeof(int64_t);
    mpk_status status = told(s, s->d->table->sweeps->order(s->d->cuda, &m->p));
    if (!mpk_failed(status)) status = pass(m, MPKI_SWEEPS_COUNT);
    for (int half = 0; half < 2 && !mpk_failed(status); half++) {
        m->count[half] = MPKI_NEW(s->ctx, STAGE, m->units, int32_t);
        m->first[half] = MPKI_NEW(s->ctx, STAGE, (int64_t)m->units + 1, int64_t);
        if (!m->count[half] || !m->first[half]) return mpki_failed(s->ctx);
        status = copy(s, m->count[half], m->d_count[half], four * m->units, false);
    }
    if (!mpk_failed(status)) status = wait(s);
    for (int half = 0; half < 2 && !mpk_failed(status); half++) {
        int64_t sum = 0;
        for (int32_t u = 0; u < m->units; u++) {
            m->first[half][u] = sum;
            sum += m->count[half][u];
        }
        m->first[half][m->units] = m->segments[half] = sum;
        status = may_take(s, eight * m->units + sum * (int64_t)sizeof(mpki_sweeps_measure));
        if (!mpk_failed(status))
            status = upload(s, m->first[half], eight * m->units, &m->d_first[half]);
        if (!mpk_failed(status))
            status = take(s, sum * (int64_t)sizeof(mpki_sweeps_measure), &m->d_measure[half]);
        m->p.first[half] = m->d_first[half], m->p.measure[half] = m->d_measure[half];
    }
    return status;
}

static mpk_status measure_segments(making *m) {
    mpki_block_solver *s = m->s;
    mpk_status status = pass(m, MPKI_SWEEPS_MEASURE);
    for (int half = 0; half < 2 && !mpk_failed(status); half++) {
        const int64_t count = m->segments[half], each = sizeof(mpki_sweeps_measure);
        m->measure[half] = MPKI_NEW(s->ctx, STAGE, count, mpki_sweeps_measure);
        m->place[half] = MPKI_NEW(s->ctx, STAGE, count, mpki_sweeps_place);
        if (!m->measure[half] || !m->place[half]) return mpki_failed(s->ctx);
        status = copy(s, m->measure[half], m->d_measure[half], each * count, false);
        if (!mpk_failed(status)) status = wait(s);
        give(s, m->d_measure[half], each * count);
        m->d_measure[half] = NULL;
    }
    return status;
}

/* ---- making: tasks ------------------------------------------------------------------------------
 */

/* Level set of a slot. */
static int32_t level_at(const making *m, int32_t slot) {
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

static int32_t turn_of(const making *m, int half, const task *t) {
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
static task next_task(const making *m, int half, int32_t u, int64_t from) {
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
static mpk_status make_tasks_of(making *m, int half, int64_t *at, task **list, int64_t *count) {
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

static mpk_status make_tasks(making *m) {
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

/* ---- making: memory, numbers --------------------------------------------------------------------
 */

static int64_t size_of(const mpki_block_solver *s) {
    return (int64_t)mpk_scalar_size(s->stored);
}

/* What stays, and places, which do not. */
static mpk_status take_all(making *m) {
    mpki_block_solver *s = m->s;
    const int64_t n = s->n, size = size_of(s), vector = n * s->wide * size;
    const int64_t tasks = s->task[2] * (int64_t)sizeof(mpki_sweeps_task);
    const int64_t tickets = 2 * ((int64_t)s->stages->options->solve_sweeps + 1) * 4;
    const int64_t staged = n * s->wide * (int64_t)mpk_scalar_size(s->scalar);
    const int64_t part = s->parts * UNIT_ROWS * s->wide * size;
    int64_t place[2];
    for (int half = 0; half < 2; half++)
        place[half] = m->segments[half] * (int64_t)sizeof(mpki_sweeps_place);
    const struct {
        int64_t bytes;
        void **to;
    } list[] = {{s->packet_bytes, (void **)&s->packets},
                {tasks, (void **)&s->tasks},
                {vector, &s->vector[0]},
                {vector, &s->vector[1]},
                {vector, &s->vector[2]},
                {part, &s->part},
                {2 * n * size, &s->diagonal[0]},
                {2 * n * size, &s->diagonal[1]},
                {staged, &s->staging},
                {n, (void **)&s->partner},
                {tickets, (void **)&s->ticket},
                {n * 4, (void **)&s->position},
                {n * 4, (void **)&s->index[0]},
                {n * 4, (void **)&s->index[1]},
                {n * 8, (void **)&s->scale[0]},
                {n * 8, (void **)&s->scale[1]},
                {8, (void **)&s->most},
                {place[0], &m->d_place[0]},
                {place[1], &m->d_place[1]}};
    enum { COUNT = sizeof list / sizeof *list };
    int64_t all = 0;
    for (int k = 0; k < COUNT; k++) all += list[k].bytes < 16 ? 16 : list[k].bytes;
    mpk_status status = may_take(s, all);
    for (int k = 0; k < COUNT && !mpk_failed(status); k++)
        status = take(s, list[k].bytes, list[k].to);
    return status;
}

/* Positions, indices and scales by slot. */
static mpk_status send_maps(making *m) {
    mpki_block_solver *s = m->s;
    const mpki_stages *stages = s->stages;
    mpk_context *ctx = s->ctx;
    const int64_t n = s->n;
    int32_t *position = MPKI_NEW(ctx, STAGE, n, int32_t), *index = MPKI_NEW(ctx, STAGE, n, int32_t);
    double *scale = MPKI_NEW(ctx, STAGE, n, double);
    mpk_status status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    for (int32_t f = 0; f < m->store->m; f++)
        for (int32_t k = 0; k < mpki_frame_rows(stages->blocking, f); k++)
            position[m->slot[f] + k] = stages->blocking->bptr[f] + k;
    status = copy(s, s->position, position, 4 * n, true);
    for (int out = 0; out < 2 && !mpk_failed(status); out++) {
        for (int64_t k = 0; k < n; k++) {
            const int32_t g = stages->blocking->perm[position[k]];
            index[k] = out ? g : MPKI_ROW(stages, g);
            scale[k] =
                out || !stages->row_scale ? stages->scale[index[k]] : stages->row_scale[index[k]];
        }
        status = copy(s, s->index[out], index, 4 * n, true);
        if (!mpk_failed(status)) status = copy(s, s->scale[out], scale, 8 * n, true);
        if (!mpk_failed(status)) status = wait(s); /* the arrays are used again */
    }
done:
    mpki_release(ctx, position);
    mpki_release(ctx, index);
    mpki_release(ctx, scale);
    return status;
}

static mpk_status fill(making *m) {
    mpki_block_solver *s = m->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpk_status status = MPK_OK;
    for (int half = 0; half < 2; half++) {
        const int64_t bytes = m->segments[half] * (int64_t)sizeof(mpki_sweeps_place);
        if (!mpk_failed(status)) status = copy(s, m->d_place[half], m->place[half], bytes, true);
        m->p.place[half] = m->d_place[half];
        m->p.diagonal[half] = s->diagonal[half];
    }
    m->p.packets = s->packets, m->p.position = s->position, m->p.partner = s->partner;
    if (!mpk_failed(status))
        status = copy(s, s->tasks, m->tasks, s->task[2] * (int64_t)sizeof *m->tasks, true);
    if (!mpk_failed(status)) status = pass(m, MPKI_SWEEPS_FILL);
    if (!mpk_failed(status)) status = told(s, table->pivots(s->d->cuda, &m->p));
    if (!mpk_failed(status))
        status =
            told(s, table->wait(s->d->cuda, s->stored, s->part, s->parts * UNIT_ROWS * s->wide));
    return mpk_failed(status) ? status : wait(s);
}

/* Warps of a launch: so many that some level sets are at work, so that what they read is there in
 * time, but no more, for those that wait ask again and again. */
static mpk_status choose_warps(mpki_block_solver *s) {
    const int64_t levels = s->stages->levels.count;
    mpk_status status = MPK_OK;
    for (int k = 0; k < 4 && 1 << k <= s->wide && !mpk_failed(status); k++) {
        int32_t most = 0;
        status = told(s, s->d->table->sweeps->warps(s->d->cuda, s->stored, 1 << k, &most));
        int64_t warps = levels > 0 ? AHEAD * s->task[1] / levels : 0;
        if (warps < WARPS_LEAST) warps = WARPS_LEAST;
        if (most < 3) most = 3; /* a device that is none */
        if (warps > most || s->stages->options->solve_sweeps) warps = most;
        s->warps[k] = (int32_t)warps, s->most_warps[k] = most;
    }
    return status;
}

static int32_t widths(int32_t columns, int64_t size) {
    int32_t wide = 1;
    while (wide < columns && wide < MPKI_SWEEPS_RHS && 2 * wide * size <= 64) wide *= 2;
    return wide;
}

static mpk_status make(making *m) {
    mpki_block_solver *s = m->s;
    mpk_status status = make_units(m);
    if (!mpk_failed(status)) status = send_units(m);
    if (!mpk_failed(status)) status = count_segments(m);
    if (!mpk_failed(status)) status = measure_segments(m);
    if (!mpk_failed(status)) status = make_tasks(m);
    if (!mpk_failed(status)) status = take_all(m);
    if (!mpk_failed(status)) status = send_maps(m);
    if (!mpk_failed(status)) status = fill(m);
    if (!mpk_failed(status)) status = choose_warps(s);
    if (!mpk_failed(status))
        status = told(s, s->d->table->sweeps->clock_make(s->d->cuda, &s->clock));
    if (mpk_failed(status)) return status;
    const int64_t four = sizeof(int32_t);
    give(s, m->d_unit, four * (m->units + 1));
    give(s, m->d_slot, four * m->store->m);
    give(s, m->d_order, four * s->stages->index.ptr[m->store->m]);
    for (int half = 0; half < 2; half++) {
        give(s, m->d_late[half], four * m->units);
        give(s, m->d_count[half], four * m->units);
        give(s, m->d_first[half], (int64_t)sizeof(int64_t) * m->units);
        give(s, m->d_place[half], m->segments[half] * (int64_t)sizeof(mpki_sweeps_place));
    }
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
    s->wide = *takes = widths(columns, size_of(s));
    s->mixed = s->scalar != s->stored;
    making m = {.s = s, .store = store};
    mpk_status status = s->d->table->sweeps
                            ? make(&m)
                            : mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1,
                                         "the CUDA module has no solves with factors on blocks");
    making_free(&m);
    if (mpk_failed(status)) mpki_cuda_sweeps_free(ctx, out);
    return status;
}

mpk_status mpki_cuda_sweeps_of_products(mpk_context *ctx, mpki_isai_factor *isai,
                                        mpki_block_solver **out, int32_t *takes) {
    mpki_block_solver *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_solver);
    *takes = 1;
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx, s->d = mpki_cuda_kept(ctx), s->isai = isai;
    return MPK_OK;
}

mpki_cuda_sweeps_numbers mpki_cuda_sweeps_told(const mpki_block_solver *s) {
    return (mpki_cuda_sweeps_numbers){s->bytes, s->packet_bytes, s->task[2], s->parts, s->warps[0]};
}

int32_t mpki_cuda_sweeps_warps(mpki_block_solver *s, int32_t warps) {
    s->trial = TRIALS;
    for (int k = 0; k < 4; k++) s->warps[k] = warps < s->most_warps[k] ? warps : s->most_warps[k];
    return s->warps[0];
}

/* ---- applying -----------------------------------------------------------------------------------
 */

typedef struct application {
    mpki_block_solver *s;
    mpk_part part;
    mpki_sweeps_move move;
    mpki_sweeps_run run;
    int launches;
} application;

static bool forward(mpk_part part) {
    return part == MPK_PART_ALL || part == MPK_PART_ABS || part == MPK_PART_L;
}
static bool backward(mpk_part part) {
    return part == MPK_PART_ALL || part == MPK_PART_ABS || part == MPK_PART_LT;
}

static mpk_status launch(application *a, int64_t first, int64_t end) {
    mpki_block_solver *s = a->s;
    a->run.first = (int32_t)first, a->run.end = (int32_t)end;
    a->run.ticket = s->ticket + a->launches++;
    if (first == end) return MPK_OK;
    return told(s, s->d->table->sweeps->run(s->d->cuda, &a->run));
}

/* ---- how many warps: the rule's number, half of it, twice as many. One that waits too long, or too
 * many that ask whether results are there, change nothing but the time ---- */

static int32_t warps_of(const mpki_block_solver *s, int kind, int which) {
    int32_t warps = s->warps[kind];
    warps = which == 1 ? warps / 2 : which == 2 ? 2 * warps : warps;
    return warps < 1 ? 1 : warps > s->most_warps[kind] ? s->most_warps[kind] : warps;
}

/* The last trial's time, where it is known by now; after all trials, the choice. */
static mpk_status learn(mpki_block_solver *s) {
    double seconds;
    if (!s->running) return MPK_OK;
    mpk_status status = told(s, s->d->table->sweeps->clock_read(s->d->cuda, s->clock, &seconds));
    if (mpk_failed(status) || seconds < 0) return status;
    double *best = &s->best_s[s->trial % 3];
    if (*best == 0 || seconds < *best) *best = seconds;
    s->running = false;
    if (++s->trial < TRIALS) return MPK_OK;
    int which = 0;
    for (int k = 1; k < 3; k++)
        if (s->best_s[k] < s->best_s[which]) which = k;
    for (int k = 0; k < 4; k++) s->warps[k] = warps_of(s, k, which);
    return MPK_OK;
}

static mpk_status sweeps(application *a);

/* The sweeps of a whole application with one vector are timed. */
static mpk_status timed(application *a) {
    mpki_block_solver *s = a->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    const bool whole = forward(a->part) && backward(a->part) && a->run.nrhs == 1;
    if (s->trial >= TRIALS || !whole || s->stages->options->solve_sweeps ||
        table->captured(s->d->cuda))
        return sweeps(a);
    mpk_status status = learn(s);
    if (mpk_failed(status) || s->running || s->trial >= TRIALS)
        return mpk_failed(status) ? status : sweeps(a);
    a->run.warps = warps_of(s, 0, s->trial % 3);
    status = told(s, table->clock_start(s->d->cuda, s->clock));
    if (!mpk_failed(status)) status = sweeps(a);
    if (!mpk_failed(status)) status = told(s, table->clock_stop(s->d->cuda, s->clock));
    s->running = !mpk_failed(status);
    return status;
}

/* Results in vector[1], backward in vector[2]. */
static mpk_status exact(application *a) {
    mpki_block_solver *s = a->s;
    const bool both = forward(a->part) && backward(a->part);
    a->run.half[0] = (mpki_sweeps_half){s->vector[0], s->vector[1], s->vector[1]};
    a->run.half[1] = (mpki_sweeps_half){s->vector[both ? 1 : 0], s->vector[2], s->vector[2]};
    a->move.y = s->vector[backward(a->part) ? 2 : 1];
    return launch(a, forward(a->part) ? 0 : s->task[1],
                  backward(a->part) ? s->task[2] : s->task[1]);
}

/* One direction: x := M b, then sweeps of x := M (b - (L - M^-1) x). `start` is the number of the
 * vector that b is in; returns the result's. */
static mpk_status jacobi(application *a, int half, int start, int *result) {
    mpki_block_solver *s = a->s;
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    int from = (start + 1) % 3, to = (start + 2) % 3;
    const int64_t bytes = (int64_t)s->n * a->run.nrhs * size_of(s);
    mpk_status status = told(s, table->set(s->d->cuda, s->vector[from], 0, bytes));
    for (int sweep = 0; sweep <= s->stages->options->solve_sweeps && !mpk_failed(status); sweep++) {
        a->run.half[half] = (mpki_sweeps_half){s->vector[start], s->vector[from], s->vector[to]};
        status = launch(a, s->task[half], s->task[half + 1]);
        const int swap = from;
        from = to, to = swap;
    }
    *result = from;
    return status;
}

static mpk_status sweeps(application *a) {
    int at = 0;
    mpk_status status = MPK_OK;
    if (!a->s->stages->options->solve_sweeps) return exact(a);
    if (forward(a->part)) status = jacobi(a, 0, at, &at);
    if (!mpk_failed(status) && backward(a->part)) status = jacobi(a, 1, at, &at);
    a->move.y = a->s->vector[at];
    return status;
}

/* b and x in device memory. */
static mpk_status on_device(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    const mpki_cuda_sweeps_table *table = s->d->table->sweeps;
    mpki_cuda *cuda = s->d->cuda;
    application a = {.s = s, .part = part};
    const bool sweeping = forward(part) || backward(part), all = forward(part) && backward(part);
    const bool wait_for = sweeping && !s->stages->options->solve_sweeps;
    int32_t wide = 1, kind = 0;
    while (wide < nrhs) wide *= 2, kind++;
    a.move = (mpki_sweeps_move){.scalar = s->scalar, .stored = s->stored, .n = s->n, .nrhs = nrhs};
    a.move.wide = wide;
    a.move.most = s->mixed ? s->most : NULL;
    a.move.y = s->vector[0];
    a.move.x = (void *)(uintptr_t)b, a.move.ldx = ldb;
    a.move.index = forward(part) ? s->index[0] : s->position;
    a.move.scale = forward(part) ? s->scale[0] : NULL;
    for (int k = 0; k < 2; k++) a.move.wait[k] = wait_for ? s->vector[k + 1] : NULL;
    a.run = (mpki_sweeps_run){.scalar = s->stored, .nrhs = wide, .warps = s->warps[kind]};
    a.run.task = s->tasks, a.run.packets = s->packets, a.run.part = s->part;
    a.run.diagonal = all ? s->diagonal[part == MPK_PART_ABS] : NULL;
    a.run.partner = s->partner;
    const int64_t tickets = 2 * ((int64_t)s->stages->options->solve_sweeps + 1);
    mpk_status status = told(s, table->in(cuda, &a.move));
    if (!mpk_failed(status) && sweeping) {
        status = told(s, table->set(cuda, s->ticket, 0, 4 * tickets));
        if (!mpk_failed(status)) status = timed(&a);
    } else if (!mpk_failed(status)) {
        status =
            told(s, table->scale(cuda, &a.move, s->diagonal[part == MPK_PART_ABS], s->partner));
    }
    a.move.x = x, a.move.ldx = ldx;
    a.move.index = backward(part) ? s->index[1] : s->position;
    a.move.scale = backward(part) ? s->scale[1] : NULL;
    return mpk_failed(status) ? status : told(s, table->out(cuda, &a.move));
}

mpk_status mpki_cuda_sweeps_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
    const mpki_cuda_table *table = s->d->table;
    mpki_cuda *cuda = s->d->cuda;
    const int64_t size = (int64_t)mpk_scalar_size(s->scalar), n = s->n;
    if (s->isai) return nrhs == 0 ? MPK_OK : mpki_isai_factor_apply(s->isai, part, b, x);
    if (n == 0 || nrhs == 0) return MPK_OK;
    void *stream = table->sweeps->stream(cuda);
    const bool b_here = table->is_device(cuda, b), x_here = table->is_device(cuda, x);
    mpk_status status = MPK_OK;
    if (!b_here) {
        status = told(
            s, table->copy(cuda, s->staging, n * size, b, ldb * size, n * size, nrhs, 1, stream));
        b = s->staging, ldb = n;
    }
    if (mpk_failed(status)) return status;
    status = on_device(s, part, nrhs, b, ldb, x_here ? x : s->staging, x_here ? ldx : n);
    if (!mpk_failed(status) && !x_here)
        status = told(
            s, table->copy(cuda, x, ldx * size, s->staging, n * size, n * size, nrhs, 0, stream));
    return mpk_failed(status) || (x_here && b_here) ? status : wait(s);
}
