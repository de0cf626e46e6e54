/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_DIRECT_CASES_H
#define TESTS_DEVICE_DIRECT_CASES_H
/** Matrices for the multifrontal engine of a device, and its answers beside the processor's:
 *  generated ones, families of small ones, files, and shapes that are hard for one part of it. */
#include "device_multifrontal.h"

/* What one engine made of a matrix. */
typedef struct outcome {
    mpk_status status, solved;
    mpk_factor_info info;
    mpk_solve_info solve;
    double logdet[3];
    void *x; /* n x nrhs */
    int64_t bytes;
    int64_t entries; /* of L, by the analysis */
} outcome;

static inline void outcome_free(outcome *o) {
    free(o->x);
}

/* The device's large fronts kernel after kernel, also those whose pieces would queue. */
static bool without_queues;
/* options.fp64_emulation there, of real matrices in double. */
static mpk_switch emulation = MPK_AUTO;

static inline outcome run(mpk_problem *(*make)(mpk_context *, const void *), const void *arg,
                          bool device, const mpk_options *asked, int32_t nrhs) {
    outcome r = {0};
    mpk_options own = *asked;
    const mpk_options *const options = &own;
    mpk_context *ctx = new_context(device);
    mpk_problem *problem = make(ctx, arg);
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_non_null(problem);
    mpk_problem_view_get(problem, &a);
    if (device && a.scalar == MPK_D) own.fp64_emulation = emulation;
    const size_t size = mpk_scalar_size(a.scalar);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, options, &an)));
    mpk_analysis_info analysis;
    mpk_analysis_info_get(an, &analysis);
    r.entries = analysis.factor_nnz;
    r.status = mpk_factorize(ctx, an, NULL, options, &fac);
    if (device && without_queues && !mpk_failed(r.status)) {
        mpki_direct *f = fac->direct;
        f->queued_most = 0;
        r.status = mpk_refactorize(ctx, NULL, options, fac);
    }
    r.bytes = (int64_t)nrhs * a.n * (int64_t)size;
    if (!mpk_failed(r.status)) {
        assert_int_equal(mpk_certify(ctx, fac, NULL), MPK_OK);
        mpk_factor_info_get(fac, &r.info);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, r.logdet, sizeof r.logdet), MPK_OK);
        r.x = calloc((size_t)r.bytes + 1, 1);
        support_state = 7;
        for (int64_t k = 0; k < (int64_t)nrhs * a.n; k++)
            scalar_store(a.scalar, r.x, k, uniform() + uniform() * I);
        r.solved = mpk_solve(ctx, fac, nrhs, r.x, a.n, r.x, a.n, options, &r.solve);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return r;
}

/* Both engines, twice the device's: statuses, counts, verdicts; the same bits. */
static inline void compare(const char *what, mpk_problem *(*make)(mpk_context *, const void *),
                           const void *arg, const mpk_options *options, int32_t nrhs) {
    outcome cpu = run(make, arg, false, options, nrhs), one = run(make, arg, true, options, nrhs);
    outcome two = run(make, arg, true, options, nrhs);
    const mpk_inertia *p = &cpu.info.inertia, *q = &one.info.inertia;
    if (cpu.status != one.status || one.status != two.status || cpu.solved != one.solved)
        fail_msg("%s: statuses %d %d on the processor, %d %d on the device, errors %g %g", what,
                 cpu.status, cpu.solved, one.status, one.solved, cpu.solve.componentwise,
                 one.solve.componentwise);
    if (p->positive != q->positive || p->negative != q->negative || p->zero != q->zero ||
        p->certified != q->certified)
        fail_msg("%s: inertia %lld %lld %lld (%d), on the device %lld %lld %lld (%d)", what,
                 (long long)p->positive, (long long)p->negative, (long long)p->zero, p->certified,
                 (long long)q->positive, (long long)q->negative, (long long)q->zero, q->certified);
    if (cpu.info.rank != one.info.rank || cpu.info.perturbed != one.info.perturbed)
        fail_msg("%s: rank %d %d, perturbed %lld %lld", what, cpu.info.rank, one.info.rank,
                 (long long)cpu.info.perturbed, (long long)one.info.perturbed);
    const double delays = fabs((double)(cpu.info.rejected - one.info.rejected));
    if (cpu.entries == one.entries && /* else other orders: a path is shortened for each alone */
        delays > 0.1 * (double)cpu.info.rejected + 3)
        fail_msg("%s: %lld delayed, on the device %lld", what, (long long)cpu.info.rejected,
                 (long long)one.info.rejected);
    const bool clear = one.info.rank == MPK_RANK_FULL && one.info.min_pivot > 1e-10;
    if (fabs(cpu.logdet[0] - one.logdet[0]) > 1e-3 * fabs(cpu.logdet[0]) + 1e-2 && clear)
        fail_msg("%s: log |det| %g, on the device %g", what, cpu.logdet[0], one.logdet[0]);
    /* where b is none of A's range, the rest of it is of the order of b, and the engines' differ */
    const double within = one.info.rank == MPK_RANK_FULL ? 1.01 : 1.05;
    if (!(one.solve.componentwise <= within * cpu.solve.componentwise) &&
        !(one.solve.componentwise <= fmax(options->accuracy, 1e-14)))
        fail_msg("%s: backward error %g, on the device %g", what, cpu.solve.componentwise,
                 one.solve.componentwise);
    assert_memory_equal(&one.info.inertia, &two.info.inertia, sizeof one.info.inertia);
    if (one.x) assert_memory_equal(one.x, two.x, (size_t)one.bytes);
    outcome_free(&cpu), outcome_free(&one), outcome_free(&two);
}

