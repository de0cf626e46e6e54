/* SPDX-License-Identifier: BSD-3-Clause */
/* Generators: counts, inertia, fingerprints of their entries, what they refuse. */
#include "support.h"

#include <complex.h>
#include <lapacke.h>
#include <math.h>

static mpk_problem *make(mpk_context *ctx, const char *spec, int64_t seed) {
    mpk_problem *p = NULL;
    mpk_status status = mpk_problem_generate(ctx, spec, seed, &p);
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) fail_msg("%s: %s", spec, text);
    return p;
}

/* Entries of the whole matrix, both triangles. */
static int64_t full_count(const mpk_problem_view *v) {
    int64_t diagonal = 0;
    for (int32_t j = 0; j < v->n; j++) diagonal += v->ap[j] < v->ap[j + 1] && v->ai[v->ap[j]] == j;
    return 2 * v->nnz - diagonal;
}

static void assert_counts(const char *spec, int32_t n, int64_t full) {
    mpk_context *ctx = new_context();
    mpk_problem *p = make(ctx, spec, 1);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, n);
    assert_int_equal(full_count(&v), full);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void counts(void **state) {
    (void)state;
    for (int n = 2; n <= 8; n += 3) {
        char spec[32];
        int c = 3 * n - 2;
        snprintf(spec, sizeof spec, "nlpkkt %d", n);
        assert_counts(spec, 2 * n * n * n + 6 * n * n,
                      2 * c * c * c + n * n * n + 6 * n * n + 12 * c * c);
    }
    assert_counts("nlpkkt 20", 18400, 440992);
    assert_counts("nlpkkt 20 boundary=dirichlet", 18400, 440992);
    assert_counts("lin", 256000, 1766400);
    assert_counts("stokes mac 183", 100100, 598044);
    assert_counts("control-distributed 30", 81000, 475200);
    assert_counts("helmholtz 2d 700", 490000, 5 * 490000 - 4 * 700);
    assert_counts("helmholtz 3d 20", 8000, 7 * 8000 - 6 * 400);
    assert_counts("quasi-definite 10", 280, 4 * 180 + 280);
    assert_counts("elements triangles 33 17 boundary=neumann", 561, 561 + 2 * (3 * 561 - 99));
    assert_counts("elements triangles 9 6", 54, 54 + 2 * (3 * 54 - 29));
    assert_counts("elements tetrahedra 4 3 5 boundary=neumann mass=1", 60,
                  60 + 2 * (45 + 40 + 48 + 30 + 36 + 32 + 24));
    assert_counts("elements shell 5 4 unknowns=3", 60, 9 * (20 + 2 * (16 + 15 + 2 * 12)));
    assert_counts("elements shell 5 4", 80, 16 * (20 + 2 * (16 + 15 + 2 * 12)));
    assert_counts("mycielskian 2", 2, 2);
    assert_counts("mycielskian 3", 5, 10); /* a cycle of five */
    assert_counts("mycielskian 11", 1535, 134710);
}

static mpk_status make_nlpkkt_80(mpk_context *ctx, mpk_problem **p) {
    return mpk_problem_generate(ctx, "nlpkkt 80", 1, p);
}

/* As published for nlpkkt80; 14 million entries are too slow under a sanitizer. */
static void nlpkkt_80(void **state) {
    (void)state;
#if TEST_SANITIZED
    skip();
#endif
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    assert_int_equal(make_nlpkkt_80(ctx, &p), MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, 1062400);
    assert_int_equal(full_count(&v), 28192672);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Eigenvalues of a small problem, increasing. */
static double *eigenvalues(const mpk_problem_view *v) {
    const int n = v->n;
    double *w = calloc((size_t)n, sizeof *w);
    double complex *a = calloc((size_t)n * (size_t)n, sizeof *a);
    assert_non_null(w);
    assert_non_null(a);
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = v->ap[j]; k < v->ap[j + 1]; k++)
            a[(size_t)j * (size_t)n + (size_t)v->ai[k]] = v->scalar == MPK_Z
                                                              ? ((const double complex *)v->ax)[k]
                                                              : ((const double *)v->ax)[k];
    assert_int_equal(
        LAPACKE_zheevd(LAPACK_COL_MAJOR, 'N', 'L', n, (lapack_complex_double *)a, n, w), 0);
    free(a);
    return w;
}

