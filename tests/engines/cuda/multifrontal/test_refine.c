/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves of vectors in a device's memory: refined there, with the errors that the host finds; what
 * is unusual goes through the host and ends as ever. */
#include "support.h"

#include "engines/cuda/multifrontal/state.h"
#include "factor/factor.h"
#include "engines/cuda/module/engine.h"
#include "../device_there.h"
#include "share.h"
#include <metapack/metapack.h>

enum { N = 61, WIDE = 5 };

typedef struct system_ {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
    mpk_scalar scalar;
    int64_t bytes; /* of a vector */
    void *b, *x;   /* device */
} system_;

/* A band with long last rows, entries of mixed signs and sizes; Hermitian ones have a real
 * diagonal. */
static mpk_status open_system(system_ *s, const mpk_allocator *allocator, mpk_scalar scalar,
                              mpk_symmetry symmetry) {
    static char ax[N * N * 16];
    int64_t ap[N + 1], nnz = 0;
    int32_t ai[N * N];
    const bool both = scalar == MPK_C || scalar == MPK_Z;
    *s = (system_){.scalar = scalar, .bytes = N * (int64_t)mpk_scalar_size(scalar)};
    for (int32_t j = 0; j < N; j++) {
        ap[j] = nnz;
        for (int32_t i = j; i < N; i++) {
            if (i - j > WIDE && i < N - 2) continue;
            const double re = sin(3 * i + j) * (i % 3 ? 1 : 30), im = cos(i + 2 * j);
            ai[nnz] = i;
            scalar_store(scalar, ax, nnz++,
                         i == j ? 3 * re + (symmetry == MPK_HERMITIAN || !both ? 0 : im * I)
                                : re + (both ? im * I : 0));
        }
    }
    ap[N] = nnz;
    mpk_options_init(&s->o);
    s->o.method = MPK_METHOD_LDLT;
    s->o.device = MPK_ON_CUDA;
    mpk_status status = mpk_context_create(allocator, &s->ctx);
    if (mpk_failed(status)) return status;
    status = mpk_problem_from_csc(s->ctx, N, scalar, symmetry, MPK_LOWER, ap, ai, ax, &s->problem);
    if (!mpk_failed(status)) status = mpk_analyse(s->ctx, s->problem, &s->o, &s->an);
    if (!mpk_failed(status)) status = mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac);
    if (!mpk_failed(status)) status = mpk_device_alloc(s->ctx, 0, s->bytes, &s->b);
    if (!mpk_failed(status)) status = mpk_device_alloc(s->ctx, 0, s->bytes, &s->x);
    return status;
}

