/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of downdates against three nested loops. */
#include "../block/cases.h"

typedef struct triple {
    int64_t target, a, b;
} triple;

static int compare(const void *x, const void *y) {
    return memcmp(x, y, sizeof(triple)); /* any total order will do */
}

/* All updates of an index among its frames: for each place c, row i and earlier k. */
static int64_t brute(const mpki_ibcsr *x, const unsigned char *final, const unsigned char *want,
                     triple **out) {
    int32_t m = x->m;
    int64_t *block = block_table(x), count = 0;
    *out = malloc(((size_t)m * m * m + 1) * sizeof **out);
    for (int32_t pc = 0; pc < m; pc++)
        for (int32_t pi = pc; pi < m; pi++)
            for (int32_t pk = 0; pk < pc; pk++) {
                int32_t c = x->frame[pc], i = x->frame[pi], k = x->frame[pk];
                int64_t target = block[(size_t)i * m + c];
                int64_t a = block[(size_t)i * m + k], b = block[(size_t)c * m + k];
                if (target < 0 || a < 0 || b < 0 || !final[k] || (want && !want[target])) continue;
                (*out)[count++] = (triple){target, a, b};
            }
    free(block);
    return count;
}

static int64_t triples_of(const mpki_updates *batch, triple *out) {
    int64_t count = 0;
    if (batch->count) assert_int_equal(batch->ptr[0], 0);
    for (int64_t t = 0; t < batch->count; t++)
        for (int64_t u = batch->ptr[t]; u < batch->ptr[t + 1]; u++)
            out[count++] = (triple){batch->target[t], batch->update[u].a, batch->update[u].b};
    return count;
}

static void assert_same_triples(triple *x, int64_t nx, triple *y, int64_t ny) {
    assert_int_equal(nx, ny);
    qsort(x, (size_t)nx, sizeof *x, compare);
    qsort(y, (size_t)ny, sizeof *y, compare);
    for (int64_t k = 0; k < nx; k++) {
        assert_int_equal(x[k].target, y[k].target);
        assert_int_equal(x[k].a, y[k].a);
        assert_int_equal(x[k].b, y[k].b);
    }
}

/* The order that pull promises, and that a and b are the blocks they should be. */
static void check_pull_order(const mpki_ibcsr *x, const mpki_updates *batch) {
    for (int64_t t = 0; t < batch->count; t++) {
        int64_t target = batch->target[t];
        int32_t r = x->rows[target], c = x->cols[target], last = -1;
        if (mpki_ibcsr_transposed(x, target)) r = x->cols[target], c = x->rows[target];
        for (int64_t u = batch->ptr[t]; u < batch->ptr[t + 1]; u++) {
            int64_t a = batch->update[u].a, b = batch->update[u].b;
            int32_t k = x->rows[a] == r ? x->cols[a] : x->rows[a];
            assert_true(x->rows[a] == r || x->cols[a] == r);
            assert_true((x->rows[b] == c && x->cols[b] == k) ||
                        (x->rows[b] == k && x->cols[b] == c));
            assert_int_equal(a == b, r == c);
            assert_true(x->place[k] > last && x->place[k] < x->place[c]);
            last = x->place[k];
        }
    }
}

