/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with few rows of b and few of x, beside solves in all rows: the same bits. */
#include "../sanitized.h"
#include "support.h"

#include "factor/factor.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static mpk_context *ctx;

typedef struct sides {
    int nrhs;
    int64_t *ptr;
    int32_t *row;
    void *value;
} sides;

/* Right-hand sides with 0 to `most` entries, some of the same row. */
static sides sides_new(int n, mpk_scalar scalar, int nrhs, int most) {
    sides s = {nrhs, calloc((size_t)nrhs + 1, sizeof(int64_t)),
               malloc((size_t)nrhs * (most + 1) * sizeof(int32_t)),
               malloc((size_t)nrhs * (most + 1) * mpk_scalar_size(scalar))};
    for (int r = 0; r < nrhs; r++) {
        const int count = r == 1 ? 0 : 1 + (int)(fabs(uniform()) * most);
        s.ptr[r + 1] = s.ptr[r];
        for (int k = 0; k < count; k++) {
            s.row[s.ptr[r + 1]] = (int32_t)(fabs(uniform()) * n) % n;
            scalar_store(scalar, s.value, s.ptr[r + 1]++, uniform() + uniform() * I);
        }
    }
    return s;
}

static void sides_free(sides *s) {
    free(s->ptr), free(s->row), free(s->value);
}

static void densify(const sides *s, mpk_scalar scalar, int n, void *b) {
    memset(b, 0, (size_t)n * s->nrhs * mpk_scalar_size(scalar));
    for (int r = 0; r < s->nrhs; r++)
        for (int64_t k = s->ptr[r]; k < s->ptr[r + 1]; k++) {
            const int64_t at = s->row[k] + (int64_t)r * n;
            const double complex sum =
                scalar_load(scalar, b, at) + scalar_load(scalar, s->value, k);
            scalar_store(scalar, b, at, sum);
        }
}

static mpk_factor *factorize(const mpk_problem *problem, int threads, mpk_analysis **an) {
    mpk_options o;
    mpk_options_init(&o);
    o.matching = MPK_OFF, o.pivot_threshold = 0.5; /* so that pivots fail, and are delayed */
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    mpk_factor *fac = NULL;
    *an = NULL;
    assert_true(mpk_analyse(ctx, problem, &o, an) >= 0);
    assert_true(mpk_factorize(ctx, *an, NULL, &o, &fac) >= 0);
    return fac;
}

static void assert_same(mpk_scalar scalar, const void *a, int64_t i, const void *b, int64_t k) {
    const double complex x = scalar_load(scalar, a, i), y = scalar_load(scalar, b, k);
    if (x != y)
        fail_msg("%.17g %+.17gi beside %.17g %+.17gi", creal(x), cimag(x), creal(y), cimag(y));
}

/* All rows and some, in every way that they are asked for. Returns the columns that were
 * delayed. */