static void close_system(system_ *s) {
    if (s->ctx) {
        assert_int_equal(mpk_device_free(s->ctx, 0, &s->b), MPK_OK);
        assert_int_equal(mpk_device_free(s->ctx, 0, &s->x), MPK_OK);
    }
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

static void put(system_ *s, void *there, const void *here) {
    assert_int_equal(mpk_device_copy(s->ctx, 0, there, 0, here, 0, s->bytes, 1), MPK_OK);
}
static void get(system_ *s, const void *there, void *here) {
    assert_int_equal(mpk_device_copy(s->ctx, 0, here, 0, there, 0, s->bytes, 1), MPK_OK);
}

static void fill(const system_ *s, void *b, double size) {
    for (int k = 0; k < N; k++) scalar_store(s->scalar, b, k, size * (1 + k % 5 - 0.25 * (k % 3)));
}

/* Is p what q is, to this share of q? */
static void near(double p, double q, double share, const char *what) {
    if (!(fabs(p - q) <= share * q)) fail_msg("%s: %.17g there, %.17g on the host", what, p, q);
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} KINDS[] = {{MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

/* What makes a solve go through the host, which is what others are compared with. */
static mpk_options by_host(const system_ *s) {
    mpk_options o = s->o;
    o.condition = MPK_ON;
    return o;
}

/* The first solution's errors, and those after refinement to the end, are the host's; x may be b,
 * and both may lie on the host. */
static void test_errors(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        system_ s;
        char b[N * 16], x[N * 16], y[N * 16];
        const bool single = KINDS[k].scalar == MPK_S || KINDS[k].scalar == MPK_C;
        const double eps = single ? 0x1p-23 : 0x1p-52;
        assert_int_equal(open_system(&s, NULL, KINDS[k].scalar, KINDS[k].symmetry), MPK_OK);
        fill(&s, b, 1);
        for (int steps = 0; steps < 5; steps++) {
            mpk_solve_info there = {0}, here = {0};
            s.o.refine = steps;
            s.o.accuracy = steps ? 0 : 1; /* 0: till it stagnates */
            put(&s, s.b, b);
            const mpk_status one = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &there);
            const mpk_options host = by_host(&s);
            const mpk_status two = mpk_solve(s.ctx, s.fac, 1, b, N, y, N, &host, &here);
            assert_int_equal(one, two);
            assert_non_null(s.fac->direct->refining); /* it was refined there */
            get(&s, s.x, x);
            near(there.unrefined, here.unrefined, 1e-3, "unrefined");
            if (steps == 0) {
                near(there.componentwise, here.componentwise, 1e-3, "componentwise");
                near(there.normwise, here.normwise, 1e-3, "normwise");
                near(there.relative_residual, here.relative_residual, 1e-3, "relative");
                assert_memory_equal(x, y, (size_t)s.bytes);
            } else {
                assert_true(there.iterations > 0 && there.iterations <= steps);
                assert_true(there.componentwise <= there.unrefined && there.componentwise < eps);
            }
            for (int i = 0; i < N; i++)
                assert_true(cabs(scalar_load(s.scalar, x, i) - scalar_load(s.scalar, y, i)) <=
                            1e4 * eps * (1 + cabs(scalar_load(s.scalar, y, i))));
            assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.b, N, &s.o, NULL), one);
            get(&s, s.b, y);
            assert_memory_equal(x, y, (size_t)s.bytes);
            memcpy(y, b, (size_t)s.bytes);
            assert_int_equal(mpk_solve(s.ctx, s.fac, 1, y, N, y, N, &s.o, &here), one);
            assert_memory_equal(x, y, (size_t)s.bytes);
            assert_true(here.componentwise == there.componentwise && here.condition == 0);
        }
        close_system(&s);
    }
}

/* The step that is queued before the host has seen an error is taken where it is wanted, and there
 * alone: then x is the first solution to the last bit. b stays as it is. */
static void test_ahead(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        system_ s;
        char b[N * 16], x[N * 16], y[N * 16];
        mpk_solve_info info;
        assert_int_equal(open_system(&s, NULL, KINDS[k].scalar, KINDS[k].symmetry), MPK_OK);
        fill(&s, b, 1);
        put(&s, s.b, b);
        s.o.refine = 0, s.o.accuracy = 1;
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
        get(&s, s.x, x);
        const double first = info.componentwise;
        assert_true(first > 0);
        s.o.refine = 3;
        for (int wanted = 0; wanted < 2; wanted++) {
            s.o.accuracy = wanted ? nextafter(first, 0) : first;
            const mpk_status status = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info);
            get(&s, s.x, y);
            assert_true(info.unrefined == first);
            if (wanted) {
                assert_true(status == MPK_OK || status == MPK_INACCURATE);
                assert_true(info.iterations > 0 && info.componentwise <= first);
            } else {
                assert_int_equal(status, MPK_OK);
                assert_true(info.iterations == 0 && info.componentwise == first);
                assert_memory_equal(x, y, (size_t)s.bytes);
            }
            get(&s, s.b, y);
            assert_memory_equal(b, y, (size_t)s.bytes);
        }
        close_system(&s);
    }
}

/* A device that fails at any of a solve's calls: said, and the next solve is as if nothing had
 * been. */
