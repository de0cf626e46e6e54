/* SPDX-License-Identifier: BSD-3-Clause */
/* lp-published: A of a file's system, its scaling and diagonal, names of files, what is refused. */
#include "support.h"

#include <math.h>
#include <unistd.h>

static const char afiro[] = METAPACK_DATA "/lp_kkt/afiro_it02.mtx.xz";

static mpk_problem *make(mpk_context *ctx, int64_t seed, const char *format, const char *path) {
    char spec[4096];
    mpk_problem *p = NULL;
    snprintf(spec, sizeof spec, format, path);
    const mpk_status status = mpk_problem_generate(ctx, spec, seed, &p);
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) fail_msg("%s: %s", spec, text);
    return p;
}

static const double *values(const mpk_problem_view *v) {
    return v->ax;
}

/* Without scaling the block of the file, whose diagonal alone is another: in (10^-6, 1]. */
static void unscaled(void **state) {
    (void)state;
    enum { COLS = 51 };
    mpk_context *ctx = new_context();
    mpk_problem *file = NULL, *p = make(ctx, 7, "lp-published %s scaling=0", afiro);
    assert_int_equal(mpk_problem_read(ctx, afiro, &file), MPK_OK);
    mpk_problem_view a, v;
    mpk_problem_view_get(file, &a);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, a.n);
    assert_int_equal(v.nnz, a.nnz);
    double least = 1, most = 0;
    for (int32_t j = 0; j < v.n; j++)
        for (int64_t k = v.ap[j]; k < v.ap[j + 1]; k++) {
            assert_int_equal(v.ai[k], a.ai[k]);
            if (v.ai[k] != j) {
                assert_true(values(&v)[k] == values(&a)[k]);
                continue;
            }
            assert_true(j < COLS);
            least = fmin(least, values(&v)[k]);
            most = fmax(most, values(&v)[k]);
        }
    assert_true(least > 1e-6 && least < 1e-4 && most <= 1 && most > 1e-2);
    mpk_problem_destroy(&p);
    mpk_problem_destroy(&file);
    mpk_context_destroy(&ctx);
}

/* sqrt(least most) of the last direction is 1, and the spread of magnitudes not larger. */
static void scaled(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    double spread[3];
    static const char *const specs[] = {"lp-published %s scaling=0", "lp-published %s scaling=1",
                                        "lp-published %s"};
    for (int c = 0; c < 3; c++) {
        mpk_problem *p = make(ctx, 1, specs[c], METAPACK_DATA "/lp_kkt/25fv47_it04.mtx.xz");
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        double least = HUGE_VAL, most = 0;
        for (int32_t j = 0; j < v.n; j++) {
            double low = HUGE_VAL, high = 0;
            for (int64_t k = v.ap[j]; k < v.ap[j + 1]; k++) {
                if (v.ai[k] == j) continue;
                low = fmin(low, fabs(values(&v)[k]));
                high = fmax(high, fabs(values(&v)[k]));
            }
            if (c && high > 0) assert_true(fabs(low * high - 1) < 1e-12);
            least = fmin(least, low);
            most = fmax(most, high);
        }
        spread[c] = most / least;
        mpk_problem_destroy(&p);
    }
    assert_true(spread[1] < spread[0] && spread[2] <= spread[1]);
    mpk_context_destroy(&ctx);
}

/* The diagonal is 10^(-decades u) of the generator's own u: its powers, to the last bits. */
static void the_diagonal(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *six = make(ctx, 3, "lp-published %s", afiro),
                *two = make(ctx, 3, "lp-published %s decades=2", afiro),
                *none = make(ctx, 3, "lp-published %s decades=0", afiro),
                *other = make(ctx, 4, "lp-published %s", afiro);
    mpk_problem_view a, b, c, d;
    mpk_problem_view_get(six, &a);
    mpk_problem_view_get(two, &b);
    mpk_problem_view_get(none, &c);
    mpk_problem_view_get(other, &d);
    int same = 0;
    for (int32_t j = 0; j < 51; j++) {
        const double x = values(&a)[a.ap[j]], y = values(&b)[b.ap[j]];
        assert_true(fabs(x / (y * y * y) - 1) < 1e-14);
        assert_true(values(&c)[c.ap[j]] == 1);
        same += x == values(&d)[d.ap[j]];
    }
    assert_int_equal(same, 0);
    mpk_problem_destroy(&six);
    mpk_problem_destroy(&two);
    mpk_problem_destroy(&none);
    mpk_problem_destroy(&other);
    mpk_context_destroy(&ctx);
}

/* The same bits on every machine and in every version: these numbers must not change. */
static void fingerprints(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint64_t print; /* 64-bit FNV-1a of ax, little-endian */
    } cases[] = {{"lp-published %s", 0xa6e14ded066e4c97u},
                 {"lp-published %s scaling=0 decades=3.7", 0x6199fe6e45a354d9u}};
    mpk_context *ctx = new_context();
    for (int c = 0; c < 2; c++) {
        mpk_problem *p = make(ctx, 42, cases[c].spec, afiro);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        const unsigned char *bytes = v.ax;
        uint64_t h = 0xcbf29ce484222325u;
        for (size_t k = 0; k < (size_t)v.nnz * 8; k++) h = (h ^ bytes[k]) * 0x100000001b3u;
        if (h != cases[c].print)
            fail_msg("{\"%s\", 0x%016llxu}", cases[c].spec, (unsigned long long)h);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void write_text(const char *path, const char *entries, int n, int count) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n%s", n, n, count,
            entries);
    fclose(f);
}

