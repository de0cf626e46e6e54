/* SPDX-License-Identifier: BSD-3-Clause */
/* A few values changed, beside the factorization of all of them: the same bits, counts and verdicts,
 * whatever changes, with any number of threads; which fronts stay; what is refused. */
#include "../sanitized.h"
#include "factor/systems.h"

#include <stdbool.h>

static mpk_options options_of(int threads, mpk_switch updates) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    o.updates = updates;
    return o;
}

/* Two factors of the same values: one that keeps what it needs, and one that begins anew. */
typedef struct pair {
    system_of s;
    mpk_options plain;
    mpk_factor *whole;
    int64_t count; /* of values */
    size_t size;
    char *ax;
} pair;

static pair pair_of(system_of s, int64_t count, const void *ax) {
    pair p = {.s = s, .plain = s.o, .count = count, .size = mpk_scalar_size(s.a.scalar)};
    p.plain.updates = MPK_OFF;
    p.ax = malloc((size_t)count * p.size + 1);
    memcpy(p.ax, ax, (size_t)count * p.size);
    assert_false(mpk_failed(mpk_factorize(p.s.ctx, p.s.an, p.ax, &p.plain, &p.whole)));
    assert_false(mpk_failed(mpk_refactorize(p.s.ctx, p.ax, &p.s.o, p.s.fac)));
    return p;
}

static pair pair_of_spec(const char *spec, int threads) {
    const system_of s = of_spec(spec, options_of(threads, MPK_ON));
    return pair_of(s, s.a.nnz, s.a.ax);
}

static void pair_end(pair *p) {
    free(p->ax);
    mpk_factor_destroy(&p->whole);
    end(&p->s);
}

static void same_quantity(const pair *p, mpk_quantity what) {
    const size_t bytes = mpk_get_size(p->whole, what);
    char *x = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
    assert_false(mpk_failed(mpk_get(p->s.ctx, p->whole, what, x, bytes)));
    assert_false(mpk_failed(mpk_get(p->s.ctx, p->s.fac, what, y, bytes)));
    assert_memory_equal(x, y, bytes);
    free(x), free(y);
}

/* What two factors of the same values tell alike, member by member: what lies between them is anything. */
static void take_values(const mpk_factor_info *info, mpk_factor_info *values) {
    memset(values, 0, sizeof *values);
    values->inertia = info->inertia, values->nnz = info->nnz, values->flops = info->flops;
    values->rejected = info->rejected, values->stages = info->stages;
    values->two_by_two = info->two_by_two, values->perturbed = info->perturbed;
    values->growth = info->growth, values->min_pivot = info->min_pivot;
    values->max_front = info->max_front, values->rank = info->rank;
    values->rank_bound = info->rank_bound, values->again = info->again;
    values->asymmetry = info->asymmetry, values->precision = info->precision;
    values->unfit = info->unfit, values->low_rank_tolerance = info->low_rank_tolerance;
    values->low_rank_nnz = info->low_rank_nnz, values->low_rank_flops = info->low_rank_flops;
    values->emulated = info->emulated;
}

static void same(const pair *p, mpk_factor_info *told) {
    static mpk_factor_info values[2];
    mpk_factor_info a;
    mpk_factor_info_get(p->whole, &a);
    mpk_factor_info_get(p->s.fac, told);
    assert_true(a.redone == 1 && a.kept_bytes == 0 && told->kept_bytes > 0);
    take_values(&a, &values[0]);
    take_values(told, &values[1]);
    assert_memory_equal(&values[0], &values[1], sizeof *values);
    same_quantity(p, MPK_GET_SCALE);
    same_quantity(p, MPK_GET_D);
    same_quantity(p, MPK_GET_PERM);
    same_quantity(p, MPK_GET_LOGDET);
    const size_t bytes = (size_t)p->s.a.n * p->size;
    char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    for (int i = 0; i < p->s.a.n; i++) scalar_store(p->s.a.scalar, x, i, uniform() + I * uniform());
    memcpy(y, x, bytes);
    assert_int_equal(mpk_solve_part(p->s.ctx, p->whole, MPK_PART_ALL, 1, x, p->s.a.n), MPK_OK);
    assert_int_equal(mpk_solve_part(p->s.ctx, p->s.fac, MPK_PART_ALL, 1, y, p->s.a.n), MPK_OK);
    assert_memory_equal(x, y, bytes);
    free(x), free(y);
}

