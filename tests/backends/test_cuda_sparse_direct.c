/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device beside the processor's: on a GPU, or on the module that
 * computes on the host. */
#include "../support.h"

#include "device_direct.h"
#include "device_places.h"
#include "factor/direct_form.h"

/* What one engine made of a matrix. */
typedef struct outcome {
    mpk_status status, solved;
    mpk_factor_info info;
    mpk_solve_info solve;
    double logdet[3];
    void *x; /* n x nrhs */
    int64_t bytes;
} outcome;

static void outcome_free(outcome *o) {
    free(o->x);
}

static outcome run(mpk_problem *(*make)(mpk_context *, const void *), const void *arg, bool device,
                   const mpk_options *options, int32_t nrhs) {
    outcome r = {0};
    mpk_context *ctx = new_context(device);
    mpk_problem *problem = make(ctx, arg);
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_non_null(problem);
    mpk_problem_view_get(problem, &a);
    const size_t size = mpk_scalar_size(a.scalar);
    assert_false(mpk_failed(mpk_analyse(ctx, problem, options, &an)));
    r.status = mpk_factorize(ctx, an, NULL, options, &fac);
    r.bytes = (int64_t)nrhs * a.n * (int64_t)size;
    if (!mpk_failed(r.status)) {
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

static bool single_precision(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* As a user asks for it. */
static void test_option(void **unused) {
    (void)unused;
    enum { MOST = 400 };
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_solve_info solve;
    mpk_options o;
    double x[MOST];
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= MOST);
    for (int32_t i = 0; i < a.n; i++) x[i] = 1 + i % 3;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_true(info.inertia.certified);
    assert_int_equal(info.inertia.positive + info.inertia.negative, a.n);
    mpk_estimate e; /* the factor takes what was told, the solves their part of it */
    assert_int_equal(mpk_factor_estimate(ctx, an, &o, &e), MPK_OK);
    assert_true(e.device_bytes > info.bytes && e.device_bytes < 2 * info.bytes);
    for (int k = 0; k < 2; k++) { /* the second solve finds the first one's work space */
        assert_int_equal(mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &o, &solve), MPK_OK);
        assert_true(solve.componentwise <= 1e-14);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* Both engines, twice the device's: statuses, counts, verdicts; the same bits. */
static void compare(const char *what, mpk_problem *(*make)(mpk_context *, const void *),
                    const void *arg, const mpk_options *options, int32_t nrhs) {
    outcome cpu = run(make, arg, false, options, nrhs), one = run(make, arg, true, options, nrhs);
    outcome two = run(make, arg, true, options, nrhs);
    const mpk_inertia *p = &cpu.info.inertia, *q = &one.info.inertia;
    if (cpu.status != one.status || one.status != two.status || cpu.solved != one.solved)
        fail_msg("%s: statuses %d %d on the processor, %d %d on the device", what, cpu.status,
                 cpu.solved, one.status, one.solved);
    if (p->positive != q->positive || p->negative != q->negative || p->zero != q->zero ||
        p->certified != q->certified)
        fail_msg("%s: inertia %lld %lld %lld (%d), on the device %lld %lld %lld (%d)", what,
                 (long long)p->positive, (long long)p->negative, (long long)p->zero, p->certified,
                 (long long)q->positive, (long long)q->negative, (long long)q->zero, q->certified);
    if (cpu.info.rank != one.info.rank || cpu.info.perturbed != one.info.perturbed)
        fail_msg("%s: rank %d %d, perturbed %lld %lld", what, cpu.info.rank, one.info.rank,
                 (long long)cpu.info.perturbed, (long long)one.info.perturbed);
    const double delays = fabs((double)(cpu.info.rejected - one.info.rejected));
    if (delays > 0.1 * (double)cpu.info.rejected + 3)
        fail_msg("%s: %lld delayed, on the device %lld", what, (long long)cpu.info.rejected,
                 (long long)one.info.rejected);
    const bool clear = one.info.rank == MPK_RANK_FULL && one.info.min_pivot > 1e-10;
    if (fabs(cpu.logdet[0] - one.logdet[0]) > 1e-3 * fabs(cpu.logdet[0]) + 1e-2 && clear)
        fail_msg("%s: log |det| %g, on the device %g", what, cpu.logdet[0], one.logdet[0]);
    if (!(one.solve.componentwise <= 1.01 * cpu.solve.componentwise) &&
        !(one.solve.componentwise <= fmax(options->accuracy, 1e-14)))
        fail_msg("%s: backward error %g, on the device %g", what, cpu.solve.componentwise,
                 one.solve.componentwise);
    assert_memory_equal(&one.info.inertia, &two.info.inertia, sizeof one.info.inertia);
    if (one.x) assert_memory_equal(one.x, two.x, (size_t)one.bytes);
    outcome_free(&cpu), outcome_free(&one), outcome_free(&two);
}

/* ---- generated matrices ---- */

static mpk_problem *generated(mpk_context *ctx, const void *arg) {
    mpk_problem *problem = NULL;
    const mpk_status status = mpk_problem_generate(ctx, arg, 3, &problem);
    if (status != MPK_OK) fail_msg("%s: %s", (const char *)arg, mpk_status_text(status));
    return problem;
}

static void test_generated(void **unused) {
    (void)unused;
    static const char *const spec[] = {"nlpkkt 3", "nlpkkt 5", "stokes mac 10",
                                       "optimal-control 40"};
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    for (size_t k = 0; k < sizeof spec / sizeof *spec; k++)
        compare(spec[k], generated, spec[k], &o, 1);
}

/* More children than are described together, of which some leave columns: where one thread read what another had
 * written for the next ones, a kernel did not end. */
static void test_many_children(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 8", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.inertia.positive, 896);
    assert_int_equal(info.inertia.negative, 512);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* ---- families of small matrices, all scalars ---- */

typedef struct family {
    enum support_family kind;
    int n;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} family;

static mpk_problem *of_family(mpk_context *ctx, const void *arg) {
    const family *f = arg;
    support_state = 11;
    dense m = family_matrix(f->kind, f->n, f->scalar, f->symmetry);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static void test_families(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    static const int n[] = {1, 2, 7, 40, 130};
    for (int k = 0; k < FAMILY_COUNT; k++)
        for (int s = 0; s < 6; s++)
            for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
                const family f = {(enum support_family)k, n[i], (mpk_scalar)(s % 4),
                                  s >= 4 || s < 2 ? (s >= 4 ? MPK_HERMITIAN : MPK_SYMMETRIC)
                                                  : MPK_SYMMETRIC};
                family g = f;
                char text[80];
                if (s >= 4) g.scalar = s == 4 ? MPK_C : MPK_Z;
                o.accuracy = single_precision(g.scalar) ? 1e-6 : 1e-14;
                snprintf(text, sizeof text, "family %d, n = %d, scalar %d, symmetry %d", k, g.n,
                         (int)g.scalar, (int)g.symmetry);
                compare(text, of_family, &g, &o, i % 2 ? 5 : 1);
            }
}

/* ---- files ---- */

static mpk_problem *of_file(mpk_context *ctx, const void *arg) {
    mpk_problem *problem = NULL;
    char path[400];
    snprintf(path, sizeof path, "%s/%s", METAPACK_DATA, (const char *)arg);
    assert_false(mpk_failed(mpk_problem_read(ctx, path, &problem)));
    return problem;
}

static void test_files(void **unused) {
    (void)unused;
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
    TWINS, /* two fronts of several blocks of columns, some of which wait, under one with both's odd rows */
    NEARLY, /* singular but for 1e-13 */
    LADDER, /* a band, eliminated after groups of columns that reach into it, some of which wait: in halves (test_places) */
    GATE    /* the same, and a large front after it */
};

enum { TWIN = 301, BORDER = 77 }; /* of TWINS: columns, rows below */

enum {
    RUNGS = 40,
    RAILS = 12,
    RUNG = 60,
    BAND = 130,
    POSTS = 360,
    LONGER = 4
}; /* of LADDER: groups, their columns, rows that each reaches, width; of GATE: columns of the large front, times as many groups */

static dense shaped(enum shape shape) {
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
    const int n = order[shape], gate = shape == GATE ? n - POSTS : n;
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

static mpk_problem *of_shape(mpk_context *ctx, const void *arg) {
    dense m = shaped(*(const enum shape *)arg);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static void test_shapes(void **unused) {
    (void)unused;
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

/* The parts one after the other are the whole; |D| of a definite matrix is D. */
static void test_parts(void **unused) {
    (void)unused;
    for (int definite = 0; definite < 2; definite++) {
        enum { N = 50 };
        mpk_context *ctx = new_context(true);
        dense m = dense_new(N, MPK_Z, MPK_HERMITIAN);
        double complex x[N], y[N];
        mpk_options o;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++)
                dense_set(&m, i, j, i == j && definite ? 60 : uniform() + uniform() * I);
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        for (int i = 0; i < N; i++) x[i] = y[i] = uniform() + uniform() * I;
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_L, 1, y, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_D, 1, y, N), MPK_OK);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_LT, 1, y, N), MPK_OK);
        assert_memory_equal(x, y, sizeof x);
        for (int i = 0; i < N; i++) { /* A x = b: b comes back */
            double complex b = 0;
            for (int j = 0; j < N; j++) b += dense_get(&m, i, j) * x[j];
            y[i] = b;
        }
        double complex z[N];
        memcpy(z, y, sizeof z);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ABS, 1, y, N), MPK_OK);
        double complex product = 0; /* z* |M|^-1 z > 0 */
        for (int i = 0; i < N; i++) product += conj(z[i]) * y[i];
        assert_true(creal(product) > 0 && fabs(cimag(product)) < 1e-9 * creal(product));
        for (int i = 0; definite && i < N; i++) assert_true(cabs(y[i] - x[i]) < 1e-12);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        free(m.a);
    }
}

