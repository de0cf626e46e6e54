/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem, its analysis, its factor and its solves in a context each. Every block of memory is
 * marked with the context that it was taken for: it goes back there, a solve takes none of a
 * context that is not its own, and when all are destroyed each has given back what it took. */
#include "../sanitized.h"
#include "support.h"

#include <pthread.h>
#include <stdbool.h>

enum { CONTEXTS = 4, SOLVER = 3, THREADS = 3, ROOM = 64 };

typedef struct owner {
    _Atomic int64_t taken, held;
} owner;
static owner owners[CONTEXTS + THREADS];
static _Atomic int64_t foreign;

static void *take(void *user, size_t size) {
    char *ptr = aligned_alloc(64, (size + 63) / 64 * 64 + ROOM);
    if (!ptr) return NULL;
    memcpy(ptr, &user, sizeof user);
    ((owner *)user)->taken++;
    ((owner *)user)->held++;
    return ptr + ROOM;
}

static void give(void *user, void *ptr, size_t size) {
    void *of;
    char *whole = (char *)ptr - ROOM;
    (void)size;
    memcpy(&of, whole, sizeof of);
    if (of != user) foreign++;
    ((owner *)user)->held--;
    free(whole);
}

static mpk_context *context(int k) {
    const mpk_allocator allocator = {take, give, &owners[k]};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    return ctx;
}

/* ---- cases: families and words of options ---- */

static const char *const specs[] = {TEST_SANITIZED ? "helmholtz 2d 12 0.3" : "helmholtz 2d 20 0.3",
                                    TEST_SANITIZED ? "nlpkkt 3" : "nlpkkt 5",
                                    TEST_SANITIZED ? "stokes mac 7" : "stokes mac 12"};

static const char *const cases[] = {
    "method=ldlt",
    "method=ldlt condition=on threads=3",
    "method=ldlt krylov=minres",
    "method=ildlt krylov=sqmr threads=3",
    "method=ildlt krylov=gmres precision=single",
    "method=ildlt krylov=gmres triangular=isai threads=2",
    "method=ildlt krylov=gmres triangular=auto",
    "method=ildlt krylov=gmres solve_sweeps=3",
    "method=ildlt krylov=gmres block=1 fill_factor=2",
    "method=ildlt krylov=gmres factor_type=ldu",
    "method=ildlt krylov=gmres level=0 block=4",
    "method=ildlt krylov=idr fill_factor=0 drop_tolerance=0 level=-1",
    "method=ilu0 krylov=bicgstab",
    "method=jacobi krylov=gmres",
    "method=diagonal krylov=gmres",
    "method=block_jacobi krylov=symmlq",
    "method=ssor krylov=gmres",
    "method=none krylov=gmres",
};

static bool read_words(mpk_context *ctx, const char *words, mpk_options *o) {
    char text[256];
    snprintf(text, sizeof text, "%s", words);
    mpk_options_init(o);
    o->threads = 1;
    o->max_iterations = 60;
    for (char *at, *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (mpk_failed(mpk_options_set(ctx, o, word, value))) return false;
    }
    return true;
}

/* A matrix whose factor on blocks turns into rows after some solves. */
static mpk_problem *loose_grid(mpk_context *ctx) {
    enum { M = 30, N = M * M };
    static int32_t r[3 * N], c[3 * N];
    static double v[3 * N];
    mpk_problem *problem = NULL;
    int k = 0;
    for (int i = 0; i < N; i++) {
        r[k] = c[k] = i, v[k++] = i % 4 == 0 ? 0 : i % 3 ? 4.1 : -3.3;
        if (i % M != M - 1) r[k] = i + 1, c[k] = i, v[k++] = -1 + 0.1 * (i % 5);
        if (i + M < N) r[k] = i + M, c[k] = i, v[k++] = -1;
    }
    assert_int_equal(
        mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, k, r, c, v, &problem),
        MPK_OK);
    return problem;
}

typedef struct shared {
    const mpk_factor *fac;
    mpk_problem_view a;
    mpk_options o;
    const double *b;
} shared;

typedef struct client {
    const shared *s;
    mpk_context *ctx;
    double *x;
    mpk_status status;
    int rounds;
} client;

/* All that a factor is only read for. */
static void *solve(void *arg) {
    client *c = arg;
    const shared *s = c->s;
    const int64_t n = s->a.n;
    for (int k = 0; k < c->rounds && !mpk_failed(c->status); k++) {
        double logdet[3];
        c->status = mpk_solve(c->ctx, s->fac, 1, s->b, n, c->x, n, &s->o, NULL);
        memcpy(c->x + n, s->b, (size_t)n * sizeof *s->b);
        if (!mpk_failed(c->status))
            c->status = mpk_solve_part(c->ctx, s->fac, MPK_PART_ALL, 1, c->x + n, n);
        (void)mpk_solve_part(c->ctx, s->fac, MPK_PART_L, 1, c->x + n, n);
        (void)mpk_solve_part(c->ctx, s->fac, MPK_PART_ABS, 1, c->x + n, n);
        (void)mpk_get(c->ctx, s->fac, MPK_GET_LOGDET, logdet, sizeof logdet);
    }
    return NULL;
}

