/* SPDX-License-Identifier: BSD-3-Clause */
/* The index against a dense matrix that is really permuted. */
#include "cases.h"

/* ---- a dense double: what the index stands for --------------------------------------------------
 * Every block holds its own number, and its two frames; the matrix is permuted for real. */

typedef struct twin {
    int32_t m;
    int32_t *order; /* frame at each place */
    int32_t *stage; /* by frame */
    int64_t *block; /* m x m, by frame, symmetric: number or -1 */
} twin;

static twin twin_of(const mpki_pattern *p) {
    twin t = {p->m, malloc(((size_t)p->m + 1) * 4), calloc((size_t)p->m + 1, 4),
              malloc(((size_t)p->m * p->m + 1) * 8)};
    for (int64_t k = 0; k < (int64_t)p->m * p->m; k++) t.block[k] = -1;
    for (int32_t j = 0; j < p->m; j++) {
        t.order[j] = j;
        for (int64_t k = p->ptr[j]; k < p->ptr[j + 1]; k++)
            t.block[(size_t)j * p->m + p->row[k]] = t.block[(size_t)p->row[k] * p->m + j] = k;
    }
    return t;
}

/* Bubble sort by stage: as stable as can be. */
static void twin_push(twin *t, int32_t count, const int32_t *frames) {
    for (int32_t k = 0; k < count; k++) t->stage[frames[k]]++;
    for (int32_t end = t->m; end > 1; end--)
        for (int32_t p = 1; p < end; p++)
            if (t->stage[t->order[p - 1]] > t->stage[t->order[p]]) {
                int32_t f = t->order[p];
                t->order[p] = t->order[p - 1];
                t->order[p - 1] = f;
            }
}

static void twin_free(twin *t) {
    free(t->order), free(t->stage), free(t->block);
}

static void assert_same(const mpki_ibcsr *x, const twin *t) {
    assert_int_equal(mpki_ibcsr_check(ctx, x), MPK_OK);
    assert_int_equal(x->m, t->m);
    for (int32_t p = 0; p < t->m; p++) {
        int32_t f = t->order[p];
        int64_t e = x->ptr[f];
        assert_int_equal(x->frame[p], f);
        assert_int_equal(x->stage[f], t->stage[f]);
        for (int32_t q = 0; q < t->m; q++) {
            int32_t g = t->order[q];
            int64_t b = t->block[(size_t)f * t->m + g];
            if (b < 0) continue;
            assert_true(e < x->ptr[f + 1]);
            assert_int_equal(x->entry[e].other, g);
            assert_int_equal(x->entry[e].block, b);
            if (f == g) assert_int_equal(x->diagonal[f], e);
            /* a block is transposed exactly if its rows' frame stands above its columns' now */
            assert_int_equal(mpki_ibcsr_transposed(x, b), x->rows[b] == (p < q ? f : g) && p != q);
            e++;
        }
        assert_int_equal(e, x->ptr[f + 1]);
    }
}

static void test_make(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 60; n += n < 4 ? 1 : 11) {
            pattern p = pattern_kind(kind, n);
            mpki_pattern c = columns_of(&p), back;
            mpki_ibcsr x;
            assert_int_equal(mpki_ibcsr_make(ctx, &c, &x), MPK_OK);
            assert_int_equal(x.nblocks, c.ptr[n]);
            twin t = twin_of(&c);
            assert_same(&x, &t);
            for (int64_t b = 0; b < x.nblocks; b++) {
                assert_int_equal(x.rows[b], c.row[b]);
                assert_false(mpki_ibcsr_transposed(&x, b));
            }
            int64_t *number;
            assert_int_equal(mpki_ibcsr_pattern(ctx, &x, &back, &number), MPK_OK);
            assert_memory_equal(back.ptr, c.ptr, ((size_t)n + 1) * sizeof *c.ptr);
            assert_memory_equal(back.row, c.row, (size_t)c.ptr[n] * sizeof *c.row);
            for (int64_t k = 0; k < c.ptr[n]; k++) assert_int_equal(number[k], k);
            mpki_release(ctx, number);
            mpki_pattern_free(ctx, &back);
            mpki_pattern_free(ctx, &c);
            mpki_ibcsr_free(ctx, &x);
            mpki_ibcsr_free(ctx, &x);
            twin_free(&t);
            free(p.entry);
        }
}

