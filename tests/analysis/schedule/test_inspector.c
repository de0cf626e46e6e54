/* SPDX-License-Identifier: BSD-3-Clause */
/* The inspector gives the lists that direct calls give, whatever its thread and its portions. */
#include "../block/cases.h"
#include "analysis/schedule/inspector.h"

#include <time.h>

enum { MOST = 1 << 16 };

/* All that came, end to end. */
typedef struct record {
    int64_t items, updates, portions;
    int64_t *target, *sizes; /* MOST: of each item */
    mpki_update *update;     /* MOST */
} record;

static record record_new(void) {
    return (record){
        .target = malloc(MOST * 8), .sizes = malloc(MOST * 8), .update = malloc(MOST * 16)};
}

static void record_free(record *r) {
    free(r->target), free(r->sizes), free(r->update);
}

static void record_batch(record *r, const mpki_updates *batch) {
    assert_int_equal(batch->ptr[0], 0);
    for (int64_t t = 0; t < batch->count; t++) {
        assert_true(r->items < MOST && r->updates + batch->ptr[t + 1] - batch->ptr[t] < MOST);
        r->target[r->items] = batch->target[t];
        r->sizes[r->items++] = batch->ptr[t + 1] - batch->ptr[t];
        for (int64_t u = batch->ptr[t]; u < batch->ptr[t + 1]; u++)
            r->update[r->updates++] = batch->update[u];
    }
}

static void assert_same_record(const record *a, const record *b) {
    assert_int_equal(a->items, b->items);
    assert_int_equal(a->updates, b->updates);
    assert_memory_equal(a->target, b->target, (size_t)a->items * 8);
    assert_memory_equal(a->sizes, b->sizes, (size_t)a->items * 8);
    assert_memory_equal(a->update, b->update, (size_t)a->updates * 16);
}

/* The same by direct calls, level by level. */
static record direct(const mpki_inspection *in) {
    record r = record_new();
    const mpki_levels *levels = in->levels;
    mpki_updates batch = {0};
    mpki_levels subsets = {0};
    int32_t *of = NULL, set = 0, m = in->index->m;
    const bool push = in->schedule != MPK_SCHEDULE_PULL;
    unsigned char *final = calloc((size_t)m + 1, 1);
    if (!push) memset(final, 1, (size_t)m);
    if (!push && in->final) memcpy(final, in->final, (size_t)m);
    if (in->schedule == MPK_SCHEDULE_SUBSETS)
        assert_int_equal(mpki_subsets_make(ctx, in->index, levels, &subsets, &of), MPK_OK);
    for (int32_t l = 0; l < levels->count; l++) {
        const int32_t *frame = levels->frame + levels->ptr[l];
        int32_t count = levels->ptr[l + 1] - levels->ptr[l];
        assert_int_equal(mpki_updates_pull(ctx, in->index, final, in->want, count, frame, &batch),
                         MPK_OK);
        record_batch(&r, &batch);
        if (in->schedule == MPK_SCHEDULE_ATOMIC) {
            assert_int_equal(mpki_updates_push(ctx, in->index, in->want, count, frame, &batch),
                             MPK_OK);
            record_batch(&r, &batch);
        }
        for (; of && set < subsets.count && of[set] == l; set++) {
            assert_int_equal(mpki_updates_push(ctx, in->index, in->want,
                                               subsets.ptr[set + 1] - subsets.ptr[set],
                                               subsets.frame + subsets.ptr[set], &batch),
                             MPK_OK);
            record_batch(&r, &batch);
        }
    }
    mpki_levels_free(ctx, &subsets);
    mpki_release(ctx, of);
    mpki_updates_free(ctx, &batch);
    free(final);
    return r;
}

static void pause_a_little(void) {
    nanosleep(&(struct timespec){0, 100000}, NULL);
}

typedef struct summary {
    mpki_portion_kind kind;
    int32_t level, subset;
    int64_t entries, updates;
} summary;

static bool same_set(const summary *a, const mpki_portion *b) {
    return a->kind == b->kind && a->level == b->level && a->subset == b->subset;
}

static int64_t width(const mpki_inspection *in, int32_t f) {
    return in->bptr[f + 1] - in->bptr[f];
}

static mpki_levels found_levels; /* those that the inspector found last */

/* Through the inspector. v: all level sets, given or found; slow: the executor takes its time now
 * and then. */
