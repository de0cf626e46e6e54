/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options: complete, of one mind with mpk_options, and true about who reads what. */
#include "core/core.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static mpk_context *ctx;

static const mpk_option *row(const char *key) {
    const mpk_option *o;
    for (int k = 0; (o = mpk_option_at(k)); k++)
        if (!strcmp(o->key, key)) return o;
    fail_msg("no option %s", key);
    return NULL;
}

static size_t size_of(const mpk_option *o) {
    return o->kind == MPK_OPTION_REAL || o->kind == MPK_OPTION_INT64 ? 8 : sizeof(int);
}

/* Every byte of mpk_options belongs to a row, to struct_size or a given array, or is padding. */
static void covers_the_struct(void **state) {
    (void)state;
    char seen[sizeof(mpk_options)] = {0};
    const mpk_option *o;
    memset(seen + offsetof(mpk_options, struct_size), 1, sizeof(size_t));
    memset(seen + offsetof(mpk_options, given_perm), 1, sizeof(void *));
    memset(seen + offsetof(mpk_options, given_blocks), 1, sizeof(void *));
    memset(seen + offsetof(mpk_options, given_pivots), 1, sizeof(void *));
    memset(seen + offsetof(mpk_options, reserved), 1, sizeof((mpk_options){0}.reserved));
    for (int k = 0; (o = mpk_option_at(k)); k++)
        for (size_t b = 0; b < size_of(o); b++) {
            assert_int_equal(seen[o->offset + b], 0); /* two rows are never of one field */
            seen[o->offset + b] = 1;
        }
    for (size_t b = 0, gap = 0; b < sizeof seen; b++) {
        gap = seen[b] ? 0 : gap + 1;
        assert_true(gap < 8); /* no field fits in what is left */
        assert_true(gap < 4 || b % 8 == 7);
    }
    assert_null(mpk_option_at(-1));
}

/* A program of an older release has a shorter struct: what it lacks is at its default and cannot be
 * set, and nothing behind it is read or written. */
static void shorter(void **state) {
    (void)state;
    union {
        mpk_options is;
        unsigned char byte[sizeof(mpk_options)];
    } o;
    const size_t size = offsetof(mpk_options, seed) + sizeof o.is.seed;
    char why[200];
    memset(&o, 0xa5, sizeof o);
    mpk_options_init_sized(size, &o.is);
    assert_int_equal(o.is.struct_size, size);
    assert_int_equal(mpk_options_set(NULL, &o.is, "pivot_threshold", "0.25"), MPK_OK);
    assert_true(o.is.pivot_threshold == 0.25);
    const mpk_option *row;
    int newer = 0;
    for (int k = 0; (row = mpk_option_at(k)); k++) {
        if (row->offset < size) continue;
        newer++;
        assert_true(mpk_option_value(row, &o.is) == row->preset);
        (void)mpk_option_is_read(row, &o.is, why, sizeof why);
        assert_int_equal(mpk_options_set(NULL, &o.is, row->key,
                                         row->kind == MPK_OPTION_CHOICE ? row->words[0] : "0"),
                         MPK_ERR_ARGUMENT);
    }
    assert_true(newer > 0);
    for (size_t b = size; b < sizeof o; b++) assert_int_equal(o.byte[b], 0xa5);
    o.is.struct_size = 3; /* nobody filled it */
    assert_int_equal(mpk_options_set(NULL, &o.is, "refine", "1"), MPK_ERR_ARGUMENT);
}

/* Defaults, ranges and words are those that options are set by; each row says what it is. */
static void rows_hold(void **state) {
    (void)state;
    const mpk_option *o;
    mpk_options fresh, set;
    mpk_options_init(&fresh);
    set = fresh;
    for (int k = 0; (o = mpk_option_at(k)); k++) {
        char text[64];
        assert_true(mpk_option_value(o, &fresh) == o->preset);
        assert_true(o->least <= o->preset && o->preset <= o->most);
        assert_true(strlen(o->text) > 5 && o->text[strlen(o->text) - 1] != '.');
        assert_true(!*o->more || o->more[strlen(o->more) - 1] == '.');
        assert_true(o->methods & ~(unsigned)MPK_READ_DENSE);
        for (int c = 0; c < o->count; c++) {
            assert_int_equal(mpk_options_set(ctx, &set, o->key, o->words[c]), MPK_OK);
            assert_true(mpk_option_value(o, &set) == c);
            assert_string_equal(mpk_option_word(o->key, c), o->words[c]);
        }
        for (int end = 0; end < 2 && !o->count; end++) {
            snprintf(text, sizeof text, "%.0f", end ? o->most : o->least);
            if (o->kind == MPK_OPTION_REAL)
                snprintf(text, sizeof text, "%.17g", end ? o->most : o->least);
            assert_int_equal(mpk_options_set(ctx, &set, o->key, text), MPK_OK);
            assert_true(mpk_option_value(o, &set) == (end ? o->most : o->least));
            snprintf(text, sizeof text, "%.0f",
                     end ? o->most + fabs(o->most) + 1 : o->least - fabs(o->least) - 1);
            assert_int_equal(mpk_options_set(ctx, &set, o->key, text), MPK_ERR_ARGUMENT);
        }
    }
}