static void test_failing_device(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    system_ s;
    char text[16];
    double b[N], x[N], y[N];
    int failures = 0;
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    fill(&s, b, 1);
    put(&s, s.b, b);
    s.o.refine = 2, s.o.accuracy = 0; /* more than the step ahead */
    const mpk_status good = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, NULL);
    assert_false(mpk_failed(good));
    get(&s, s.x, x);
    for (int k = 1;; k++) {
        snprintf(text, sizeof text, "%d", k);
        setenv("METAPACK_CUDA_HOST_FAIL", text, 1);
        const mpk_status status = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, NULL);
        unsetenv("METAPACK_CUDA_HOST_FAIL");
        if (!mpk_failed(status)) break;
        assert_int_equal(status, MPK_ERR_DEVICE);
        failures++;
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, NULL), good);
        get(&s, s.x, y);
        assert_memory_equal(x, y, sizeof x);
        get(&s, s.b, y);
        assert_memory_equal(b, y, sizeof b);
        assert_true(k < 100);
    }
    assert_true(failures > 3);
    close_system(&s);
}

/* New values: refined against them, not those before. */
static void test_new_values(void **unused) {
    (void)unused;
    system_ s;
    mpk_problem_view a;
    mpk_solve_info info;
    double b[N], x[N], y[N], *ax;
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    fill(&s, b, 1);
    put(&s, s.b, b);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
    get(&s, s.x, x);
    mpk_problem_view_get(s.problem, &a);
    ax = malloc((size_t)a.nnz * sizeof *ax);
    assert_non_null(ax);
    for (int64_t k = 0; k < a.nnz; k++) ax[k] = 4 * ((const double *)a.ax)[k];
    assert_int_equal(mpk_refactorize(s.ctx, ax, &s.o, s.fac), MPK_OK);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
    assert_true(info.componentwise <= 1e-14);
    get(&s, s.x, y);
    for (int k = 0; k < N; k++) assert_true(fabs(x[k] - 4 * y[k]) <= 1e-12 * fabs(x[k]));
    free(ax);
    close_system(&s);
}

/* Rows of very different sizes: b is small beside A x, by more than sums in twice the precision
 * show, and all the same the errors are those of the host, which has a wider range. */
static void test_growth(void **unused) {
    (void)unused;
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        system_ s;
        mpk_problem_view a;
        char b[N * 16], x[N * 16], y[N * 16];
        mpk_solve_info there = {0}, here = {0};
        mpki_refined told = {0};
        mpki_direct_solver *solver = NULL;
        const bool single = KINDS[k].scalar == MPK_S || KINDS[k].scalar == MPK_C;
        assert_int_equal(open_system(&s, NULL, KINDS[k].scalar, KINDS[k].symmetry), MPK_OK);
        mpk_problem_view_get(s.problem, &a);
        char *ax = malloc((size_t)a.nnz * 16);
        assert_non_null(ax);
        for (int32_t j = 0; j < N; j++)
            for (int64_t e = a.ap[j]; e < a.ap[j + 1]; e++)
                scalar_store(s.scalar, ax, e,
                             scalar_load(s.scalar, a.ax, e) *
                                 ldexp(1, (a.ai[e] % 9 + j % 9 - 8) * (single ? 4 : 7)));
        assert_int_equal(mpk_refactorize(s.ctx, ax, &s.o, s.fac), MPK_OK);
        fill(&s, b, 1);
        put(&s, s.b, b);
        s.o.refine = 2;
        const mpk_options host = by_host(&s);
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &there),
                         mpk_solve(s.ctx, s.fac, 1, b, N, y, N, &host, &here));
        get(&s, s.x, x);
        double most = 0;
        for (int i = 0; i < N; i++) most = fmax(most, cabs(scalar_load(s.scalar, x, i)));
        const double growth = s.fac->norm_inf * most / 5;
        if (!(growth > (single ? 1e13 : 1e28) && growth < (single ? 1e30 : 1e50)))
            fail_msg("growth %g", growth);
        near(there.unrefined, here.unrefined, 1e-3, "unrefined");
        near(there.normwise, here.normwise, 1e-3, "normwise");
        near(there.relative_residual, here.relative_residual, 1e-3, "relative");
        /* and it is the device that found them */
        const mpki_refine_wish wish = {.steps = 2, .accuracy = 1, .doubt = INFINITY};
        assert_int_equal(mpki_cuda_direct.solver_make(s.ctx, s.fac->direct, 1, 1, &solver), MPK_OK);
        assert_int_equal(
            mpki_cuda_direct.refine(s.ctx, s.fac->direct, solver, &wish, 1, s.b, N, s.x, N, &told),
            MPK_OK);
        mpki_cuda_direct.solver_free(&solver);
        assert_int_equal(told.done, 1);
        free(ax);
        close_system(&s);
    }
}