/* The engine by itself: NaN, a stop, vectors on the device. */
static void test_engine(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context(true);
    const mpki_device *d = mpki_cuda_kept(ctx);
    mpk_problem *problem = generated(ctx, "nlpkkt 4");
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpki_direct_solver *solver = NULL;
    mpki_numeric_result r;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const mpki_pivot_rules rules = {.threshold = 0.01, .small = 1e-14, .size = 1, .threads = 1};
    const size_t bytes = (size_t)a.n * sizeof(double);
    double *x = malloc(bytes), *y = malloc(bytes), *ax = malloc((size_t)a.nnz * sizeof *ax);
    void *device = NULL;
    for (int32_t i = 0; i < a.n; i++) x[i] = y[i] = uniform();
    assert_int_equal(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, 1, &solver), MPK_OK);
    assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_ALL, 1, x, a.n, x, a.n), MPK_OK);
    assert_int_equal(d->table->alloc(d->cuda, (int64_t)bytes, &device), MPK_OK);
    assert_int_equal(d->table->direct->copy(d->cuda, device, y, (int64_t)bytes, 1), MPK_OK);
    assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_ALL, 1, device, a.n, device, a.n),
                     MPK_OK);
    assert_int_equal(d->table->direct->copy(d->cuda, y, device, (int64_t)bytes, 0), MPK_OK);
    assert_int_equal(d->table->direct->wait(d->cuda), MPK_OK);
    assert_memory_equal(x, y, bytes);
    d->table->release(d->cuda, device);
    mpki_cuda_direct.solver_free(&solver);
    /* given up: no numbers, and no error */
    const mpki_stop stop = {1, 0};
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, a.ax, fac->scale, &rules, &stop, &r),
                     MPK_OK);
    assert_true(r.runaway);
    memcpy(ax, a.ax, (size_t)a.nnz * sizeof *ax);
    ax[a.nnz / 2] = (double)NAN;
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, ax, fac->scale, &rules, NULL, &r),
                     MPK_ERR_NUMERIC);
    mpki_clear_error(ctx);
    ax[a.nnz / 2] = (double)INFINITY;
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, ax, fac->scale, &rules, NULL, &r),
                     MPK_ERR_NUMERIC);
    mpki_clear_error(ctx);
    assert_int_equal(mpki_cuda_direct.factorize(fac->direct, a.ax, fac->scale, &rules, NULL, &r),
                     MPK_OK);
    assert_int_equal(r.positive + r.negative, a.n);
    free(x), free(y), free(ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* D, its order, and pivots that are made zero. */
static void test_pivots(void **unused) {
    (void)unused;
    for (int scalar = 0; scalar < 4; scalar++) {
        enum { N = 60, FEW = 3 };
        const family family = {PAIRS, N, (mpk_scalar)scalar,
                               scalar < 2 ? MPK_SYMMETRIC : MPK_HERMITIAN};
        const size_t size = mpk_scalar_size(family.scalar);
        mpk_context *ctx = new_context(true);
        mpk_problem *problem = of_family(ctx, &family);
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o;
        mpki_weak_pivot list[FEW], zero[FEW];
        mpki_direct_solver *solver = NULL;
        int32_t perm[N], seen[N] = {0};
        char d[2 * N * 16], y[N * 16];
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_PERM, perm, sizeof perm), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d, sizeof d), MPK_OK);
        for (int k = 0; k < N; k++) seen[perm[k]]++;
        for (int k = 0; k < N; k++) assert_int_equal(seen[k], 1);
        int64_t pairs = 0;
        for (int k = 0; k < N; k++) pairs += scalar_load(family.scalar, d, 2 * k + 1) != 0;
        mpk_factor_info info;
        mpk_factor_info_get(fac, &info);
        assert_int_equal(pairs, info.two_by_two);
        assert_int_equal(mpki_cuda_direct.zeros(fac->direct, 1, FEW, zero), 0);
        const int count = mpki_cuda_direct.weak(fac->direct, 1e30, FEW, list);
        assert_int_equal(count, FEW);
        assert_true(list[0].size <= list[1].size && list[1].size <= list[2].size);
        mpki_cuda_direct.to_zero(fac->direct, list, count);
        assert_int_equal(mpki_cuda_direct.solver_make(ctx, fac->direct, 1, 1, &solver), MPK_OK);
        int single = 0;
        for (int w = 0; w < count; w++) { /* D^-1 takes each of their vectors to 0 */
            single += !list[w].pair;
            memset(y, 0, sizeof y);
            scalar_store(family.scalar, y, list[w].at[0],
                         list[w].vector[0] + list[w].vector[1] * I);
            if (list[w].pair)
                scalar_store(family.scalar, y, list[w].at[1],
                             list[w].vector[2] + list[w].vector[3] * I);
            assert_int_equal(mpki_cuda_direct.apply(solver, MPK_PART_D, 1, y, N, y, N), MPK_OK);
            for (int k = 0; k < N; k++)
                assert_true(cabs(scalar_load(family.scalar, y, k)) <
                            (single_precision(family.scalar) ? 1e-3 : 1e-11));
        }
        assert_int_equal(mpki_cuda_direct.zeros(fac->direct, single ? single : 1, FEW, zero),
                         single);
        mpki_cuda_direct.at_zeros(fac->direct, y);
        int marked = 0;
        for (int k = 0; k < N; k++) marked += scalar_load(family.scalar, y, k) != 0;
        assert_int_equal(marked, single);
        /* on the device too */
        const mpki_device *there = mpki_cuda_kept(ctx);
        void *away = NULL;
        char back[N * 16];
        assert_int_equal(there->table->alloc(there->cuda, (int64_t)(N * size), &away), MPK_OK);
        mpki_cuda_direct.at_zeros(fac->direct, away);
        assert_int_equal(
            there->table->direct->copy(there->cuda, back, away, (int64_t)(N * size), 0), MPK_OK);
        assert_int_equal(there->table->direct->wait(there->cuda), MPK_OK);
        assert_memory_equal(back, y, N * size);
        there->table->release(there->cuda, away);
        mpki_cuda_direct.solver_free(&solver);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* Other values, again and again, where fronts grow: the same bits, and no more memory each time. */
