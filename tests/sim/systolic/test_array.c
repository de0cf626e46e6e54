/* SPDX-License-Identifier: BSD-3-Clause */
/* Systolic arrays: the cycle labels of fig. 8.7, results against plain loops for n = 1 .. 32, what
 * goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/systolic/array.h"
#include "sim/systolic/programs.h"

static borg_arena arena;
static borg_sink messages;

static cells_program *parse(const char *text, borg_diags *diags) {
    *diags = (borg_diags){.arena = &arena, .source = {"test.cells", text, strlen(text)}};
    return cells_parse(&arena, text, strlen(text), diags);
}

static const char *told(const borg_diags *diags) {
    messages = (borg_sink){.arena = &arena};
    borg_diags_print(diags, &messages);
    return messages.text ? messages.text : "";
}

static sim_array *array_of(const char *text, const sim_setup *setup) {
    borg_diags diags;
    const cells_program *p = parse(text, &diags);
    sim_array *a = p ? sim_array_new(&arena, p, setup, &diags) : NULL;
    if (!a) fail_msg("%s", told(&diags));
    return a;
}

static int setup(void **state) {
    (void)state;
    borg_arena_init(&arena, NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    borg_arena_free(&arena);
    return 0;
}

/* The first, or the only, use of a link. */
static int use_of(const sim_array *a, int32_t link) {
    for (int64_t k = 0; k < a->nuses; ++k)
        if (a->use[k].link == link) return a->use[k].cycle;
    return 0;
}

/* ---- fig. 8.7 -------------------------------------------------------------------------------- */

/* The first pivot's cycles as they are drawn: rows of links to the right, then rows of links
 * down. */
static void test_figure_8_7_ldlt(void **unused) {
    (void)unused;
    static const int right[4][3] = {{1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}};
    static const int down[3][4] = {{2, 2, 3, 4}, {3, 3, 4, 5}, {4, 4, 5, 6}};
    const sim_array *a = array_of(sim_cells_ldlt, &(sim_setup){.n = 4, .record = true});
    assert_int_equal(a->rows, 4);
    assert_int_equal(a->columns, 4);
    for (int i = 1; i <= 4; ++i)
        for (int j = 2; j <= 4; ++j)
            assert_int_equal(use_of(a, sim_link_right(a, i, j)), right[i - 1][j - 2]);
    for (int i = 2; i <= 4; ++i)
        for (int j = 1; j <= 4; ++j)
            assert_int_equal(use_of(a, sim_link_down(a, i, j)), down[i - 2][j - 1]);
    for (int n = 2; n <= 32; ++n) { /* 2n-2 for any n; pivot k is over in cycle 2n-3+k */
        int last = 0;
        a = array_of(sim_cells_ldlt, &(sim_setup){.n = n, .record = true});
        for (int32_t l = 0; l < 2 * n * n; ++l) last = use_of(a, l) > last ? use_of(a, l) : last;
        assert_int_equal(last, 2 * n - 2);
        assert_int_equal(a->last_link, n == 2 ? 2 : 3 * n - 4);
    }
}

static void test_figure_8_7_trsv(void **unused) {
    (void)unused;
    const sim_array *a = array_of(sim_cells_trsv, &(sim_setup){.n = 4, .record = true});
    assert_int_equal(a->rows, 4);
    assert_int_equal(a->columns, 5);
    for (int k = 1; k <= 4; ++k) { /* b and d enter at 1, 2, 3, 4 */
        assert_int_equal(use_of(a, sim_link_right(a, k, 1)), k);
        assert_int_equal(use_of(a, sim_link_down(a, 1, k + 1)), k);
    }
    for (int i = 1; i <= 4; ++i) {
        for (int j = 1; j < 5; ++j) { /* from (i, j) to the right */
            const int cycle = j < i ? i + j : j > i ? i + j - 1 : 0;
            assert_int_equal(use_of(a, sim_link_right(a, i, j + 1)), cycle);
        }
        for (int j = 1; j <= 5 && i < 4; ++j) { /* and down */
            const int cycle = j <= i ? i + j : j > i + 1 ? i + j - 1 : 0;
            assert_int_equal(use_of(a, sim_link_down(a, i + 1, j)), cycle);
        }
    }
    assert_int_equal(a->last_link, 7);
    for (int n = 2; n <= 32; ++n)
        assert_int_equal(array_of(sim_cells_trsv, &(sim_setup){.n = n})->last_link, 2 * n - 1);
}

/* ---- results --------------------------------------------------------------------------------- */

static double noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 8388608.0 - 1;
}

enum { MOST = 32, JOBS = 3 };