/* Inertia known by theory, and far enough from singular that eigenvalues can tell. */
static void inertia(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        int positive, negative;
    } cases[] = {
        {"nlpkkt 4", 64 + 96, 64},
        {"nlpkkt 3 alpha=1e-3 barrier=4", 27 + 54, 27},
        {"nlpkkt 4 boundary=dirichlet", 64 + 96, 64},
        {"nlpkkt 3 1e-3 4 dirichlet", 27 + 54, 27},
        {"control-distributed 4", 128, 64},
        {"stokes mac 6", 60, 35},
        {"stokes q2q1 3", 50, 15},
        {"lp-kkt 60 100 4", 100, 60},
        {"lp-kkt 60 100 4 column=5 coupling=random", 100, 60},
        {"lp-kkt 60 100 delta=0.5", 100, 60},
        {"optimal-control 5 4 2", 30, 20},
        {"quasi-definite 6", 60, 36},
        {"helmholtz 2d 10 shift=-1", 100, 0},
        {"helmholtz 3d 4 shift=13", 0, 64},
    };
    mpk_context *ctx = new_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mpk_problem *p = make(ctx, cases[c].spec, 7);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        double *w = eigenvalues(&v);
        int positive = 0, negative = 0;
        double largest = fmax(fabs(w[0]), fabs(w[v.n - 1]));
        for (int i = 0; i < v.n; i++) {
            positive += w[i] > 1e-12 * largest;
            negative += w[i] < -1e-12 * largest;
        }
        if (positive != cases[c].positive || negative != cases[c].negative)
            fail_msg("%s: %d positive, %d negative", cases[c].spec, positive, negative);
        assert_int_equal(positive + negative, v.n);
        free(w);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* The default shift of helmholtz and lin, and random, give eigenvalues on both sides. */
static void indefinite(void **state) {
    (void)state;
    static const char *const specs[] = {"helmholtz 2d 20", "lin 10 9 8",
                                        "random 100 0.05 zeros=0.5",
                                        "random 100 0.05 entries=hermitian"};
    mpk_context *ctx = new_context();
    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
        mpk_problem *p = make(ctx, specs[c], 3);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        double *w = eigenvalues(&v);
        assert_true(w[0] < -0.01 && w[v.n - 1] > 0.01);
        free(w);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* The divergence of a rigid translation of inner velocities, and other identities of the
 * discretization. */
static void stokes_is_consistent(void **state) {
    (void)state;
    /* pressure gradient of a constant pressure vanishes on every velocity: B^T 1 = 0 once the last
     * pressure, which was left out as 0, is taken along; so only its neighbours see anything */
    mpk_context *ctx = new_context();
    const char *const specs[] = {"stokes mac 5", "stokes q2q1 4"};
    const int pressures[] = {24, 24}, touched[] = {2, 18};
    for (int c = 0; c < 2; c++) {
        mpk_problem *p = make(ctx, specs[c], 1);
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        double *x = calloc((size_t)v.n, sizeof *x), *y = calloc((size_t)v.n, sizeof *y);
        for (int i = v.n - pressures[c]; i < v.n; i++) x[i] = 1;
        assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, v.n, y, v.n), MPK_OK);
        int nonzero = 0;
        for (int i = 0; i < v.n; i++) nonzero += fabs(y[i]) > 1e-14;
        assert_true(nonzero > 0 && nonzero <= touched[c]);
        free(x);
        free(y);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* K 1 = mass: the Laplacian of a constant is zero; rows of K in nlpkkt sum to the row sums of the
 * mass. */
static void nlpkkt_is_consistent(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    const int n = 5, points = n * n * n, controls = 6 * n * n;
    mpk_problem *p = make(ctx, "nlpkkt 5", 1);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    double *x = calloc((size_t)v.n, sizeof *x), *y = calloc((size_t)v.n, sizeof *y), volume = 0,
           area = 0;
    for (int i = 0; i < points; i++) x[i] = 1;
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, v.n, y, v.n), MPK_OK);
    for (int i = points + controls; i < v.n; i++) volume += y[i]; /* 1' K 1 = integral of 1 */
    assert_true(fabs(volume - 1) < 1e-13);
    volume = 0;
    for (int i = 0; i < points; i++) volume += y[i]; /* 1' M 1, lumped */
    assert_true(fabs(volume - 1) < 1e-13);
    memset(x, 0, (size_t)v.n * sizeof *x);
    for (int i = points; i < points + controls; i++) x[i] = 1;
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, v.n, y, v.n), MPK_OK);
    for (int i = points + controls; i < v.n; i++) area -= y[i]; /* six faces */
    assert_true(fabs(area - 6) < 1e-13);
    free(x);
    free(y);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* The Laplacian of a constant is zero but next to an edge of the cube, whose points are no
 * controls; of the square of a coordinate it is 2, so -52 times that in the middle. The other
 * blocks are diagonal. */