static void test_again(void **unused) {
    (void)unused;
    const enum shape shape = ZEROS;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = of_shape(ctx, &shape);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double first[3], other[3];
    mpk_factor_info info, then;
    int64_t bytes = 0;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL, o.matching = MPK_OFF;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, first, sizeof first), MPK_OK);
    mpk_factor_info_get(fac, &info);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, other, sizeof other), MPK_OK);
        assert_memory_equal(first, other, sizeof first);
        mpk_factor_info_get(fac, &then);
        assert_true(k == 0 ? then.bytes <= info.bytes + info.bytes / 16 + 65536
                           : then.bytes == bytes);
        bytes = then.bytes;
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* ---- memory ---- */

/* Factorize and solve; whatever fails, nothing is lost. */
static mpk_status attempt(const mpk_allocator *allocator, const char *spec, const mpk_options *o,
                          char *said, size_t size) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    const char *text = "";
    mpk_status status = mpk_context_create(allocator, &ctx);
    if (mpk_failed(status)) return status;
    if (!mpki_cuda_keep(ctx, 0)) {
        status = mpk_last_error(ctx, NULL, NULL, NULL);
        mpk_context_destroy(&ctx);
        return status;
    }
    mpki_engine_use(ctx, &direct_engine);
    status = mpk_problem_generate(ctx, spec, 1, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(problem, &a);
        double *x = calloc((size_t)a.n + 1, sizeof *x);
        x[0] = 1;
        status = mpk_solve(ctx, fac, 1, x, a.n, x, a.n, o, NULL);
        double logdet[3];
        if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
        free(x);
    }
    mpk_last_error(ctx, NULL, NULL, &text);
    if (said) snprintf(said, size, "%s", text);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return status;
}

