/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors of matrices that are not symmetric: complete ones solve, incomplete ones are what a dense
 * table gives, and what needs symmetry is refused. */
#include "support.h"

#include "analysis/block/block.h"
#include "factor/apply.h"

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static mpk_options ldu(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.factor_type = MPK_TYPE_LDU;
    o.level = -1;
    o.drop_tolerance = o.fill_factor = 0;
    o.block = 16;
    o.threads = 2;
    return o;
}

/* A problem in any scalar type, from a generated one in double. */
static mpk_problem *make(mpk_context *ctx, const char *spec, mpk_scalar scalar) {
    mpk_problem *d = NULL, *p = NULL;
    mpk_problem_view v;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &d), MPK_OK);
    mpk_problem_view_get(d, &v);
    if (v.scalar == scalar) return d;
    void *ax = malloc((size_t)v.nnz * mpk_scalar_size(scalar) + 1);
    for (int64_t k = 0; k < v.nnz; k++) /* complex: each entry turned by another angle */
        scalar_store(scalar, ax, k,
                     scalar_load(v.scalar, v.ax, k) *
                         (scalar >= MPK_C ? cexp(I * (double)(k % 17)) : 1));
    assert_int_equal(
        mpk_problem_from_csc(ctx, v.n, scalar, MPK_GENERAL, MPK_FULL, v.ap, v.ai, ax, &p), MPK_OK);
    mpk_problem_destroy(&d);
    free(ax);
    return p;
}

static double complex rhs_entry(int64_t i, mpk_scalar scalar) {
    const double re = sin(0.7 * (double)i + 1), im = cos(1.3 * (double)i);
    return scalar <= MPK_D ? re : re + im * I;
}

/* ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf), all summed in double. */
static double backward_error(const mpk_problem_view *v, const void *x) {
    double complex *r = calloc((size_t)v->n + 1, sizeof *r);
    double *norm = calloc((size_t)v->n + 1, sizeof *norm), rr = 0, xx = 0, bb = 0, aa = 0;
    for (int32_t i = 0; i < v->n; i++) r[i] = rhs_entry(i, v->scalar);
    for (int32_t j = 0; j < v->n; j++)
        for (int64_t k = v->ap[j]; k < v->ap[j + 1]; k++) {
            r[v->ai[k]] -= scalar_load(v->scalar, v->ax, k) * scalar_load(v->scalar, x, j);
            norm[v->ai[k]] += cabs(scalar_load(v->scalar, v->ax, k));
        }
    for (int32_t i = 0; i < v->n; i++) {
        rr = fmax(rr, cabs(r[i]));
        xx = fmax(xx, cabs(scalar_load(v->scalar, x, i)));
        bb = fmax(bb, cabs(rhs_entry(i, v->scalar)));
        aa = fmax(aa, norm[i]);
    }
    free(r), free(norm);
    return rr / (aa * xx + bb);
}

/* x := M^-1 b, or of one part; the factor's info in *info. */
static void *applied(mpk_context *ctx, const mpk_problem *p, const mpk_options *o,
                     mpk_factor_info *info) {
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpki_application m;
    mpk_problem_view_get(p, &v);
    assert_int_equal(mpk_analyse(ctx, p, o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, o, &fac), MPK_OK);
    mpk_factor_info_get(fac, info);
    void *x = calloc((size_t)v.n + 1, 16);
    for (int32_t i = 0; i < v.n; i++) scalar_store(v.scalar, x, i, rhs_entry(i, v.scalar));
    assert_int_equal(mpki_apply_make(ctx, fac, o->threads, 1, &m), MPK_OK);
    assert_int_equal(mpki_apply(&m, MPK_PART_ALL, 1, x, v.n, x, v.n), MPK_OK);
    mpki_apply_free(&m);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return x;
}

static const char *const specs[] = {
    "convection 14 wind=circular speed=1000", "convection 12 rows=shuffled",
    "convection 6 3d speed=3000 rows=shuffled", "random 150 0.03 entries=general zeros=0.7",
    "random 90 0.05 entries=general decades=6"};
enum { SPECS = sizeof specs / sizeof *specs };

