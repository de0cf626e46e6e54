/* SPDX-License-Identifier: BSD-3-Clause */
/* Refined solves of singular systems with a device's factor: there, one or many right-hand sides,
 * with the verdicts and the accuracy of the processor. */
#include "support.h"

#include "../device_there.h"
#include "engines/cuda/module/engine.h"
#include "engines/cuda/multifrontal/state.h"

#include "factor/rank.h"
#include "solve/plan.h"
#include <dlfcn.h>
#include <metapack/metapack.h>

enum { CYCLES = 5, LONG = 12, N = CYCLES * LONG, SIDES = MPKI_REFINE_TOGETHER + 6, LD = N + 3 };

/* Cycles side by side, each of which has a kernel of one vector, with weights that are far apart:
 * plain refinement does not reach the accuracy. */
static dense cycles(mpk_scalar scalar, mpk_symmetry symmetry) {
    static const double complex turn[] = {1, I, -1, -I};
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const bool turned = scalar >= MPK_C && symmetry == MPK_SYMMETRIC;
    dense m = dense_new(N, scalar, symmetry);
    for (int c = 0; c < CYCLES; c++)
        for (int i = 0; i < LONG; i++) {
            const int j = (i + 1) % LONG, p = c * LONG + i, q = c * LONG + j;
            const double w = (1 + (i * 5 + c) % 7) * pow(10, (i * 3 + c) % (single ? 3 : 6));
            const double complex vi = turned ? turn[i % 4] : 1, vj = turned ? turn[j % 4] : 1;
            dense_set(&m, p, p, dense_get(&m, p, p) + w / (vi * vi));
            dense_set(&m, q, q, dense_get(&m, q, q) + w / (vj * vj));
            dense_set(&m, p > q ? p : q, p > q ? q : p, -w / (vi * vj));
        }
    return m;
}

typedef struct system_ {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
} system_;

static void open_system(system_ *s, const dense *m, bool device) {
    *s = (system_){0};
    assert_int_equal(mpk_context_create(NULL, &s->ctx), MPK_OK);
    mpk_options_init(&s->o);
    s->o.method = MPK_METHOD_LDLT;
    s->o.device = device ? MPK_ON_CUDA : MPK_ON_CPU;
    s->problem = dense_problem(s->ctx, m, 0);
    assert_true(mpk_analyse(s->ctx, s->problem, &s->o, &s->an) >= 0);
    assert_int_equal(mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac), MPK_SINGULAR);
}