/* What is read is told for each method: by hand, from what the code does. */
/* Options of approximate inverses that another one makes idle. */
static void test_idle(void **unused) {
    (void)unused;
    static const char *const keys[] = {"isai_pattern", "isai_power", "isai_block",    "isai_limit",
                                       "isai_over",    "isai_relax", "isai_precision"};
    mpk_options o;
    char why[128];
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILU0;
    for (int k = 0; k < 7; k++) {
        assert_int_equal(mpk_option_is_read(row(keys[k]), &o, why, sizeof why), 0);
        assert_string_equal(why, "read by triangular isai and auto alone");
    }
    assert_int_equal(mpk_option_is_read(row("solve_sweeps"), &o, why, sizeof why), 1);
    o.triangular = MPK_TRIANGULAR_ISAI;
    for (int k = 0; k < 7; k++)
        assert_int_equal(mpk_option_is_read(row(keys[k]), &o, why, sizeof why), k != 2 && k != 4);
    assert_int_equal(mpk_option_is_read(row("solve_sweeps"), &o, why, sizeof why), 0);
    o.triangular = MPK_TRIANGULAR_AUTO;
    for (int k = 0; k < 7; k++)
        assert_int_equal(mpk_option_is_read(row(keys[k]), &o, why, sizeof why), k != 2 && k != 4);
    assert_int_equal(mpk_option_is_read(row("solve_sweeps"), &o, why, sizeof why), 0);
    assert_string_equal(why, "not read by triangular auto");
    o.isai_limit = 3, o.isai_pattern = MPK_ISAI_OF_BLOCKS;
    for (int k = 0; k < 7; k++)
        assert_int_equal(mpk_option_is_read(row(keys[k]), &o, why, sizeof why), k != 1);
}