/* A complete factorization solves, whatever the blocks, the schedule and the precision. */
static void complete(void **state) {
    (void)state;
    static const int blocks[] = {1, 7, 32};
    static const mpk_schedule schedules[] = {MPK_SCHEDULE_PULL, MPK_SCHEDULE_SUBSETS,
                                             MPK_SCHEDULE_ATOMIC};
    mpk_context *ctx = context();
    for (int s = 0; s < SPECS; s++)
        for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
            mpk_problem *p = make(ctx, specs[s], (mpk_scalar)scalar);
            mpk_problem_view v;
            mpk_problem_view_get(p, &v);
            const bool single = scalar == MPK_S || scalar == MPK_C;
            for (int k = 0; k < 3; k++) {
                mpk_options o = ldu();
                mpk_factor_info info;
                o.block = blocks[k];
                o.schedule = schedules[(k + scalar) % 3];
                o.stages = 1 + 3 * (k % 2);
                void *x = applied(ctx, p, &o, &info);
                const double error = backward_error(&v, x);
                /* blocks of one row are not pivoted; where entries differ by 10^6 that tells */
                const double bound = (single ? 0x1p29 : 1) * (blocks[k] == 1 ? 1e-11 : 1e-13);
                if (!(error <= bound))
                    fail_msg("%s, scalar %d, block %d: %.1e", specs[s], scalar, blocks[k], error);
                assert_int_equal(info.inertia.positive + info.inertia.negative, 0);
                assert_int_equal(info.inertia.certified, 0);
                free(x);
            }
            mpk_problem_destroy(&p);
        }
    mpk_context_destroy(&ctx);
}

/* Blocks that are rejected and pushed back: both halves get their delayed updates. */
static void stages(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int scalar = MPK_D; scalar <= MPK_Z; scalar += 2)
        for (int k = 0; k < 3; k++) {
            mpk_problem *p = make(ctx, "random 200 0.02 entries=general", (mpk_scalar)scalar);
            mpk_problem_view v;
            mpk_factor_info info;
            mpk_options o = ldu();
            o.pivoting = MPK_PIVOTING_NONE;
            o.pivot_threshold = 0.4;
            o.stages = 10;
            o.block = 6;
            o.schedule = (mpk_schedule)(MPK_SCHEDULE_PULL + k);
            mpk_problem_view_get(p, &v);
            void *x = applied(ctx, p, &o, &info);
            assert_true(info.rejected > 5 && info.stages > 2);
            const double error = backward_error(&v, x);
            if (!(error <= 1e-12)) fail_msg("schedule %d: %.1e", (int)o.schedule, error);
            free(x);
            mpk_problem_destroy(&p);
        }
    mpk_context_destroy(&ctx);
}

/* The same bits for any number of threads. */
static void by_threads(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *p = make(ctx, "convection 40 rows=shuffled", MPK_D);
    mpk_problem_view v;
    mpk_factor_info info;
    mpk_options o = ldu();
    mpk_problem_view_get(p, &v);
    o.level = 2;
    o.drop_tolerance = 1e-4;
    o.fill_factor = 3;
    o.threads = 1;
    void *one = applied(ctx, p, &o, &info);
    o.threads = 4;
    void *four = applied(ctx, p, &o, &info);
    assert_memory_equal(one, four, (size_t)v.n * sizeof(double));
    free(one), free(four);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* ILU(0) of R Q A C in the order of the analysis, on the union pattern, by a dense table; then the
 * solve of it. */
static void table_of_ilu0(const mpk_analysis *an, const mpk_problem_view *v, const mpk_factor *fac,
                          double complex *x) {
    const int n = v->n;
    const int32_t *perm = an->block->blocking.perm, *iperm = an->block->blocking.iperm;
    double complex *t = calloc((size_t)n * n, sizeof *t), *y = calloc((size_t)n, sizeof *y);
    char *kept = calloc((size_t)n * n, 1);
    int32_t *place = calloc((size_t)n, sizeof *place);
    for (int j = 0; j < n; j++) place[an->row_of ? an->row_of[j] : j] = j;
    for (int j = 0; j < n; j++)
        for (int64_t k = v->ap[j]; k < v->ap[j + 1]; k++) {
            const int i = v->ai[k], r = iperm[place[i]], c = iperm[j];
            t[r * n + c] = scalar_load(v->scalar, v->ax, k) * fac->scale[n + i] * fac->scale[j];
            kept[r * n + c] = kept[c * n + r] = 1;
        }
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            if (!kept[i * n + k]) continue;
            t[i * n + k] /= t[k * n + k];
            for (int j = k + 1; j < n; j++)
                if (kept[i * n + j]) t[i * n + j] -= t[i * n + k] * t[k * n + j];
        }
    for (int p = 0; p < n; p++) {
        const int row = an->row_of ? an->row_of[perm[p]] : perm[p];
        y[p] = rhs_entry(row, v->scalar) * fac->scale[n + row];
        for (int q = 0; q < p; q++) y[p] -= t[p * n + q] * y[q];
    }
    for (int p = n - 1; p >= 0; p--) {
        for (int q = p + 1; q < n; q++) y[p] -= t[p * n + q] * y[q];
        y[p] /= t[p * n + p];
        x[perm[p]] = y[p] * fac->scale[perm[p]];
    }
    free(t), free(y), free(kept), free(place);
}