static void close_system(system_ *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* b := A y in each column, and in columns from `odd` on something that A does not reach. */
static void sides(const dense *m, mpk_scalar scalar, int odd, char *b) {
    for (int c = 0; c < SIDES; c++)
        for (int i = 0; i < N; i++) {
            double complex sum = 0;
            for (int j = 0; j < N; j++) sum += dense_get(m, i, j) * ((j * 7 + c) % 5 - 1.5);
            if (c >= odd && i % LONG == c % 3) sum += 1e4;
            if (c == 1) sum = 0; /* nothing is to be done, and others are not held up */
            scalar_store(scalar, b, c * LD + i, sum);
        }
}

/* All columns by the device's refinement alone. */
static mpki_found by_engine(const system_ *s, int count, const char *b, char *x) {
    mpk_options full;
    int32_t done = 0;
    mpki_found found = {.verdict = MPKI_VERDICT};
    assert_int_equal(mpki_options_resolve(s->ctx, &s->o, &full), MPK_OK);
    const mpki_columns c = {s->ctx, s->fac, &full, 0, count, count, b, x, LD, LD, false};
    assert_int_equal(mpki_plan_of(&c).by_engine, count);
    assert_int_equal(mpki_refine_on_engine(&c, &found, &done), MPK_OK);
    assert_int_equal(done, count);
    return found;
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} KINDS[] = {{MPK_D, MPK_SYMMETRIC}, {MPK_S, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

static void test_as_the_processor(void **unused) {
    (void)unused;
    char *b = calloc(LD * SIDES, 16), *x = calloc(LD * SIDES, 16), *y = calloc(LD * SIDES, 16);
    assert_true(b && x && y);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const mpk_scalar scalar = KINDS[k].scalar;
        const size_t size = mpk_scalar_size(scalar);
        const double accuracy = scalar == MPK_S || scalar == MPK_C ? 5e-6 : 1e-14;
        dense m = cycles(scalar, KINDS[k].symmetry);
        system_ there, here;
        open_system(&there, &m, true);
        open_system(&here, &m, false);
        for (int kind = 0; kind < 8; kind++) {
            /* on the host's threads more than a block of them takes seconds */
            const int many = device_is_real() || (k == 0 && kind == 7) ? SIDES : 3;
            const int count = kind & 1 ? many : 1;
            const bool odd = kind & 2, to_the_end = kind & 4;
            mpk_solve_info p = {0}, q = {0};
            there.o.accuracy = here.o.accuracy = to_the_end ? 0 : -1;
            sides(&m, scalar, odd ? count - 1 : SIDES, b);
            assert_int_equal(mpk_solve(here.ctx, here.fac, count, b, LD, y, LD, &here.o, &q),
                             MPK_SINGULAR);
            assert_int_equal(mpk_solve(there.ctx, there.fac, count, b, LD, x, LD, &there.o, &p),
                             MPK_SINGULAR);
            assert_int_equal(p.consistent, q.consistent);
            assert_int_equal(p.solved, q.solved);
            assert_int_equal(p.consistent, odd ? -1 : 1);
            if (!odd) assert_true(p.componentwise <= fmax(accuracy, q.componentwise));
            if (to_the_end) assert_true(p.iterations > 0 && p.correction > 0);
            assert_true((p.correction > 0) == (p.iterations > 0));
            const mpki_found f = by_engine(&there, count, b, y);
            assert_true(f.info.componentwise == p.componentwise);
            assert_true(f.info.correction == p.correction);
            assert_int_equal(f.info.consistent, p.consistent);
            for (int c = 0; c < count; c++)
                assert_memory_equal(x + c * LD * (int)size, y + c * LD * (int)size, N * size);
        }
        close_system(&there);
        close_system(&here);
        free(m.a);
    }
    free(b), free(x), free(y);
}

/* Residuals without what is not in A's range, and right-hand sides that lie in it or not, by the
 * device's kernels beside the processor's functions: vectors of several chunks, any of them. */
static void test_vectors(void **unused) {
    (void)unused;
    enum { LENGTH = 2 * MPKI_CUDA_NULL_CHUNK + 77, COUNT = 5, RIGHT = 3 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = mpki_cuda_keep(ctx, 0);
    assert_non_null(d);
    const mpki_cuda_direct_table *to = d->table->direct;
    double *scale = malloc(LENGTH * sizeof *scale), *w = malloc(RIGHT * LENGTH * sizeof *w);
    char *u = malloc(COUNT * LENGTH * 16), *r = malloc(RIGHT * LENGTH * 16);
    char *got = malloc(RIGHT * LENGTH * 16);
    void *at[6];
    const int64_t bytes[] = {COUNT * LENGTH * 16,       RIGHT * LENGTH * 16,
                             RIGHT * COUNT * 3 * 3 * 8, LENGTH * (int64_t)sizeof *scale,
                             RIGHT * LENGTH * 8,        RIGHT * (int64_t)sizeof(int32_t)};
    for (int k = 0; k < 6; k++)
        assert_false(mpk_failed(d->table->alloc(d->cuda, bytes[k], &at[k])));
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const mpk_scalar scalar = KINDS[k].scalar;
        const int64_t size = (int64_t)mpk_scalar_size(scalar);
        const bool symmetric = scalar >= MPK_C && KINDS[k].symmetry == MPK_SYMMETRIC;
        const double eps = scalar == MPK_S || scalar == MPK_C ? 1e-5 : 1e-14;
        for (int i = 0; i < LENGTH; i++) scale[i] = ldexp(1, i % 9 - 4);
        for (int i = 0; i < COUNT * LENGTH; i++)
            scalar_store(scalar, u, i, uniform() + uniform() * I);
        mpki_basis basis = {.v = u};
        for (; basis.count < COUNT; basis.count++)
            assert_true(MPKI_DISPATCH(scalar, basis_join)(LENGTH, scale, basis.count, u,
                                                          u + basis.count * LENGTH * size));
        for (int i = 0; i < RIGHT * LENGTH; i++) {
            scalar_store(scalar, r, i, uniform() + uniform() * I);
            w[i] = 1 + i % 3;
        }
        mpki_cuda_null z = {LENGTH, COUNT, 3, symmetric, at[0], at[3], at[2], at[5]};
        mpki_cuda_columns c = {RIGHT, {2, 0, 1}, {1, 2, 0}, 0, 0, LENGTH, LENGTH};
        const mpki_cuda_refine_kind *kernels = to->refine[scalar];
        int32_t outside[RIGHT];
        for (int clean = 0; clean < 2; clean++) {
            assert_false(mpk_failed(to->copy(d->cuda, at[0], u, COUNT * LENGTH * size, 1)));
            assert_false(mpk_failed(to->copy(d->cuda, at[1], r, RIGHT * LENGTH * size, 1)));
            assert_false(mpk_failed(to->copy(d->cuda, at[3], scale, LENGTH * 8, 1)));
            assert_false(mpk_failed(to->copy(d->cuda, at[4], w, RIGHT * LENGTH * 8, 1)));
            assert_false(mpk_failed(
                kernels->in_range(d->cuda, &z, &c, mpki_range_bound(scalar), at[1], at[4])));
            assert_false(mpk_failed(to->copy(d->cuda, outside, at[5], sizeof outside, 0)));
            assert_false(mpk_failed(kernels->deflate(d->cuda, &z, &c, at[1])));
            assert_false(mpk_failed(to->copy(d->cuda, got, at[1], RIGHT * LENGTH * size, 0)));
            assert_false(mpk_failed(to->wait(d->cuda)));
            for (int p = 0; p < RIGHT; p++) {
                const bool in = MPKI_DISPATCH(scalar, consistent)(
                    LENGTH, scale, symmetric, &basis, r + p * LENGTH * size, w + p * LENGTH);
                assert_int_equal(outside[p], !in);
                assert_int_equal(in, clean);
            }
            for (int p = 0; p < RIGHT; p++) {
                MPKI_DISPATCH(scalar, deflate)
                (LENGTH, scale, symmetric, &basis, r + p * LENGTH * size);
                for (int i = 0; i < LENGTH; i++)
                    assert_true(cabs(scalar_load(scalar, r, p * LENGTH + i) -
                                     scalar_load(scalar, got, p * LENGTH + i)) <= 1e3 * eps);
            }
        }
    }
    for (int k = 0; k < 6; k++) d->table->release(d->cuda, at[k]);
    free(scale), free(w), free(u), free(r), free(got);
    mpk_context_destroy(&ctx);
}

typedef void memory_fn(int64_t *held, int64_t *refused);

/* What the host module says is in use. */
static int64_t held_there(void) {
    int64_t held = 0, refused = 0;
#ifdef METAPACK_CUDA_HOST
    memory_fn *asked = NULL;
    void *module = dlopen(METAPACK_CUDA_HOST, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(module);
    *(void **)&asked = dlsym(module, "host_device_memory");
    asked(&held, &refused);
    dlclose(module);
#endif
    return held;
}

/* What solves leave on the device for later ones is counted, with the kernel, and most of it is
 * given back when it has not been wanted for some time. */
static void test_bytes(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    char *b = calloc(LD * SIDES, 16), *x = calloc(LD * SIDES, 16);
    assert_true(b && x);
    dense m = cycles(MPK_D, MPK_SYMMETRIC);
    system_ s;
    mpk_factor_info before, after;
    open_system(&s, &m, true);
    sides(&m, MPK_D, SIDES, b);
    mpk_factor_info_get(s.fac, &before);
    const int64_t held = held_there(), most[] = {SIDES, 1};
    int64_t many = 0;
    for (int k = 0; k < 2; k++) {
        for (int turn = 0; turn < (k ? 20 : 1); turn++)
            assert_int_equal(mpk_solve(s.ctx, s.fac, (int32_t)most[k], b, LD, x, LD, &s.o, NULL),
                             MPK_SINGULAR);
        mpk_factor_info_get(s.fac, &after);
        const int64_t kernel = s.fac->basis.made ? (s.fac->basis.count + 1) * N * 8 : 0;
        assert_true(kernel > 0);
        assert_int_equal(after.bytes - before.bytes, held_there() - held + kernel);
        if (k == 0) many = after.bytes - before.bytes;
    }
    assert_true(after.bytes - before.bytes < many / 2);
    assert_int_equal(mpk_refactorize(s.ctx, NULL, &s.o, s.fac), MPK_SINGULAR);
    assert_false(s.fac->basis.made);
    close_system(&s);
    free(m.a), free(b), free(x);
}

/* As the processor says it of v, with which A has no noise to lose. */
static mpki_flatness flatness_here(const system_ *s, const char *v) {
    const mpk_scalar scalar = s->an->scalar;
    mpki_solve_work work;
    char copy[N * 16];
    memcpy(copy, v, N * mpk_scalar_size(scalar));
    assert_false(mpk_failed(mpki_solve_work_make(s->ctx, s->fac, 1, 1, &work)));
    const mpki_flatness f =
        MPKI_DISPATCH(scalar, flatness)(s->fac->scale, INFINITY, MPKI_FLATNESS_MOST, &work, copy);
    mpki_solve_work_free(s->ctx, &work);
    return f;
}

static void assert_near(const system_ *s, const mpki_near_zero *near, const char *v) {
    const bool single = s->an->scalar == MPK_S || s->an->scalar == MPK_C;
    const double rounding = single ? 1e-8 : 1e-17;
    const mpki_flatness f = flatness_here(s, v);
    assert_true(fabs(near->eta - f.eta) <= 1e-3 * f.eta + rounding);
    assert_true(fabs(near->rough - f.rough) <= 1e-3 * f.rough + rounding);
}

/* How nearly A takes vectors to zero: of the host, for verdicts, of which a copy stays there; and
 * solutions, in whichever columns they are. */
static void test_flatness(void **unused) {
    (void)unused;
    enum { SOME = MPKI_CUDA_LOST_TOGETHER };
    char *all = calloc(LD * SIDES, 16), *x = calloc(LD * SOME, 16), v[N * 16];
    assert_true(all && x);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const mpk_scalar scalar = KINDS[k].scalar;
        const size_t size = mpk_scalar_size(scalar);
        dense m = cycles(scalar, KINDS[k].symmetry);
        system_ s;
        mpki_near_zero near;
        bool told = false;
        open_system(&s, &m, true);
        const char *u = s.fac->known.vector;
        assert_true(s.fac->known.count > 0);
        for (int noise = 0; noise < 3; noise++) { /* of the kernel, near it, anything */
            static const double share[] = {0, 1e-4, 1};
            for (int i = 0; i < N; i++)
                scalar_store(scalar, v, i,
                             scalar_load(scalar, u, i) +
                                 share[noise] * (uniform() + uniform() * I));
            const uint64_t stamp = UINT64_MAX - (uint64_t)noise;
            for (int again = 0; again < 2; again++) {
                char r[N * 16], all[N * 16];
                assert_int_equal(mpki_cuda_direct.flatness(s.fac->direct, again ? NULL : v, stamp,
                                                           again ? NULL : r, &near, &told),
                                 MPK_OK);
                assert_true(told);
                assert_near(&s, &near, v);
                if (again) continue;
                assert_int_equal(mpk_problem_multiply(s.ctx, s.problem, 1, v, N, all, N), MPK_OK);
                for (int i = 0; i < N; i++)
                    assert_true(cabs(scalar_load(scalar, r, i) + scalar_load(scalar, all, i)) <=
                                (scalar == MPK_S || scalar == MPK_C ? 1e2 : 1e-6));
            }
        }
        memset(v, 0, sizeof v);
        assert_int_equal(mpki_cuda_direct.flatness(s.fac->direct, v, 7, NULL, &near, &told),
                         MPK_OK);
        assert_false(told);
        mpki_reached each[SOME];
        mpki_refined done;
        mpki_direct_solver *solver = NULL;
        const mpki_refine_wish wish = {.steps = 2,
                                       .accuracy = 1e-14,
                                       .doubt = INFINITY,
                                       .large = INFINITY,
                                       .lost = 0,
                                       .each = each};
        const char *const b = all + (SIDES - SOME) * LD * size;
        sides(&m, scalar, 0, all);
        assert_int_equal(mpki_cuda_direct.solver_make(s.ctx, s.fac->direct, 1, SOME, &solver),
                         MPK_OK);
        assert_int_equal(
            mpki_cuda_direct.refine(s.ctx, s.fac->direct, solver, &wish, SOME, b, LD, x, LD, &done),
            MPK_OK);
        mpki_cuda_direct.solver_free(&solver);
        assert_int_equal(done.done, SOME);
        int measured = 0;
        for (int c = 0; c < SOME; c++) {
            if (!(each[c].unresolved > 0)) continue;
            const char *const xc = x + (size_t)c * LD * size;
            double most = 0;
            assert_near(&s, &each[c].near[0], xc);
            for (int i = 0; i < N; i++) most = fmax(most, cabs(scalar_load(scalar, xc, i)));
            for (int cut = 0; cut < MPKI_CUTS; cut++) {
                for (int i = 0; i < N; i++) {
                    const double complex xi = scalar_load(scalar, xc, i);
                    scalar_store(scalar, v, i, cabs(xi) < MPKI_CUT[cut] * most ? 0 : xi);
                }
                assert_near(&s, &each[c].near[1 + cut], v);
            }
            measured++;
        }
        assert_true(measured > 0);
        close_system(&s);
        free(m.a);
    }
    free(all), free(x);
}

/* New values on the device, whose kernel is that of the older ones: they stay there, for the verdict
 * needs one product, which the device forms; and where the kernel is none of theirs it says so. */
static void test_values_stay(void **unused) {
    (void)unused;
    dense m = cycles(MPK_D, MPK_SYMMETRIC);
    system_ s;
    mpk_problem_view a;
    mpk_factor_info info;
    void *there = NULL;
    open_system(&s, &m, true);
    mpk_problem_view_get(s.problem, &a);
    const int64_t bytes = a.nnz * (int64_t)sizeof(double);
    double *ax = malloc((size_t)bytes);
    assert_non_null(ax);
    assert_int_equal(mpk_device_alloc(s.ctx, 0, bytes, &there), MPK_OK);
    for (int turn = 0; turn < 6; turn++) {
        const bool regular = turn == 3;
        for (int32_t j = 0; j < a.n; j++)
            for (int64_t k = a.ap[j]; k < a.ap[j + 1]; k++) {
                ax[k] = ldexp(((const double *)a.ax)[k], turn);
                if (regular && a.ai[k] == j) ax[k] *= 2;
            }
        assert_int_equal(mpk_device_copy(s.ctx, 0, there, bytes, ax, bytes, bytes, 1), MPK_OK);
        assert_int_equal(mpk_refactorize(s.ctx, there, &s.o, s.fac),
                         regular ? MPK_OK : MPK_SINGULAR);
        mpk_factor_info_get(s.fac, &info);
        assert_int_equal(info.inertia.zero, regular ? 0 : CYCLES);
        assert_int_equal(info.rank, regular ? MPK_RANK_FULL : MPK_RANK_NUMERICAL);
        if (!regular) assert_true(info.rank_bound <= 1e-14);
        if (turn == 1 || turn == 2 || turn == 5) assert_true(s.fac->away);
    }
    double b[N], x[N];
    mpk_solve_info solved;
    for (int i = 0; i < N; i++) x[i] = (i * 7) % 5 - 1.5;
    assert_int_equal(mpk_problem_multiply(s.ctx, s.problem, 1, x, N, b, N), MPK_OK);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, N, x, N, &s.o, &solved), MPK_SINGULAR);
    assert_int_equal(solved.solved, 1);
    assert_int_equal(solved.consistent, 1);
    assert_true(solved.componentwise <= 1e-14);
    assert_int_equal(mpk_device_free(s.ctx, 0, &there), MPK_OK);
    free(ax), free(m.a);
    close_system(&s);
}

