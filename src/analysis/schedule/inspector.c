/* SPDX-License-Identifier: BSD-3-Clause */
/* The inspector: update lists made ahead of their execution, by a thread of its own. */
#define _GNU_SOURCE
#include "../../core/relax.h"
#include "../../core/trace.h"
#include "inspector.h"

#include <pthread.h>
#include <string.h>

static const char STAGE[] = "inspector";

/* SLOTS portions may be ready, so that small levels are run through in one go; and no more than
 * AHEAD budgets of entries and updates, the portion in hand among them, so that large ones do not
 * pile up.
 */
enum { SLOTS = 16, AHEAD = 8, SPINS = 2000 };

/* How far the lists are. Level sets are walked through in two parts: those that were given, then
 * those that are found when these are listed. */
typedef struct walk {
    const mpki_levels *levels; /* the part at hand */
    int32_t level, subset;     /* in it */
    int32_t levels_before, subsets_before;
    int32_t at;      /* frames of the present level or subset that are listed */
    int64_t columns; /* frames whose columns are listed, in all */
    bool downdates;  /* the level's columns are listed, its downdates are due */
    mpki_levels set; /* push: the subsets, or for atomic the levels themselves (borrowed) */
    int32_t *of;     /* subsets: level of each */
} walk;

struct mpki_inspector {
    mpk_context *ctx;
    mpki_inspection what;
    unsigned char *final; /* own copies; push: nothing is final, so columns have no updates */
    unsigned char *want;
    walk w;
    mpki_levels found;
    mpk_status search; /* of the search for these */
    bool searched;
    mpki_portion slot[SLOTS];
    mpki_lane lane;
    bool threaded, begun;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ready, space;
    _Atomic int64_t made; /* portions; read by the waiting executor without the mutex */
    int64_t taken;        /* portions that the executor is done with, or has in hand */
    int64_t returned;     /* of these, done with */
    int64_t ahead;        /* weight of the portions made and not returned */
    bool sleeping;        /* the inspector waits for space */
    _Atomic bool stop, end;
    mpk_status status; /* set before end */
    double work_s, waited_s;
};

/* ---- one portion ----------------------------------------------------------------------------- */

static int32_t width(const mpki_inspection *in, int32_t f) {
    return in->bptr[f + 1] - in->bptr[f];
}

/* Entries of the targets from item `from` on, all in the column of f. */
static int64_t entries_of(const mpki_inspection *in, const mpki_updates *batch, int64_t from,
                          int32_t f) {
    int64_t rows = 0;
    for (int64_t t = from; t < batch->count; t++) {
        int64_t b = batch->target[t];
        rows += width(in, in->index->rows[b] == f ? in->index->cols[b] : in->index->rows[b]);
    }
    return rows * width(in, f);
}

static mpk_status list_frame(mpki_inspector *s, int32_t f, mpki_portion *portion) {
    const mpki_ibcsr *x = s->what.index;
    if (portion->kind == MPKI_PORTION_COLUMNS)
        return mpki_updates_pull_frame(s->ctx, x, s->final, s->want, f, &portion->batch);
    return mpki_updates_push_frame(s->ctx, x, s->want, f, &portion->batch);
}

static mpk_status frame_room(mpki_inspector *s, mpki_portion *portion) {
    if (portion->count < portion->frame_room) return MPK_OK;
    int32_t room = 2 * portion->frame_room + 64;
    int32_t *frame = mpki_resize(s->ctx, STAGE, portion->frame, room, sizeof *frame);
    if (!frame) return mpki_failed(s->ctx);
    portion->frame = frame;
    portion->frame_room = room;
    return MPK_OK;
}

/* Frames begin .. end-1 of `frame` into the portion until its budget is spent; returns where it
 * ended. */
static int32_t fill_portion(mpki_inspector *s, const int32_t *frame, int32_t begin, int32_t end,
                            mpki_portion *portion, mpk_status *status) {
    const mpki_inspection *in = &s->what;
    mpki_updates *batch = &portion->batch;
    int32_t k = begin;
    portion->count = 0;
    portion->entries = 0;
    *status = mpki_updates_begin(s->ctx, in->index->m, batch);
    for (; k < end && !mpk_failed(*status) && !s->stop; k++) {
        const int64_t from = batch->count;
        if (portion->entries >= in->budget || batch->ptr[from] >= in->budget) break;
        if ((*status = frame_room(s, portion))) break;
        if ((*status = list_frame(s, frame[k], portion))) break;
        if (batch->count == from) continue;
        portion->frame[portion->count++] = frame[k];
        if (portion->kind == MPKI_PORTION_COLUMNS)
            portion->entries += entries_of(in, batch, from, frame[k]);
    }
    return k;
}