static void ilu0(void **state) {
    (void)state;
    static const mpk_ordering orders[] = {MPK_ORDERING_AUTO, MPK_ORDERING_NATURAL,
                                          MPK_ORDERING_AMD};
    mpk_context *ctx = context();
    for (int s = 0; s < 3; s++)
        for (int k = 0; k < 6; k++) {
            mpk_problem *p = make(ctx, specs[s], k < 3 ? MPK_D : MPK_Z);
            mpk_problem_view v;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpki_application m;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_ILU0; /* that it is LDU needs no saying */
            o.ordering = orders[k % 3];
            o.matching = s == 0 && k == 1 ? MPK_OFF : MPK_AUTO;
            mpk_problem_view_get(p, &v);
            assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
            if (k % 3 == 0) assert_int_equal(an->info.ordering, MPK_ORDERING_RCM);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            void *x = calloc((size_t)v.n, 16);
            double complex *want = calloc((size_t)v.n, sizeof *want);
            double gap = 0, size = 0;
            for (int i = 0; i < v.n; i++) scalar_store(v.scalar, x, i, rhs_entry(i, v.scalar));
            assert_int_equal(mpki_apply_make(ctx, fac, 1, 1, &m), MPK_OK);
            assert_int_equal(mpki_apply(&m, MPK_PART_ALL, 1, x, v.n, x, v.n), MPK_OK);
            mpki_apply_free(&m);
            table_of_ilu0(an, &v, fac, want);
            for (int i = 0; i < v.n; i++) {
                gap = fmax(gap, cabs(scalar_load(v.scalar, x, i) - want[i]));
                size = fmax(size, cabs(want[i]));
            }
            if (!(gap <= 1e-11 * size)) fail_msg("%s, %d: %.1e of %.1e", specs[s], k, gap, size);
            free(x), free(want);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
        }
    mpk_context_destroy(&ctx);
}

/* Every way to precondition, to the accuracy of rounding. */
static void solves(void **state) {
    (void)state;
    static const struct {
        const char *keys[8];
    } runs[] = {
        {{"method", "ildlt", "factor_type", "ldu"}},
        {{"method", "ildlt", "factor_type", "ldu", "krylov", "bicgstab"}},
        {{"method", "ildlt", "factor_type", "ldu", "krylov", "idr", "stages", "4"}},
        {{"method", "ildlt", "factor_type", "ldu", "krylov", "fgmres", "solve_sweeps", "4"}},
        {{"method", "ildlt", "factor_type", "ldu", "precision", "single"}},
        {{"method", "ildlt", "factor_type", "ldu", "scaling", "off"}},
        {{"method", "jacobi", "factor_type", "ldu", "sweeps", "20"}},
        {{"method", "ilu0"}},
        {{"method", "none"}},
        {{"method", "auto"}},
        {{NULL}},
    };
    mpk_context *ctx = context();
    for (int s = 0; s < 3; s++)
        for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
            mpk_problem *p = make(ctx, specs[s], k % 2 ? MPK_Z : MPK_D);
            mpk_problem_view v;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_solve_info info;
            mpk_options o;
            mpk_options_init(&o);
            for (int key = 0; key < 8 && runs[k].keys[key]; key += 2)
                assert_int_equal(mpk_options_set(ctx, &o, runs[k].keys[key], runs[k].keys[key + 1]),
                                 MPK_OK);
            mpk_problem_view_get(p, &v);
            void *b = calloc((size_t)v.n, 16), *x = calloc((size_t)v.n, 16);
            for (int i = 0; i < v.n; i++) scalar_store(v.scalar, b, i, rhs_entry(i, v.scalar));
            assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            const mpk_status status = mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, &info);
            const double error = backward_error(&v, x);
            if (status != MPK_OK || !(error <= 1e-14))
                fail_msg("%s, run %zu: status %d, %.1e in %d", specs[s], k, (int)status, error,
                         info.krylov.iterations);
            assert_true(fabs(info.normwise - error) <= 1e-15);
            const bool direct = o.method == MPK_METHOD_AUTO;
            if (o.krylov == MPK_KRYLOV_AUTO)
                assert_int_equal(info.krylov.method, direct ? MPK_KRYLOV_AUTO : MPK_KRYLOV_GMRES);
            free(b), free(x);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
        }
    mpk_context_destroy(&ctx);
}