/* NaN, zeros, numbers near overflow: as on the host, and b stays where a solve fails. */
static void test_unusual(void **unused) {
    (void)unused;
    static const double sizes[] = {0, 1e-290, 1e290, 1e305, NAN, INFINITY};
    system_ s;
    double b[N], x[N], y[N], z[N];
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        mpk_solve_info there = {0}, here = {0};
        fill(&s, b, isfinite(sizes[k]) ? sizes[k] : 1);
        if (!isfinite(sizes[k])) b[17] = sizes[k];
        put(&s, s.b, b);
        const mpk_status one = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.b, N, &s.o, &there);
        const char *text = NULL;
        mpk_last_error(s.ctx, NULL, NULL, &text);
        if (!isfinite(sizes[k])) assert_non_null(strstr(text, "row 18"));
        const mpk_options host = by_host(&s);
        const mpk_status two = mpk_solve(s.ctx, s.fac, 1, b, N, y, N, &host, &here);
        assert_int_equal(one, two);
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, N, x, N, &s.o, NULL), one);
        assert_int_equal(one, isfinite(sizes[k]) ? MPK_OK : MPK_ERR_INPUT);
        get(&s, s.b, z);
        memcpy(x, mpk_failed(one) ? b : y, sizeof x);
        assert_memory_equal(z, x, sizeof x);
        near(there.componentwise, here.componentwise, 1e-3, "componentwise");
    }
    close_system(&s);
}

/* Several right-hand sides, more than are refined at once: each is what it is by itself on the
 * host, wherever they lie; one that has to go through the host does, with those behind it; and
 * where one is not finite nothing changes. */