static void test_memory(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.condition =
        MPK_ON; /* through the host, which nobody stands in for (else: test_cuda_sparse_refine.c) */
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = k};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        const mpk_status status = attempt(&allocator, "nlpkkt 2", &o, NULL, 0);
        done = f.calls < k;
        assert_int_equal(status, done ? MPK_OK : MPK_ERR_MEMORY);
        assert_int_equal(f.held, 0);
        assert_true(k < 5000);
    }
}

/* A limit is held, and both numbers are told; so is what the device has. */
static void test_device_memory(void **unused) {
    (void)unused;
    char said[300];
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device_memory_limit = 1000;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_ERR_MEMORY);
    assert_non_null(strstr(said, "device_memory_limit allows 1000"));
    o.device_memory_limit = 1e9;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_OK);
    o.device_memory_limit = 0;
    if (device_is_real()) return;
    bool done = false;
    for (int64_t limit = 1000; !done;
         limit *= 2) { /* one piece of the device's memory after another */
        char text[40];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = attempt(NULL, "nlpkkt 3", &o, said, sizeof said);
        done = status == MPK_OK;
        if (!done) assert_int_equal(status, MPK_ERR_MEMORY);
        assert_true(limit < (int64_t)1 << 34);
    }
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
}

/* ---- with little shared memory nearly all fronts are large, and tasks stop at those that grow ---- */