static record inspected(const mpki_inspection *in, const mpki_levels *v, bool slow) {
    record r = record_new();
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times;
    const mpki_portion *portion;
    int32_t level = 0, subset = -1;
    mpki_portion_kind kind = MPKI_PORTION_COLUMNS;
    summary before = {0};
    double share = 0;
    assert_int_equal(mpki_inspector_start(ctx, in, &inspector), MPK_OK);
    for (;;) {
        assert_int_equal(mpki_inspector_next(inspector, &portion), MPK_OK);
        if (!portion) break;
        assert_true(portion->batch.count > 0 && portion->count > 0);
        /* in order: by level, columns before downdates, subset by subset */
        assert_true(portion->level >= level);
        assert_true(portion->share >= share && portion->share <= 1);
        if (portion->level == level) assert_true(portion->kind >= kind);
        if (portion->kind == MPKI_PORTION_DOWNDATES) assert_true(portion->subset >= subset);
        if (portion->kind == MPKI_PORTION_DOWNDATES) subset = portion->subset;
        level = portion->level;
        share = portion->share;
        kind = portion->kind;
        /* one that is followed by another of the same set had spent its budget */
        if (r.portions && same_set(&before, portion))
            assert_true(before.entries >= in->budget || before.updates >= in->budget);
        before = (summary){portion->kind, portion->level, portion->subset, portion->entries,
                           portion->batch.ptr[portion->batch.count]};
        int32_t j = v->ptr[level];
        int64_t t = 0, entries = 0;
        for (int32_t k = 0; k < portion->count; k++) { /* some of the level's, those with items */
            if (in->schedule == MPK_SCHEDULE_SUBSETS) j = v->ptr[level];
            while (j < v->ptr[level + 1] && v->frame[j] != portion->frame[k]) j++;
            assert_true(j < v->ptr[level + 1]);
            const int64_t begin = t;
            /* and none goes on after that */
            assert_true(entries < in->budget && portion->batch.ptr[t] < in->budget);
            for (; t < portion->batch.count; t++) {
                int64_t b = kind == MPKI_PORTION_COLUMNS ? portion->batch.target[t]
                                                         : portion->batch.update[t].a;
                bool transposed = mpki_ibcsr_transposed(in->index, b);
                int32_t c = transposed ? in->index->rows[b] : in->index->cols[b];
                if (c != portion->frame[k]) break;
                if (kind == MPKI_PORTION_COLUMNS)
                    entries += width(in, in->index->rows[b]) * width(in, in->index->cols[b]);
            }
            assert_true(t > begin);
        }
        assert_int_equal(t, portion->batch.count);
        if (kind == MPKI_PORTION_COLUMNS || in->schedule == MPK_SCHEDULE_SUBSETS)
            assert_int_equal(mpki_updates_check(ctx, &portion->batch), MPK_OK);
        assert_int_equal(entries, portion->entries);
        record_batch(&r, &portion->batch);
        r.portions++;
        if (slow && random_below(3) == 0) pause_a_little();
    }
    for (int k = 0; k < 3; k++) { /* the end stays the end */
        assert_int_equal(mpki_inspector_next(inspector, &portion), MPK_OK);
        assert_null(portion);
    }
    mpki_inspector_take_levels(inspector, &found_levels);
    mpki_inspector_stop(&inspector, &times);
    assert_null(inspector);
    assert_true(times.work_s >= 0 && times.waited_s >= 0);
    return r;
}

static const mpk_schedule schedules[] = {MPK_SCHEDULE_PULL, MPK_SCHEDULE_SUBSETS,
                                         MPK_SCHEDULE_ATOMIC};

/* An index with a push-back, random widths; level sets of the frames before place `due` and then of
 * those from there on. */
typedef struct setting {
    mpki_ibcsr index;
    int32_t due;
    mpki_levels levels, given, later; /* all of them; the two parts */
    int32_t bptr[128];
    unsigned char final[128];
    unsigned char *want;
} setting;