static void test_several(void **unused) {
    (void)unused;
    enum { K = MPKI_REFINE_TOGETHER + 3, LD = N + 2, ODD = MPKI_REFINE_TOGETHER + 1 };
    static const struct {
        const char *what;
        double odd; /* one entry, or all of column ODD */
        bool all;
    } cases[] = {{"NaN", NAN, false}, {"a zero column", 0, true}, {"plain", 1, false}};
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        system_ s;
        const mpk_scalar scalar = KINDS[k].scalar;
        const bool single = scalar == MPK_S || scalar == MPK_C;
        const size_t size = mpk_scalar_size(scalar), bytes = LD * K * size;
        const double eps = single ? 0x1p-23 : 0x1p-52;
        char *b = calloc(LD * K, 16), *x = calloc(LD * K, 16), *y = calloc(LD * K, 16);
        void *there = NULL;
        assert_true(b && x && y);
        assert_int_equal(open_system(&s, NULL, scalar, KINDS[k].symmetry), MPK_OK);
        assert_int_equal(mpk_device_alloc(s.ctx, 0, (int64_t)bytes, &there), MPK_OK);
        s.o.accuracy = 0, s.o.refine = 3;
        for (size_t q = 0; q < sizeof cases / sizeof *cases; q++) {
            mpk_solve_info all = {0}, one = {0}, worst = {0};
            char *odd = b + ODD * LD * size;
            for (int c = 0; c < K; c++) {
                fill(&s, b + c * LD * (int)size, 1 + c);
                scalar_store(scalar, b + c * LD * (int)size, c % N, 100);
            }
            for (int i = 0; i < (cases[q].all ? N : 1); i++)
                scalar_store(scalar, odd, i, cases[q].odd);
            assert_int_equal(mpk_device_copy(s.ctx, 0, there, 0, b, 0, (int64_t)bytes, 1), MPK_OK);
            const mpk_status status = mpk_solve(s.ctx, s.fac, K, there, LD, there, LD, &s.o, &all);
            const char *text = NULL;
            mpk_last_error(s.ctx, NULL, NULL, &text);
            char told_so[48];
            snprintf(told_so, sizeof told_so, "right-hand side %d is not finite", ODD + 1);
            if (isnan(cases[q].odd)) /* by its number, though the first block was done before */
                assert_non_null(strstr(text, told_so));
            assert_int_equal(mpk_device_copy(s.ctx, 0, x, 0, there, 0, (int64_t)bytes, 1), MPK_OK);
            memcpy(y, b, bytes);
            assert_int_equal(mpk_solve(s.ctx, s.fac, K, y, LD, y, LD, &s.o, NULL), status);
            assert_memory_equal(x, y, bytes);
            if (isnan(cases[q].odd)) {
                assert_int_equal(status, MPK_ERR_INPUT);
                assert_memory_equal(x, b, bytes);
                continue;
            }
            assert_false(mpk_failed(status));
            const mpk_options host = by_host(&s);
            for (int c = 0; c < K; c++) {
                if (c != ODD && test_left_out(c, 6)) continue;
                const char *column = x + c * LD * (int)size;
                assert_false(mpk_failed(
                    mpk_solve(s.ctx, s.fac, 1, b + c * LD * (int)size, LD, y, LD, &host, &one)));
                worst.componentwise = fmax(worst.componentwise, one.componentwise);
                worst.unrefined = fmax(worst.unrefined, one.unrefined);
                for (int i = 0; i < N; i++)
                    if (!(cabs(scalar_load(scalar, column, i) - scalar_load(scalar, y, i)) <=
                          1e5 * eps * (1 + cabs(scalar_load(scalar, y, i)))))
                        fail_msg("%s: column %d, row %d", cases[q].what, c, i);
            }
            assert_true(all.componentwise <= eps && worst.componentwise <= eps);
            assert_true(all.unrefined >= all.componentwise && all.iterations > 0);
        }
        /* and it is the device that refines them, as many at once as it takes */
        const mpki_refine_wish wish = {.steps = 2, .accuracy = 1, .doubt = INFINITY};
        mpki_direct_solver *solver = NULL;
        mpki_refined told = {0};
        assert_int_equal(mpki_cuda_direct.solver_make(s.ctx, s.fac->direct, 1, K, &solver), MPK_OK);
        assert_int_equal(
            mpki_cuda_direct.refine(s.ctx, s.fac->direct, solver, &wish, K, b, LD, x, LD, &told),
            MPK_OK);
        mpki_cuda_direct.solver_free(&solver);
        assert_int_equal(told.done, MPKI_REFINE_TOGETHER);
        assert_int_equal(mpk_device_free(s.ctx, 0, &there), MPK_OK);
        free(b), free(x), free(y);
        close_system(&s);
    }
}

/* x begins where b does, but its columns lie elsewhere: what is solved lies in b's others, so these
 * are kept, and are there again after a failure. */
static void test_other_steps(void **unused) {
    (void)unused;
    enum { K = 3, WIDER = N + 7 };
    system_ s;
    double b[WIDER * K], x[WIDER * K], y[N];
    void *there = NULL;
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    assert_int_equal(mpk_device_alloc(s.ctx, 0, sizeof b, &there), MPK_OK);
    for (int nan = 0; nan < 2; nan++) {
        for (int k = 0; k < WIDER * K; k++) b[k] = 1;
        for (int c = 0; c < K; c++) fill(&s, b + c * N, 1 + c);
        if (nan) b[(K - 1) * N + 3] = NAN;
        assert_int_equal(mpk_device_copy(s.ctx, 0, there, 0, b, 0, sizeof b, 1), MPK_OK);
        const mpk_status status = mpk_solve(s.ctx, s.fac, K, there, N, there, WIDER, &s.o, NULL);
        assert_int_equal(status, nan ? MPK_ERR_INPUT : MPK_OK);
        assert_int_equal(mpk_device_copy(s.ctx, 0, x, 0, there, 0, sizeof x, 1), MPK_OK);
        if (nan) assert_memory_equal(x, b, K * N * sizeof *b);
        for (int c = 0; !nan && c < K; c++) {
            assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b + c * N, N, y, N, &s.o, NULL), MPK_OK);
            for (int k = 0; k < N; k++)
                assert_true(fabs(x[c * WIDER + k] - y[k]) <= 1e-12 * (1 + fabs(y[k])));
        }
    }
    assert_int_equal(mpk_device_free(s.ctx, 0, &there), MPK_OK);
    close_system(&s);
}