/* Two variables in one constraint; its column 3 below. */
#define GOOD "1 1 2\n2 2 3\n3 1 4\n3 2 1\n"

/* Names with spaces, commas, quotes and '='. */
static void names(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"a b,c.mtx", "lp-published \"%s\" scaling=0"},
                                           {"a\"b.mtx", "lp-published \"lp_published a\"\"b.mtx\""},
                                           {"scale=3.mtx", "lp-published %s 0"},
                                           {"x=y.mtx", "lp-published scaling=0 file=%s"}};
    mpk_context *ctx = new_context();
    for (int c = 0; c < 4; c++) {
        char path[64];
        snprintf(path, sizeof path, "lp_published %s", cases[c][0]);
        if (c > 1) snprintf(path, sizeof path, "lp_published_%s", cases[c][0]);
        write_text(path, GOOD, 3, 4);
        mpk_problem *p = make(ctx, 1, cases[c][1], path);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.nnz, 4);
        mpk_problem_destroy(&p);
        remove(path);
    }
    mpk_context_destroy(&ctx);
}

static void refused(void **state) {
    (void)state;
    static const char path[] = "lp_published.mtx";
    static const struct {
        const char *entries;
        int n, count;
        mpk_status status;
        const char *said;
    } cases[] = {
        {"1 1 2\n2 1 1\n2 2 3\n3 2 4\n", 3, 4, MPK_ERR_INPUT,
         "row 2 has an entry in column 1, so A begins there or above, but column 2"},
        {"1 1 2\n2 2 3\n", 2, 2, MPK_ERR_INPUT, "the matrix is diagonal"},
        {"1 1 -2\n2 2 3\n3 1 4\n3 2 1\n", 3, 4, MPK_ERR_INPUT, "row 1, column 1 is negative, in D"},
        {"2 2 2\n3 3 3\n2 1 4\n3 1 1\n", 3, 4, MPK_ERR_INPUT,
         "row 2, column 2 is positive, below A"},
        {"1 1 2\n2 2 3\n3 1 4\n3 2 1\n4 4 -1\n", 4, 5, MPK_OK, ""}, /* an empty row of A */
        {"1 1 2\n2 2 3\n3 3 1\n4 1 4\n4 2 1\n", 4, 5, MPK_OK, ""},  /* an empty column */
        {"1 1 2\n2 1 0\n2 2 3\n3 1 4\n3 2 1\n", 3, 5, MPK_OK, ""},  /* a stored zero */
        {"2 1 4\n", 2, 1, MPK_OK, ""},                              /* a diagonal of zeros */
        {"1 1 1\n2 1 1e300\n3 1 1e-300\n", 3, 3, MPK_OK, ""},       /* the root of their product */
        {NULL, 0, 0, MPK_ERR_FILE, "lp_published.mtx"},
    };
    mpk_context *ctx = new_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mpk_problem *p = NULL;
        char spec[64];
        remove(path);
        if (cases[c].entries) write_text(path, cases[c].entries, cases[c].n, cases[c].count);
        snprintf(spec, sizeof spec, "lp-published %s", path);
        assert_int_equal(mpk_problem_generate(ctx, spec, 1, &p), cases[c].status);
        if (cases[c].status != MPK_OK) assert_said(ctx, cases[c].said);
        mpk_problem_destroy(&p);
    }
    static const char *const specs[][2] = {{"lp-published", "file is missing"},
                                           {"lp-published \"\"", "file is empty"},
                                           {"lp-published a scaling=-1", "an integer from 0"},
                                           {"lp-published a round=1", "no parameter 'round=1'"},
                                           {"lp-published a decades=x", "a number from 0 to 40"}};
    for (int c = 0; c < 5; c++) {
        mpk_problem *p = NULL;
        assert_int_equal(mpk_problem_generate(ctx, specs[c][0], 1, &p), MPK_ERR_ARGUMENT);
        assert_said(ctx, specs[c][1]);
    }
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 3 boundary=absorbing", 1, &p), MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, p, path), MPK_OK);
    mpk_problem_destroy(&p);
    assert_int_equal(mpk_problem_generate(ctx, "lp-published lp_published.mtx", 1, &p),
                     MPK_ERR_INPUT);
    assert_said(ctx, "the matrix is complex");
    remove(path);
    mpk_context_destroy(&ctx);
}

static mpk_status one(mpk_context *ctx) {
    char spec[4096];
    mpk_problem *p = NULL;
    snprintf(spec, sizeof spec, "lp-published %s", afiro);
    const mpk_status status = mpk_problem_generate(ctx, spec, 1, &p);
    mpk_problem_destroy(&p);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unscaled),        cmocka_unit_test(scaled), cmocka_unit_test(the_diagonal),
        cmocka_unit_test(fingerprints),    cmocka_unit_test(names),  cmocka_unit_test(refused),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