/* A device that fails at any of a singular solve's calls, or has no memory for any of its
 * allocations: that is said, or the host has done it; and the next solve is as if nothing had been. */
static void test_failures(void **unused) {
    (void)unused;
    enum { SOME = 3 };
    static const char *const ways[] = {"METAPACK_CUDA_HOST_FAIL", "METAPACK_CUDA_HOST_FULL"};
    if (device_is_real()) return;
    char *b = calloc(LD * SIDES, 16), *x = calloc(LD * SIDES, 16), *y = calloc(LD * SIDES, 16);
    assert_true(b && x && y);
    dense m = cycles(MPK_D, MPK_SYMMETRIC);
    sides(&m, MPK_D, SIDES, b);
    for (int way = 0; way < 2; way++) {
        int failures = 0;
        for (int k = 1, step = 1;; k += step, step += 2 - way) { /* fewer of later ones */
            system_ s;
            char text[16];
            mpk_solve_info info;
            open_system(&s, &m, true);
            s.o.accuracy = 0; /* with the kernel's vectors */
            snprintf(text, sizeof text, "%d", k);
            setenv(ways[way], text, 1);
            const mpk_status status = mpk_solve(s.ctx, s.fac, SOME, b, LD, y, LD, &s.o, &info);
            unsetenv(ways[way]);
            if (mpk_failed(status)) {
                assert_int_equal(status, way ? MPK_ERR_MEMORY : MPK_ERR_DEVICE);
                failures++;
            } else {
                assert_int_equal(info.consistent, 1);
                assert_int_equal(info.solved, 1);
            }
            const bool last = k > (way ? 20 : 90);
            for (int again = 0; again < 2; again++)
                assert_int_equal(
                    mpk_solve(s.ctx, s.fac, SOME, b, LD, again ? y : x, LD, &s.o, &info),
                    MPK_SINGULAR);
            assert_memory_equal(x, y, SOME * LD * sizeof(double));
            assert_int_equal(info.consistent, 1);
            close_system(&s);
            if (last) break;
        }
        assert_true(failures > (way ? 0 : 3));
    }
    free(m.a), free(b), free(x), free(y);
}