static void setting_make(setting *s, int kind, int32_t n) {
    pattern p = pattern_kind(kind, n);
    int32_t frames[128];
    s->index = index_of(&p, 1);
    int32_t count = random_frames(&s->index, n, 30, frames);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &s->index, count, frames), MPK_OK);
    s->due = n - count;
    assert_int_equal(mpki_levels_make(ctx, &s->index, 0, &s->given), MPK_OK);
    int32_t to = 0, begin = 0;
    for (int32_t l = 0; l < s->given.count; l++) {
        const int32_t end = s->given.ptr[l + 1];
        for (int32_t k = begin; k < end; k++)
            if (s->index.place[s->given.frame[k]] < s->due)
                s->given.frame[to++] = s->given.frame[k];
        s->given.ptr[l + 1] = to, begin = end;
    }
    assert_int_equal(mpki_levels_make(ctx, &s->index, s->due, &s->later), MPK_OK);
    s->levels = (mpki_levels){0};
    assert_int_equal(mpki_levels_append(ctx, &s->levels, &s->given), MPK_OK);
    assert_int_equal(mpki_levels_append(ctx, &s->levels, &s->later), MPK_OK);
    s->bptr[0] = 0;
    for (int32_t f = 0; f < n; f++) {
        s->bptr[f + 1] = s->bptr[f] + 1 + random_below(9);
        s->final[f] = random_below(4) > 0;
    }
    s->want = malloc((size_t)s->index.nblocks + 1);
    for (int64_t b = 0; b < s->index.nblocks; b++) s->want[b] = random_below(4) > 0;
    free(p.entry);
}

static void setting_free(setting *s) {
    mpki_ibcsr_free(ctx, &s->index);
    mpki_levels_free(ctx, &s->levels);
    mpki_levels_free(ctx, &s->given);
    mpki_levels_free(ctx, &s->later);
    free(s->want);
}

static mpki_inspection inspection_of(const setting *s, mpk_schedule schedule, int64_t budget,
                                     int threads) {
    return (mpki_inspection){.index = &s->index,
                             .levels = &s->levels,
                             .due = s->index.m,
                             .bptr = s->bptr,
                             .schedule = schedule,
                             .budget = budget,
                             .threads = threads};
}

static void test_same_lists(void **state) {
    (void)state;
    const int32_t sizes[] = {0, 1, 2, 20, 60};
    const int64_t budgets[] = {1, 60, 100000};
    for (int k = 0; k < 5 * KINDS; k++)
        for (int a = 0; a < 3; a++) {
            setting s;
            setting_make(&s, k % KINDS, sizes[k / KINDS]);
            for (int masks = 0; masks < 2; masks++)
                for (int b = 0; b < 3; b++) {
                    mpki_inspection in = inspection_of(&s, schedules[a], budgets[b], 1);
                    if (masks) in.final = s.final, in.want = s.want;
                    record expected = direct(&in), one = inspected(&in, in.levels, false);
                    assert_same_record(&expected, &one);
                    in.threads = 2;
                    record two = inspected(&in, in.levels, b == 1);
                    assert_same_record(&expected, &two);
                    assert_int_equal(one.portions, two.portions);
                    int32_t levels = 0; /* that are not empty */
                    for (int32_t l = 0; l < s.levels.count; l++)
                        levels += s.levels.ptr[l + 1] > s.levels.ptr[l];
                    if (b == 0 && !masks) assert_true(one.portions >= levels);
                    record_free(&expected), record_free(&one), record_free(&two);
                }
            setting_free(&s);
        }
}

/* Level sets that it finds itself come after those given, with the same lists as if all were
 * given. */
static void test_levels_found(void **state) {
    (void)state;
    const int32_t sizes[] = {0, 1, 2, 20, 60};
    int32_t found_most = 0;
    for (int k = 0; k < 5 * KINDS; k++)
        for (int a = 0; a < 3; a++)
            for (int none_given = 0; none_given < 2; none_given++) {
                setting s;
                setting_make(&s, k % KINDS, sizes[k / KINDS]);
                const mpki_levels nothing = {0};
                mpki_levels all = {0};
                assert_int_equal(mpki_levels_make(ctx, &s.index, 0, &all), MPK_OK);
                mpki_inspection in = inspection_of(&s, schedules[a], 60, 1);
                if (none_given) in.levels = &all;
                record expected = direct(&in);
                in.levels = none_given ? &nothing : &s.given;
                in.due = none_given ? 0 : s.due;
                for (in.threads = 1; in.threads < 3; in.threads++) {
                    const mpki_levels *want = none_given ? &all : &s.later;
                    record got = inspected(&in, none_given ? &all : &s.levels, in.threads == 2);
                    assert_same_record(&expected, &got);
                    record_free(&got);
                    assert_int_equal(found_levels.count, want->count);
                    if (want->count > found_most) found_most = want->count;
                    if (want->count)
                        assert_memory_equal(found_levels.ptr, want->ptr,
                                            (size_t)(want->count + 1) * sizeof *want->ptr);
                    if (want->count)
                        assert_memory_equal(found_levels.frame, want->frame,
                                            (size_t)want->ptr[want->count] * sizeof *want->frame);
                    mpki_levels_free(ctx, &found_levels);
                }
                record_free(&expected);
                mpki_levels_free(ctx, &all);
                setting_free(&s);
            }
    assert_true(found_most > 3);
}