/* L x = b in the order of the cells; to the bit. */
static void plain_trsv(int n, const double *l, const double *b, double *x) {
    for (int i = 0; i < n; ++i) {
        double s = b[i];
        for (int j = 0; j < i; ++j) s -= l[i * n + j] * x[j];
        x[i] = s / l[i * n + i];
    }
}

static void check_trsv(int n, uint32_t seed) {
    static double in[JOBS * (2 * MOST * MOST + 2 * MOST)], out[JOBS * 2 * MOST], want[MOST];
    const sim_setup s = {.n = n, .jobs = JOBS, .interval = 1, .resident = false};
    const sim_array *a = array_of(sim_cells_trsv, &s);
    double *work = borg_alloc(&arena, (size_t)sim_array_work(a), sizeof *work);
    const int each = 2 * n * n + 2 * n;
    for (int k = 0; k < JOBS * each; ++k) in[k] = noise(&seed);
    for (int q = 0; q < JOBS; ++q)
        for (int k = 0; k < 2 * n; ++k) in[q * each + k % 2 * n * n + k / 2 * (n + 1)] += 3;
    assert_int_equal(sim_array_run(a, in, out, work, 0).cell, -1);
    for (int q = 0; q < JOBS; ++q) {
        const double *l = in + q * each, *u = l + n * n, *b = u + n * n;
        plain_trsv(n, l, b, want);
        assert_memory_equal(out + q * 2 * n, want, (size_t)n * sizeof *want);
        plain_trsv(n, u, b + n, want);
        assert_memory_equal(out + q * 2 * n + n, want, (size_t)n * sizeof *want);
    }
}

/* || A - L D L^T || / (n eps || A ||), and D's signs against those of the matrix that was made. */
static void check_ldlt(int n, uint32_t seed) {
    static double in[MOST * MOST], out[MOST * MOST];
    const sim_array *a = array_of(sim_cells_ldlt, &(sim_setup){.n = n});
    double *work = borg_alloc(&arena, (size_t)sim_array_work(a), sizeof *work);
    double most = 0, worst = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            in[i * n + j] = in[j * n + i] = noise(&seed) + (i == j ? (i % 2 ? -2 * n : 2 * n) : 0);
    assert_int_equal(sim_array_run(a, in, out, work, 0).cell, -1);
    for (int i = 0; i < n; ++i) {
        double row = 0;
        assert_true(i % 2 ? out[i * n + i] < 0 : out[i * n + i] > 0);
        for (int j = 0; j <= i; ++j) {
            double s = j == i ? out[i * n + i] : out[i * n + j] * out[j * n + j];
            for (int k = 0; k < j; ++k) s += out[i * n + k] * out[k * n + k] * out[j * n + k];
            worst = fmax(worst, fabs(s - in[i * n + j]));
        }
        for (int j = 0; j < n; ++j) row += fabs(in[i * n + j]);
        most = fmax(most, row);
    }
    assert_true(worst <= 4 * n * 0x1p-52 * most);
}

static void check_gemm(int n, int m, uint32_t seed) {
    const sim_array *a = array_of(sim_cells_gemm, &(sim_setup){.n = n, .m = m});
    double *in = borg_alloc(&arena, (size_t)a->ninputs, sizeof *in);
    double *out = borg_alloc(&arena, (size_t)a->noutputs, sizeof *out);
    double *work = borg_alloc(&arena, (size_t)sim_array_work(a), sizeof *work);
    for (int k = 0; k < a->ninputs; ++k) in[k] = noise(&seed);
    sim_array_run(a, in, out, work, 0);
    for (int t = 0; t < m; ++t)
        for (int j = 0; j < n; ++j) {
            double s = in[m * n + n * n + t * n + j];
            for (int k = 0; k < n; ++k) s -= in[t * n + k] * in[m * n + k * n + j];
            assert_true(out[t * n + j] == s);
        }
}

static void test_results(void **unused) {
    (void)unused;
    for (int n = 1; n <= MOST; ++n) {
        borg_arena_free(&arena);
        borg_arena_init(&arena, NULL, 0);
        check_trsv(n, (uint32_t)n);
        check_ldlt(n, (uint32_t)n);
        check_gemm(n, n % 5 + 1, (uint32_t)n);
    }
}

