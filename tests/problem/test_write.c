/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices written and read again: whole or not at all. */
#include "support.h"

#include <dirent.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/metapack-test-XXXXXX";

static int make_directory(void **state) {
    (void)state;
    return mkdtemp(directory) == NULL;
}

/* Files left in the directory; they are removed. */
static int empty_directory(void) {
    int count = 0;
    DIR *d = opendir(directory);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        unlink(path);
        count++;
    }
    closedir(d);
    return count;
}

static int remove_directory(void **state) {
    (void)state;
    empty_directory();
    return rmdir(directory);
}

static const char *in_directory(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void assert_equal_problems(const mpk_problem *a, const mpk_problem *b) {
    mpk_problem_view v, w;
    mpk_problem_view_get(a, &v);
    mpk_problem_view_get(b, &w);
    assert_int_equal(v.n, w.n);
    assert_int_equal(v.nnz, w.nnz);
    assert_int_equal(v.scalar, w.scalar);
    assert_int_equal(v.symmetry, w.symmetry);
    assert_memory_equal(v.ap, w.ap, ((size_t)v.n + 1) * sizeof *v.ap);
    assert_memory_equal(v.ai, w.ai, (size_t)v.nnz * sizeof *v.ai);
    assert_memory_equal(v.ax, w.ax, (size_t)v.nnz * mpk_scalar_size(v.scalar));
}

/* Written and read again: the same bits, in every format and for every kind of matrix. */
static void there_and_back(void **state) {
    (void)state;
    static const char *const specs[] = {"random 40 0.2 decades=30",
                                        "random 40 0.2 entries=complex",
                                        "random 40 0.2 entries=hermitian decades=30",
                                        "nlpkkt 3",
                                        "random 1",
                                        "random 300 0.3"};
    static const char *const names[] = {"a.mtx", "a.mtx.gz", "a.rb", "a.rb.gz", "A.MTX"};
    mpk_context *ctx = new_context();
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            mpk_problem *a = NULL, *b = NULL;
            assert_int_equal(mpk_problem_generate(ctx, specs[s], 1, &a), MPK_OK);
            assert_int_equal(mpk_problem_write(ctx, a, in_directory(names[k])), MPK_OK);
            mpk_status status = mpk_problem_read(ctx, in_directory(names[k]), &b);
            const char *text;
            mpk_last_error(ctx, NULL, NULL, &text);
            if (mpk_failed(status)) fail_msg("%s, %s: %s", specs[s], names[k], text);
            assert_equal_problems(a, b);
            mpk_problem_destroy(&a);
            mpk_problem_destroy(&b);
            assert_int_equal(empty_directory(), 1);
        }
    mpk_context_destroy(&ctx);
}

/* Single precision needs nine digits; reading gives doubles that round to the same floats. */
static void single_precision(void **state) {
    (void)state;
    const float values[] = {0.1f, 1e-40f, 3.4028235e38f, -0.0f, 16777217.f};
    const int32_t at[] = {0, 1, 2, 3, 4};
    mpk_context *ctx = new_context();
    mpk_problem *a = NULL, *b = NULL;
    mpk_problem_view v;
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 5, MPK_S, MPK_SYMMETRIC, MPK_LOWER, 5, at, at, values, &a),
        MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, a, in_directory("s.mtx")), MPK_OK);
    assert_int_equal(mpk_problem_read(ctx, in_directory("s.mtx"), &b), MPK_OK);
    mpk_problem_view_get(b, &v);
    for (int k = 0; k < 5; k++) {
        float x = (float)((const double *)v.ax)[k];
        assert_memory_equal(&x, &values[k], sizeof x);
    }
    mpk_problem_destroy(&a);
    mpk_problem_destroy(&b);
    empty_directory();
    mpk_context_destroy(&ctx);
}

