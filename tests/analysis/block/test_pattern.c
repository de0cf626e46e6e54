/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a matrix against a dense table of them. */
#include "cases.h"

/* A random permutation cut into frames of 1 .. largest positions. */
static mpki_blocking blocking_random(int32_t n, int32_t largest) {
    mpki_blocking b = {.n = n, .largest = largest};
    b.perm = malloc(((size_t)n + 1) * sizeof *b.perm);
    b.iperm = malloc(((size_t)n + 1) * sizeof *b.iperm);
    b.bptr = malloc(((size_t)n + 1) * sizeof *b.bptr);
    b.of = malloc(((size_t)n + 1) * sizeof *b.of);
    for (int32_t k = 0; k < n; k++) {
        int32_t j = random_below(k + 1);
        b.perm[k] = b.perm[j];
        b.perm[j] = k;
    }
    for (int32_t k = 0; k < n; k++) b.iperm[b.perm[k]] = k;
    b.bptr[0] = 0;
    for (int32_t p = 0; p < n;) {
        int32_t w = 1 + random_below(largest);
        for (int32_t end = w < n - p ? p + w : n; p < end; p++) b.of[p] = b.nframes;
        b.bptr[++b.nframes] = p;
    }
    return b;
}

static void blocking_drop(mpki_blocking *b) {
    free(b->perm), free(b->iperm), free(b->bptr), free(b->of);
}

/* Frames of the longest chain, by rows of the table. */
static int32_t chain_of(const pattern *p) {
    int32_t *length = calloc((size_t)p->n + 1, sizeof *length), most = 0;
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t j = 0; j < i; j++)
            if (has(p, i, j) && length[j] > length[i]) length[i] = length[j];
        if (++length[i] > most) most = length[i];
    }
    free(length);
    return most;
}

static void check(const pattern *p, const mpki_blocking *b) {
    pattern expected = pattern_new(b->nframes);
    mpk_problem *a = problem_new(p, MPK_D, MPK_SYMMETRIC);
    mpki_pattern blocks;
    for (int32_t f = 0; f < b->nframes; f++) pattern_set(&expected, f, f);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t j = 0; j < p->n; j++)
            if (has(p, i, j)) pattern_set(&expected, b->of[b->iperm[i]], b->of[b->iperm[j]]);
    assert_int_equal(mpki_pattern_of_matrix(ctx, p->n, a->ap, a->ai, b, &blocks), MPK_OK);
    pattern got = dense_of(&blocks);
    assert_same_pattern(&got, &expected);
    int32_t chain = -1;
    assert_int_equal(mpki_pattern_chain(ctx, &blocks, &chain), MPK_OK);
    assert_int_equal(chain, chain_of(&expected));
    free(got.entry), free(expected.entry);
    mpki_pattern_free(ctx, &blocks);
    assert_null(blocks.ptr);
    mpki_pattern_free(ctx, &blocks);
    problem_free(&a);
}

static void test_random(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 90; n += n < 4 ? 1 : 13)
            for (int32_t largest = 1; largest < 40; largest = 3 * largest + 1) {
                pattern p = pattern_kind(kind, n);
                mpki_blocking b = blocking_random(n, largest);
                check(&p, &b);
                blocking_drop(&b);
                free(p.entry);
            }
}

/* A block without an entry on the diagonal of A is there all the same. */
static void test_empty_diagonal(void **state) {
    (void)state;
    pattern p = pattern_new(10);
    pattern_set(&p, 3, 8);
    mpki_blocking b = blocking_random(10, 3);
    check(&p, &b);
    blocking_drop(&b);
    free(p.entry);
}

static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 40);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpki_blocking b = blocking_random(40, 4);
    mpki_pattern blocks;
    mpk_status status = MPK_ERR_MEMORY;
    long k = 0;
    for (; status; k++) {
        mpki_clear_error(ctx);
        test_memory.countdown = k;
        status = mpki_pattern_of_matrix(ctx, 40, a->ap, a->ai, &b, &blocks);
        test_memory.countdown = -1;
        if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
        if (mpk_failed(status)) assert_null(blocks.ptr);
        assert_true(k < 100);
    }
    assert_true(k > 4);
    mpki_pattern_free(ctx, &blocks);
    blocking_drop(&b);
    problem_free(&a);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_diagonal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