/* As in Thuerck 2021, figure 6.3: the second and third of five frames are pushed back, and two
 * blocks change sides. (3, 2) and (4, 1) are ours, numbered from 0. */
static void test_thesis_example(void **state) {
    (void)state;
    pattern p = pattern_new(5);
    const int32_t pushed[] = {2, 1}, order[] = {0, 3, 4, 1, 2};
    pattern_set(&p, 1, 0), pattern_set(&p, 2, 1), pattern_set(&p, 3, 0), pattern_set(&p, 3, 2);
    pattern_set(&p, 4, 1);
    mpki_pattern c = columns_of(&p);
    mpki_ibcsr x;
    assert_int_equal(mpki_ibcsr_make(ctx, &c, &x), MPK_OK);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 2, pushed), MPK_OK);
    assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_OK);
    for (int32_t k = 0; k < 5; k++) {
        assert_int_equal(x.frame[k], order[k]);
        assert_int_equal(x.place[order[k]], k);
        assert_int_equal(x.stage[k], k == 1 || k == 2);
    }
    for (int64_t b = 0; b < x.nblocks; b++) {
        bool crossed = (x.rows[b] == 3 && x.cols[b] == 2) || (x.rows[b] == 4 && x.cols[b] == 1);
        assert_int_equal(mpki_ibcsr_transposed(&x, b), crossed);
    }
    /* C-> of frame 2 is now 3 and 1, in that order: the places are 1 and 3 */
    assert_int_equal(x.diagonal[2] - x.ptr[2], 2);
    assert_int_equal(x.entry[x.ptr[2]].other, 3);
    assert_int_equal(x.entry[x.ptr[2] + 1].other, 1);
    mpki_ibcsr_free(ctx, &x);
    mpki_pattern_free(ctx, &c);
    free(p.entry);
}

/* Stage after stage, the rejected frames of the last one; and any frames at all. */
static void test_push_back(void **state) {
    (void)state;
    int32_t frames[64];
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 60; n += n < 4 ? 1 : 11)
            for (int any = 0; any < 2; any++) {
                pattern p = pattern_kind(kind, n);
                mpki_pattern c = columns_of(&p);
                mpki_ibcsr x;
                assert_int_equal(mpki_ibcsr_make(ctx, &c, &x), MPK_OK);
                twin t = twin_of(&c);
                int32_t last = n;
                for (int round = 0; round < 5; round++) {
                    last = random_frames(&x, any ? n : last, any ? 20 : 60, frames);
                    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, last, frames), MPK_OK);
                    twin_push(&t, last, frames);
                    assert_same(&x, &t);
                    /* of the last stage: behind all others */
                    for (int32_t k = 0; !any && k < last; k++)
                        assert_true(x.place[frames[k]] >= n - last);
                }
                mpki_ibcsr_free(ctx, &x);
                mpki_pattern_free(ctx, &c);
                twin_free(&t);
                free(p.entry);
            }
}