static void nlpkkt_dirichlet_is_consistent(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    const int n = 5, points = n * n * n, controls = 6 * n * n;
    mpk_problem *p = make(ctx, "nlpkkt 5 boundary=dirichlet", 1);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    double *x = calloc((size_t)v.n, sizeof *x), *y = calloc((size_t)v.n, sizeof *y);
    for (int i = 0; i < points + controls; i++) x[i] = 1;
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, v.n, y, v.n), MPK_OK);
    for (int i = 0; i < points; i++) {
        const int at[] = {i % n, i / n % n, i / (n * n)};
        int beside = 0;
        for (int a = 0; a < 3; a++) beside += at[a] == 0 || at[a] == n - 1;
        /* of an edge three points are within reach, with 8 in the middle and 1 beside: 10; of
         * three edges with a corner between them 3 * 8 + 3 * 1 + 1 at their ends */
        const double missing = beside < 2 ? 0 : beside == 2 ? 10 : 28;
        assert_true(fabs(y[points + controls + i] - missing) < 1e-12);
    }
    for (int i = 0; i < points; i++) x[i] = (i % n) * (i % n);
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, v.n, y, v.n), MPK_OK);
    assert_true(fabs(y[points + controls + points / 2] + 2 * 52) < 1e-12);
    /* y = y_d in the middle: 3 + 5 / 16, where y <= 3.5 */
    assert_true(fabs(y[points / 2] - 4 * (1 + 1 / (0.5 - 0.3125))) < 1e-12);
    for (int i = points; i < points + controls; i++)
        assert_true(fabs(y[i] - (0.01 * (n + 1) + 0.4)) < 1e-12);
    free(x);
    free(y);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t k = 0; k < size; k++) h = (h ^ p[k]) * 0x100000001b3u;
    return h;
}

static uint64_t fingerprint(const mpk_problem *p) {
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    uint64_t h = hash_bytes(0xcbf29ce484222325u, v.ap, ((size_t)v.n + 1) * sizeof *v.ap);
    h = hash_bytes(h, v.ai, (size_t)v.nnz * sizeof *v.ai);
    return hash_bytes(h, v.ax, (size_t)v.nnz * mpk_scalar_size(v.scalar));
}

/* The same bits on every machine and in every version: these numbers must not change. */
static void fingerprints(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint64_t print;
    } cases[] = {
#include "fingerprints.h"
    };
    mpk_context *ctx = new_context();
    int good = 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mpk_problem *p = make(ctx, cases[c].spec, 42);
        if (fingerprint(p) != cases[c].print) {
            print_error("{\"%s\", 0x%016llxu},\n", cases[c].spec,
                        (unsigned long long)fingerprint(p));
            good = 0;
        }
        mpk_problem_destroy(&p);
    }
    assert_true(good);
    mpk_context_destroy(&ctx);
}