static void test_small_blocks(void **unused) {
    if (device_is_real()) return;
    small_blocks("13000");
    test_generated(unused);
    test_shapes(unused);
    small_blocks("20000");
    test_parts(unused);
    test_engine(unused);
    test_files(unused);
    small_blocks("101376"); /* as on 8.6, 8.9 and 12.0 */
    test_parts(unused);
    test_shapes(unused);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* The root of a matrix, 332 columns, with or without wide tiles: how many columns of one it has seen beyond a narrow one's. */
static int wide_columns(const char *code) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    setenv("METAPACK_CUDA_HOST_CODE", code, 1);
    small_blocks("13000");
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, "nlpkkt 10");
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    int columns = 0;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_true(fac->direct->large[0].w > MPKI_FRONT_WIDE);
    for (int k = MPKI_FRONT_TILE; k < MPKI_FRONT_WIDE; k++)
        columns += fac->direct->large[0].order[k] > 0;
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
    return columns;
}

/* Large fronts in tiles of 128 columns, which those of 32 take over where one fails. */
static void test_wide_tiles(void **unused) {
    if (device_is_real()) return;
    assert_int_equal(wide_columns("86"), 0);
    assert_true(wide_columns("90") > 80);
    setenv("METAPACK_CUDA_HOST_CODE", "90", 1);
    small_blocks("13000");
    test_generated(unused);
    test_shapes(unused);
    test_files(unused);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
}

