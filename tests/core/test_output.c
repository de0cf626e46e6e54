/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files: which are one, what can be written, and what is left of a write that was given
 * up. */
#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/metapack-output-XXXXXX";

static int enter(void **state) {
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state) {
    (void)state;
    return chdir("/") || rmdir(folder);
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *path, const char *text) {
    char found[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static void same(void **state) {
    (void)state;
    char whole[PATH_MAX];
    put("a", "1");
    put("b", "1");
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(symlink("a", "soft"), 0);
    assert_int_equal(symlink("new", "to-new"), 0);
    assert_int_equal(mkdir("below", 0700), 0);
    snprintf(whole, sizeof whole, "%s/a", folder);
    const char *const of_a[] = {"a", "./a", "below/../a", "hard", "soft", whole};
    for (int k = 0; k < 6; k++)
        for (int reads = 0; reads < 2; reads++) {
            assert_true(mpki_output_same(of_a[k], "a", reads));
            assert_false(mpki_output_same(of_a[k], "b", reads));
            assert_false(mpki_output_same(of_a[k], "none", reads));
        }
    assert_true(mpki_output_same("new", "below/../new", false)); /* not there yet */
    assert_true(mpki_output_same("to-new", "./new", false));
    assert_false(mpki_output_same("new", "new", true)); /* nothing can be lost */
    assert_false(mpki_output_same("new", "newer", false));
    assert_true(mpki_output_same("-", "-", false));
    assert_false(mpki_output_same("/dev/null", "/dev/null", true));
    unlink("a"), unlink("b"), unlink("hard"), unlink("soft"), unlink("to-new"), rmdir("below");
}

static void look(void **state) {
    (void)state;
    char text[512], name[300];
    put("there", "1");
    put("fixed", "1");
    assert_int_equal(chmod("fixed", 0444), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    static const char *const good[] = {"-", "there", "new", "/dev/null"};
    for (int k = 0; k < 4; k++) assert_int_equal(mpki_output_look(good[k], text, sizeof text), 0);
    const struct {
        const char *path;
        int error;
        const char *said;
    } bad[] = {{"", ENOENT, "empty"},          {".", EISDIR, "a folder"},
               {"none/x", ENOENT, "none"},     {"there/x", ENOTDIR, "Not a directory"},
               {"fixed", EACCES, "read-only"}, {"loop", ELOOP, "links"},
               {"new/", ENOENT, "folder"},     {name, ENAMETOOLONG, "too long"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(mpki_output_look(bad[k].path, text, sizeof text), bad[k].error);
        if (!strstr(text, bad[k].said)) fail_msg("%.40s: %s", bad[k].path, text);
    }
    assert_true(mpki_output_room("new") > 0 && isfinite(mpki_output_room("there")));
    assert_true(isinf(mpki_output_room("/dev/null")));
    unlink("there"), unlink("fixed"), unlink("loop");
}

static void write_one(const char *path, bool keep, int expected) {
    mpki_output o;
    const int error = mpki_output_open(&o, path);
    assert_int_equal(error, expected);
    if (error) return;
    assert_int_equal(mpki_output_write(&o, "new", 3), 0);
    assert_int_equal(mpki_output_close(&o, keep), 0);
}

/* The new one or the old one, whole, with the old permissions; nothing else. */
static void whole_or_not(void **state) {
    (void)state;
    struct stat info;
    put("a", "old one");
    assert_int_equal(chmod("a", 0640), 0);
    write_one("a", false, 0);
    assert_content("a", "old one");
    write_one("a", true, 0);
    assert_content("a", "new");
    assert_int_equal(stat("a", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    write_one("b", false, 0);
    assert_int_equal(access("b", F_OK), -1);
    write_one("b", true, 0);
    assert_content("b", "new");
    assert_int_equal(chmod("b", 0400), 0);
    write_one("b", true, EACCES);
    unlink("a"), unlink("b"); /* the folder then has nothing left: leave() removes it */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same), cmocka_unit_test(look),
                                       cmocka_unit_test(whole_or_not)};
    return cmocka_run_group_tests(tests, enter, leave);
}