/* These entries become these values, in both. */
static mpk_factor_info change(pair *p, int count, const int64_t *entry, const double complex *to) {
    char value[64 * 16];
    mpk_factor_info told;
    assert_true(count <= 64);
    for (int k = 0; k < count; k++) {
        scalar_store(p->s.a.scalar, value, k, to[k]);
        scalar_store(p->s.a.scalar, p->ax, entry[k], to[k]);
    }
    const mpk_status a = mpk_refactorize(p->s.ctx, p->ax, &p->plain, p->whole);
    assert_int_equal(mpk_refactorize_entries(p->s.ctx, count, entry, value, &p->s.o, p->s.fac), a);
    assert_false(mpk_failed(a));
    same(p, &told);
    return told;
}

static int64_t some(int64_t count) {
    return (int64_t)(fabs(uniform()) * (double)count) % count;
}

/* Entries off the diagonal, where every value is allowed; a few that are not, too. */
static int choose(const pair *p, int most, int64_t *entry, double complex *to) {
    const int count = 1 + (int)some(most);
    for (int k = 0; k < count; k++) {
        const double complex old = scalar_load(p->s.a.scalar, p->ax, entry[k] = some(p->count));
        const double kind = fabs(uniform());
        const double complex factor = kind < 0.1 ? 0 : kind < 0.2 ? -1 : kind < 0.3 ? 1e4 : 1.25;
        to[k] = old * factor;
    }
    return count;
}

static void many_changes(pair *p, int rounds) {
    int64_t entry[64];
    double complex to[64];
    for (int r = 0; r < rounds; r++) {
        const int count = choose(p, r % 3 ? 2 : 20, entry, to);
        change(p, count, entry, to);
    }
    const mpk_factor_info told = change(p, 0, entry, to);
    assert_true(told.redone == 0 || told.inertia.zero > 0 || told.again || told.stages > 1);
}

static void test_has_the_bits_of_all(void **state) {
    (void)state;
    const char *specs[] = {"nlpkkt 4", "stokes mac 8", "optimal-control 12", "helmholtz 2d 12",
                           "random 150 density=0.03"};
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int threads = 1; threads <= 4; threads += 3) {
            pair p = pair_of_spec(specs[k], threads);
            many_changes(&p, TEST_SANITIZED ? 3 : 12);
            pair_end(&p);
        }
}

static void test_larger_with_workers(void **state) {
    (void)state;
    const int64_t entry[] = {5, 100};
    pair p = pair_of_spec(TEST_SANITIZED ? "nlpkkt 6" : "nlpkkt 10", 4);
    many_changes(&p, 3);
    const double complex to[] = {2 * scalar_load(p.s.a.scalar, p.ax, 5),
                                 3 * scalar_load(p.s.a.scalar, p.ax, 100)};
    const mpk_factor_info told = change(&p, 2, entry, to);
    assert_true(told.redone > 0 && told.redone < 1 && told.untouched > 0);
    pair_end(&p);
}

/* All scalars, with delayed columns, pairs, zeros. */
static void test_kinds(void **state) {
    (void)state;
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
    } kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
                 {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int family = 0; family < FAMILY_COUNT; family++) {
            dense m =
                family_matrix((enum support_family)family, 37, kinds[k].scalar, kinds[k].symmetry);
            const system_of s = of_dense(&m, options_of(1, MPK_ON));
            pair p = pair_of(s, s.a.nnz, s.a.ax);
            int64_t entry[64];
            double complex to[64];
            for (int r = 0; r < 3; r++) {
                int count = choose(&p, 3, entry, to);
                for (int e = 0; e < count; e++) /* the diagonal stays real */
                    if (kinds[k].symmetry == MPK_HERMITIAN) to[e] = creal(to[e]);
                change(&p, count, entry, to);
            }
            pair_end(&p);
            free(m.a);
        }
}

static void test_general(void **state) {
    (void)state;
    system_of s = {.o = options_of(1, MPK_ON)};
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    enum { N = 300, PER = 5 };
    static int32_t rows[N * PER], cols[N * PER];
    static double values[N * PER];
    for (int j = 0; j < N; j++)
        for (int k = 0; k < PER; k++) {
            const int i = (j + (k ? (int)some(9) - 4 + k * 17 * (j % 13 == 0) : 0) + N) % N;
            rows[j * PER + k] = k ? i : j, cols[j * PER + k] = j;
            values[j * PER + k] = uniform() + (k == 0);
        }
    assert_int_equal(mpk_problem_from_triplets(s.ctx, N, MPK_D, MPK_GENERAL, MPK_FULL, N * PER,
                                               rows, cols, values, &s.problem),
                     MPK_OK);
    factorize(&s);
    pair p = pair_of(s, N * PER, values);
    many_changes(&p, 10);
    pair_end(&p);
}