/* New values on the same analysis: as caller's array, and in the order of the view. */
static void new_values(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *p = make(ctx, "convection 10 rows=shuffled", MPK_D);
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    const mpk_options o = ldu();
    mpk_problem_view_get(p, &v);
    double *ax = malloc((size_t)v.nnz * sizeof *ax), *b = malloc((size_t)v.n * sizeof *b);
    double *x = malloc((size_t)v.n * sizeof *x);
    for (int64_t k = 0; k < v.nnz; k++) ax[k] = ((const double *)v.ax)[k] * (1 + 0.1 * (k % 5));
    for (int i = 0; i < v.n; i++) b[i] = creal(rhs_entry(i, MPK_D));
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_refactorize(ctx, ax, &o, fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, NULL), MPK_OK);
    const mpk_problem_view changed = {v.n, v.nnz, v.scalar, v.symmetry, v.ap, v.ai, ax};
    assert_true(backward_error(&changed, x) <= 1e-14);
    assert_true(backward_error(&v, x) > 1e-6);
    mpk_factor_destroy(&fac);
    assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, NULL), MPK_OK);
    assert_true(backward_error(&changed, x) <= 1e-14);
    free(ax), free(b), free(x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void assert_said(const mpk_context *ctx, const char *what) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, what)) fail_msg("\"%s\" does not say \"%s\"", text, what);
}

/* What needs symmetry says so, and what to take. */
static void refused(void **state) {
    (void)state;
    static const struct {
        const char *keys[6], *said;
    } cases[] = {
        {{"method", "ssor"}, "take method auto, ldlt, ilu0 or none"},
        {{"method", "ildlt"}, "take factor_type ldu"},
        {{"method", "jacobi"}, "take factor_type ldu"},
        {{"method", "ildlt", "factor_type", "llt"}, "take factor_type ldu"},
        {{"method", "ilu0", "factor_type", "llt"}, "take factor_type ldu"},
        {{"method", "auto", "factor_type", "llt"}, "take factor_type ldu"},
        {{"method", "auto", "krylov", "cg"}, "krylov cg is for matrices that are: take gmres"},
        {{"method", "ilu0", "krylov", "minres"}, "krylov minres"},
        {{"method", "none", "krylov", "sqmr"}, "krylov sqmr"},
        {{"method", "ilu0", "krylov", "symmlq"}, "krylov symmlq"},
        {{"method", "ildlt", "factor_type", "ldu", "pivoting", "static"}, "pivoting static"},
    };
    mpk_context *ctx = context();
    mpk_problem *p = make(ctx, "convection 5", MPK_D);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_analysis *an = NULL;
        mpk_options o;
        mpk_options_init(&o);
        for (int key = 0; key < 6 && cases[k].keys[key]; key += 2)
            assert_int_equal(mpk_options_set(ctx, &o, cases[k].keys[key], cases[k].keys[key + 1]),
                             MPK_OK);
        assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_ERR_ARGUMENT);
        assert_said(ctx, "the matrix is not symmetric");
        assert_said(ctx, cases[k].said);
        assert_null(an);
    }
    mpk_options o = ldu(); /* analysed so, and factorized otherwise */
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
    o.factor_type = MPK_TYPE_LDLT;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_ARGUMENT);
    assert_said(ctx, "take factor_type ldu");
    assert_int_equal(mpk_factorize(ctx, an, NULL, NULL, &fac), MPK_OK); /* auto */
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* After the factorization: no inertia, no |D|, the scaling of columns, then of rows. */
static void asked_of_the_factor(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_problem *p = make(ctx, "convection 5", MPK_D);
    for (int k = 0; k < 2; k++) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o = ldu();
        int64_t inertia[3];
        double scale[50], x[25] = {1};
        if (k) o.method = MPK_METHOD_NONE;
        assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_INERTIA, inertia, sizeof inertia),
                         MPK_ERR_UNSUPPORTED);
        assert_said(ctx, "inertia");
        assert_int_equal(mpk_get_size(fac, MPK_GET_SCALE), sizeof scale);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_SCALE, scale, sizeof scale), MPK_OK);
        for (int i = 0; i < 50; i++) assert_true(scale[i] > 0);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ABS, 1, x, 25), MPK_ERR_UNSUPPORTED);
        o.krylov = MPK_KRYLOV_CG;
        assert_int_equal(mpk_solve(ctx, fac, 1, x, 25, x, 25, &o, NULL), MPK_ERR_ARGUMENT);
        assert_said(ctx, "gmres, fgmres, bicgstab or idr");
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Rows or columns of zeros, and fewer than n independent ones. */
static void singular(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 2, 3, 3};
    static const int32_t ai[] = {0, 2, 2};
    static const double ax[] = {1, 2, 3};
    mpk_context *ctx = context();
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    const mpk_options o = ldu();
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_GENERAL, MPK_FULL, ap, ai, ax, &p),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_SINGULAR);
    assert_said(ctx, "at most 2 of 3 rows are independent");
    assert_true(mpk_factorize(ctx, an, NULL, &o, &fac) >= 0);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Whichever allocation fails, from the analysis to the solution: an error, and nothing is left. */