static void check_index(const mpki_ibcsr *x, const unsigned char *final,
                        const unsigned char *want) {
    int32_t m = x->m;
    size_t most = (size_t)m * m * m + 1;
    triple *expected, *got = malloc(most * sizeof *got);
    int64_t n = brute(x, final, want, &expected), found = 0, items = 0;
    mpki_updates batch = {0};
    mpki_levels levels, subsets;
    int32_t *of;
    assert_int_equal(mpki_levels_make(ctx, x, 0, &levels), MPK_OK);
    assert_int_equal(mpki_levels_check(ctx, x, &levels), MPK_OK);
    assert_int_equal(mpki_subsets_make(ctx, x, &levels, &subsets, &of), MPK_OK);
    assert_int_equal(mpki_subsets_check(ctx, x, &subsets), MPK_OK);
    /* pull, level by level, each in two chunks */
    for (int32_t s = 0; s < levels.count; s++)
        for (int half = 0; half < 2; half++) {
            int32_t first = levels.ptr[s], last = levels.ptr[s + 1], mid = (first + last) / 2;
            if (half) first = mid;
            if (!half) last = mid;
            assert_int_equal(
                mpki_updates_pull(ctx, x, final, want, last - first, levels.frame + first, &batch),
                MPK_OK);
            assert_int_equal(mpki_updates_check(ctx, &batch), MPK_OK);
            check_pull_order(x, &batch);
            found += triples_of(&batch, got + found);
            items += batch.count;
        }
    if (!want) assert_int_equal(items, (x->ptr[m] + m) / 2);
    assert_same_triples(got, found, expected, n);
    /* push by subsets: no conflicts; those of frames that are not final are left out */
    found = 0;
    int32_t *frames = malloc(((size_t)m + 1) * sizeof *frames);
    for (int32_t s = 0; s < subsets.count; s++) {
        int32_t count = 0;
        for (int32_t k = subsets.ptr[s]; k < subsets.ptr[s + 1]; k++)
            if (final[subsets.frame[k]]) frames[count++] = subsets.frame[k];
        assert_int_equal(mpki_updates_push(ctx, x, want, count, frames, &batch), MPK_OK);
        assert_int_equal(mpki_updates_check(ctx, &batch), MPK_OK);
        for (int64_t t = 0; t < batch.count; t++) assert_int_equal(batch.ptr[t], t);
        found += triples_of(&batch, got + found);
    }
    assert_same_triples(got, found, expected, n);
    mpki_levels_free(ctx, &levels);
    mpki_levels_free(ctx, &subsets);
    mpki_release(ctx, of);
    mpki_updates_free(ctx, &batch);
    free(frames), free(got), free(expected);
}

static void test_pull_and_push(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 36; n += n < 4 ? 1 : 9)
            for (int level = -1; level < 3; level++) {
                pattern p = pattern_kind(kind, n);
                mpki_ibcsr x = index_of(&p, level);
                unsigned char *final = malloc((size_t)n + 1);
                unsigned char *want = malloc((size_t)x.nblocks + 1);
                memset(final, 1, (size_t)n + 1);
                check_index(&x, final, NULL);
                for (int32_t f = 0; f < n; f++) final[f] = random_below(3) > 0;
                for (int64_t b = 0; b < x.nblocks; b++) want[b] = random_below(3) > 0;
                check_index(&x, final, want);
                /* and with pushed-back frames: rows, columns and both */
                int32_t frames[64], last = n;
                for (int stage = 0; stage < 3; stage++) {
                    last = random_frames(&x, last, 40, frames);
                    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, last, frames), MPK_OK);
                    for (int32_t f = 0; f < n; f++) final[f] = random_below(3) > 0;
                    check_index(&x, final, NULL);
                    check_index(&x, final, want);
                }
                free(final), free(want);
                mpki_ibcsr_free(ctx, &x);
                free(p.entry);
            }
}

/* Where a target stands: row and column by place. */
static void target_places(const mpki_ibcsr *x, int64_t target, int32_t *row, int32_t *column) {
    int32_t p = x->place[x->rows[target]], q = x->place[x->cols[target]];
    *row = p > q ? p : q;
    *column = p > q ? q : p;
}

/* Items by the order of the frames given, then as promised. */
static void test_order(void **state) {
    (void)state;
    int32_t frames[64], row, column;
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 4; round++) {
            pattern p = pattern_kind(kind, 40);
            mpki_ibcsr x = index_of(&p, round - 1);
            unsigned char final[40];
            memset(final, 1, sizeof final);
            mpki_updates batch = {0};
            int32_t count = random_frames(&x, 40, 30, frames);
            assert_int_equal(mpki_ibcsr_push_back(ctx, &x, count, frames), MPK_OK);
            count = random_frames(&x, 40, 50, frames);
            assert_int_equal(mpki_updates_pull(ctx, &x, final, NULL, count, frames, &batch),
                             MPK_OK);
            int64_t t = 0;
            for (int32_t k = 0; k < count; k++)
                for (int64_t e = x.diagonal[frames[k]]; e < x.ptr[frames[k] + 1]; e++)
                    assert_int_equal(batch.target[t++], x.entry[e].block);
            assert_int_equal(t, batch.count);
            assert_int_equal(mpki_updates_push(ctx, &x, NULL, count, frames, &batch), MPK_OK);
            t = 0;
            for (int32_t k = 0; k < count; k++) {
                int32_t last_row = -1, last_column = -1;
                for (; t < batch.count; t++) {
                    int64_t a = batch.update[t].a;
                    if (x.rows[a] != frames[k] && x.cols[a] != frames[k]) break;
                    target_places(&x, batch.target[t], &row, &column);
                    /* a new frame may look like the last one: blocks of their own */
                    if (column <= x.place[frames[k]]) break;
                    if (row < last_row || (row == last_row && column <= last_column)) break;
                    last_row = row;
                    last_column = column;
                }
            }
            assert_int_equal(t, batch.count);
            mpki_updates_free(ctx, &batch);
            mpki_ibcsr_free(ctx, &x);
            free(p.entry);
        }
}

