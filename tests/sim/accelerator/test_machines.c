/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated machines behind the accelerator interface: the bits of the processor's table, kernel by
 * kernel and in whole factorizations of one to four stages; cycles; what is refused. */
#include "factor/runs.h"

#include "sim/accelerator/accelerator.h"

/* A table without inner pivoting and atomics, whose order of operations the machines have. */
static mpk_accelerator plain_cpu(void) {
    mpk_accelerator cpu = *mpk_accelerator_cpu();
    cpu.pivoting = cpu.atomics = 0;
    return cpu;
}

static mpk_options able(void) {
    mpk_options o = complete();
    o.pivoting = MPK_PIVOTING_NONE;
    o.schedule = MPK_SCHEDULE_SUBSETS;
    return o;
}

enum { ITEMS = 5, MOST_N = 12 };

typedef struct data {
    double block[4][ITEMS][MOST_N * MOST_N];
    void *pointer[4][ITEMS];
    int32_t trouble[ITEMS];
    double largest[ITEMS];
} data;

static void fill(data *d, int n) {
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < ITEMS; i++) {
            d->pointer[k][i] = d->block[k][i];
            for (int e = 0; e < n * n; e++) d->block[k][i][e] = uniform();
            for (int r = 0; r < n; r++) {
                d->block[k][i][r * (n + 1)] += r % 2 ? -3 : 3;
                for (int c = 0; c < r; c++)
                    if (k == 0) d->block[k][i][r * n + c] = d->block[k][i][c * n + r];
            }
        }
    if (n > 2) d->block[0][1][0] = 0; /* a zero pivot; a NaN */
    if (n > 2) d->block[0][2][n + 1] = (double)NAN;
}

static mpk_accelerator_batch batch_of(data *d, int n, int kernel) {
    return (mpk_accelerator_batch){.n = n,
                                   .count = ITEMS,
                                   .block = {d->pointer[0], d->pointer[1], d->pointer[2]},
                                   .pivot = kernel == 1 || kernel == 2 ? d->pointer[3] : NULL,
                                   .small = 1e-10,
                                   .trouble = d->trouble,
                                   .largest = d->largest};
}

/* The lower triangle and the diagonal are what factorize gives. */
static bool same(const double *x, const double *y, int n, bool lower) {
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            const double a = x[r * n + c], b = y[r * n + c];
            if (!(lower && c > r) && memcmp(&a, &b, sizeof a) && !(isnan(a) && isnan(b)))
                return false;
        }
    return true;
}

static void check_kernels(const sim_machine *m, int n) {
    static data want, got;
    mpk_accelerator cpu = plain_cpu();
    mpk_accelerator_kernel *const a[] = {cpu.factorize, cpu.solve, cpu.downdate, cpu.transpose,
                                         cpu.zero_out};
    mpk_accelerator_kernel *const b[] = {m->table.factorize, m->table.solve, m->table.downdate,
                                         m->table.transpose, m->table.zero_out};
    for (int kernel = 0; kernel < 5; kernel++) {
        support_state = (uint64_t)(n * 5 + kernel);
        fill(&want, n);
        support_state = (uint64_t)(n * 5 + kernel);
        fill(&got, n);
        const mpk_accelerator_batch x = batch_of(&want, n, kernel), y = batch_of(&got, n, kernel);
        assert_int_equal(a[kernel](cpu.self, &x), MPK_OK);
        assert_int_equal(b[kernel](m->table.self, &y), MPK_OK);
        for (int i = 0; i < ITEMS; i++) {
            const bool lower = kernel == 0 && !want.trouble[i];
            if (!same(want.block[0][i], got.block[0][i], n, lower))
                fail_msg("%s, n = %d: kernel %d, item %d has other bits", m->name, n, kernel, i);
            if (kernel == 0) assert_int_equal(want.trouble[i], got.trouble[i]);
            if (kernel <= 1 && !want.trouble[i])
                assert_true(want.largest[i] == got.largest[i] ||
                            (isnan(want.largest[i]) && isnan(got.largest[i])));
        }
        if (kernel < 3) assert_true(m->count.cycles[kernel] > 0 && m->count.busy[kernel] > 0);
    }
}

static void test_kernels(void **unused) {
    (void)unused;
    char text[SIM_TEXT];
    for (int n = 1; n <= MOST_N; n += n < 6 ? 1 : 3) {
        sim_machine *m = sim_systolic_new(n, n, text);
        check_kernels(m, n); /* one triangle at a time */
        sim_machine_free(&m);
        m = sim_systolic_new(n + 2, n + 3, text);
        check_kernels(m, n); /* two */
        sim_machine_free(&m);
        m = sim_pipe_new(NULL, NULL, n, NULL, text);
        if (!m) fail_msg("%s", text);
        check_kernels(m, n);
        sim_machine_free(&m);
    }
}