static void check(const char *spec, const char *words) {
    mpk_context *ctx[CONTEXTS];
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    shared s = {0};
    memset(owners, 0, sizeof owners);
    for (int k = 0; k < CONTEXTS; k++) ctx[k] = context(k);
    if (!read_words(ctx[0], words, &s.o)) fail_msg("%s: no such options", words);
    if (spec)
        assert_int_equal(mpk_problem_generate(ctx[0], spec, 1, &problem), MPK_OK);
    else
        problem = loose_grid(ctx[0]);
    mpk_problem_view_get(problem, &s.a);
    const int64_t n = s.a.n;
    double *b = calloc((size_t)n, sizeof *b), *x = calloc(2 * (size_t)n * (1 + THREADS), sizeof *x);
    for (int64_t i = 0; i < n; i++) b[i] = 1 + (double)(i % 7);
    s.b = b;
    mpk_status status = mpk_analyse(ctx[1], problem, &s.o, &an);
    if (status >= 0) status = mpk_factorize(ctx[2], an, NULL, &s.o, &fac);
    if (status >= 0) status = mpk_refactorize(ctx[2], s.a.ax, &s.o, fac);
    if (status < 0) fail_msg("%s, %s: %s", spec ? spec : "grid", words, mpk_status_name(status));
    int64_t taken[CONTEXTS], used[CONTEXTS], now;
    for (int k = 0; k < CONTEXTS; k++)
        taken[k] = owners[k].taken, mpk_memory_usage(ctx[k], &used[k], NULL);
    s.fac = fac;
    client alone = {&s, ctx[SOLVER], x, 0, 3}, beside[THREADS];
    pthread_t thread[THREADS];
    solve(&alone);
    assert_true(alone.status >= 0 || alone.status == MPK_ERR_NUMERIC);
    for (int t = 0; t < THREADS; t++) {
        beside[t] = (client){&s, context(CONTEXTS + t), x + 2 * n * (1 + t), 0, 2};
        assert_int_equal(pthread_create(&thread[t], NULL, solve, &beside[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(thread[t], NULL), 0);
        assert_int_equal(beside[t].status, alone.status);
        if (alone.status >= 0) assert_memory_equal(beside[t].x, x, (size_t)n * sizeof *x);
        mpk_memory_usage(beside[t].ctx, &now, NULL);
        assert_int_equal(now, 0);
        mpk_context_destroy(&beside[t].ctx);
    }
    for (int k = 0; k < CONTEXTS; k++) {
        mpk_memory_usage(ctx[k], &now, NULL);
        if (now != used[k] || (k != SOLVER && owners[k].taken != taken[k]))
            fail_msg("%s, %s: context %d holds %lld bytes, before %lld, and has taken %lld blocks",
                     spec ? spec : "grid", words, k, (long long)now, (long long)used[k],
                     (long long)(owners[k].taken - taken[k]));
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    for (int k = 0; k < CONTEXTS; k++) mpk_context_destroy(&ctx[k]);
    for (int k = 0; k < CONTEXTS + THREADS; k++) assert_int_equal(owners[k].held, 0);
    assert_int_equal(foreign, 0);
    free(b), free(x);
}

static void test_factors_of_others(void **unused) {
    (void)unused;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (c % 2 == 0) check(NULL, cases[c]);
        if (c % 2 || c < 4) check(specs[c % 3], cases[c]);
    }
}

/* attack/01, 01b, 01c: thousands of solves in another context leave the factor's as it was,
 * under a limit, too. */
static void test_many_solves(void **unused) {
    (void)unused;
    memset(owners, 0, sizeof owners);
    mpk_context *a = context(0), *b = context(1);
    mpk_problem *problem = loose_grid(a);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view v;
    mpk_options o;
    int64_t before, now;
    mpk_problem_view_get(problem, &v);
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT, o.threads = 1, o.memory_limit = 20e6;
    assert_int_equal(mpk_analyse(a, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(a, an, NULL, &o, &fac), MPK_OK);
    double *rhs = calloc((size_t)v.n, sizeof *rhs), *x = calloc((size_t)v.n, sizeof *x);
    for (int64_t i = 0; i < v.n; i++) rhs[i] = 1 + (double)(i % 7);
    mpk_memory_usage(a, &before, NULL);
    for (int k = 0; k < (TEST_SANITIZED ? 20 : 60); k++)
        assert_int_equal(mpk_solve(b, fac, 1, rhs, v.n, x, v.n, &o, NULL), MPK_OK);
    mpk_memory_usage(a, &now, NULL);
    assert_int_equal(now, before);
    mpk_memory_usage(b, &now, NULL);
    assert_int_equal(now, 0);
    assert_int_equal(mpk_refactorize(a, v.ax, &o, fac), MPK_OK);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&a);
    mpk_context_destroy(&b);
    assert_int_equal(foreign, 0);
    assert_int_equal(owners[0].held + owners[1].held, 0);
    free(rhs), free(x);
}

/* An approximate inverse is applied in any context, and brought up to date in its own. */
static void test_inverse_of_another(void **unused) {
    (void)unused;
    enum { N = 40 };
    memset(owners, 0, sizeof owners);
    mpk_context *a = context(0), *b = context(1);
    mpk_isai *isai = NULL;
    int64_t ptr[N + 1];
    int32_t row[N];
    double val[N], x[3 * N];
    for (int j = 0; j < N; j++) ptr[j] = row[j] = j, val[j] = 2;
    ptr[N] = N;
    for (int j = 0; j < 3 * N; j++) x[j] = 1;
    assert_int_equal(mpk_isai_create(a, MPK_D, N, ptr, row, val, NULL, &isai), MPK_OK);
    assert_int_equal(mpk_isai_apply(b, isai, MPK_ISAI_AS_IS, 3, x, N, x, N), MPK_OK);
    assert_true(x[N] == 0.5);
    assert_int_equal(mpk_isai_update(b, val, isai), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_isai_update(a, val, isai), MPK_OK);
    mpk_context_destroy(&b);
    mpk_isai_destroy(&isai);
    mpk_context_destroy(&a);
    assert_int_equal(foreign, 0);
    assert_int_equal(owners[0].held + owners[1].held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors_of_others),
                                       cmocka_unit_test(test_many_solves),
                                       cmocka_unit_test(test_inverse_of_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
