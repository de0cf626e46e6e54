/* SPDX-License-Identifier: BSD-3-Clause */
/* METAPACK_CPU: a word that is none, or asks for more than the processor has, is told. */
#include "support.h"

#include "engines/cpu/isa/level.h"
#include <stdbool.h>
#include "core/cpu.h"

static void test_words(void **unused) {
    (void)unused;
    const char *const *words = mpki_cpu_words;
    static const char *const bad[] = {"bogus", "AVX2", "avx", "avx2 ", "2", "avx5120"};
    for (int widest = 0; widest < 3; widest++)
        for (int built = 1; built < 8; built++) {
            const char *text = NULL;
            int level = -1, most = -1;
            for (int k = 0; k <= widest; k++)
                if (built >> k & 1) most = k;
            const mpk_status none = most < 0 ? MPK_ERR_UNSUPPORTED : MPK_OK;
            for (int k = 0; k < 2; k++) {
                assert_int_equal(mpki_cpu_choose(k ? "" : NULL, widest, built, &level, &text),
                                 none);
                assert_true(most < 0 ? built >> level & 1 : level == most);
                assert_true(most < 0 ? strstr(text, "METAPACK_ISAS") != NULL : !*text);
            }
            for (int asked = 0; asked < 3; asked++) {
                const bool there = asked <= widest && built >> asked & 1;
                assert_int_equal(mpki_cpu_choose(words[asked], widest, built, &level, &text),
                                 there ? MPK_OK : MPK_ERR_UNSUPPORTED);
                assert_true(built >> level & 1);
                if (most >= 0) assert_int_equal(level, there ? asked : most);
                if (there) {
                    assert_string_equal(text, "");
                    continue;
                }
                assert_non_null(strstr(text, words[asked])); /* what was asked */
                if (asked <= widest) assert_non_null(strstr(text, "built without it"));
                for (int k = 0; asked > widest && k <= widest; k++) /* and what there is */
                    assert_non_null(strstr(text, words[k]));
            }
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                assert_int_equal(mpki_cpu_choose(bad[k], widest, built, &level, &text),
                                 MPK_ERR_ARGUMENT);
                assert_true(built >> level & 1);
                for (int w = 0; w < 3; w++) assert_non_null(strstr(text, words[w]));
            }
        }
}

/* What was ignored in silence refuses the context, and the reason can be asked for without one. */
static void test_context(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const char *text = NULL;
    setenv("METAPACK_CPU", "bogus", 1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_ERR_ARGUMENT);
    assert_null(ctx);
    assert_int_equal(mpk_last_error(NULL, NULL, NULL, &text), MPK_ERR_ARGUMENT);
    assert_non_null(strstr(text, mpki_cpu_words[2]));
    assert_int_equal(mpki_cpu_level(), mpki_cpu_widest());
    setenv("METAPACK_CPU", mpki_cpu_words[2], 1);
    const bool there = mpki_cpu_widest() >= 2;
    assert_int_equal(mpk_context_create(NULL, &ctx), there ? MPK_OK : MPK_ERR_UNSUPPORTED);
    assert_int_equal(ctx != NULL, there);
    mpk_context_destroy(&ctx);
    setenv("METAPACK_CPU", "generic", 1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPKI_ISAS & 1 ? MPK_OK : MPK_ERR_UNSUPPORTED);
    if (ctx) assert_int_equal(mpki_cpu_level(), 0);
    if (ctx) assert_string_equal(mpki_cpu_name(), "cpu-generic");
    mpk_context_destroy(&ctx);
    setenv("METAPACK_CPU", "", 1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CPU");
    assert_int_equal(mpk_last_error(NULL, NULL, NULL, &text), MPK_ERR_ARGUMENT);
    assert_string_equal(text, "no context");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