/* The TPU's square: 128 x 128 cells, utilised by 128 rows to a third. */
static void test_gemm_of_a_tpu(void **unused) {
    (void)unused;
    const sim_array *a = array_of(sim_cells_gemm, &(sim_setup){.n = 128, .m = 8});
    assert_int_equal(a->rows * a->columns, 128 * 128);
    assert_int_equal(a->cycles, 128 + 128 + 8 - 1);
    check_gemm(128, 8, 5);
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int32_t interval_of(const char *text, const sim_setup *s) {
    borg_diags diags;
    return sim_array_interval(parse(text, &diags), s);
}

static void test_intervals(void **unused) {
    (void)unused;
    /* a vector each cycle; the last pivot's cells are at work n + 1 cycles, so a matrix every n +
     * 1 */
    assert_int_equal(interval_of(sim_cells_trsv, &(sim_setup){.n = 4, .resident = true}), 1);
    assert_int_equal(interval_of(sim_cells_gemm, &(sim_setup){.n = 4, .m = 7}), 7);
    for (int n = 2; n <= 8; n += 3)
        assert_int_equal(interval_of(sim_cells_ldlt, &(sim_setup){.n = n}), n + 1);
    /* matrices that overlap have the bits of one alone */
    enum { N = 5, EACH = N * N };
    double in[3 * EACH], out[3 * EACH], alone[EACH];
    uint32_t seed = 3;
    const sim_array *one = array_of(sim_cells_ldlt, &(sim_setup){.n = N});
    const sim_array *three =
        array_of(sim_cells_ldlt, &(sim_setup){.n = N, .jobs = 3, .interval = N + 1});
    double *work = borg_alloc(&arena, (size_t)sim_array_work(three), sizeof *work);
    for (int k = 0; k < 3 * EACH; ++k) in[k] = noise(&seed) + (k % EACH % (N + 1) ? 0 : 9);
    assert_int_equal(three->cycles, one->cycles + 2 * (N + 1));
    sim_array_run(three, in, out, work, 0);
    for (int q = 0; q < 3; ++q) {
        sim_array_run(one, in + q * EACH, alone, work, 0);
        assert_memory_equal(out + q * EACH, alone, sizeof alone);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void test_zero_pivot(void **unused) {
    (void)unused;
    const double in[9] = {2, 4, 6, 4, 8, 1, 6, 1, 5}; /* the second pivot is 8 - 4*4/2 = 0 */
    double out[9];
    const sim_array *a = array_of(sim_cells_ldlt, &(sim_setup){.n = 3});
    double *work = borg_alloc(&arena, (size_t)sim_array_work(a), sizeof *work);
    const sim_trouble t = sim_array_run(a, in, out, work, 0);
    assert_true(t.cell == 1 * 3 + 2 || t.cell == 2 * 3 + 1); /* beside the pivot, or below it */
    assert_true(t.divisor == 0);
    const double nan[9] = {(double)NAN, 4, 6, 4, 8, 1, 6, 1, 5};
    assert_true(isnan(sim_array_run(a, nan, out, work, 0).divisor));
    const double fine[9] = {2, 4, 6, 4, 9, 1, 6, 1, 5};
    assert_int_equal(sim_array_run(a, fine, out, work, 0).cell, -1);
    assert_true(sim_array_run(a, fine, out, work, 1).divisor == 1);
}

static void refuses(const char *text, const sim_setup *s, const char *message) {
    borg_diags diags;
    const cells_program *p = parse(text, &diags);
    if (p && s && sim_array_new(&arena, p, s, &diags)) fail_msg("not refused: %s", message);
    if (p && !s) fail_msg("parsed: %s", message);
    if (!strstr(told(&diags), message)) fail_msg("not '%s' but %s", message, told(&diags));
}

#define HEAD "program t\nmesh n, n\ninput A[n][n], b[n]\noutput x[n]\nload a = A[i][j]\n"

static void test_refusals(void **unused) {
    (void)unused;
    const sim_setup two = {.n = 2};
    refuses(HEAD "cell 1 == 1\n  take left s; send right t\n", NULL,
            "test.cells:7:27: error: 't' is not a value of this cell");
    refuses(HEAD "cell i == q\n", NULL, "test.cells:6:11: error: 'q' is not an integer");
    refuses(HEAD "cell 1 == 1\n  send right a, right a\n", NULL,
            "7:23: error: a link is used twice in a cycle");
    refuses(HEAD "cell 1 == 1\n  for k = 1 .. n\n  send right a\n", NULL, "expected 'end'");
    refuses(HEAD "cell 1 == 1\n  keep y[i] = a\n", NULL, "'y' is no output");
    refuses("program t\nmesh n n\n", NULL, "2:8: error: expected ','");
    refuses("mesh 1, 1\n", NULL, "1:1: error: expected 'program'");
    refuses(HEAD "feed left b[i] at 1\nfeed left b[i] at 1\ncell 1 == 1\n  take left s\n", &two,
            "a link is used twice in a cycle: cell (1, 1)");
    refuses(HEAD "feed left b[i] at 1\nfeed left b[i] at 2\ncell 1 == 1 start 9\n  take left s\n",
            &two, "a value comes before the one before it was taken");
    refuses(HEAD "cell 1 == 1\n  take left s\n", &two, "cell (1, 1) of t waits here for ever");
    refuses(HEAD "cell j == 1\n  send right a\n", &two, "t has no program for cell (1, 2)");
    refuses(HEAD "cell 1 == 1\n  keep x[i + 1] = a\n", &two, "x[3]");
    refuses(HEAD "cell 1 == 1\n for k = 1 .. 999999999\n  set a = a + a\n end\n", &two,
            "runs for more than 1048576 cycles");
    refuses(HEAD "input B[n * 99999][n * 99999]\ncell 1 == 1\n", &two, "too many");
    refuses(HEAD "cell 1 == 1\nfor b = 1 .. 1\nfor c = 1 .. 1\nfor d = 1 .. 1\nfor e = 1 .. 1\n"
                 "for f = 1 .. 1\nend\nend\nend\nend\nend\n",
            NULL, "loops are nested too deeply");
    refuses(sim_cells_ldlt, &(sim_setup){.n = 48, .most_rows = 32, .most_columns = 32},
            "ldlt with n = 48 needs 48 x 48 cells, the mesh has 32 x 32; n = 32 would fit");
    refuses(sim_cells_trsv, &(sim_setup){.n = 32, .most_rows = 32, .most_columns = 32},
            "n = 31 would fit");
}

/* Programs with characters changed, cut off or doubled: told or run, never worse. */
static void test_noise(void **unused) {
    (void)unused;
    const char *const programs[] = {sim_cells_trsv, sim_cells_ldlt, sim_cells_gemm};
    static const char marks[] = "()[]+-*/<>=;,.#\n 0123456789nmijaLlt";
    uint32_t seed = 7;
    int parsed = 0, ran = 0;
    for (int k = 0; k < 1500; ++k) {
        borg_arena_free(&arena);
        borg_arena_init(&arena, NULL, 0);
        char *text = borg_copy_text(&arena, programs[k % 3], strlen(programs[k % 3]));
        const size_t length = strlen(text);
        for (int changes = 1 + k % 3; changes > 0; --changes) {
            noise(&seed);
            const size_t at = (seed >> 8) % length;
            noise(&seed);
            text[at] = marks[(seed >> 8) % (sizeof marks - 1)];
        }
        if (k % 10 == 0) text[(seed >> 8) % length] = 0;
        borg_diags diags;
        const cells_program *p = parse(text, &diags);
        parsed += p != NULL;
        if (!p) assert_true(diags.errors > 0);
        const sim_array *a =
            p ? sim_array_new(&arena, p, &(sim_setup){.n = 3, .m = 2}, &diags) : NULL;
        ran += a != NULL;
        if (p && !a) assert_true(diags.errors > 0);
        double *in = a ? borg_alloc(&arena, (size_t)a->ninputs + 1, sizeof *in) : NULL;
        double *out = a ? borg_alloc(&arena, (size_t)a->noutputs + 1, sizeof *out) : NULL;
        if (a) sim_array_run(a, in, out, borg_alloc(&arena, (size_t)sim_array_work(a) + 1, 8), 0);
    }
    assert_true(parsed > 100 && ran > 20);
    borg_diags diags;
    char *deep = borg_alloc(&arena, 1 << 17, 1);
    strcpy(deep, "program t\nmesh ");
    memset(deep + strlen(deep), '(', 100000);
    assert_null(parse(deep, &diags));
    assert_non_null(strstr(told(&diags), "nested too deeply"));
    memset(deep + 15, '-', 100000);
    assert_null(parse(deep, &diags));
}

static void test_formats(void **unused) {
    (void)unused;
    const sim_array *a = array_of(sim_cells_trsv, &(sim_setup){.n = 4, .record = true});
    borg_sink text = {.arena = &arena}, json = text, svg = text;
    sim_array_text(a, 1, &text);
    assert_non_null(strstr(text.text, "trsv, n = 4: 4 x 5 cells"));
    assert_non_null(strstr(text.text, "the last link in cycle 7"));
    assert_non_null(strstr(text.text, "into (4, 4) from the left: cycle 7\n"));
    sim_array_json(a, 1, &json);
    assert_non_null(strstr(json.text, "{\"into\": [4, 4], \"from\": \"left\", \"cycles\": [7]}"));
    sim_array_svg(a, &svg);
    assert_non_null(strstr(svg.text, ">U41</text>"));
    int links = 0;
    for (const char *at = svg.text; (at = strstr(at, "marker-end")); ++at) ++links;
    assert_int_equal(links, 8 + 2 * 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_figure_8_7_ldlt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_figure_8_7_trsv, setup, teardown),
        cmocka_unit_test_setup_teardown(test_results, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gemm_of_a_tpu, setup, teardown),
        cmocka_unit_test_setup_teardown(test_intervals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zero_pivot, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_formats, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