/* Both triangles, and several values for an entry: a change of one of them. */
static void test_given_orders(void **state) {
    (void)state;
    const int32_t rows[] = {0, 1, 0, 2, 1, 2, 1, 0}, cols[] = {0, 0, 1, 1, 2, 2, 1, 0};
    double values[] = {2, 1, 1, 3, 3, -4, 5, 0.5};
    for (int triangle = 0; triangle < 3; triangle++) {
        const mpk_triangle which[] = {MPK_FULL, MPK_LOWER, MPK_UPPER};
        system_of s = {.o = options_of(1, MPK_ON)};
        assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
        assert_int_equal(mpk_problem_from_triplets(s.ctx, 3, MPK_D, MPK_SYMMETRIC, which[triangle],
                                                   8, rows, cols, values, &s.problem),
                         MPK_OK);
        factorize(&s);
        const double one = 7;
        const int64_t last = 7, beyond = 8;
        /* the values of the problem: (0, 0) was given twice, and nobody knows how */
        assert_int_equal(mpk_refactorize_entries(s.ctx, 1, &last, &one, &s.o, s.fac),
                         MPK_ERR_UNSUPPORTED);
        pair p = pair_of(s, 8, values);
        const int64_t entry[] = {7, 0, 6};
        const double complex to[] = {-3, 8, 1};
        change(&p, 3, entry, to);
        const int64_t both[] = {3, 4, 3};
        const double complex twice[] = {5, 9, 9}; /* the last one counts */
        change(&p, 3, both, twice);
        assert_int_equal(mpk_refactorize_entries(s.ctx, 1, &beyond, &one, &s.o, s.fac),
                         MPK_ERR_ARGUMENT);
        const mpk_status status = mpk_refactorize_entries(s.ctx, 1, &both[1], &one, &s.o, s.fac);
        assert_int_equal(status, triangle == 0 ? MPK_ERR_INPUT : MPK_OK); /* unsymmetric */
        if (triangle == 0) {
            mpk_factor_info told;
            same(&p, &told); /* as it was */
            const double complex equal[] = {2, 2};
            change(&p, 2, both, equal);
        }
        pair_end(&p);
    }
}

static void test_refused(void **state) {
    (void)state;
    pair p = pair_of_spec("nlpkkt 6", 1);
    const double bad = NAN, good = 1;
    const int64_t entry = 3, below = -1;
    mpk_factor_info told;
    mpk_context *ctx = p.s.ctx;
    assert_int_equal(mpk_refactorize_entries(ctx, 1, &entry, &bad, &p.s.o, p.s.fac), MPK_ERR_INPUT);
    int64_t index = 0;
    mpk_last_error(ctx, NULL, &index, NULL);
    assert_int_equal(index, 3);
    same(&p, &told);
    assert_int_equal(mpk_refactorize_entries(ctx, 1, &below, &good, &p.s.o, p.s.fac),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_refactorize_entries(ctx, -1, &entry, &good, &p.s.o, p.s.fac),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_refactorize_entries(ctx, 1, NULL, &good, &p.s.o, p.s.fac),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_refactorize_entries(ctx, 1, &entry, &good, &p.s.o, NULL),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_refactorize_entries(NULL, 1, &entry, &good, &p.s.o, p.s.fac),
                     MPK_ERR_ARGUMENT);
    same(&p, &told);
    /* a limit that has no room for what is kept */
    mpk_options little = p.s.o;
    mpk_factor_info_get(p.whole, &told);
    little.memory_limit = (double)told.bytes * 1.05;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_factorize(ctx, p.s.an, p.ax, &little, &fac), MPK_ERR_MEMORY);
    little.updates = MPK_OFF;
    assert_int_equal(mpk_factorize(ctx, p.s.an, p.ax, &little, &fac), MPK_OK);
    mpk_factor_destroy(&fac);
    pair_end(&p);
}

/* Without the option everything is computed, and the values are known all the same. */
static void test_without_the_option(void **state) {
    (void)state;
    pair p = pair_of_spec("nlpkkt 3", 1);
    const int64_t entry = 7;
    const double to = 3;
    mpk_factor_info told;
    assert_int_equal(mpk_refactorize(p.s.ctx, p.ax, &p.plain, p.s.fac), MPK_OK);
    assert_int_equal(mpk_refactorize_entries(p.s.ctx, 1, &entry, &to, &p.plain, p.s.fac), MPK_OK);
    mpk_factor_info_get(p.s.fac, &told);
    assert_true(told.redone == 1 && told.untouched == 0 && told.kept_bytes == 0);
    const double complex value = to;
    change(&p, 1, &entry, &value);
    pair_end(&p);
}

