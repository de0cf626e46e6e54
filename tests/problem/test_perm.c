/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of rows from files: good ones, and what is none. */
#include "support.h"

#include "problem/perm.h"
#include <locale.h>
#include <unistd.h>
#include <zlib.h>

static char path[] = "/tmp/metapack-perm-XXXXXX";

static void write_text(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void orders_that_are_good(void **state) {
    (void)state;
    static const char *const texts[] = {
        "2 0 1\n", "2\n0\n1", "# counted from 1\n3\n1\n2\n",
        "%%MatrixMarket matrix array integer general\n% comment\n3 1\n3\n1\n2\n",
        "%%MatrixMarket matrix array real general\n1 3\n3.0\n1e0\n\n2\r\n"};
    static const int32_t expected[] = {2, 0, 1};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        int32_t *perm = NULL;
        write_text(texts[k]);
        assert_int_equal(mpki_perm_read(ctx, path, 3, &perm), MPK_OK);
        assert_memory_equal(perm, expected, sizeof expected);
        mpki_release(ctx, perm);
    }
    mpk_context_destroy(&ctx);
}

static void orders_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {{"\n", "fewer"},
                 {"0 1\n", "fewer"},
                 {"0 1\n2 0\n", ":2: the order has more"},
                 {"0 1 1\n", "there twice"},
                 {"3 1 0\n", "out of range"},
                 {"1 2 4\n", "no index"},
                 {"0 -1 2\n", "no index"},
                 {"0 1.5 2\n", "no index"},
                 {"0 nan 2\n", "no index"},
                 {"0 1 two\n", ":1: expected integers"},
                 {"%%MatrixMarket matrix array integer general\n4 1\n", ":2: the order must have"},
                 {"%%MatrixMarket matrix array integer general\nx\n", ":2: the order must have"},
                 /* entries of a coordinate file are no order; the product is 3 modulo 2^64 */
                 {"%%MatrixMarket matrix coordinate real general\n3 1 3\n1 1 1\n",
                  ":2: the order must have"},
                 {"%%MatrixMarket matrix array integer general\n131 "
                  "844889041543948929\n",
                  ":2: the order must have"},
                 {"0x1 0 2\n", ":1: expected integers"}};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int32_t *perm = NULL;
        write_text(cases[k].text);
        mpki_clear_error(ctx);
        assert_int_equal(mpki_perm_read(ctx, path, 3, &perm), MPK_ERR_INPUT);
        assert_null(perm);
        assert_said(ctx, cases[k].said);
    }
    int32_t *perm = NULL;
    mpki_clear_error(ctx);
    assert_int_equal(mpki_perm_read(ctx, "/nowhere/order", 3, &perm), MPK_ERR_FILE);
    assert_said(ctx, "/nowhere/order");
    mpki_clear_error(ctx);
    assert_int_equal(mpki_perm_read(ctx, "/tmp", 3, &perm), MPK_ERR_FILE); /* a folder */
    write_text("");
    mpki_clear_error(ctx);
    assert_int_equal(mpki_perm_read(ctx, path, 3, &perm), MPK_ERR_FORMAT);
    assert_said(ctx, "empty");
    mpk_context_destroy(&ctx);
}

/* Where blocks or pivots begin: from 0 or 1, with the end or without. */
static void starts(void **state) {
    (void)state;
    static const char *const good[] = {
        "0 2 3\n", "1\n3\n4\n", "0 2 3 7\n", "1 3 4 8\n",
        "%%MatrixMarket matrix array integer general\n% c\n3 1\n1\n3\n4\n"};
    static const struct {
        const char *text, *said;
    } bad[] = {{"\n", "the first of these"},
               {"2 3\n", "the first of these"},
               {"0 3 3\n", "does not come after"},
               {"0 3 2\n", "does not come after"},
               {"0 3 8\n", "beyond the matrix"},
               {"1 3 9\n", "no index"},
               {"0 1.5\n", "no index"},
               {"0 one\n", "expected integers"},
               {"0 1 2 3 4 5 6 7 7\n", "more entries"},
               {"%%MatrixMarket matrix array integer general\n9 1\n", "expected the size"},
               {"%%MatrixMarket matrix array integer general\n-1 1\n", "expected the size"}};
    static const int32_t expected[] = {0, 2, 3, 7};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        int32_t *start = NULL;
        write_text(good[k]);
        assert_int_equal(mpki_starts_read(ctx, path, 7, &start), MPK_OK);
        assert_memory_equal(start, expected, sizeof expected);
        mpki_release(ctx, start);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        int32_t *start = NULL;
        write_text(bad[k].text);
        mpki_clear_error(ctx);
        assert_int_equal(mpki_starts_read(ctx, path, 7, &start), MPK_ERR_INPUT);
        assert_null(start);
        assert_said(ctx, bad[k].said);
    }
    int32_t *start = NULL;
    mpki_clear_error(ctx);
    assert_int_equal(mpki_starts_read(ctx, "/nowhere/blocks", 7, &start), MPK_ERR_FILE);
    mpk_context_destroy(&ctx);
}

/* Long lines, compressed files, and a decimal comma of the program's locale. */
static void dresses(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    int32_t *perm = NULL;
    static char text[6010];
    memset(text, ' ', sizeof text);
    memcpy(text, "2", 1);
    memcpy(text + 6000, "0.0 1\n", 7);
    write_text(text);
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* where it is installed */
    assert_int_equal(mpki_perm_read(ctx, path, 3, &perm), MPK_OK);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(perm[2], 1);
    mpki_release(ctx, perm);
    perm = NULL;
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, "1 3 2\n", 6), 6);
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(mpki_perm_read(ctx, path, 3, &perm), MPK_OK);
    assert_int_equal(perm[1], 2);
    mpki_release(ctx, perm);
    mpk_context_destroy(&ctx);
}

static mpk_status read_good(mpk_context *ctx) {
    int32_t *perm = NULL;
    mpk_status status = mpki_perm_read(ctx, path, 3, &perm);
    mpki_release(ctx, perm);
    return status;
}

static void no_memory(void **state) {
    (void)state;
    write_text("1 2 3\n");
    sweep_allocations(read_good);
}

static int enter(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int leave(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_that_are_good), cmocka_unit_test(orders_that_are_none),
        cmocka_unit_test(starts), cmocka_unit_test(dresses), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, enter, leave);
}