/* ---- with a little more, fronts are cut into some columns and parts of what these leave ---- */

/* What a plan is to be like. */
typedef struct looks {
    int32_t steps; /* at least */
    bool rounds, large;
} looks;

/* The plan of a matrix where a block has so much shared memory: contributions lie on each other where they may, and
 * what is looked for is found where one is moved. */
static void check_places(const char *shared, mpk_problem *(*make)(mpk_context *, const void *),
                         const void *arg, const mpk_options *o, looks like) {
    small_blocks(shared);
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = make(ctx, arg);
    mpk_analysis *an = NULL;
    mpki_direct *f = NULL;
    int64_t pairs;
    int32_t most = 0;
    assert_int_equal(mpk_analyse(ctx, problem, o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    assert_non_null(mpki_cuda_keep(ctx, 0));
    assert_int_equal(mpki_cuda_direct.make(ctx, &tree, &f), MPK_OK);
    const mpki_cuda_plan *plan = &f->plan;
    for (int32_t k = 0; k < plan->larges; k++)
        if (plan->round[k] > most) most = plan->round[k];
    assert_true(plan->steps >= like.steps && (most > 0) == like.rounds &&
                (plan->larges > 0) == like.large);
    assert_int_equal(places_in_conflict(plan, &pairs), 0);
    assert_true(pairs > 0);
    for (int32_t k = 0; k < plan->fronts; k += 16) {
        const mpki_cuda_node *node = &plan->node[k];
        if (node->children == 0 || node->rows == 0) continue;
        mpki_cuda_node *child = &plan->node[plan->child[node->child]];
        const int64_t kept = child->contribution;
        if (child->rows == 0) continue;
        child->contribution = node->contribution; /* the parent writes what it takes */
        assert_true(places_in_conflict(plan, &pairs) > 0);
        child->contribution = kept;
    }
    mpki_cuda_direct.free(&f);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* A round for each large front: the same bits. */
static void check_rounds(const mpk_options *o) {
    small_blocks("13000");
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, "nlpkkt 5");
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double first[3], other[3];
    assert_int_equal(mpk_analyse(ctx, problem, o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, o, &fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, first, sizeof first), MPK_OK);
    assert_true(fac->direct->plan.larges > 4);
    for (int32_t k = 0; k < fac->direct->plan.larges; k++) fac->direct->plan.round[k] = k;
    assert_int_equal(mpk_refactorize(ctx, NULL, o, fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, other, sizeof other), MPK_OK);
    assert_memory_equal(first, other, sizeof first);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_places(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    const enum shape ladder = LADDER, gate = GATE;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    check_places("60000", generated, "nlpkkt 5", &o, (looks){1, false, false}); /* with parts */
    check_places("101376", generated, "stokes mac 30", &o, (looks){1, false, false});
    /* nearly all fronts are large, and assembled in rounds */
    check_places("13000", generated, "nlpkkt 12", &o, (looks){2, true, true});
    check_rounds(&o);
    /* one step in two halves */
    o.ordering = MPK_ORDERING_NATURAL, o.matching = o.scaling = MPK_OFF;
    check_places("60000", of_shape, &ladder, &o, (looks){2, false, false});
    small_blocks("60000");
    compare("in halves", of_shape, &ladder, &o, 1);
    check_places("60000", of_shape, &gate, &o, (looks){3, false, true});
    small_blocks("60000");
    compare("in halves below a large front", of_shape, &gate, &o, 1);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

static void test_panels(void **unused) {
    if (device_is_real()) return;
    small_blocks("60000"); /* a part takes 53 kB */
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 5", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const mpki_cuda_plan *plan = &fac->direct->plan;
    int32_t lower = 0, parts = 0, units = 0;
    for (int32_t f = 0; f < plan->fronts; f++) {
        lower += plan->kind[f] == MPKI_CUDA_LOWER;
        parts += plan->node[f].parts;
        units += plan->node[f].own;
    }
    assert_true(lower > 0 && parts > lower);
    assert_int_equal(units, an->n);
    int32_t *there = calloc((size_t)plan->fronts + 1, sizeof *there); /* 1 + parts */
    for (int32_t t = 0; t < plan->tasks; t++) { /* each after those that it waits for */
        const mpki_cuda_task *task = &plan->task[t];
        for (int32_t f = task->first; f <= task->last; f++) {
            if (task->part >= 0)
                assert_true(there[f] > 0 && task->part < plan->node[f].parts);
            else
                assert_int_equal(there[f], 0);
            there[f]++;
            for (int32_t k = 0; k < plan->node[f].children; k++) {
                const int32_t child = plan->child[plan->node[f].child + k];
                assert_true(child < f);
                assert_int_equal(there[child], 1 + plan->node[child].parts);
            }
        }
    }
    for (int32_t f = 0; f < plan->fronts; f++) assert_int_equal(there[f], 1 + plan->node[f].parts);
    free(there);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    test_generated(unused);
    test_shapes(unused);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* Columns of a cut front that came late, beyond shared memory, in pieces that leave them to the next one: they lie
 * apart, and the numbers are those of the processor. PLANTED and WAITING leave many. */
static void test_late_apart(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    int apart = 0;
    for (int shape = PLANTED; shape <= WAITING; shape++)
        for (int k = 0; k < 2; k++) {
            static const char *const shared[] = {"60000", "101376"};
            const enum shape which = (enum shape)shape;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_LDLT, o.scaling = MPK_OFF, o.matching = MPK_OFF;
            small_blocks(shared[k]);
            compare(shared[k], of_shape, &which, &o, 1);
            mpk_context *ctx = new_context(true);
            mpk_problem *problem = of_shape(ctx, &which);
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            const mpki_direct *f = fac->direct;
            const mpki_cuda_direct_table *table = f->device->table->direct;
            const int64_t most = table->class_bytes(f->device->cuda, MPKI_CUDA_CLASSES - 1);
            for (int32_t s = 0; s < f->plan.fronts; s++) {
                const mpki_cuda_node *node = &f->plan.node[s];
                const int32_t w = f->now[s].w, nrows = w + node->rows;
                apart += f->plan.kind[s] == MPKI_CUDA_LOWER &&
                         table->task_bytes(MPK_D, nrows, w, w) > most &&
                         table->task_bytes(MPK_D, nrows, node->own, node->own) <= most;
            }
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
    assert_true(apart > 0);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_many_children), cmocka_unit_test(test_families),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_parts),         cmocka_unit_test(test_engine),
        cmocka_unit_test(test_pivots),        cmocka_unit_test(test_again),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_device_memory),
        cmocka_unit_test(test_small_blocks),  cmocka_unit_test(test_wide_tiles),
        cmocka_unit_test(test_panels),        cmocka_unit_test(test_places),
        cmocka_unit_test(test_late_apart)};
    if (!device_has(DEVICE_DIRECT)) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