/* Another threshold, another zero tolerance: nothing stays. */
static void test_other_options(void **state) {
    (void)state;
    pair p = pair_of_spec("nlpkkt 5", 1);
    p.s.o.pivot_threshold = p.plain.pivot_threshold = 0.3;
    assert_true(change(&p, 0, NULL, NULL).redone == 1);
    assert_true(change(&p, 0, NULL, NULL).redone == 0);
    p.s.o.scaling = p.plain.scaling = MPK_OFF;
    assert_true(change(&p, 0, NULL, NULL).redone > 0);
    pair_end(&p);
}

/* Of an interior: the Schur complement, too, has the bits of all. */
static void test_schur(void **state) {
    (void)state;
    enum { OUTER = 7 };
    system_of s = {.o = options_of(1, MPK_ON)};
    int32_t variables[OUTER];
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s.ctx, "quasi-definite 9", 7, &s.problem), MPK_OK);
    mpk_problem_view_get(s.problem, &s.a);
    for (int k = 0; k < OUTER; k++) variables[k] = 11 * k;
    assert_int_equal(mpk_analyse_schur(s.ctx, s.problem, &s.o, OUTER, variables, &s.an), MPK_OK);
    double *ax = malloc((size_t)s.a.nnz * sizeof *ax);
    memcpy(ax, s.a.ax, (size_t)s.a.nnz * sizeof *ax);
    mpk_factor *whole = NULL;
    mpk_options plain = s.o;
    plain.updates = MPK_OFF;
    assert_int_equal(mpk_factorize(s.ctx, s.an, NULL, &s.o, &s.fac), MPK_OK);
    for (int round = 0; round < 12; round++) {
        const int64_t entry = some(s.a.nnz);
        double x[OUTER * OUTER] = {0}, y[OUTER * OUTER] = {0};
        ax[entry] *= 1.5;
        assert_int_equal(mpk_factorize(s.ctx, s.an, ax, &plain, &whole), MPK_OK);
        assert_int_equal(mpk_refactorize_entries(s.ctx, 1, &entry, &ax[entry], &s.o, s.fac),
                         MPK_OK);
        assert_int_equal(mpk_schur_get(s.ctx, whole, x, OUTER), MPK_OK);
        assert_int_equal(mpk_schur_get(s.ctx, s.fac, y, OUTER), MPK_OK);
        assert_memory_equal(x, y, sizeof x);
    }
    mpk_factor_info info;
    mpk_factor_info_get(s.fac, &info);
    assert_true(info.redone < 1 && info.untouched > 0);
    free(ax);
    mpk_factor_destroy(&whole);
    end(&s);
}

/* A factor in single precision, replaced pivots, no scaling, a matrix without rows. */
static void test_with_other_options(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        system_of s = {.o = options_of(1, MPK_ON)};
        if (k == 0) s.o.precision = MPK_PRECISION_SINGLE;
        if (k == 1) s.o.static_shift = 1e-6, s.o.pivot_threshold = 0.5;
        if (k == 2) s.o.scaling = MPK_OFF;
        s = of_spec(k == 3 ? "random 40 density=0.01 zeros=0.9" : "stokes mac 9", s.o);
        pair p = pair_of(s, s.a.nnz, s.a.ax);
        many_changes(&p, TEST_SANITIZED ? 2 : 6);
        pair_end(&p);
    }
}

/* Memory fails at every place once; what follows has the right bits. */
static void test_failures(void **state) {
    (void)state;
    failing f = {0};
    const mpk_allocator allocator = {failing_alloc, failing_release, &f};
    system_of s = {.o = options_of(1, MPK_ON)};
    assert_int_equal(mpk_context_create(&allocator, &s.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s.ctx, "nlpkkt 2", 7, &s.problem), MPK_OK);
    factorize(&s);
    pair p = pair_of(s, s.a.nnz, s.a.ax);
    const int64_t entry = 4;
    for (int k = 0; k < 200; k++) {
        const double complex to = 1 + k;
        double value = 1 + k;
        f.calls = 0, f.fail_at = 1 + k % 25;
        const mpk_status status =
            mpk_refactorize_entries(s.ctx, 1, &entry, &value, &p.s.o, p.s.fac);
        f.fail_at = 0;
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        change(&p, 1, &entry, &to);
    }
    pair_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_has_the_bits_of_all),
        cmocka_unit_test(test_larger_with_workers),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_general),
        cmocka_unit_test(test_given_orders),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_the_option),
        cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_schur),
        cmocka_unit_test(test_with_other_options),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