/* Whole factorizations: the simulators have the bits of the processor's table. */
static void test_factors(void **unused) {
    (void)unused;
    static const char *const spec[] = {"random 90 0.05", "optimal-control 8"};
    int most = 0;
    for (size_t k = 0; k < 2; k++) {
        for (int stages = 1; stages <= 4; stages++) {
            char text[SIM_TEXT];
            mpk_options o = able();
            o.stages = stages;
            o.block = 6;
            o.pivot_threshold = 0.3;
            mpk_accelerator cpu = plain_cpu();
            cpu.largest_block = 6;
            mpk_context *own = context();
            assert_int_equal(mpk_context_use_accelerator(own, &cpu), MPK_OK);
            run want = go(own, spec[k], &o);
            assert_false(mpk_failed(want.status));
            for (int which = 0; which < 2; which++) {
                sim_machine *m =
                    which ? sim_pipe_new(NULL, NULL, 6, NULL, text) : sim_systolic_new(6, 7, text);
                mpk_context *ctx = context();
                assert_int_equal(mpk_context_use_accelerator(ctx, &m->table), MPK_OK);
                run got = go(ctx, spec[k], &o);
                assert_false(mpk_failed(got.status));
                assert_memory_equal(want.x, got.x, (size_t)want.a.n * sizeof(double));
                mpk_factor_info info;
                mpk_factor_info_get(got.fac, &info);
                if (info.stages > most) most = info.stages;
                assert_true(m->count.cycles[0] > 0 && m->count.cycles[2] > 0);
                end(&got);
                mpk_context_destroy(&ctx);
                sim_machine_free(&m);
            }
            end(&want);
            mpk_context_destroy(&own);
        }
    }
    assert_true(most >= 3);
}

/* Cycles of a batch follow from the arrays'. */
static void test_cycles(void **unused) {
    (void)unused;
    char text[SIM_TEXT];
    static data d;
    enum { N = 4 };
    sim_machine *m = sim_systolic_new(N, N + 1, text);
    support_state = 5;
    fill(&d, N);
    mpk_accelerator_batch b = batch_of(&d, N, 0);
    m->table.factorize(m->table.self, &b);
    /* latency 3n - 1, an interval of n + 1, n cycles to load each */
    assert_int_equal(m->count.cycles[0], (3 * N - 1) + (ITEMS - 1) * (N + 1) + ITEMS * N);
    b = batch_of(&d, N, 1);
    for (int i = 0; i < ITEMS; i++) d.pointer[3][i] = d.block[3][0]; /* one pivot: loaded once */
    m->table.solve(m->table.self, &b);
    assert_int_equal(m->count.cycles[1], N + 2 * N + ITEMS * N / 2 - 1);
    sim_machine_free(&m);
}

static void test_refusals(void **unused) {
    (void)unused;
    char text[SIM_TEXT];
    assert_null(sim_systolic_new(0, 4, text));
    assert_non_null(strstr(text, "1 x 1 to 1024 x 1024"));
    assert_null(sim_pipe_new("k.cl", "__kernel void factorize(__global double **block) { }\n", 4,
                             NULL, text));
    assert_non_null(strstr(text, "k.cl has no kernel 'solve'"));
    assert_null(
        sim_pipe_new("k.cl", "__kernel void solve(__global double *block) { }\n", 4, NULL, text));
    assert_non_null(strstr(text, "parameter 'block' is none of"));
    assert_null(
        sim_pipe_new("k.cl",
                     "__kernel void solve(__global double **block, __global int *trouble) {\n"
                     "    for (int k = 0; k < trouble[0]; ++k) block[0][k] = 0;\n}\n",
                     4, NULL, text));
    assert_non_null(strstr(text, "k.cl:2:"));
    assert_non_null(strchr(text, '^'));
    assert_null(sim_pipe_new("k.cl", "void", 4, NULL, text));
    assert_non_null(strstr(text, "k.cl:1:"));
    assert_null(sim_pipe_new(NULL, NULL, 4, "UNIT(nothing, 1, 1, 1, 1, 1)", text));
    assert_non_null(strstr(text, "there is no unit of this name"));
    /* a block that the mesh does not hold */
    sim_machine *m = sim_systolic_new(8, 8, text);
    mpk_context *ctx = context();
    mpk_options o = able();
    assert_int_equal(mpk_context_use_accelerator(ctx, &m->table), MPK_OK);
    run r = go(ctx, "nlpkkt 3", &o);
    const char *why = "";
    assert_int_equal(r.status, MPK_ERR_UNSUPPORTED);
    mpk_last_error(ctx, NULL, NULL, &why);
    assert_non_null(strstr(why, "takes blocks of at most 8 rows"));
    assert_non_null(strstr(why, "block 8 would do"));
    end(&r);
    mpk_context_destroy(&ctx);
    sim_machine_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_factors),
        cmocka_unit_test(test_cycles), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