/* Weight of a portion: its targets or its updates, whichever are more. */
static int64_t weight(const mpki_portion *portion) {
    int64_t updates = portion->batch.ptr[portion->batch.count];
    return portion->entries > updates ? portion->entries : updates;
}

static void subsets_free(mpki_inspector *s) {
    if (s->w.of) mpki_levels_free(s->ctx, &s->w.set);
    mpki_release(s->ctx, s->w.of);
    s->w.of = NULL;
    s->w.set = (mpki_levels){0};
}

/* Subsets of the level sets at hand, before the first portion of them. */
static mpk_status divide(mpki_inspector *s) {
    const mpki_levels *levels = s->w.levels;
    subsets_free(s);
    if (levels->count == 0) return MPK_OK; /* before the first stage */
    if (s->what.schedule == MPK_SCHEDULE_SUBSETS)
        return mpki_subsets_make(s->ctx, s->what.index, levels, &s->w.set, &s->w.of);
    if (s->what.schedule == MPK_SCHEDULE_ATOMIC) s->w.set = *levels;
    return MPK_OK;
}

/* Find the level sets that were not given. */
static void search(mpki_inspector *s) {
    const double began = mpki_now_s();
    s->searched = true;
    s->search = mpki_levels_make(s->ctx, s->what.index, s->what.due, &s->found);
    mpki_trace_end(s->ctx, s->lane, "level sets", s->what.levels->count, began);
}

/* Go on to the first part, or to level sets that are still to be found; false: there are none, or
 * *status.
 * began_s [inout] of the lists at work, for a trace */
static bool next_part(mpki_inspector *s, double *began_s, mpk_status *status) {
    walk *w = &s->w;
    if (!s->begun) {
        s->begun = true;
        w->levels = s->what.levels;
    } else if (w->levels == &s->found || s->what.due >= s->what.index->m) {
        return false;
    } else {
        if (!s->searched) {
            search(s);
            *began_s = mpki_now_s();
        }
        *status = s->search;
        w->levels_before = w->levels->count;
        w->subsets_before = w->set.count;
        w->levels = &s->found;
        w->level = w->subset = 0;
    }
    if (!mpk_failed(*status)) *status = divide(s);
    return !mpk_failed(*status);
}