static void seeds_and_spellings(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *a = make(ctx, "random 50 0.1 zeros=0.2", 1),
                *b = make(ctx, "random 50 0.1 0.2", 1), *c = make(ctx, "random 50 0.1 0.2", 2),
                *d = make(ctx, " random  zeros=0.2 N=50\tdensity=1e-1 ", 1);
    assert_true(fingerprint(a) == fingerprint(b));
    assert_true(fingerprint(a) != fingerprint(c));
    assert_true(fingerprint(a) == fingerprint(d));
    mpk_problem_destroy(&a);
    mpk_problem_destroy(&b);
    mpk_problem_destroy(&c);
    mpk_problem_destroy(&d);
    mpk_context_destroy(&ctx);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        mpk_status status;
        const char *said;
    } cases[] = {
        {"", MPK_ERR_ARGUMENT, "there are nlpkkt, control-distributed, lin"},
        {"kkt 3", MPK_ERR_ARGUMENT, "no generator 'kkt'"},
        {"nlpkkt", MPK_ERR_ARGUMENT, "N is missing; the parameters are N, alpha, barrier"},
        {"nlpkkt 1", MPK_ERR_ARGUMENT, "an integer from 2 to 1048576"},
        {"nlpkkt 2.5", MPK_ERR_ARGUMENT, "an integer"},
        {"nlpkkt x", MPK_ERR_ARGUMENT, "'x'"},
        {"nlpkkt nan", MPK_ERR_ARGUMENT, "'nan'"},
        {"nlpkkt -4", MPK_ERR_ARGUMENT, "'-4'"},
        {"nlpkkt 4 4 4 4", MPK_ERR_ARGUMENT, "'4'"},
        {"nlpkkt 4 4 4 neumann 4", MPK_ERR_ARGUMENT, "one value too many"},
        {"nlpkkt 4 N=5", MPK_ERR_ARGUMENT, "N is given twice"},
        {"nlpkkt 4 size=5", MPK_ERR_ARGUMENT, "no parameter 'size=5'"},
        {"nlpkkt 2000", MPK_ERR_SIZE, "16024000000 rows"},
        {"nlpkkt 1048576", MPK_ERR_SIZE, "too many"},
        {"lin 1048576 1048576 1048576", MPK_ERR_SIZE, "too many"},
        {"stokes q2q1 40000", MPK_ERR_SIZE, "too many"},
        {"random 2000000000 1", MPK_ERR_SIZE, "too many"},
        {"helmholtz 4d 10", MPK_ERR_ARGUMENT, "valid is 2d, 3d"},
        {"lp-kkt 5 3", MPK_ERR_ARGUMENT, "must not exceed"},
        {"elements hexahedra 4", MPK_ERR_ARGUMENT, "valid is triangles, tetrahedra, shell"},
        {"elements triangles", MPK_ERR_ARGUMENT, "nx is missing"},
        {"elements triangles 4 nz=4", MPK_ERR_ARGUMENT, "nz has no effect on this shape"},
        {"elements tetrahedra 4 cells=random", MPK_ERR_ARGUMENT, "cells has no effect"},
        {"elements triangles 4 unknowns=2", MPK_ERR_ARGUMENT, "unknowns has no effect"},
        {"elements shell 4 jitter=0.1", MPK_ERR_ARGUMENT, "jitter has no effect"},
        {"elements shell 4 unknowns=9", MPK_ERR_ARGUMENT, "an integer from 1 to 8"},
        {"elements tetrahedra 5000", MPK_ERR_SIZE, "too many"},
    };
    mpk_context *ctx = new_context();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mpk_problem *p = NULL;
        assert_int_equal(mpk_problem_generate(ctx, cases[c].spec, 1, &p), cases[c].status);
        assert_null(p);
        assert_said(ctx, cases[c].said);
        int64_t held;
        mpk_memory_usage(ctx, &held, NULL);
        assert_int_equal(held, 0);
    }
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, NULL, 1, &p), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_generate(ctx, "lin 2 2 2", 1, NULL), MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

/* The sum of all entries, and the largest sum of a row. */
static double sum_of(mpk_context *ctx, const char *spec, double *row) {
    mpk_problem *p = make(ctx, spec, 3);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    const double *ax = v.ax;
    double *sums = calloc((size_t)v.n, sizeof *sums), all = 0;
    for (int32_t j = 0; j < v.n; j++)
        for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++) {
            sums[v.ai[e]] += ax[e];
            if (v.symmetry != MPK_GENERAL && v.ai[e] != j) sums[j] += ax[e];
        }
    *row = 0;
    for (int32_t i = 0; i < v.n; i++) all += sums[i], *row = fmax(*row, fabs(sums[i]));
    free(sums);
    mpk_problem_destroy(&p);
    return all;
}

/* Constants are in the kernel of what has no mass; with it the entries add up to that of the region,
 * in every order of the points. */