/* ---- generated matrices ---- */

static inline mpk_problem *generated(mpk_context *ctx, const void *arg) {
    mpk_problem *problem = NULL;
    const mpk_status status = mpk_problem_generate(ctx, arg, 3, &problem);
    if (status != MPK_OK) fail_msg("%s: %s", (const char *)arg, mpk_status_text(status));
    return problem;
}

static inline void check_generated(void) {
    static const char *const small[] = {"nlpkkt 3",       "nlpkkt 5",
                                        "stokes mac 10",  "optimal-control 40",
                                        "helmholtz 3d 5", "control-distributed 3",
                                        "lin 5 5 5"};
    static const char *const larger[] = {
        "nlpkkt 20",       "stokes mac 100",         "optimal-control 500",
        "helmholtz 3d 30", "control-distributed 15", "lin 20 20 20"};
    const char *const *spec = device_is_real() ? larger : small;
    const size_t count =
        device_is_real() ? sizeof larger / sizeof *larger : sizeof small / sizeof *small;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (size_t k = 0; k < count; k++) compare(spec[k], generated, spec[k], &o, 1);
}

/* ---- families of small matrices, all scalars ---- */

typedef struct family {
    enum support_family kind;
    int n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} family;

static inline mpk_problem *of_family(mpk_context *ctx, const void *arg) {
    const family *f = arg;
    support_state = 11;
    dense m = family_matrix(f->kind, f->n, f->scalar, f->symmetry);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static inline bool single_precision(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* ---- files ---- */

static inline mpk_problem *of_file(mpk_context *ctx, const void *arg) {
    mpk_problem *problem = NULL;
    char path[400];
    snprintf(path, sizeof path, "%s/%s", METAPACK_DATA, (const char *)arg);
    assert_false(mpk_failed(mpk_problem_read(ctx, path, &problem)));
    return problem;
}

static inline void check_files(void) {
    static const char *const file[] = {"lp_kkt/afiro_it02.mtx.xz",
                                       "lp_kkt/afiro_it14.mtx.xz",
                                       "singular/can_187.mtx.xz",
                                       "singular/Erdos971.mtx.xz",
                                       "tiny/empty_column.mtx",
                                       "tiny/complex_symmetric.mtx",
                                       "tiny/explicit_zero.mtx",
                                       "tiny/hermitian.mtx",
                                       "tiny/kkt.mtx",
                                       "tiny/one.mtx",
                                       "tiny/scale.mtx",
                                       "qp_kkt/dualc5.mtx.xz"};
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (size_t k = 0; k < sizeof file / sizeof *file; k++)
        compare(file[k], of_file, file[k], &o, 1);
}

/* ---- matrices that are hard for one part of the engine ---- */

enum shape {
    STAR,    /* a thousand leaves under one front: helpers add them up */
    ZEROS,   /* nothing on the diagonal, eliminated in the given order: every second column waits */
    PLANTED, /* columns that are tiny inside their tile and large below it */
    WAITING, /* the same in a front that many blocks share, and nearly all of its columns */
    SHIFTED, /* zeros on the diagonal that a static shift replaces */
    EMPTY,   /* n = 0 */
    TWINS,   /* two fronts of several blocks of columns, some of which wait, under one with both's
              * odd rows */
    NEARLY,  /* singular but for 1e-13 */
    LADDER,  /* a band, eliminated after groups of columns that reach into it, some of which wait:
              * in halves (test_places) */
    GATE     /* the same, and a large front after it */
};

enum { TWIN = 301, BORDER = 77 }; /* of TWINS: columns, rows below */

enum {
    RUNGS = 40,
    RAILS = 12,
    RUNG = 60,
    BAND = 130,
    POSTS = 360,
    LONGER = 4
}; /* of LADDER: groups, their columns, rows that each reaches, width; of GATE: columns of the large
    * front, times as many groups */

static inline dense shaped(enum shape shape) {
    static const int order[] = {1008,
                                1500,
                                220,
                                300,
                                60,
                                0,
                                2 * TWIN + BORDER,
                                160,
                                (RAILS + 4) * RUNGS + BAND,
                                (RAILS + 4) * LONGER * RUNGS + BAND + POSTS};
    const bool full = shape == PLANTED || shape == WAITING || shape == NEARLY;
    const int n = order[shape] * (full && device_is_real() ? 5 : 1);
    const int gate = shape == GATE ? n - POSTS : n;
    const int rails = RAILS * RUNGS * (shape == GATE ? LONGER : 1);
    dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
    support_state = 5;
    for (int i = 0; i < n; i++) {
        switch (shape) {
        case STAR:
            dense_set(&m, i, i, i < n - 8 ? 3 + uniform() : 400 + uniform());
            for (int k = 0; k < 2 && i < n - 8; k++)
                dense_set(&m, n - 8 + (i + 3 * k) % 8, i, uniform());
            break;
        case ZEROS:
            if (i + 1 < n) dense_set(&m, i + 1, i, 1 + 0.3 * uniform());
            break;
        case PLANTED:
        case WAITING:
            for (int j = 0; j <= i; j++) {
                const bool bad = shape == WAITING ? j % 8 != 0 : j % 40 == 3;
                dense_set(&m, i, j, (bad && i - j < 100 ? 1e-7 : 1) * uniform());
            }
            break;
        case SHIFTED:
            dense_set(&m, i, i, i % 3 ? 2 + uniform() : 0);
            if (i + 5 < n) dense_set(&m, i + 5, i, 1e-3 * uniform());
            break;
        case EMPTY:
            break;
        case TWINS:
            for (int j = i < TWIN || i >= 2 * TWIN ? 0 : TWIN; j <= i; j++)
                dense_set(&m, i, j, (i < 2 * TWIN && j % 97 == 5 ? 1e-7 : 1) * uniform());
            break;
        case NEARLY:
            for (int j = 0; j <= i; j++) dense_set(&m, i, j, uniform());
            break;
        case LADDER:
        case GATE:
            for (int j = i >= gate ? gate - 1 : i > rails + BAND ? i - BAND : rails; j < i; j++)
                dense_set(&m, i, j, uniform());
            dense_set(&m, i, i,
                      i >= gate            ? 4 * POSTS
                      : i >= rails         ? 4 * BAND
                      : i / RAILS % 4 == 3 ? 1e-7
                                           : 60 + i % 2);
            for (int k = 0; k < RUNG && i < rails; k++)
                dense_set(&m, rails + i / RAILS * 4 + k, i, uniform());
            for (int j = i / RAILS * RAILS; i < rails && j < i; j++)
                dense_set(&m, i, j, 1e-7 * uniform());
            break;
        }
    }
    for (int j = 0; shape == NEARLY && j < n; j++) /* the last row: nearly the first two */
        dense_set(&m, n - 1, j, dense_get(&m, 0, j) + dense_get(&m, 1, j));
    if (shape == NEARLY)
        dense_set(&m, n - 1, n - 1, dense_get(&m, n - 1, 0) + dense_get(&m, n - 1, 1) + 1e-13);
    return m;
}

static inline mpk_problem *of_shape(mpk_context *ctx, const void *arg) {
    dense m = shaped(*(const enum shape *)arg);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static inline void check_shapes(void) {
    for (int k = STAR; k <= NEARLY; k++) {
        const enum shape shape = (enum shape)k;
        char text[40];
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        if (shape == ZEROS) o.ordering = MPK_ORDERING_NATURAL, o.matching = MPK_OFF;
        if (shape == SHIFTED) o.static_shift = 1e-8, o.matching = MPK_OFF;
        if (shape == PLANTED || shape == WAITING || shape == TWINS)
            o.scaling = MPK_OFF, o.matching = MPK_OFF;
        snprintf(text, sizeof text, "shape %d", k);
        compare(text, of_shape, &shape, &o, 1);
    }
}

#endif