static void test_push_back_all_and_none(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 20);
    mpki_pattern c = columns_of(&p);
    mpki_ibcsr x;
    int32_t all[20];
    for (int32_t k = 0; k < 20; k++) all[k] = 19 - k;
    assert_int_equal(mpki_ibcsr_make(ctx, &c, &x), MPK_OK);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 0, NULL), MPK_OK);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 20, all), MPK_OK);
    assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_OK);
    for (int32_t k = 0; k < 20; k++) {
        assert_int_equal(x.frame[k], k);
        assert_int_equal(x.stage[k], 1);
    }
    /* nonsense leaves the index as it was */
    const int32_t twice[] = {4, 5, 4}, negative[] = {3, -1}, large[] = {20};
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 3, twice), MPK_ERR_INTERNAL);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 2, negative), MPK_ERR_INTERNAL);
    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, 1, large), MPK_ERR_INTERNAL);
    mpki_clear_error(ctx);
    assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_OK);
    for (int32_t k = 0; k < 20; k++) assert_int_equal(x.stage[k], 1);
    mpki_ibcsr_free(ctx, &x);
    mpki_pattern_free(ctx, &c);
    free(p.entry);
}

/* Merge as Algorithm 12 does: push back, fill again in the new order, drop what is not wanted. */
static void merge_rounds(const pattern *p, int level, bool drop) {
    mpki_pattern c = columns_of(p);
    mpki_ibcsr x;
    int32_t n = p->n, frames[64], last = n;
    assert_int_equal(mpki_ibcsr_make(ctx, &c, &x), MPK_OK);
    twin t = twin_of(&c);
    for (int round = 0; round < 4; round++) {
        last = random_frames(&x, last, 60, frames);
        assert_int_equal(mpki_ibcsr_push_back(ctx, &x, last, frames), MPK_OK);
        twin_push(&t, last, frames);
        mpki_pattern now, filled;
        int64_t *number;
        assert_int_equal(mpki_ibcsr_pattern(ctx, &x, &now, &number), MPK_OK);
        pattern dense = dense_of(&now);
        for (int32_t q = 0; q < n; q++)
            for (int64_t k = now.ptr[q]; k < now.ptr[q + 1]; k++)
                assert_int_equal(number[k], t.block[(size_t)t.order[q] * n + t.order[now.row[k]]]);
        for (int32_t q = 0; q < n; q++)
            for (int32_t r = q; r < n; r++)
                assert_int_equal(has(&dense, r, q),
                                 t.block[(size_t)t.order[q] * n + t.order[r]] >= 0);
        /* the blocks to merge: filled, without some that are there */
        assert_int_equal(mpki_pattern_fill(ctx, &now, level, 1, 0, &filled), MPK_OK);
        pattern wanted = dense_of(&filled);
        unsigned char *keep = malloc((size_t)x.nblocks + 1);
        for (int64_t b = 0; b < x.nblocks; b++) keep[b] = random_below(2) > 0;
        for (int32_t q = 0; drop && q < n; q++)
            for (int32_t r = q + 1; r < n; r++)
                if (random_below(4) == 0)
                    wanted.entry[(size_t)r * n + q] = wanted.entry[(size_t)q * n + r] = 0;
        mpki_pattern_free(ctx, &filled);
        filled = columns_of(&wanted);
        /* the twin: new numbers by columns, then by rows */
        int64_t next = x.nblocks;
        for (int32_t q = 0; q < n; q++)
            for (int32_t r = q; r < n; r++) {
                int32_t f = t.order[q], g = t.order[r];
                int64_t b = t.block[(size_t)f * n + g];
                if (b < 0 && has(&wanted, r, q))
                    b = next++;
                else if (b >= 0 && drop && !keep[b] && !has(&wanted, r, q))
                    b = -1;
                t.block[(size_t)f * n + g] = t.block[(size_t)g * n + f] = b;
            }
        assert_int_equal(mpki_ibcsr_merge(ctx, &x, &filled, drop ? keep : NULL), MPK_OK);
        assert_int_equal(x.nblocks, next);
        assert_same(&x, &t);
        free(keep), free(dense.entry), free(wanted.entry);
        mpki_pattern_free(ctx, &now);
        mpki_pattern_free(ctx, &filled);
        mpki_release(ctx, number);
    }
    mpki_ibcsr_free(ctx, &x);
    mpki_pattern_free(ctx, &c);
    twin_free(&t);
}