static void who_reads(void **state) {
    (void)state;
    static const struct {
        mpk_method method;
        mpk_krylov krylov;
        mpk_schedule schedule;
        const char *key;
        int read;
        const char *why;
    } cases[] = {
        {MPK_METHOD_LDLT, 0, 0, "schedule", 0, "method ldlt, but by auto, ildlt and ilu0"},
        {MPK_METHOD_LDLT, 0, 0, "static_shift", 1, ""},
        {MPK_METHOD_LDLT, 0, 0, "device_number", 0, "read by device cuda and auto alone"},
        {MPK_METHOD_LDLT, 0, 0, "fp64_emulation", 0, "read by device cuda and auto alone"},
        {MPK_METHOD_AUTO, 0, 0, "fp64_emulation", 0, "read by device cuda and auto alone"},
        {MPK_METHOD_ILDLT, 0, 0, "fp64_emulation", 0, "method ildlt, but by auto and ldlt"},
        {MPK_METHOD_ILDLT, 0, 0, "level_rule", 0, "read from level 2 on alone"},
        {MPK_METHOD_LDLT, 0, 0, "refine", 1, ""},
        {MPK_METHOD_LDLT, MPK_KRYLOV_SQMR, 0, "refine", 0, "with krylov sqmr, but with none"},
        {MPK_METHOD_LDLT, 0, 0, "tolerance", 0, "method ldlt with krylov none, but with sqmr"},
        {MPK_METHOD_LDLT, MPK_KRYLOV_SQMR, 0, "tolerance", 1, ""},
        {MPK_METHOD_LDLT, MPK_KRYLOV_IDR, 0, "restart", 0, "but with gmres and fgmres"},
        {MPK_METHOD_LDLT, MPK_KRYLOV_IDR, 0, "shadow", 1, ""},
        {MPK_METHOD_ILDLT, 0, 0, "tolerance", 1, ""},
        {MPK_METHOD_ILDLT, 0, 0, "zero_tolerance", 0, "method ildlt, but by auto and ldlt"},
        {MPK_METHOD_ILDLT, 0, 0, "sweeps", 0, "schedule pull, but by jacobi"},
        {MPK_METHOD_ILDLT, 0, MPK_SCHEDULE_JACOBI, "sweeps", 1, ""},
        {MPK_METHOD_ILDLT, 0, MPK_SCHEDULE_JACOBI, "static_shift", 0,
         "not read by schedule jacobi"},
        {MPK_METHOD_JACOBI, 0, 0, "sweeps", 1, ""},
        {MPK_METHOD_JACOBI, 0, 0, "schedule", 0, "method jacobi"},
        {MPK_METHOD_ILU0, 0, 0, "block", 0, "method ilu0"},
        {MPK_METHOD_ILU0, 0, 0, "static_shift", 1, ""},
        {MPK_METHOD_NONE, 0, 0, "ordering", 0, "method none"},
        {MPK_METHOD_DIAGONAL, 0, 0, "ordering", 0, "method diagonal"},
        {MPK_METHOD_DIAGONAL, 0, MPK_SCHEDULE_JACOBI, "static_shift", 1, ""},
        {MPK_METHOD_BLOCK_JACOBI, 0, 0, "block", 1, ""},
        {MPK_METHOD_BLOCK_JACOBI, 0, MPK_SCHEDULE_JACOBI, "sweeps", 0, "not read by"},
        {MPK_METHOD_SSOR, 0, 0, "omega", 1, ""},
        {MPK_METHOD_SSOR, 0, 0, "matching", 0, "method ssor"},
        {MPK_METHOD_ILDLT, 0, 0, "omega", 0, "but by ssor"},
        {MPK_METHOD_NONE, 0, 0, "scaling", 1, ""},
        {MPK_METHOD_AUTO, 0, 0, "refine", 1, ""},
        {MPK_METHOD_AUTO, 0, 0, "tolerance", 1, ""},
        {MPK_METHOD_AUTO, 0, 0, "pivoting", 1, ""},
        {MPK_METHOD_AUTO, 0, MPK_SCHEDULE_JACOBI, "static_shift", 1, ""},
        {MPK_METHOD_AUTO, 0, 0, "level", 0, "method auto, but by ildlt and jacobi"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_options o;
        char why[256] = "?";
        mpk_options_init(&o);
        o.method = cases[k].method, o.krylov = cases[k].krylov, o.schedule = cases[k].schedule;
        assert_int_equal(mpk_option_is_read(row(cases[k].key), &o, why, sizeof why), cases[k].read);
        if (!strstr(why, cases[k].why) || (cases[k].read && *why))
            fail_msg("%s: \"%s\"", cases[k].key, why);
        assert_int_equal(mpk_option_is_read(row(cases[k].key), &o, NULL, 0), cases[k].read);
    }
}

/* Options out of their ranges are read by nobody, and nothing is touched. */
static void nonsense(void **state) {
    (void)state;
    mpk_options o;
    const mpk_option *r;
    mpk_options_init(&o);
    o.method = (mpk_method)77, o.krylov = (mpk_krylov)-3, o.schedule = (mpk_schedule)12345;
    for (int k = 0; (r = mpk_option_at(k)); k++) {
        char why[16];
        (void)mpk_option_is_read(r, &o, why, sizeof why);
        assert_non_null(memchr(why, 0, sizeof why));
    }
}

/* A seed keeps all of its 64 bits, and its range has no soft ends. */
static void seeds(void **state) {
    (void)state;
    static const int64_t kept[] = {8999999999999999999, -8999999999999999999, 9007199254740993, 0};
    static const char *const refused[] = {"9000000000000000001", "-9000000000000000001",
                                          "99999999999999999999", "1.5", "1e3"};
    const mpk_option *seed = row("seed");
    mpk_options o, full;
    mpk_options_init(&o);
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)kept[k]);
        assert_int_equal(mpk_options_set(ctx, &o, "seed", text), MPK_OK);
        assert_true(o.seed == kept[k] && mpk_option_integer(seed, &o) == kept[k]);
        assert_int_equal(mpki_options_resolve(ctx, &o, &full), MPK_OK);
        assert_true(full.seed == kept[k]);
    }
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        assert_int_equal(mpk_options_set(ctx, &o, "seed", refused[k]), MPK_ERR_ARGUMENT);
    assert_true(o.seed == 0);
    o.seed = 9000000000000000001;
    assert_int_equal(mpki_options_resolve(ctx, &o, &full), MPK_ERR_ARGUMENT);
    mpk_options_init(&o);
    assert_true(mpk_option_integer(row("refine"), &o) == 10);
    assert_true(mpk_option_integer(row("method"), &o) == MPK_METHOD_AUTO);
    assert_true(mpk_option_integer(row("pivot_threshold"), &o) == 0); /* a real number */
}

static int setup(void **state) {
    (void)state;
    return mpk_context_create(NULL, &ctx);
}

static int teardown(void **state) {
    (void)state;
    mpk_context_destroy(&ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle), cmocka_unit_test(covers_the_struct),
        cmocka_unit_test(shorter),   cmocka_unit_test(rows_hold),
        cmocka_unit_test(who_reads), cmocka_unit_test(nonsense),
        cmocka_unit_test(seeds)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
