/* SPDX-License-Identifier: BSD-3-Clause */
/* Level sets found before a stage, or by the engine beside its work. */
#include "runs.h"

static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "level sets before a stage";
}

/* An engine for which level sets are found before each stage gives the same bits and level sets as
 * one that finds them beside its work. */
static void test_who_finds_levels(void **state) {
    (void)state;
    mpki_block_engine blocks = mpki_cpu_blocks;
    const mpki_engine engine = {
        .name = name, .direct = &mpki_cpu_direct, .blocks = &blocks, .vectors = &mpki_cpu_vectors};
    int stages_most = 0;
    blocks.finds_levels = false;
    mpk_context *ctx = context();
    for (int k = 0; k < FAMILIES; k++)
        for (int schedule = MPK_SCHEDULE_PULL; schedule <= MPK_SCHEDULE_SUBSETS; schedule++)
            for (int threads = 1; threads < 3; threads++) {
                mpk_options o = complete();
                mpk_block_info info[2];
                run r[2];
                o.matching = MPK_OFF;
                o.block = 6;
                o.stages = 30;
                o.pivot_threshold = 0.1;
                o.schedule = (mpk_schedule)schedule;
                o.threads = threads;
                for (int before = 0; before < 2; before++) {
                    mpki_engine_use(ctx, before ? &engine : NULL);
                    r[before] = go(ctx, families[k], &o);
                    assert_true(!mpk_failed(r[before].status));
                    mpk_factor_block_info_get(r[before].fac, &info[before]);
                }
                assert_memory_equal(r[0].x, r[1].x,
                                    (size_t)r[0].a.n * mpk_scalar_size(r[0].a.scalar));
                assert_int_equal(info[0].levels, info[1].levels);
                assert_int_equal(info[0].sublevels, info[1].sublevels);
                if (info[0].stages > stages_most) stages_most = info[0].stages;
                end(&r[0]), end(&r[1]);
            }
    assert_true(stages_most > 2);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_finds_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