/* One batch for indices of different sizes, and a level that conflicts. */
static void test_reuse_and_check(void **state) {
    (void)state;
    const int32_t sizes[] = {5, 50, 1, 0, 30};
    mpki_updates batch = {0};
    for (int k = 0; k < 5; k++) {
        pattern p = pattern_kind(3, sizes[k]);
        mpki_ibcsr x = index_of(&p, 1);
        mpki_levels levels;
        unsigned char final[50];
        memset(final, 1, sizeof final);
        assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
        int64_t updates = 0, blocks = (x.ptr[x.m] + x.m) / 2;
        assert_int_equal(mpki_updates_pull(ctx, &x, final, NULL, sizes[k], x.frame, &batch),
                         MPK_OK);
        assert_int_equal(batch.count, blocks);
        assert_int_equal(mpki_updates_check(ctx, &batch), MPK_OK);
        updates = batch.ptr[batch.count];
        assert_int_equal(mpki_updates_push(ctx, &x, NULL, sizes[k], x.frame, &batch), MPK_OK);
        assert_int_equal(batch.count, updates);
        if (sizes[k] > 3) assert_int_equal(mpki_updates_check(ctx, &batch), MPK_ERR_INTERNAL);
        mpki_clear_error(ctx);
        assert_int_equal(mpki_updates_pull(ctx, &x, final, NULL, 0, NULL, &batch), MPK_OK);
        assert_int_equal(batch.count, 0);
        assert_int_equal(batch.ptr[0], 0);
        mpki_levels_free(ctx, &levels);
        mpki_ibcsr_free(ctx, &x);
        free(p.entry);
    }
    mpki_updates_free(ctx, &batch);
    mpki_updates_free(ctx, &batch);
}

/* When memory fails in one call, the batch can be used in the next. */
static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 40);
    mpki_ibcsr x = index_of(&p, 2);
    unsigned char final[40];
    memset(final, 1, sizeof final);
    for (int push = 0; push < 2; push++) {
        mpk_status status = MPK_ERR_MEMORY;
        mpki_updates batch = {0}, whole = {0};
        int32_t failures = 0;
        for (long k = 0; k < 40; k++) {
            mpki_clear_error(ctx);
            test_memory.countdown = k % 4; /* grows a little each time */
            status = push ? mpki_updates_push(ctx, &x, NULL, 40, x.frame, &batch)
                          : mpki_updates_pull(ctx, &x, final, NULL, 40, x.frame, &batch);
            test_memory.countdown = -1;
            if (!mpk_failed(status)) break;
            failures++;
            assert_int_equal(status, MPK_ERR_MEMORY);
            for (int32_t f = 0; f < batch.marks; f++) assert_int_equal(batch.mark[f], -1);
        }
        assert_int_equal(status, MPK_OK);
        assert_true(failures > 5);
        status = push ? mpki_updates_push(ctx, &x, NULL, 40, x.frame, &whole)
                      : mpki_updates_pull(ctx, &x, final, NULL, 40, x.frame, &whole);
        assert_int_equal(status, MPK_OK);
        assert_int_equal(whole.count, batch.count);
        assert_memory_equal(whole.target, batch.target, (size_t)batch.count * 8);
        assert_memory_equal(whole.ptr, batch.ptr, ((size_t)batch.count + 1) * 8);
        assert_memory_equal(whole.update, batch.update, (size_t)batch.ptr[batch.count] * 16);
        mpki_updates_free(ctx, &batch);
        mpki_updates_free(ctx, &whole);
    }
    mpki_ibcsr_free(ctx, &x);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pull_and_push, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reuse_and_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
