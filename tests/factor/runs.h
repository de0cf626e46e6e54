/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FACTOR_RUNS_H
#define TESTS_FACTOR_RUNS_H
/** Factorizations on blocks of generated problems, and what they leave of a residual. */
#include "support.h"

#include "factor/apply.h"

static inline mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

/* A run on a generated problem: x := M^-1 b for a fixed b. */
typedef struct run {
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_status status;
    void *x, *b;
} run;

/* Defaults of a complete factorization: all fill, nothing dropped. */
static inline mpk_options complete(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.level = -1;
    o.drop_tolerance = o.fill_factor = 0;
    o.block = 16;
    o.threads = 2;
    return o;
}

static inline double complex rhs_entry(int64_t i, mpk_scalar scalar) {
    const double re = sin(0.7 * (double)i + 1), im = cos(1.3 * (double)i);
    return scalar == MPK_S || scalar == MPK_D ? re : re + im * I;
}

static inline void apply(mpk_context *ctx, run *r, mpk_part part) {
    const int64_t n = r->a.n;
    mpki_application m;
    for (int64_t i = 0; i < n; i++) {
        scalar_store(r->a.scalar, r->x, i, rhs_entry(i, r->a.scalar));
        scalar_store(r->a.scalar, r->b, i, rhs_entry(i, r->a.scalar));
    }
    assert_int_equal(mpki_apply_make(ctx, r->fac, r->o.threads, 1, &m), MPK_OK);
    assert_int_equal(mpki_apply(&m, part, 1, r->x, n, r->x, n), MPK_OK);
    mpki_apply_free(&m);
}

static inline run go(mpk_context *ctx, const char *spec, const mpk_options *o) {
    run r = {.o = *o};
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &r.problem), MPK_OK);
    mpk_problem_view_get(r.problem, &r.a);
    assert_true(mpk_analyse(ctx, r.problem, o, &r.an) >= 0);
    r.status = mpk_factorize(ctx, r.an, r.a.ax, o, &r.fac);
    const size_t bytes = (size_t)r.a.n * mpk_scalar_size(r.a.scalar) + 16;
    r.x = calloc(1, bytes);
    r.b = calloc(1, bytes);
    if (!mpk_failed(r.status)) apply(ctx, &r, MPK_PART_ALL);
    return r;
}

static inline void end(run *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
    free(r->x);
    free(r->b);
}

/* ||b - A x|| / ||b||, in the two-norm */
static inline double residual(mpk_context *ctx, const run *r) {
    const int64_t n = r->a.n;
    void *y = calloc((size_t)n + 1, mpk_scalar_size(r->a.scalar));
    assert_int_equal(mpk_problem_multiply(ctx, r->problem, 1, r->x, n, y, n), MPK_OK);
    double rr = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        const double complex b = scalar_load(r->a.scalar, r->b, i);
        const double d = cabs(b - scalar_load(r->a.scalar, y, i));
        rr += d * d;
        bb += cabs(b) * cabs(b);
    }
    free(y);
    return sqrt(rr / bb);
}

static inline double distance(const run *p, const run *q) {
    double most = 0, norm = 0;
    for (int64_t i = 0; i < p->a.n; i++) {
        const double complex x = scalar_load(p->a.scalar, p->x, i);
        const double d = cabs(x - scalar_load(p->a.scalar, q->x, i));
        if (!(d <= most)) most = d;
        if (cabs(x) > norm) norm = cabs(x);
    }
    return most / norm;
}

static const char *const families[] = {
    "nlpkkt 4",
    "stokes mac 10",
    "helmholtz 2d 18 0.3",
    "lp-kkt 60 110 3",
    "quasi-definite 9",
    "optimal-control 12",
    "random 150 0.03 0.3 complex",
    "random 140 0.03 0.3 hermitian",
};
enum { FAMILIES = sizeof families / sizeof *families };

#endif