static int64_t check(const mpk_problem *problem, int threads) {
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    const int n = a.n;
    const int step = test_sanitizer_skips(1, 2) ? 9 : 3;
    const size_t size = mpk_scalar_size(a.scalar);
    mpk_analysis *an;
    mpk_factor *fac = factorize(problem, threads, &an);
    mpk_factor_info f;
    mpk_factor_info_get(fac, &f);
    for (int nrhs = 1; nrhs <= 19; nrhs += 9) {
        sides s = sides_new(n, a.scalar, nrhs, nrhs == 10 ? n : 3);
        void *full = malloc((size_t)n * nrhs * size), *x = malloc((size_t)(n + 5) * nrhs * size);
        int32_t *row = malloc((size_t)n * sizeof *row);
        mpk_sparse_info info;
        densify(&s, a.scalar, n, full);
        for (int r = 0; r < nrhs; r++)
            assert_int_equal(
                mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, (char *)full + (size_t)r * n * size, n),
                MPK_OK);
        const mpk_status good = f.inertia.zero > 0 ? MPK_SINGULAR : MPK_OK;
        assert_int_equal(mpk_solve_sparse(ctx, fac, nrhs, s.ptr, s.row, s.value, n, NULL,
                                          MPK_SPARSE_BARE, x, n + 5, &info),
                         good);
        for (int r = 0; r < nrhs; r++)
            for (int i = 0; i < n; i++)
                assert_same(a.scalar, x, i + (int64_t)r * (n + 5), full, i + (int64_t)r * n);
        assert_true(info.share > 0 && info.share <= 1);
        for (int wanted = 1; wanted < n; wanted = step * wanted + 1) {
            double share[3];
            for (int i = 0; i < wanted; i++) row[i] = (int32_t)(fabs(uniform()) * n) % n;
            if (wanted > 3) row[2] = row[0];
            for (int how = MPK_SPARSE_BARE; how <= MPK_SPARSE_FULL; how++) {
                const mpk_status status =
                    mpk_solve_sparse(ctx, fac, nrhs, s.ptr, s.row, s.value, wanted, row,
                                     (mpk_sparse_check)how, x, wanted + 2, &info);
                assert_true(status == good || status > 0);
                share[how] = info.share;
                if (how == MPK_SPARSE_FULL) continue;
                for (int r = 0; r < nrhs; r++)
                    for (int i = 0; i < wanted; i++)
                        assert_same(a.scalar, x, i + (int64_t)r * (wanted + 2), full,
                                    row[i] + (int64_t)r * n);
            }
            assert_true(share[0] <= share[1] && share[1] <= share[2] && share[2] == 1);
        }
        sides_free(&s);
        free(full), free(x), free(row);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    return f.rejected;
}

static void test_families(void **unused) {
    (void)unused;
    int64_t delayed = 0;
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int kind = 0; kind < 6; kind++) {
            const mpk_scalar scalar = kind < 4 ? (mpk_scalar)kind : (mpk_scalar)(kind - 2);
            const mpk_symmetry law = kind == 2 || kind == 3 ? MPK_HERMITIAN : MPK_SYMMETRIC;
            dense m = family_matrix(family, 70, scalar, law);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            delayed += check(problem, 1);
            mpk_problem_destroy(&problem);
            free(m.a);
        }
    assert_true(delayed > 100);
}

/* Larger trees, on one thread and two; under sanitizers, which see one in the families, on two. */
static void test_meshes(void **unused) {
    (void)unused;
    static const char *const specs[] = {"control-distributed 12", "helmholtz 2d 40 0.3",
                                        "stokes q2q1 8", "nlpkkt 6",
                                        "helmholtz 2d 30 0.3 boundary=absorbing"};
    for (int k = 0; k < 5; k++)
        for (int threads = TEST_SANITIZED ? 2 : 1; threads <= 2; threads++) {
            mpk_problem *problem = NULL;
            if (mpk_problem_generate(ctx, specs[k], 1, &problem) != MPK_OK) {
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                fail_msg("%s: %s", specs[k], text);
            }
            (void)check(problem, threads);
            mpk_problem_destroy(&problem);
        }
}