static void elements_are_consistent(void **state) {
    (void)state;
    static const char *const shapes[] = {"triangles 12 7 cells=random jitter=0.4",
                                         "triangles 12 7 decades=3 stretch=40",
                                         "tetrahedra 6 4 5 decades=2 stretch=0.1"};
    mpk_context *ctx = new_context();
    for (int k = 0; k < 3; k++)
        for (int tile = 1; tile <= 3; tile++) {
            char spec[128];
            double row;
            const double region = k == 2 ? 5 * 3 * 4 : 11 * 6;
            snprintf(spec, sizeof spec, "elements %s boundary=neumann tile=%d", shapes[k], tile);
            sum_of(ctx, spec, &row);
            assert_true(row < 1e-10 * 1e3);
            if (k == 0) continue; /* the boundary is moved, too */
            strcat(spec, " mass=2");
            assert_true(fabs(sum_of(ctx, spec, &row) - 2 * region) < 1e-8);
        }
    double row, with;
    const double base = sum_of(ctx, "convection 9 speed=0 stretch=3", &row);
    with = sum_of(ctx, "convection 9 speed=0 stretch=3 reaction=50", &row);
    assert_true(fabs(with - base - 81 * 50 / 100.0) < 1e-9);
    mpk_context_destroy(&ctx);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)stage;
    (void)user;
    return fraction > 0.5;
}

static void cancelled(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_context_set_progress(ctx, stop, NULL);
    mpk_status status = mpk_problem_generate(ctx, "nlpkkt 60", 1, &p);
    if (status == MPK_OK)
        mpk_problem_destroy(&p); /* a machine so fast that nobody was asked */
    else
        assert_int_equal(status, MPK_ERR_CANCELLED);
    assert_null(p);
    mpk_context_destroy(&ctx);
}

/* Every family has its line, and the line names it first. */
static void the_list(void **state) {
    (void)state;
    static const char *const names[] = {
        "nlpkkt",          "control-distributed", "lin",    "helmholtz",  "stokes",   "lp-kkt",
        "optimal-control", "quasi-definite",      "random", "convection", "elements", "mycielskian",
        "lp-published"};
    const char *line = mpk_generators();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        assert_non_null(line);
        assert_int_equal(strncmp(line, names[k], strlen(names[k])), 0);
        assert_int_equal(line[strlen(names[k])], ' ');
        line = strchr(line, '\n');
        if (line) line++;
    }
    assert_null(line);
}

/* Smallest sizes. */
static void order_one(void **state) {
    (void)state;
    assert_counts("random 1 1", 1, 1);
    assert_counts("lin 1 1 1", 1, 1);
    assert_counts("helmholtz 3d 1", 1, 1);
    assert_counts("helmholtz 2d 1 boundary=absorbing", 1, 1);
    assert_counts("quasi-definite 1", 1, 1);
    assert_counts("lp-kkt 1 1", 2, 3);
    assert_counts("optimal-control 1 1 1", 3, 6);
    assert_counts("control-distributed 1", 3, 6);
    assert_counts("stokes mac 2", 7, 4 + 4 + 2 * 6);
}

static mpk_status one_family(mpk_context *ctx, const char *spec) {
    mpk_problem *p = NULL;
    mpk_status status = mpk_problem_generate(ctx, spec, 1, &p);
    mpk_problem_destroy(&p);
    return status;
}
static mpk_status sorted_family(mpk_context *ctx) {
    return one_family(ctx, "optimal-control 3");
}
static mpk_status unsorted_family(mpk_context *ctx) {
    return one_family(ctx, "random 20 0.5");
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(sorted_family);
    sweep_allocations(unsorted_family);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(nlpkkt_80),
        cmocka_unit_test(inertia),
        cmocka_unit_test(indefinite),
        cmocka_unit_test(stokes_is_consistent),
        cmocka_unit_test(nlpkkt_is_consistent),
        cmocka_unit_test(nlpkkt_dirichlet_is_consistent),
        cmocka_unit_test(elements_are_consistent),
        cmocka_unit_test(fingerprints),
        cmocka_unit_test(seeds_and_spellings),
        cmocka_unit_test(refused),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(the_list),
        cmocka_unit_test(order_one),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