/* An estimate of the condition is the host's. */
static void test_more_asked(void **unused) {
    (void)unused;
    system_ s;
    double b[N];
    mpk_solve_info info;
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    fill(&s, b, 1);
    put(&s, s.b, b);
    s.o.condition = MPK_ON;
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
    assert_true(info.condition > 1);
    close_system(&s);
}

/* Where memory for the lists is not had, here or there, the solve goes through the host; where that
 * has none, it fails, and nothing is lost. */
static void test_memory(void **unused) {
    (void)unused;
    bool done = false;
    double b[N], x[N];
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = 0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        system_ s;
        mpk_solve_info info;
        assert_int_equal(open_system(&s, &allocator, MPK_D, MPK_SYMMETRIC), MPK_OK);
        fill(&s, b, 1);
        put(&s, s.b, b);
        f.fail_at = f.calls + k;
        const mpk_status status = mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info);
        done = f.calls < f.fail_at;
        f.fail_at = 0;
        if (status != MPK_ERR_MEMORY) {
            assert_int_equal(status, MPK_OK);
            assert_true(info.componentwise <= 1e-14);
        }
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
        close_system(&s);
        assert_int_equal(f.held, 0);
        assert_true(k < 200);
    }
    done = false;
    for (int64_t k = 1; !done;
         k++) { /* more right-hand sides than are refined at once, in x's place */
        enum { K = MPKI_REFINE_TOGETHER + 1 };
        failing f = {.fail_at = 0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        system_ s;
        double all[K * N], before[K * N];
        assert_int_equal(open_system(&s, &allocator, MPK_D, MPK_SYMMETRIC), MPK_OK);
        for (int c = 0; c < K; c++) fill(&s, all + c * N, 1 + c);
        memcpy(before, all, sizeof all);
        f.fail_at = f.calls + k;
        const mpk_status status = mpk_solve(s.ctx, s.fac, K, all, N, all, N, &s.o, NULL);
        done = f.calls < f.fail_at;
        f.fail_at = 0;
        if (mpk_failed(status)) {
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_memory_equal(all, before, sizeof all);
        } else {
            for (int i = 0; i < N; i++)
                assert_true(fabs(all[N + i] - 2 * all[i]) <= 1e-12 * fabs(all[i]) + 1e-14);
        }
        close_system(&s);
        assert_int_equal(f.held, 0);
        assert_true(k < 200);
    }
    if (device_is_real()) return;
    system_ s; /* on the device: the lists need more than the solver's work space does */
    mpk_solve_info info;
    assert_int_equal(open_system(&s, NULL, MPK_D, MPK_SYMMETRIC), MPK_OK);
    fill(&s, b, 1);
    put(&s, s.b, b);
    assert_int_equal(mpk_solve_part(s.ctx, s.fac, MPK_PART_ALL, 1, s.b, N),
                     MPK_OK); /* its memory */
    put(&s, s.b, b);
    setenv("METAPACK_CUDA_HOST_LIMIT", "100", 1);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, s.b, N, s.x, N, &s.o, &info), MPK_OK);
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
    assert_true(info.componentwise <= 1e-14);
    get(&s, s.x, x);
    assert_true(isfinite(x[0]));
    close_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),         cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_failing_device), cmocka_unit_test(test_new_values),
        cmocka_unit_test(test_growth),         cmocka_unit_test(test_unusual),
        cmocka_unit_test(test_several),        cmocka_unit_test(test_other_steps),
        cmocka_unit_test(test_more_asked),     cmocka_unit_test(test_memory)};
    return device_has(DEVICE_DIRECT) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