/* An entry of the inverse of a mesh costs little of a solve; checks say what they find. */
static void test_costs_and_checks(void **unused) {
    (void)unused;
    mpk_problem *problem = NULL;
    mpk_analysis *an;
    mpk_problem_view a;
    mpk_sparse_info info;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 100 0.3", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    mpk_factor *fac = factorize(problem, 1, &an);
    const int64_t ptr[] = {0, 1};
    const int32_t row[] = {a.n / 2}, away[] = {7};
    const double one = 1;
    double x[2], y[2];
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, row, &one, 1, away, MPK_SPARSE_BARE, x, 1, &info),
        MPK_OK);
    assert_true(info.share < 0.5 && info.nodes < 400 && info.rows == 0);
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, away, &one, 1, row, MPK_SPARSE_ROWS, y, 1, &info),
        MPK_OK);
    assert_true(fabs(x[0] - y[0]) <= 1e-11 * fabs(x[0])); /* A^-1 is symmetric */
    assert_true(info.rows < 1e-14 && info.share < 0.5);
    double few[40];
    int32_t rows[40];
    for (int i = 0; i < 40; i++) rows[i] = a.n / 2 + 100 * (i % 10) + i;
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, away, &one, 40, rows, MPK_SPARSE_ROWS, few, 40, &info),
        MPK_OK);
    assert_true(info.rows > 0 && info.rows < 1e-14 && info.share < 0.9);
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, away, &one, 1, row, MPK_SPARSE_FULL, y, 1, &info),
        MPK_OK);
    assert_true(fabs(x[0] - y[0]) <= 1e-11 * fabs(x[0]));
    assert_true(info.solve.componentwise <= 1e-14 && info.share == 1);
    /* other numbers, and other delayed columns with them */
    assert_true(mpk_refactorize(ctx, NULL, NULL, fac) >= 0);
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, row, &one, 1, away, MPK_SPARSE_BARE, y, 1, &info),
        MPK_OK);
    double *e = calloc((size_t)a.n, sizeof *e);
    e[row[0]] = 1;
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, e, a.n), MPK_OK);
    assert_true(e[away[0]] == y[0]);
    free(e);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    /* pivots that were replaced, so that solves are inaccurate: rows tell it */
    dense m = dense_new(40, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 40; i++) dense_set(&m, i, i, i % 2 ? 0 : 1e-9);
    for (int i = 1; i < 40; i++) dense_set(&m, i, i - 1, 1 + i % 3);
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.static_shift = 1e-3, o.matching = MPK_OFF;
    problem = dense_problem(ctx, &m, 0);
    an = NULL;
    assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_PERTURBED);
    const int32_t at[] = {3};
    double all[40], same[40];
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, at, &one, 40, NULL, MPK_SPARSE_BARE, all, 40, &info),
        MPK_OK);
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, ptr, at, &one, 40, NULL, MPK_SPARSE_ROWS, same, 40, &info),
        MPK_INACCURATE);
    assert_true(info.rows > 1e-13);
    for (int i = 0; i < 40; i++) assert_true(all[i] == same[i]);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(m.a);
}

static const char *name(const mpk_context *own) {
    (void)own;
    return "without paths";
}