static void test_merge(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 50; n += n < 4 ? 1 : 11)
            for (int level = -1; level < 2; level++)
                for (int drop = 0; drop < 2; drop++) {
                    pattern p = pattern_kind(kind, n);
                    merge_rounds(&p, level, drop);
                    free(p.entry);
                }
    mpki_pattern small = {.m = 2};
    pattern p = pattern_kind(0, 3);
    mpki_ibcsr x = index_of(&p, 0);
    assert_int_equal(mpki_ibcsr_merge(ctx, &x, &small, NULL), MPK_ERR_INTERNAL);
    mpki_ibcsr_free(ctx, &x);
    free(p.entry);
}

/* The checker sees each kind of damage. */
static void test_check(void **state) {
    (void)state;
    pattern p = pattern_kind(2, 12);
    for (int damage = 0; damage < 9; damage++) {
        mpki_ibcsr x = index_of(&p, 1);
        int64_t d = x.diagonal[6], b = x.entry[d + 1].block;
        mpki_entry e = x.entry[d + 1];
        if (damage == 0) x.frame[3] = 4;
        if (damage == 1) x.place[3] = 4;
        if (damage == 2) x.stage[3] = 1;
        if (damage == 3) x.diagonal[6]++;
        if (damage == 4) x.entry[d + 1] = x.entry[d + 2], x.entry[d + 2] = e;
        if (damage == 5) x.entry[d + 1].block = x.entry[d + 2].block;
        if (damage == 6) x.rows[b]++;
        if (damage == 7) x.entry[d + 1].other = -1;
        if (damage == 8) x.entry[d + 1].block = x.nblocks;
        mpki_clear_error(ctx);
        assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_ERR_INTERNAL);
        mpki_ibcsr_free(ctx, &x);
    }
    free(p.entry);
}

/* At whatever request memory fails: an error, nothing lost, the index as before. */
static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 30);
    mpki_pattern c = columns_of(&p), filled, now;
    assert_int_equal(mpki_pattern_fill(ctx, &c, 1, 1, 0, &filled), MPK_OK);
    mpki_ibcsr x;
    int64_t *number;
    int32_t frames[64], count = 0;
    twin t = twin_of(&c);
    for (int act = 0; act < 4; act++) {
        mpk_status status = MPK_ERR_MEMORY;
        long k = 0;
        for (; status; k++) {
            mpki_clear_error(ctx);
            test_memory.countdown = k;
            switch (act) {
            case 0:
                status = mpki_ibcsr_make(ctx, &c, &x);
                break;
            case 1:
                status = mpki_ibcsr_pattern(ctx, &x, &now, &number);
                break;
            case 2:
                status = mpki_ibcsr_push_back(ctx, &x, count, frames);
                break;
            default:
                status = mpki_ibcsr_merge(ctx, &x, &filled, NULL);
                break;
            }
            test_memory.countdown = -1;
            assert_true(k < 100);
            if (!mpk_failed(status)) break;
            assert_int_equal(status, MPK_ERR_MEMORY);
            if (act == 0) assert_null(x.entry);
            if (act == 1) assert_true(!now.ptr && !number);
            if (act > 0) assert_same(&x, &t);
        }
        assert_true(k > 1);
        if (act == 1) count = random_frames(&x, 30, 40, frames);
        if (act == 2) twin_push(&t, count, frames);
        assert_int_equal(mpki_ibcsr_check(ctx, &x), MPK_OK);
    }
    mpki_ibcsr_free(ctx, &x);
    mpki_pattern_free(ctx, &now);
    mpki_release(ctx, number);
    mpki_pattern_free(ctx, &c);
    mpki_pattern_free(ctx, &filled);
    twin_free(&t);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_make, setup, teardown),
        cmocka_unit_test_setup_teardown(test_thesis_example, setup, teardown),
        cmocka_unit_test_setup_teardown(test_push_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_push_back_all_and_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_merge, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