static void memory_runs_out(void **state) {
    (void)state;
    for (int method = 0; method < 2; method++) {
        int64_t k = 1;
        for (mpk_status status = MPK_ERR_MEMORY; mpk_failed(status); k++) {
            failing f = {0};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            mpk_problem *p = make(ctx, "convection 6 rows=shuffled", MPK_D);
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_options o = ldu();
            double x[36], b[36];
            for (int i = 0; i < 36; i++) b[i] = i;
            o.threads = 1;
            o.stages = 3;
            o.level = 1;
            o.fill_factor = 2;
            if (method) o.method = MPK_METHOD_NONE;
            f.fail_at = f.calls + k;
            status = mpk_analyse(ctx, p, &o, &an);
            if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
            if (!mpk_failed(status)) status = mpk_solve(ctx, fac, 1, b, 36, x, 36, &o, NULL);
            f.fail_at = 0;
            assert_true(status >= 0 || status == MPK_ERR_MEMORY);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        assert_true(k > 40);
    }
}

/* No rows, and one. */
static void smallest(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 1};
    static const int32_t ai[] = {0};
    static const double ax[] = {-4};
    mpk_context *ctx = context();
    for (int n = 0; n < 2; n++)
        for (int k = 0; k < 3; k++) {
            mpk_problem *p = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_options o = ldu();
            double b[1] = {8}, x[1] = {0};
            if (k) o.method = k == 1 ? MPK_METHOD_ILU0 : MPK_METHOD_NONE;
            assert_int_equal(
                mpk_problem_from_csc(ctx, n, MPK_D, MPK_GENERAL, MPK_FULL, ap, ai, ax, &p), MPK_OK);
            assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            assert_int_equal(mpk_solve(ctx, fac, 1, b, 1, x, 1, &o, NULL), MPK_OK);
            assert_true(x[0] == (n ? -2 : 0));
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
        }
    mpk_context_destroy(&ctx);
}

/* L(3,2) = -(inf - inf) is NaN, L(4,2) beside it is 1, and no pivot depends on either: U(2,3),
 * U(2,4) are 0. The finite block must not hide the other. */
static void test_nan_beside_a_number(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    const double big = 1e60, mid = 1e-200;
    const int64_t ap[] = {0, 2, 4, 8, 9, 10};
    const int32_t ai[] = {0, 3, 1, 3, 0, 1, 2, 4, 3, 4};
    double ax[] = {mid, big, mid, -big, big, big, mid, mid, mid, mid};
    mpk_options o = ldu();
    o.block = 1;
    o.ordering = MPK_ORDERING_NATURAL;
    o.matching = o.scaling = MPK_OFF;
    o.static_shift = 1e-262;
    for (int hard = 1; hard >= 0; hard--) { /* smaller entries: nothing overflows */
        mpk_problem *p = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        for (int k = 0; k < 10 && !hard; k++) ax[k] = copysign(sqrt(fabs(ax[k])), ax[k]);
        assert_int_equal(mpk_problem_from_csc(ctx, 5, MPK_D, MPK_GENERAL, MPK_FULL, ap, ai, ax, &p),
                         MPK_OK);
        assert_false(mpk_failed(mpk_analyse(ctx, p, &o, &an)));
        const mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
        assert_int_equal(status, hard ? MPK_ERR_NUMERIC : MPK_OK);
        assert_true(hard == (fac == NULL));
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete),
        cmocka_unit_test(by_threads),
        cmocka_unit_test(stages),
        cmocka_unit_test(ilu0),
        cmocka_unit_test(solves),
        cmocka_unit_test(new_values),
        cmocka_unit_test(refused),
        cmocka_unit_test(singular),
        cmocka_unit_test(test_nan_beside_a_number),
        cmocka_unit_test(asked_of_the_factor),
        cmocka_unit_test(smallest),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
