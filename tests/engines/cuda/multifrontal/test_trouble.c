/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device where something goes wrong in the middle of a step, or a tree
 * is of a shape of its own: NaN below other fronts, an arena that is full, very many children. */
#include "support.h"

#include "device_multifrontal.h"
#include "factor/direct_numbers.h"
#include "share.h"

#include <dlfcn.h>

static int32_t cut_fronts(const mpki_cuda_plan *plan) {
    int32_t count = 0;
    for (int32_t f = 0; f < plan->fronts; f++) count += plan->kind[f] == MPKI_CUDA_LOWER;
    return count;
}

/* ---- NaN ---- */

/* Above the engine values are looked at before; here they come to it. Wherever a NaN is, blocks
 * that wait for its front come to an end, the status says so, and good values factorize again, with
 * the same bits. */
static void test_nan(void **unused) {
    (void)unused;
    small_blocks("60000");
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
    mpki_direct *f = fac->direct;
    if (!device_is_real()) assert_true(cut_fronts(&f->plan) > 0);
    const mpki_pivot_rules rules = {.threshold = 0.01,
                                    .small = mpki_default_zero_tolerance(MPK_D) * fac->size,
                                    .size = fac->size,
                                    .threads = 1};
    const int64_t nnz = f->tree.nnz, place[] = {0, nnz / 3, nnz / 2, nnz - 1};
    double *ax = malloc((size_t)nnz * sizeof *ax);
    mpki_numeric_result good, again;
    memcpy(ax, fac->ax, (size_t)nnz * sizeof *ax);
    assert_int_equal(mpki_cuda_direct.factorize(f, ax, fac->scale, &rules, NULL, &good), MPK_OK);
    for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
        const double kept = ax[place[k]];
        const char *text = "";
        ax[place[k]] = NAN;
        assert_int_equal(mpki_cuda_direct.factorize(f, ax, fac->scale, &rules, NULL, &again),
                         MPK_ERR_NUMERIC);
        assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_NUMERIC);
        assert_true(text[0] != 0);
        ax[place[k]] = kept;
        mpki_clear_error(ctx);
        assert_int_equal(mpki_cuda_direct.factorize(f, ax, fac->scale, &rules, NULL, &again),
                         MPK_OK);
        assert_true(good.positive == again.positive && good.negative == again.negative &&
                    good.max_d == again.max_d && good.min_d == again.min_d);
    }
    free(ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* NaN or an infinity in an array that lies on the device: the caller's mistake, told with its
 * place, and the numbers before stay as they were. */
static void test_nan_there(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    void *there = NULL;
    double good[3], kept[3];
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(
        mpk_problem_generate(ctx, device_is_real() ? "nlpkkt 20" : "nlpkkt 4", 1, &problem),
        MPK_OK);
    mpk_problem_view_get(problem, &a);
    const int64_t bytes = a.nnz * (int64_t)sizeof(double);
    double *ax = malloc((size_t)bytes);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_device_alloc(ctx, 0, bytes, &there), MPK_OK);
    const int64_t place[] = {0, a.nnz / 2, a.nnz - 1};
    for (int k = -1; k < 6; k++) {
        int64_t at = -1;
        const char *text = "";
        memcpy(ax, a.ax, (size_t)bytes);
        if (k >= 0) ax[place[k % 3]] = k < 3 ? (double)NAN : (double)INFINITY;
        assert_int_equal(mpk_device_copy(ctx, 0, there, bytes, ax, bytes, bytes, 1), MPK_OK);
        const mpk_status status = mpk_factorize_lower(ctx, an, there, &o, &fac);
        assert_int_equal(status, k < 0 ? MPK_OK : MPK_ERR_INPUT);
        if (k >= 0) assert_int_equal(mpk_last_error(ctx, NULL, &at, &text), MPK_ERR_INPUT);
        if (k >= 0) assert_true(at == place[k % 3] && text[0] != 0);
        assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, k < 0 ? good : kept, sizeof good),
                         MPK_OK);
        if (k >= 0) assert_memory_equal(kept, good, sizeof good);
    }
    (void)mpk_device_free(ctx, 0, &there);
    free(ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* ---- an arena that is full ---- */

/* A dense matrix of whose columns some fail in their tiles, which cut fronts hand on; or most:
 * these are more and more, so that its front had better not be cut. */
static mpk_problem *failing_columns(mpk_context *ctx, bool most) {
    enum { N = 300 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    support_state = 5;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            dense_set(&m, i, j,
                      ((most ? j % 8 != 0 : j % 75 == 0) && i - j < 100 ? 1e-7 : 1) * uniform());
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static mpk_status within(double limit, bool most, int64_t *bytes, char *said, size_t size) {
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = failing_columns(ctx, most);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info, again;
    mpk_options o;
    const char *text = "";
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.scaling = MPK_OFF, o.matching = MPK_OFF;
    o.device_memory_limit = limit;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (!mpk_failed(status)) {
        mpk_factor_info_get(fac, &info);
        *bytes = info.bytes;
        const bool cut = cut_fronts(&fac->direct->plan) > 0; /* the first time, perhaps */
        int32_t grown = 0; /* fronts with more columns than the plan has memory for */
        for (int32_t k = 0; k < fac->direct->plan.fronts; k++)
            grown += fac->direct->state[k].w > fac->direct->plan.node[k].own;
        if (cut) assert_true(grown > 0);
        status = mpk_refactorize(ctx, NULL, &o, fac);
        assert_true(status == MPK_OK || (limit > 0 && status == MPK_ERR_MEMORY));
    }
    if (!mpk_failed(status)) {
        mpk_factor_info_get(fac, &again);
        if (!device_is_real()) {
            assert_true(fac->direct->whole == most);
            assert_true((cut_fronts(&fac->direct->plan) > 0) == !most);
        }
        assert_int_equal(again.inertia.positive, info.inertia.positive);
        assert_int_equal(again.rejected, info.rejected);
        *bytes = again.bytes;
    }
    mpk_last_error(ctx, NULL, NULL, &text);
    snprintf(said, size, "%s", text);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return status;
}

/* More fronts change than are listed: the host reads all of them, and knows the same; then other
 * ones change, and those of before are as planned again. */
static void test_listed(void **unused) {
    (void)unused;
    enum { KINDS = 3 };
    static const int32_t listed[KINDS] = {MPKI_CUDA_CHANGES, 1, 0};
    small_blocks("60000");
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = failing_columns(ctx, false);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info[KINDS], easy[KINDS];
    mpk_options o, bold;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.matching = MPK_OFF, o.scaling = MPK_OFF;
    bold = o, bold.pivot_threshold = 1e-9; /* fewer columns are delayed */
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    uint64_t shape[2][KINDS];
    int32_t changed[KINDS];
    for (int k = 0; k < KINDS; k++) {
        fac->direct->on.listed = listed[k];
        assert_false(mpk_failed(mpk_refactorize(ctx, NULL, &o, fac)));
        mpk_factor_info_get(fac, &info[k]);
        shape[0][k] = fac->direct->shape;
        changed[k] = fac->direct->changed;
        if (!device_is_real()) assert_true(changed[k] > 1);
        assert_false(mpk_failed(mpk_refactorize(ctx, NULL, &bold, fac)));
        mpk_factor_info_get(fac, &easy[k]);
        shape[1][k] = fac->direct->shape;
        if (!device_is_real()) assert_true(fac->direct->changed < changed[k]);
        assert_true(changed[k] == changed[0] && info[k].nnz == info[0].nnz &&
                    info[k].flops == info[0].flops && info[k].max_front == info[0].max_front &&
                    info[k].inertia.negative == info[0].inertia.negative);
        assert_true(easy[k].nnz == easy[0].nnz && easy[k].flops == easy[0].flops);
        assert_true(shape[0][k] == shape[0][0] && shape[1][k] == shape[1][0]);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* Whatever the limit, the factorization fits or says what it would need and what it may have; some
 * limits are met only after fronts have grown, in the middle of a step, or once more, uncut. */
static void test_full(void **unused) {
    (void)unused;
    char said[300];
    for (int most = 0; most < 2; most++) {
        int64_t all = 0, some = 0;
        int32_t refused = 0;
        small_blocks("60000");
        assert_int_equal(within(0, most, &all, said, sizeof said), MPK_OK);
        for (int k = 1; k <= 12; k++) {
            const double limit = (double)all * k / 10;
            const mpk_status status = within(limit, most, &some, said, sizeof said);
            if (status == MPK_OK) {
                assert_true((double)some <= limit);
                continue;
            }
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_non_null(strstr(said, "device_memory_limit allows"));
            refused++;
        }
        assert_true(refused > 0 && refused < 12);
    }
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* Memory for the delayed columns that are expected is told, and enough here; where it does not fit
 * the same factor is made without it, and grows. */
static void test_reserve(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor_info info[2];
    int64_t bytes, delayed;
    double time_s;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_problem_generate(ctx, "stokes mac 20", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    assert_int_equal(mpki_cuda_direct.estimate(ctx, &tree, MPK_AUTO, &bytes, &delayed, &time_s),
                     MPK_OK);
    for (int k = 0; k < 2; k++) {
        mpk_factor *fac = NULL;
        if (k) o.device_memory_limit = (double)info[0].bytes - 1000;
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpk_factor_info_get(fac, &info[k]);
        assert_true(fac->direct->chunks > 0 && (fac->direct->filled > 0) == (k == 1));
        mpk_factor_destroy(&fac);
    }
    assert_true(info[0].rejected > 0 && info[0].rejected == info[1].rejected);
    assert_true(delayed > 0);
    assert_true(info[0].bytes <= bytes);
    assert_true((double)info[1].bytes <= o.device_memory_limit);
    assert_int_equal(info[0].inertia.positive, info[1].inertia.positive);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* ---- no memory on the device ---- */

typedef void memory_fn(int64_t *held, int64_t *refused);

/* What the host module says of its "device": bytes in use, allocations that it has refused. */
static memory_fn *memory_of_module(void) {
    memory_fn *asked = NULL;
#ifdef METAPACK_CUDA_HOST
    void *module = dlopen(METAPACK_CUDA_HOST, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(module);
    *(void **)&asked = dlsym(module, "host_device_memory");
    dlclose(module);
#endif
    return asked;
}

/* Factorize, factorize again values in device memory, solve with vectors there. */
static mpk_status three_verbs(mpk_context *ctx, const mpk_analysis *an, const mpk_options *o,
                              mpk_factor **fac, const void *ax, const void *b, void *x,
                              double logdet[3]) {
    mpk_solve_info info = {0};
    mpk_status status = mpk_factorize(ctx, an, NULL, o, fac);
    if (!mpk_failed(status)) status = mpk_refactorize(ctx, ax, o, *fac);
    if (!mpk_failed(status)) status = mpk_solve(ctx, *fac, 1, b, an->n, x, an->n, o, &info);
    if (!mpk_failed(status)) {
        assert_true(info.componentwise <= 1e-14);
        status = mpk_get(ctx, *fac, MPK_GET_LOGDET, logdet, 3 * sizeof *logdet);
    }
    return status;
}

/* The k-th piece of memory on the device, or of page-locked memory, is not to be had. Returns
 * whether one was refused; then the verb says so or does without, and the next call has the numbers
 * that it always has. */
static bool refuse_one(int k, const char *spec, double first[3]) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_non_null(mpki_cuda_keep(ctx, 0));
    memory_fn *memory = memory_of_module();
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    void *ax = NULL, *b = NULL, *x = NULL;
    double logdet[3] = {0};
    char text[16];
    int64_t held, refused[2], after;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    if (spec) {
        assert_int_equal(mpk_problem_generate(ctx, spec, 1, &problem), MPK_OK);
    } else {
        problem = failing_columns(ctx, true);
        o.scaling = o.matching = MPK_OFF;
    }
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    mpki_cuda_drop_ahead(ctx, NULL); /* the factorization is to ask for all of it */
    mpk_problem_view_get(problem, &a);
    const int64_t column = a.n * (int64_t)sizeof(double), values = a.nnz * (int64_t)sizeof(double);
    double *ones = malloc((size_t)column);
    for (int32_t i = 0; i < a.n; i++) ones[i] = 1 + i % 3;
    memory(&held, &refused[0]);
    assert_int_equal(mpk_device_alloc(ctx, 0, values, &ax), MPK_OK);
    assert_int_equal(mpk_device_alloc(ctx, 0, column, &b), MPK_OK);
    assert_int_equal(mpk_device_alloc(ctx, 0, column, &x), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, ax, values, a.ax, values, values, 1), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, b, column, ones, column, column, 1), MPK_OK);
    snprintf(text, sizeof text, "%d", k);
    if (k > 0) setenv("METAPACK_CUDA_HOST_FULL", text, 1);
    const mpk_status status = three_verbs(ctx, an, &o, &fac, ax, b, x, logdet);
    unsetenv("METAPACK_CUDA_HOST_FULL");
    memory(&held, &refused[1]);
    if (mpk_failed(status)) {
        assert_int_equal(status, MPK_ERR_MEMORY);
        assert_int_equal(refused[1], refused[0] + 1);
    }
    if (k > 0) assert_int_equal(three_verbs(ctx, an, &o, &fac, ax, b, x, logdet), MPK_OK);
    if (k > 0)
        assert_memory_equal(logdet, first, sizeof logdet);
    else
        memcpy(first, logdet, sizeof logdet);
    mpk_factor_destroy(&fac);
    (void)mpk_device_free(ctx, 0, &ax), (void)mpk_device_free(ctx, 0, &b);
    (void)mpk_device_free(ctx, 0, &x);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    memory(&held, &after);
    assert_int_equal(held, 0);
    assert_int_equal(after, refused[1]);
    free(ones);
    return refused[1] > refused[0];
}

static void test_no_memory(void **unused) {
    (void)unused;
    if (device_is_real()) return; /* one that fails at will is not to be had */
    static const struct {
        const char *spec, *shared;
    } of[] = {{"nlpkkt 3", NULL}, {"stokes mac 8", NULL}, {"nlpkkt 4", "13000"}, {NULL, "60000"}};
    for (size_t m = 0; m < sizeof of / sizeof *of; m++) {
        if (m && m + 1 < sizeof of / sizeof *of && !test_all_cases()) continue;
        double first[3];
        int k = 1;
        if (of[m].shared) small_blocks(of[m].shared);
        (void)refuse_one(0, of[m].spec, first);
        while (refuse_one(k, of[m].spec, first)) assert_true(++k < 100);
        /* memory for reports was taken by the analysis; and one where fronts grow */
        assert_true(k > (of[m].spec ? 7 : 8));
        unsetenv("METAPACK_CUDA_HOST_SHARED");
    }
}

/* ---- very many children ---- */

/* Leaves under one front of eight columns; each weak-th has a pivot that fails, every other of
 * these a zero one. */
static mpk_problem *star(mpk_context *ctx, int32_t leaves, int32_t weak) {
    const int32_t n = leaves + 8;
    int64_t *ap = malloc(((size_t)n + 1) * sizeof *ap), next = 0;
    int32_t *ai = malloc((size_t)(3 * (int64_t)leaves + 36) * sizeof *ai);
    double *ax = malloc((size_t)(3 * (int64_t)leaves + 36) * sizeof *ax);
    mpk_problem *problem = NULL;
    support_state = 5;
    for (int32_t j = 0; j < n; j++) {
        ap[j] = next;
        ai[next] = j, ax[next++] = j < leaves ? 3 + uniform() : 4.0 * leaves;
        if (weak > 0 && j < leaves && j % weak == 0) ax[next - 1] = j % 2 ? 1e-5 : 0;
        if (j < leaves) {
            const int32_t a = j % 8, b = (j + 3) % 8;
            ai[next] = leaves + (a < b ? a : b), ax[next++] = uniform();
            ai[next] = leaves + (a < b ? b : a), ax[next++] = uniform();
        }
        for (int32_t i = j + 1; j >= leaves && i < n; i++) ai[next] = i, ax[next++] = uniform();
    }
    ap[n] = next;
    assert_int_equal(
        mpk_problem_from_csc(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem),
        MPK_OK);
    free(ap), free(ai), free(ax);
    return problem;
}

/* No front adds up more than a group, helpers of helpers add up the rest, every leaf is under the
 * root. */
static void test_many_children(void **unused) {
    (void)unused;
    static const int32_t leaves[] = {100000, 4500};
    for (size_t k = 0; k < sizeof leaves / sizeof *leaves; k++) {
        const bool numbers = leaves[k] < 10000 || device_is_real();
        mpk_context *ctx = new_context(true);
        mpk_problem *problem = star(ctx, leaves[k], 0);
        mpk_analysis *an = NULL;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL, o.matching = MPK_OFF;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        mpki_direct *f = NULL;
        const mpki_tree_view tree = mpki_tree_view_of(an);
        assert_int_equal(mpki_cuda_direct.make(ctx, &tree, &f), MPK_OK);
        const mpki_cuda_plan *plan = &f->plan;
        int32_t most = 0, helpers = 0, columns = 0, seen = 0;
        for (int32_t s = 0; s < plan->fronts; s++) {
            const mpki_cuda_node *node = &plan->node[s];
            most = node->children > most ? node->children : most;
            helpers += plan->kind[s] == MPKI_CUDA_HELPER;
            columns += node->own, seen += node->children;
        }
        assert_true(tree.nsuper > leaves[k] / 2);
        assert_true(most <= 64 && helpers > tree.nsuper / 64);
        assert_int_equal(columns, leaves[k] + 8);
        assert_int_equal(seen, plan->fronts - 1);
        mpki_cuda_direct.free(&f);
        if (numbers) {
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            mpk_solve_info solve;
            double *x = malloc((size_t)an->n * sizeof *x);
            for (int32_t i = 0; i < an->n; i++) x[i] = 1 + i % 3;
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            assert_int_equal(mpk_certify(ctx, fac, NULL), MPK_OK);
            mpk_factor_info_get(fac, &info);
            assert_true(info.inertia.certified && info.inertia.positive == an->n);
            assert_int_equal(mpk_solve(ctx, fac, 1, x, an->n, x, an->n, &o, &solve), MPK_OK);
            assert_true(solve.componentwise <= 1e-14);
            free(x);
            mpk_factor_destroy(&fac);
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* Leaves that fail leave their column to those above them, whose other children are added up
 * together. */
static void test_weak_leaves(void **unused) {
    (void)unused;
    enum { LEAVES = 700 };
    double x[2][LEAVES + 8];
    mpk_factor_info info[2];
    for (int device = 0; device < 2; device++) {
        mpk_context *ctx = NULL;
        if (device)
            ctx = new_context(true);
        else
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpk_problem *problem = star(ctx, LEAVES, 97);
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_solve_info solve;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL;
        o.matching = o.scaling = MPK_OFF;
        for (int32_t i = 0; i < LEAVES + 8; i++) x[device][i] = 1 + i % 3;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        assert_int_equal(
            mpk_solve(ctx, fac, 1, x[device], LEAVES + 8, x[device], LEAVES + 8, &o, &solve),
            MPK_OK);
        assert_true(solve.componentwise <= 1e-14);
        mpk_factor_info_get(fac, &info[device]);
        if (device) assert_true(fac->direct->plan.step[0].leaves > LEAVES / 2);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    assert_true(info[0].rejected >= LEAVES / 97);
    assert_int_equal(info[0].rejected, info[1].rejected);
    assert_int_equal(info[0].inertia.positive, info[1].inertia.positive);
    assert_int_equal(info[0].inertia.negative, info[1].inertia.negative);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan),         cmocka_unit_test(test_nan_there),
        cmocka_unit_test(test_full),        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_reserve),     cmocka_unit_test(test_many_children),
        cmocka_unit_test(test_weak_leaves), cmocka_unit_test(test_no_memory)};
    if (!device_has(DEVICE_DIRECT)) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