/* Fill the next portion that is not empty; false: there is none, or *status, or stopped. */
static bool make_portion(mpki_inspector *s, mpki_portion *portion, double *began_s,
                         mpk_status *status) {
    const mpki_inspection *in = &s->what;
    const bool push = in->schedule != MPK_SCHEDULE_PULL;
    walk *w = &s->w;
    const double all = (double)(in->levels->count ? in->levels->ptr[in->levels->count] : 0) +
                       (double)(in->index->m - in->due);
    *status = MPK_OK;
    while (!mpk_failed(*status) && !s->stop) {
        if (!s->begun || w->level == w->levels->count) {
            if (!next_part(s, began_s, status)) break;
            continue;
        }
        const mpki_levels *set = w->downdates ? &w->set : w->levels;
        const int32_t number = w->downdates ? w->subset : w->level;
        const int32_t begin = set->ptr[number] + w->at, end = set->ptr[number + 1];
        portion->kind = w->downdates ? MPKI_PORTION_DOWNDATES : MPKI_PORTION_COLUMNS;
        portion->level = w->levels_before + w->level;
        portion->subset = w->downdates ? w->subsets_before + w->subset : -1;
        const int32_t to = fill_portion(s, set->frame, begin, end, portion, status);
        w->at += to - begin;
        if (!w->downdates) w->columns += to - begin;
        portion->share = (double)w->columns / all;
        if (to == end) {
            w->at = 0;
            if (w->downdates) w->subset++;
            const bool more = push && w->subset < w->set.count &&
                              (w->of ? w->of[w->subset] : w->subset) == w->level;
            w->downdates = more;
            if (!more) w->level++;
        }
        if (portion->batch.count > 0 && !mpk_failed(*status) && !s->stop) return true;
    }
    return false;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Wait for a free slot, and find level sets meanwhile; the mutex is held. False: stopped. */
static bool wait_for_space(mpki_inspector *s) {
    while (!s->stop) {
        int64_t ready = s->made - s->returned;
        if (ready < SLOTS && (ready == 0 || s->ahead < AHEAD * s->what.budget)) return true;
        if (!s->searched && s->what.due < s->what.index->m) {
            pthread_mutex_unlock(&s->mutex);
            const double start = mpki_now_s();
            search(s);
            const double spent = mpki_now_s() - start;
            pthread_mutex_lock(&s->mutex);
            s->work_s += spent;
            continue;
        }
        s->sleeping = true;
        pthread_cond_wait(&s->space, &s->mutex);
        s->sleeping = false;
    }
    return false;
}

static void *inspect(void *arg) {
    mpki_inspector *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (wait_for_space(s)) {
        mpki_portion *portion = &s->slot[s->made % SLOTS];
        pthread_mutex_unlock(&s->mutex);
        mpk_status status;
        double start = mpki_now_s(), lists = start;
        bool more = make_portion(s, portion, &lists, &status);
        double spent = mpki_now_s() - start;
        mpki_trace_end(s->ctx, s->lane, "lists", more ? portion->level : -1, lists);
        pthread_mutex_lock(&s->mutex);
        s->work_s += spent;
        if (!more) {
            s->status = status;
            break;
        }
        s->ahead += weight(portion);
        s->made++;
        pthread_cond_signal(&s->ready);
    }
    s->end = true;
    pthread_cond_signal(&s->ready);
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* The executor: give back what it had, wait for the next. */
static mpk_status next_made(mpki_inspector *s, const mpki_portion **portion) {
    double start = 0;
    pthread_mutex_lock(&s->mutex);
    if (s->returned < s->taken) {
        s->ahead -= weight(&s->slot[s->returned % SLOTS]);
        s->returned++;
        /* it is woken when half the queue is free, not for each portion */
        if (s->sleeping && s->made - s->returned <= SLOTS / 2 &&
            2 * s->ahead <= AHEAD * s->what.budget)
            pthread_cond_signal(&s->space);
    }
    if (s->made == s->taken && !s->end) {
        start = mpki_now_s();
        pthread_mutex_unlock(&s->mutex);
        for (int k = 0; k < SPINS && s->made == s->taken && !s->end; k++) mpki_relax();
        pthread_mutex_lock(&s->mutex);
    }
    while (s->made == s->taken && !s->end) pthread_cond_wait(&s->ready, &s->mutex);
    if (start > 0) s->waited_s += mpki_now_s() - start;
    mpk_status status = MPK_OK;
    if (s->made > s->taken)
        *portion = &s->slot[s->taken++ % SLOTS];
    else
        status = s->status;
    pthread_mutex_unlock(&s->mutex);
    return status;
}

/* ---- the interface --------------------------------------------------------------------------- */

/* Copies of portions. */

void mpki_portions_free(mpk_context *ctx, mpki_portions *p) {
    for (int64_t k = 0; k < p->count; k++) {
        mpki_updates_free(ctx, &p->portion[k].batch);
        mpki_release(ctx, p->portion[k].frame);
    }
    mpki_release(ctx, p->portion);
    *p = (mpki_portions){0};
}

static bool copy(mpk_context *ctx, const void *from, int64_t count, size_t size, void *to) {
    void *memory = mpki_alloc(ctx, STAGE, count, size);
    if (memory && count) memcpy(memory, from, (size_t)count * size);
    memcpy(to, &memory, sizeof memory);
    return memory != NULL;
}

/* Add a copy of the portion, or give up where there are too many. */
static mpk_status keep_portion(mpki_inspector *s, const mpki_portion *from) {
    mpki_portions *p = s->what.kept;
    const int64_t items = from->batch.count, updates = from->batch.ptr[items];
    p->bytes += (int64_t)sizeof *from + 4 * (int64_t)from->count + 16 * items +
                (int64_t)sizeof(mpki_update) * updates;
    if (p->bytes > s->what.most_kept || p->bytes > mpki_memory_left(s->ctx) / 4) {
        mpki_portions_free(s->ctx, p);
        p->given_up = true;
        return MPK_OK;
    }
    if (p->count == p->room) {
        const int64_t room = 2 * p->room + 16;
        mpki_portion *more = mpki_resize(s->ctx, STAGE, p->portion, room, sizeof *more);
        if (!more) return mpki_failed(s->ctx);
        p->portion = more;
        p->room = room;
    }
    mpki_portion *to = &p->portion[p->count++];
    *to = *from;
    to->frame = NULL;
    to->batch = (mpki_updates){.count = items};
    const bool good =
        copy(s->ctx, from->frame, from->count, sizeof *to->frame, &to->frame) &&
        copy(s->ctx, from->batch.target, items, sizeof(int64_t), &to->batch.target) &&
        copy(s->ctx, from->batch.ptr, items + 1, sizeof(int64_t), &to->batch.ptr) &&
        copy(s->ctx, from->batch.update, updates, sizeof(mpki_update), &to->batch.update);
    return good ? MPK_OK : mpki_failed(s->ctx);
}

static mpk_status next_portion(mpki_inspector *s, const mpki_portion **portion) {
    if (s->threaded) return next_made(s, portion);
    if (s->end) return s->status;
    double start = mpki_now_s(), lists = start;
    if (make_portion(s, &s->slot[0], &lists, &s->status))
        *portion = &s->slot[0];
    else
        s->end = true;
    double spent = mpki_now_s() - start;
    mpki_trace_end(s->ctx, s->lane, "lists", *portion ? (*portion)->level : -1, lists);
    s->work_s += spent;
    s->waited_s += spent;
    return s->status;
}

mpk_status mpki_inspector_next(mpki_inspector *s, const mpki_portion **portion) {
    mpki_portions *p = s->what.kept;
    *portion = NULL;
    if (p && p->complete) {
        if (s->taken < p->count) *portion = &p->portion[s->taken++];
        return MPK_OK;
    }
    mpk_status status = next_portion(s, portion);
    if (!mpk_failed(status) && p && !p->given_up) {
        if (*portion)
            status = keep_portion(s, *portion);
        else
            p->complete = true;
    }
    return status;
}

/* Start the thread; without one, lists are made when asked for. */
static void begin_thread(mpki_inspector *s) {
    if (pthread_mutex_init(&s->mutex, NULL)) return;
    if (pthread_cond_init(&s->ready, NULL)) goto no_ready;
    if (pthread_cond_init(&s->space, NULL)) goto no_space;
    s->lane = MPKI_LANE_INSPECTOR;
    if (pthread_create(&s->thread, NULL, inspect, s)) goto no_thread;
    s->threaded = true;
    return;
no_thread:
    s->lane = MPKI_LANE_CALLER;
    pthread_cond_destroy(&s->space);
no_space:
    pthread_cond_destroy(&s->ready);
no_ready:
    pthread_mutex_destroy(&s->mutex);
}

mpk_status mpki_inspector_start(mpk_context *ctx, const mpki_inspection *what,
                                mpki_inspector **inspector) {
    const int32_t m = what->index->m;
    mpki_inspector *s = MPKI_ZNEW(ctx, STAGE, 1, mpki_inspector);
    if (!s) return mpki_failed(ctx);
    s->ctx = ctx;
    s->what = *what;
    s->lane = MPKI_LANE_CALLER;
    s->final = MPKI_ZNEW(ctx, STAGE, m, unsigned char);
    if (what->want) s->want = MPKI_NEW(ctx, STAGE, what->index->nblocks, unsigned char);
    if (!s->final || (what->want && !s->want)) {
        mpki_inspector_stop(&s, NULL);
        return mpki_failed(ctx);
    }
    if (what->want) memcpy(s->want, what->want, (size_t)what->index->nblocks);
    if (what->schedule == MPK_SCHEDULE_PULL && what->final)
        memcpy(s->final, what->final, (size_t)m);
    else if (what->schedule == MPK_SCHEDULE_PULL)
        memset(s->final, 1, (size_t)m);
    if (what->kept && !what->kept->complete) { /* of a stage that was broken off */
        const bool given_up = what->kept->given_up;
        mpki_portions_free(ctx, what->kept);
        what->kept->given_up = given_up;
    }
    *inspector = s;
    if (what->threads > 1 && !(what->kept && what->kept->complete)) begin_thread(s);
    return MPK_OK;
}

void mpki_inspector_take_levels(mpki_inspector *s, mpki_levels *found) {
    *found = s->found;
    s->found = (mpki_levels){0};
}

void mpki_inspector_stop(mpki_inspector **inspector, mpki_inspector_times *times) {
    mpki_inspector *s = *inspector;
    if (times) *times = (mpki_inspector_times){0, 0};
    if (!s) return;
    if (s->threaded) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->space);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
        pthread_cond_destroy(&s->space);
        pthread_cond_destroy(&s->ready);
        pthread_mutex_destroy(&s->mutex);
    }
    if (times) *times = (mpki_inspector_times){s->work_s, s->waited_s};
    for (int k = 0; k < SLOTS; k++) {
        mpki_updates_free(s->ctx, &s->slot[k].batch);
        mpki_release(s->ctx, s->slot[k].frame);
    }
    subsets_free(s);
    mpki_levels_free(s->ctx, &s->found);
    mpki_release(s->ctx, s->final);
    mpki_release(s->ctx, s->want);
    mpki_release(s->ctx, s);
    *inspector = NULL;
}