/* An engine that has no paths, as a GPU's: the same rows, from solves in all of them. */
static void test_without_paths(void **unused) {
    (void)unused;
    mpki_direct_engine direct = mpki_cpu_direct;
    direct.sparse = NULL;
    const mpki_engine engine = {.name = name, .direct = &direct, .vectors = &mpki_cpu_vectors};
    mpk_context *const others = ctx;
    for (int kind = 0; kind < 4; kind++) {
        const mpk_scalar scalar = (mpk_scalar)kind;
        dense m = family_matrix(SPARSE, 50, scalar, MPK_SYMMETRIC);
        const double far = kind % 2 ? 1e-10 : 1e-2;
        sides s = sides_new(50, scalar, 40, 3);
        double complex x[2][3 * 40];
        const int32_t row[] = {3, 44, 17};
        for (int paths = 0; paths < 2; paths++) {
            mpk_sparse_info info;
            mpk_analysis *an;
            ctx = NULL;
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
            if (!paths) mpki_engine_use(ctx, &engine);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            mpk_factor *fac = factorize(problem, 1, &an);
            assert_true(mpk_solve_sparse(ctx, fac, 40, s.ptr, s.row, s.value, 3, row,
                                         MPK_SPARSE_BARE, x[paths], 3, &info) >= 0);
            assert_true(paths ? info.nodes > 0 : info.nodes == 0 && info.share == 1);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
        for (int k = 0; k < 3 * 40; k++) {
            const double complex a = scalar_load(scalar, x[0], k), b = scalar_load(scalar, x[1], k);
            assert_true(cabs(a - b) <= far * (1 + cabs(b)));
        }
        sides_free(&s);
        free(m.a);
    }
    ctx = others;
}

/* Threads that share a factor, each with a context of its own, the first time that it is asked. */
enum { THREADS = 4, ROUNDS = 20 };
typedef struct asker {
    const mpk_factor *fac;
    double x[ROUNDS];
    bool failed;
} asker;

static void *ask(void *arg) {
    asker *a = arg;
    mpk_context *own = NULL;
    a->failed = mpk_context_create(NULL, &own) != MPK_OK;
    for (int32_t k = 0; k < ROUNDS && !a->failed; k++) {
        const int64_t ptr[] = {0, 1};
        const int32_t from = 13 * k, to = 399 - 7 * k;
        const double one = 1;
        a->failed |= mpk_solve_sparse(own, a->fac, 1, ptr, &from, &one, 1, &to, MPK_SPARSE_BARE,
                                      &a->x[k], 1, NULL) != MPK_OK;
    }
    mpk_context_destroy(&own);
    return NULL;
}

static void test_threads(void **unused) {
    (void)unused;
    mpk_problem *problem = NULL;
    mpk_analysis *an;
    pthread_t thread[THREADS];
    static asker all[THREADS];
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 20 0.3", 1, &problem), MPK_OK);
    mpk_factor *fac = factorize(problem, 1, &an);
    for (int t = 0; t < THREADS; t++) {
        all[t].fac = fac;
        assert_int_equal(pthread_create(&thread[t], NULL, ask, &all[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        assert_false(all[t].failed);
        assert_memory_equal(all[t].x, all[0].x, sizeof all[t].x);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

/* Where the factor's context asks for memory, at the request `stop_at`, it waits. */
typedef struct waiting {
    _Atomic int calls, stop_at, there, go;
} waiting;

static void *waiting_alloc(void *user, size_t size) {
    waiting *w = user;
    if (++w->calls == w->stop_at) {
        w->there = 1;
        while (!w->go) usleep(100);
    }
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void waiting_release(void *user, void *ptr, size_t size) {
    (void)user;
    (void)size;
    free(ptr);
}

/* A process forks while another of its threads makes what a factor keeps for such solves: the
 * child makes it anew. */
static void test_fork(void **unused) {
    (void)unused;
    mpk_context *const others = ctx;
    for (int stop = 1; stop <= 4; stop++) {
        waiting w = {0};
        const mpk_allocator own = {waiting_alloc, waiting_release, &w};
        mpk_problem *problem = NULL;
        mpk_analysis *an;
        pthread_t thread;
        static asker one, two;
        ctx = NULL;
        assert_int_equal(mpk_context_create(&own, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 20 0.3", 1, &problem), MPK_OK);
        mpk_factor *fac = factorize(problem, 1, &an);
        one = (asker){.fac = fac};
        two = (asker){.fac = fac};
        w.calls = 0;
        w.stop_at = stop;
        assert_int_equal(pthread_create(&thread, NULL, ask, &one), 0);
        for (int k = 0; k < 2000 && !w.there; k++) usleep(100);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            w.stop_at = 0;
            ask(&two);
            _exit(two.failed ? 1 : 0);
        }
        int status = -1;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        w.go = 1;
        pthread_join(thread, NULL);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_false(one.failed);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    ctx = others;
}

/* Of a singular matrix the check of rows says as much as of others. */
static void test_singular(void **unused) {
    (void)unused;
    enum { N = 12 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) dense_set(&m, i, i, i == 0 || i == N - 1 ? 1 : 2);
    for (int i = 1; i < N; i++) dense_set(&m, i, i - 1, -1);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_analysis *an;
    mpk_factor *fac = factorize(problem, 1, &an);
    const int64_t one[] = {0, 1}, two[] = {0, 2};
    const int32_t row[] = {2, 9};
    const double value[] = {1, -1};
    double x[N];
    mpk_sparse_info info;
#define ONE(ptr, check)                                                                            \
    mpk_solve_sparse(ctx, fac, 1, ptr, row, value, N, NULL, (mpk_sparse_check)(check), x, N, &info)
    assert_int_equal(ONE(one, MPK_SPARSE_BARE), MPK_SINGULAR);
    assert_int_equal(ONE(two, MPK_SPARSE_ROWS), MPK_SINGULAR); /* x: 7, ... 1, rounding of 0 */
    assert_true(info.rows < 1e-14);
    assert_int_equal(ONE(one, MPK_SPARSE_ROWS), MPK_INACCURATE);
    assert_true(info.rows > 1e-3);
#undef ONE
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(m.a);
}

static void test_refused(void **unused) {
    (void)unused;
    enum { N = 30 };
    dense m = family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_analysis *an;
    mpk_factor *fac = factorize(problem, 1, &an);
    int64_t ptr[] = {0, 1, 2}, crooked[] = {0, 2, 1};
    int32_t row[] = {4, 29}, out[] = {4, 30}, below[] = {-1, 3};
    double value[] = {1, 2}, bad[] = {1, NAN}, x[2 * N];
    mpk_sparse_info info;
#define CALL(nrhs, ptr, brow, value, wanted, row, check, x, ldx)                                   \
    mpk_solve_sparse(ctx, fac, nrhs, ptr, brow, value, wanted, row, (mpk_sparse_check)(check), x,  \
                     ldx, &info)
    assert_int_equal(CALL(2, ptr, row, value, 2, row, 0, x, 2), MPK_OK);
    assert_int_equal(CALL(0, ptr, row, value, 2, row, 0, x, 2), MPK_OK);
    assert_int_equal(CALL(2, ptr, row, value, 0, row, 1, x, 0), MPK_OK);
    assert_int_equal(CALL(-1, ptr, row, value, 2, row, 0, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, row, value, 2, NULL, 0, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, row, value, 2, row, 0, x, 1), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, row, value, 2, row, 3, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, row, value, 2, row, 0, NULL, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, NULL, row, value, 2, row, 0, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, NULL, value, 2, row, 0, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, crooked, row, value, 2, row, 0, x, 2), MPK_ERR_ARGUMENT);
    assert_int_equal(CALL(2, ptr, out, value, 2, row, 0, x, 2), MPK_ERR_INPUT);
    assert_int_equal(CALL(2, ptr, below, value, 2, row, 0, x, 2), MPK_ERR_INPUT);
    assert_int_equal(CALL(2, ptr, row, value, 2, out, 0, x, 2), MPK_ERR_INPUT);
    assert_int_equal(CALL(2, ptr, row, bad, 2, row, 0, x, 2), MPK_ERR_INPUT);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(m.a);
}

/* Whichever allocation fails, the call says so and holds nothing. */
static void test_memory(void **unused) {
    (void)unused;
    failing f = {.fail_at = -1};
    const mpk_allocator own = {failing_alloc, failing_release, &f};
    mpk_context *const others = ctx;
    ctx = NULL;
    assert_int_equal(mpk_context_create(&own, &ctx), MPK_OK);
    mpk_problem *problem = NULL;
    mpk_analysis *an;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 20 0.3", 1, &problem), MPK_OK);
    mpk_factor *fac = NULL;
    sides s = sides_new(400, MPK_D, 20, 3);
    static double x[3 * 20];
    const int32_t row[] = {3, 200, 17};
    fac = factorize(problem, 1, &an);
    /* asked by another context: the factor's own hears nothing of it */
    f.calls = 0, f.fail_at = 1;
    assert_int_equal(mpk_solve_sparse(others, fac, 20, s.ptr, s.row, s.value, 3, row,
                                      MPK_SPARSE_BARE, x, 3, NULL),
                     MPK_ERR_MEMORY);
    assert_true(f.calls > 0);
    assert_int_equal(mpki_failed(ctx), MPK_OK);
    f.fail_at = -1;
    for (int check = 0; check < 3; check++)
        for (int64_t k = 1;; k++) {
            assert_true(mpk_refactorize(ctx, NULL, NULL, fac) >= 0); /* forgets the places */
            f.calls = 0, f.fail_at = k;
            const mpk_status status = mpk_solve_sparse(ctx, fac, 20, s.ptr, s.row, s.value, 3, row,
                                                       (mpk_sparse_check)check, x, 3, NULL);
            const bool reached = f.calls >= k;
            f.fail_at = -1;
            if (!reached) {
                assert_int_equal(status, MPK_OK);
                break;
            }
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_true(k < 100);
        }
    sides_free(&s);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    assert_int_equal(f.held, 0);
    ctx = others;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_meshes),
                                       cmocka_unit_test(test_costs_and_checks),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_without_paths),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_singular),
                                       cmocka_unit_test(test_memory)};
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    mpk_context_destroy(&ctx);
    return rc;
}