/* The masks may be written while it runs: it has its own. */
static void test_masks_are_copied(void **state) {
    (void)state;
    setting s;
    setting_make(&s, 1, 60);
    for (int a = 0; a < 3; a++) {
        mpki_inspection in = inspection_of(&s, schedules[a], 10, 2);
        in.final = s.final, in.want = s.want;
        record expected = direct(&in), got = record_new();
        unsigned char *want = malloc((size_t)s.index.nblocks), final[60];
        memcpy(want, s.want, (size_t)s.index.nblocks);
        memcpy(final, s.final, 60);
        in.want = want, in.final = final;
        mpki_inspector *inspector = NULL;
        const mpki_portion *portion;
        assert_int_equal(mpki_inspector_start(ctx, &in, &inspector), MPK_OK);
        while (mpki_inspector_next(inspector, &portion) == MPK_OK && portion) {
            record_batch(&got, &portion->batch);
            for (int64_t t = 0; t < portion->batch.count; t++) want[portion->batch.target[t]] ^= 1;
            for (int32_t k = 0; k < portion->count; k++) final[portion->frame[k]] ^= 1;
        }
        mpki_inspector_stop(&inspector, NULL);
        assert_same_record(&expected, &got);
        record_free(&expected), record_free(&got);
        free(want);
    }
    setting_free(&s);
}

/* Stopped after any number of portions, at once or later, with a full or an empty queue. */
static void test_stop(void **state) {
    (void)state;
    setting s;
    setting_make(&s, 1, 60);
    for (int a = 0; a < 3; a++)
        for (int threads = 1; threads < 3; threads++)
            for (int taken = 0; taken < 40; taken += 1 + taken / 4) {
                mpki_inspection in = inspection_of(&s, schedules[a], 5, threads);
                mpki_inspector *inspector = NULL;
                const mpki_portion *portion;
                assert_int_equal(mpki_inspector_start(ctx, &in, &inspector), MPK_OK);
                for (int k = 0; k < taken; k++) {
                    assert_int_equal(mpki_inspector_next(inspector, &portion), MPK_OK);
                    assert_non_null(portion);
                }
                if (taken % 2) pause_a_little();
                mpki_inspector_times times = {-1, -1};
                mpki_inspector_stop(&inspector, taken % 3 ? &times : NULL);
                assert_null(inspector);
                if (taken % 3) assert_true(times.work_s >= 0 && times.waited_s >= 0);
                mpki_inspector_stop(&inspector, NULL);
            }
    setting_free(&s);
}

/* Wherever memory fails, in the thread or outside: an error, in order, and no harm to the next. */
static void test_no_memory(void **state) {
    (void)state;
    setting s;
    setting_make(&s, 1, 60);
    for (int a = 0; a < 3; a++)
        for (int threads = 1; threads < 3; threads++) {
            mpki_inspection in = inspection_of(&s, schedules[a], 300, threads);
            in.levels = &s.given, in.due = s.due;
            in.want = s.want;
            mpk_status status = MPK_ERR_MEMORY;
            long k = 0;
            for (; status; k++) {
                mpki_inspector *inspector = NULL;
                const mpki_portion *portion = NULL;
                mpki_clear_error(ctx);
                test_memory.countdown = k;
                status = mpki_inspector_start(ctx, &in, &inspector);
                if (mpk_failed(status)) assert_null(inspector);
                for (bool more = !mpk_failed(status); more; more = !mpk_failed(status) && portion)
                    status = mpki_inspector_next(inspector, &portion);
                if (mpk_failed(status)) {
                    assert_int_equal(status, MPK_ERR_MEMORY);
                    assert_null(portion);
                    if (inspector)
                        assert_int_equal(mpki_inspector_next(inspector, &portion), MPK_ERR_MEMORY);
                }
                mpki_inspector_stop(&inspector, NULL);
                test_memory.countdown = -1;
                assert_true(k < 5000);
            }
            assert_true(k > 8);
        }
    setting_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_levels_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_masks_are_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
