/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of a pattern, counted against a plain loop. */
#include "support.h"

#include "factor/stages.h"

static double at(const mpki_raster *r, int32_t row, int32_t col) {
    return r->count[(int64_t)row * r->cells + col];
}

static double sum(const mpki_raster *r) {
    double total = 0;
    for (int64_t k = 0; k < (int64_t)r->cells * r->cells; k++) total += r->count[k];
    return total;
}

/* A cell for each entry where there are few. */
static void small_matrix(void **state) {
    (void)state;
    static const int32_t reversed[] = {2, 1, 0};
    mpk_context *ctx = new_context();
    mpki_raster r;
    mpk_problem_view a = {3, 5, MPK_D, MPK_SYMMETRIC, small_ap, small_ai, small_ax};
    assert_int_equal(mpki_raster_create(ctx, 3, &r), MPK_OK);
    assert_int_equal(r.cells, 3);
    mpki_raster_add_matrix(&r, &a, NULL, NULL);
    assert_true(at(&r, 0, 0) == 1 && at(&r, 0, 1) == 1 && at(&r, 1, 0) == 1 && at(&r, 2, 0) == 0);
    assert_true(sum(&r) == 7);
    mpki_raster_add_matrix(&r, &a, reversed, NULL);
    assert_true(at(&r, 0, 0) == 2 && at(&r, 2, 2) == 2 && at(&r, 0, 2) == 0);
    mpki_raster_free(ctx, &r);
    static const int64_t ap[] = {0, 1, 2, 3};
    static const int32_t ai[] = {1, 2, 0}, rows[] = {2, 0, 1}; /* a cycle: rows makes it I */
    const mpk_problem_view cycle = {3, 3, MPK_D, MPK_GENERAL, ap, ai, small_ax};
    assert_int_equal(mpki_raster_create(ctx, 3, &r), MPK_OK);
    mpki_raster_add_matrix(&r, &cycle, NULL, NULL);
    assert_true(at(&r, 1, 0) == 1 && at(&r, 0, 1) == 0 && sum(&r) == 3);
    mpki_raster_add_matrix(&r, &cycle, reversed, rows);
    assert_true(at(&r, 0, 0) == 1 && at(&r, 1, 1) == 1 && at(&r, 2, 2) == 1 && sum(&r) == 6);
    mpki_raster_free(ctx, &r);
    assert_int_equal(mpki_raster_create(ctx, 0, &r), MPK_OK);
    assert_int_equal(r.cells, 1);
    mpki_raster_free(ctx, &r);
    mpk_context_destroy(&ctx);
}

/* Two supernodes of a 1001 x 1001 factor: every position lands once, in the cell that division by
 * hand gives. */
static void factor_in_coarse_cells(void **state) {
    (void)state;
    enum { N = 1001, W = 700 };
    int32_t sptr[] = {0, W, N}, ridx[N - W];
    int64_t rptr[] = {0, (N - W + 1) / 2, (N - W + 1) / 2};
    for (int k = 0; k < (N - W + 1) / 2; k++) ridx[k] = W + 2 * k; /* every other row */
    mpk_analysis an = {.n = N, .nsuper = 2, .sptr = sptr, .rptr = rptr, .ridx = ridx};
    mpk_context *ctx = new_context();
    mpki_raster r, hand;
    assert_int_equal(mpki_raster_create(ctx, N, &r), MPK_OK);
    assert_int_equal(mpki_raster_create(ctx, N, &hand), MPK_OK);
    assert_int_equal(r.cells, MPKI_RASTER_MAX);
    mpki_raster_add_factor(&r, &an);
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = j; i < N; i++)
            if ((j < W) == (i < W) || (i - W) % 2 == 0)
                hand.count[i * r.cells / N * r.cells + j * r.cells / N] += 1;
    for (int64_t k = 0; k < (int64_t)r.cells * r.cells; k++)
        assert_true(r.count[k] == hand.count[k]);
    mpki_raster_free(ctx, &r);
    mpki_raster_free(ctx, &hand);
    mpk_context_destroy(&ctx);
}

static mpk_status create_and_free(mpk_context *ctx) {
    mpki_raster r;
    mpk_status status = mpki_raster_create(ctx, 10, &r);
    mpki_raster_free(ctx, &r);
    return status;
}

static void no_memory(void **state) {
    (void)state;
    sweep_allocations(create_and_free);
}

static int64_t off_diagonal;

static int64_t kept(const mpki_blocks *f, int64_t block) {
    (void)f;
    return block == 1 ? off_diagonal : 1;
}

/* Frames of 2 and 1 rows, the first pushed back: L's only block lies in the last two rows. */
static void blocks_pushed_back(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    int32_t frame[] = {1, 0}, place[] = {1, 0}, rows[] = {0, 1, 1}, cols[] = {0, 0, 1};
    int32_t perm[] = {0, 1, 2}, bptr[] = {0, 2, 3}, iperm[3];
    const mpki_blocking blocking = {.n = 3, .nframes = 2, .perm = perm, .bptr = bptr};
    const mpki_block_engine blocks = {.entries = kept};
    const mpki_engine engine = {.blocks = &blocks};
    mpki_block_body body = {
        .stages = {
            .blocking = &blocking,
            .index = {
                .m = 2, .frame = frame, .place = place, .nblocks = 3, .rows = rows, .cols = cols}}};
    const mpk_factor factor = {.ctx = ctx, .engine = &engine, .blocks = &body};
    const double want[9] = {1, 0, 0, 0.5, 1, 0, 0.5, 1, 1};
    mpki_raster raster;
    assert_int_equal(mpki_raster_create(ctx, 3, &raster), MPK_OK);
    off_diagonal = 1;
    assert_int_equal(mpki_block_form.shape(&factor, iperm, mpki_raster_add_tile, &raster), MPK_OK);
    for (int k = 0; k < 9; k++) assert_true(raster.count[k] == want[k]);
    assert_true(iperm[2] == 0 && iperm[0] == 1 && iperm[1] == 2);
    off_diagonal = 0; /* dropped whole */
    memset(raster.count, 0, 9 * sizeof *raster.count);
    assert_int_equal(mpki_block_form.shape(&factor, iperm, mpki_raster_add_tile, &raster), MPK_OK);
    assert_true(raster.count[3] == 0 && raster.count[6] == 0 && raster.count[7] == 1);
    mpki_raster_free(ctx, &raster);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_pushed_back), cmocka_unit_test(small_matrix),
        cmocka_unit_test(factor_in_coarse_cells), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