/* A flow whose kernel is both translations: plain refinement stays at 7e-12, what is without the
 * kernel's vectors does not. Vectors lie there, b is x; and new values have other vectors. */
static void test_stokes(void **unused) {
    (void)unused;
    enum { SOME = 3 };
    if (!device_is_real()) return; /* on the host it takes half a minute */
    system_ s = {0};
    mpk_problem_view a;
    mpk_solve_info info;
    void *there = NULL;
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    mpk_options_init(&s.o);
    s.o.method = MPK_METHOD_LDLT;
    s.o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_problem_read(s.ctx, METAPACK_DATA "/saddle/stokes64.mtx.xz", &s.problem),
                     MPK_OK);
    mpk_problem_view_get(s.problem, &a);
    const int64_t bytes = SOME * (int64_t)a.n * (int64_t)sizeof(double);
    double *ones = malloc((size_t)bytes), *b = malloc((size_t)bytes);
    double *ax = malloc((size_t)a.nnz * sizeof *ax);
    memcpy(ax, a.ax, (size_t)a.nnz * sizeof *ax);
    for (int32_t i = 0; i < SOME * a.n; i++) ones[i] = 1 + i / a.n;
    assert_int_equal(mpk_problem_multiply(s.ctx, s.problem, SOME, ones, a.n, b, a.n), MPK_OK);
    assert_int_equal(mpk_analyse(s.ctx, s.problem, &s.o, &s.an), MPK_OK);
    assert_int_equal(mpk_device_alloc(s.ctx, 0, bytes, &there), MPK_OK);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(mpk_factorize_lower(s.ctx, s.an, ax, &s.o, &s.fac), MPK_SINGULAR);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(mpk_device_copy(s.ctx, 0, there, 0, b, 0, bytes, 1), MPK_OK);
            assert_int_equal(mpk_solve(s.ctx, s.fac, SOME, there, a.n, there, a.n, &s.o, &info),
                             MPK_SINGULAR);
            assert_true(info.unrefined > 1e-14 && info.componentwise <= 5e-15);
            assert_int_equal(info.consistent, 1);
            assert_int_equal(info.solved, 1);
        }
        for (int64_t k = 0; k < a.nnz; k++) ax[k] *= 2;
    }
    assert_int_equal(mpk_device_free(s.ctx, 0, &there), MPK_OK);
    free(ones), free(b), free(ax);
    close_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_the_processor),
                                       cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_flatness),
                                       cmocka_unit_test(test_values_stay),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_stokes)};
    return device_has(DEVICE_DIRECT) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