static char *content(const char *path) {
    static char text[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* The exact text, also where the caller's locale writes 1,5. */
static void text_of_a_file(void **state) {
    (void)state;
    static const double values[] = {1.5, -1, 0, 0.1, 1e300};
    static const int64_t ap[] = {0, 2, 4, 5};
    static const int32_t ai[] = {0, 1, 1, 2, 2};
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(
        mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, values, &p), MPK_OK);
    const char *german = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    assert_int_equal(mpk_problem_write(ctx, p, in_directory("t.mtx")), MPK_OK);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(content(in_directory("t.mtx")),
                        "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1.5\n2 1 -1\n"
                        "2 2 0\n3 2 0.10000000000000001\n3 3 1.0000000000000001e+300\n");
    assert_int_equal(mpk_problem_write(ctx, p, in_directory("t.rb")), MPK_OK);
    const char *rb = content(in_directory("t.rb"));
    assert_non_null(strstr(rb, "\nrsa                        3             3             5"));
    assert_non_null(strstr(rb, "\n(40I2)          (40I2)          (1P,3E25.16)        \n"));
    assert_non_null(strstr(rb, "\n 1 3 5 6\n 1 2 2 3 3\n   1.5000000000000000E+00  "));
    (void)german;
    mpk_problem_destroy(&p);
    empty_directory();
    mpk_context_destroy(&ctx);
}

/* What cannot be written leaves nothing behind, and an older file as it was. */
static void whole_or_not_at_all(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "random 100 0.5", 1, &p), MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, p, "/nonexistent/a.mtx"), MPK_ERR_FILE);
    assert_said(ctx, "/nonexistent/a.mtx: cannot create: No such file or directory");
    assert_int_equal(mpk_problem_write(ctx, p, in_directory("a.txt")), MPK_ERR_ARGUMENT);
    assert_said(ctx, ".mtx, .rb or .npy");
    assert_int_equal(mpk_problem_write(ctx, p, ".mtx"), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_write(ctx, NULL, in_directory("a.mtx")), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_write(ctx, p, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(empty_directory(), 0);

    char link[512];
    snprintf(link, sizeof link, "%s", in_directory("full.mtx"));
    assert_int_equal(symlink("/dev/full", link), 0);
    assert_int_equal(mpk_problem_write(ctx, p, link), MPK_ERR_FILE);
    assert_said(ctx, "No space left");
    struct stat info;
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* not replaced */
    assert_int_equal(empty_directory(), 1);

    /* a directory of that name */
    assert_int_equal(mkdir(in_directory("d.mtx"), 0777), 0);
    assert_int_equal(mpk_problem_write(ctx, p, in_directory("d.mtx")), MPK_ERR_FILE);
    assert_said(ctx, "Is a directory");
    assert_int_equal(rmdir(in_directory("d.mtx")), 0);
    assert_int_equal(empty_directory(), 0);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Replacing a file keeps its permissions; a symbolic link stays a link. */
static void replaces_politely(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    char real[512], link[512];
    struct stat info;
    snprintf(real, sizeof real, "%s", in_directory("real.mtx"));
    snprintf(link, sizeof link, "%s", in_directory("link.mtx"));
    FILE *f = fopen(real, "w");
    assert_non_null(f);
    fputs("old", f);
    fclose(f);
    assert_int_equal(chmod(real, 0640), 0);
    assert_int_equal(symlink("real.mtx", link), 0);
    assert_int_equal(mpk_problem_generate(ctx, "lin 2 2 2", 1, &p), MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, p, link), MPK_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(real, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(strncmp(content(real), "%%MatrixMarket", 14), 0);
    assert_int_equal(empty_directory(), 2);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static mpk_problem *swept;

static mpk_status write_gz(mpk_context *ctx) {
    mpk_status status = mpk_problem_write(ctx, swept, in_directory("k.mtx.gz"));
    assert_int_equal(empty_directory(), status == MPK_OK);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    assert_int_equal(mpk_problem_generate(ctx, "lin 2 2 2", 1, &swept), MPK_OK);
    sweep_allocations(write_gz);
    mpk_problem_destroy(&swept);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),    cmocka_unit_test(single_precision),
        cmocka_unit_test(text_of_a_file),    cmocka_unit_test(whole_or_not_at_all),
        cmocka_unit_test(replaces_politely), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
