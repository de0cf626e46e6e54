/* SPDX-License-Identifier: BSD-3-Clause */
/* Analyses in files: what is loaded is what was saved, for all methods and kinds of matrices; files
 * that are cut, changed, forged, of another matrix, or that cannot be written; and trees out and
 * in. */
#include "context.h"
#include "files.h"

#include <metapack/factor.h>
#include <metapack/save.h>
#include <metapack/solve.h>
#include <sys/stat.h>

static mpk_problem *generate(const char *spec) {
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &p), MPK_OK);
    return p;
}

static mpk_analysis *analyse(const mpk_problem *p, const mpk_options *o) {
    mpk_analysis *an = NULL;
    assert_false(mpk_failed(mpk_analyse(ctx, p, o, &an)));
    return an;
}

static mpk_analysis *load(const mpk_problem *p, mpk_status expected) {
    mpk_analysis *an = NULL;
    assert_int_equal(mpk_analysis_load(ctx, p, path, &an), expected);
    assert_true((an == NULL) == mpk_failed(expected));
    return an;
}

static void assert_told(const char *what) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, what)) fail_msg("no \"%s\" in: %s", what, text);
}

/* x := what one application of a factor makes of a fixed b; D and the order, too. */
static void *numbers_of(mpk_analysis *an, const mpk_problem *p, const mpk_options *o,
                        size_t *size) {
    mpk_problem_view a;
    mpk_factor *fac = NULL;
    mpk_options options = *o;
    mpk_problem_view_get(p, &a);
    const size_t entry = mpk_scalar_size(a.scalar), n = (size_t)a.n;
    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, o, &fac)));
    char *out = calloc(4 * n + 1, entry);
    for (size_t i = 0; i < n; i++) {
        if (entry == 4 || a.scalar == MPK_C)
            ((float *)out)[i * (a.scalar == MPK_C ? 2 : 1)] = sinf((float)i);
        else
            ((double *)out)[i * (a.scalar == MPK_Z ? 2 : 1)] = sin((double)i);
    }
    options.max_iterations = 5;
    assert_false(mpk_failed(mpk_solve(ctx, fac, 1, out, a.n, out, a.n, &options, NULL)));
    *size = n * entry;
    if (!an->block && !mpk_failed(mpk_get(ctx, fac, MPK_GET_D, out + n * entry, 2 * n * entry)))
        *size = 3 * n * entry;
    mpk_factor_destroy(&fac);
    return out;
}

static void assert_same(mpk_analysis *a, mpk_analysis *b, const mpk_problem *p,
                        const mpk_options *o) {
    size_t size, again;
    mpk_analysis_info x, y;
    mpk_analysis_info_get(a, &x);
    mpk_analysis_info_get(b, &y);
    x.time_s = y.time_s = 0;
    x.time_match_s = x.time_order_s = x.time_symbolic_s = 0;
    assert_memory_equal(&x, &y, sizeof x);
    assert_memory_equal(a->perm, b->perm, (size_t)a->n * sizeof *a->perm);
    void *one = numbers_of(a, p, o, &size), *two = numbers_of(b, p, o, &again);
    assert_int_equal(size, again);
    assert_memory_equal(one, two, size);
    free(one), free(two);
}

/* ---- there and back -------------------------------------------------------------------------- */

static const struct {
    const char *spec;
    mpk_method method;
    int strategy, level;
    mpk_switch matching;
} cases[] = {{"nlpkkt 5", MPK_METHOD_LDLT, 0, 1, MPK_AUTO},
             {"nlpkkt 4", MPK_METHOD_LDLT, 0, 1, MPK_ON},
             {"helmholtz 2d 14 0.3", MPK_METHOD_LDLT, 0, 1, MPK_OFF},
             {"helmholtz 2d 12 0.1", MPK_METHOD_LDLT, 0, 1, MPK_AUTO},
             {"nlpkkt 5", MPK_METHOD_ILDLT, 1, 1, MPK_AUTO},
             {"helmholtz 2d 14 0.3", MPK_METHOD_ILDLT, 2, -1, MPK_ON},
             {"helmholtz 2d 12 0.1", MPK_METHOD_ILU0, 0, 0, MPK_AUTO},
             {"helmholtz 2d 12 0.1", MPK_METHOD_JACOBI, 3, 1, MPK_AUTO},
             {"helmholtz 2d 12 0.1", MPK_METHOD_BLOCK_JACOBI, 0, 0, MPK_AUTO},
             {"helmholtz 2d 12 0.1", MPK_METHOD_DIAGONAL, 0, 0, MPK_AUTO},
             {"helmholtz 2d 12 0.1", MPK_METHOD_SSOR, 0, 0, MPK_AUTO},
             {"helmholtz 2d 12 0.1", MPK_METHOD_NONE, 0, 0, MPK_AUTO}};

static mpk_options options_of(mpk_method method) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = method;
    o.threads = 1;
    return o;
}

static void test_there_and_back(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_options o = options_of(cases[k].method);
        o.strategy = (mpk_strategy)cases[k].strategy;
        o.level = cases[k].level;
        o.matching = cases[k].matching;
        mpk_problem *p = generate(cases[k].spec);
        mpk_analysis *an = analyse(p, &o);
        assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
        mpk_analysis *back = load(p, MPK_OK);
        assert_same(an, back, p, &o);
        bytes first = bytes_of(path); /* and what was loaded is saved as it was */
        assert_int_equal(mpk_analysis_save(ctx, back, path), MPK_OK);
        bytes second = bytes_of(path);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        free(first.data), free(second.data);
        mpk_analysis_destroy(&back);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
}

/* 4 x 4 of each scalar, with a row that depends on the pattern alone: rows 1 and 2 share their one
 * entry. */
static mpk_problem *singular(mpk_scalar scalar, mpk_symmetry symmetry) {
    static const int64_t ap[] = {0, 2, 3, 3, 4};
    static const int32_t ai[] = {1, 2, 3, 3};
    static const float s[] = {1, 2, 3, 4}, c[] = {1, 0, 2, 0, 3, 0, 4, 0};
    static const double d[] = {1, 2, 3, 4}, z[] = {1, 0, 2, 0, 3, 0, 4, 0};
    const void *const values[] = {s, d, c, z};
    mpk_problem *p = NULL;
    assert_int_equal(
        mpk_problem_from_csc(ctx, 4, scalar, symmetry, MPK_LOWER, ap, ai, values[scalar], &p),
        MPK_OK);
    return p;
}

static void test_kinds(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        const mpk_scalar scalar = k < 4 ? (mpk_scalar)k : (mpk_scalar)(k - 2);
        mpk_options o = options_of(MPK_METHOD_LDLT);
        o.matching = MPK_ON;
        mpk_problem *p = singular(scalar, k < 4 ? MPK_SYMMETRIC : MPK_HERMITIAN);
        mpk_analysis *an = NULL, *back = NULL;
        const mpk_status status = mpk_analyse(ctx, p, &o, &an);
        assert_false(mpk_failed(status));
        assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
        assert_int_equal(mpk_analysis_load(ctx, p, path, &back), status);
        assert_same(an, back, p, &o);
        mpk_analysis_destroy(&an);
        mpk_analysis_destroy(&back);
        mpk_problem_destroy(&p);
    }
    mpk_problem *empty = NULL; /* no rows at all */
    const int64_t none = 0;
    assert_int_equal(
        mpk_problem_from_csc(ctx, 0, MPK_D, MPK_SYMMETRIC, MPK_LOWER, &none, NULL, NULL, &empty),
        MPK_OK);
    mpk_options o = options_of(MPK_METHOD_LDLT);
    mpk_analysis *an = analyse(empty, &o);
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
    mpk_analysis *back = load(empty, MPK_OK);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&back);
    mpk_problem_destroy(&empty);
}

/* Of a matrix that is not symmetric: rows of its matching; that of the direct method is refused. */
static void test_general(void **state) {
    (void)state;
    mpk_options o = options_of(MPK_METHOD_AUTO);
    mpk_problem *p = generate("convection 9 2d 20");
    mpk_analysis *an = analyse(p, &o);
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_ERR_UNSUPPORTED);
    mpk_analysis_destroy(&an);
    o = options_of(MPK_METHOD_ILDLT);
    o.factor_type = MPK_TYPE_LDU;
    an = analyse(p, &o);
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
    mpk_analysis *back = load(p, MPK_OK);
    assert_same(an, back, p, &o);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&back);
    mpk_problem_destroy(&p);
}

/* The analysis saw other values than those that it is loaded with. */
static void test_other_values(void **state) {
    (void)state;
    mpk_options o = options_of(MPK_METHOD_LDLT);
    mpk_problem *p = generate("nlpkkt 4");
    mpk_problem_view a;
    mpk_problem_view_get(p, &a);
    mpk_analysis *an = analyse(p, &o);
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
    double *ax = malloc((size_t)a.nnz * sizeof *ax), *x[2];
    for (int64_t k = 0; k < a.nnz; k++)
        ax[k] = ((const double *)a.ax)[k] * (1 + 0.3 * cos((double)k));
    assert_int_equal(mpk_problem_set_values(ctx, p, ax), MPK_OK);
    mpk_analysis *back = load(p, MPK_OK);
    for (int k = 0; k < 2; k++) {
        mpk_factor *fac = NULL;
        x[k] = malloc((size_t)a.n * sizeof **x);
        for (int32_t i = 0; i < a.n; i++) x[k][i] = 1;
        assert_int_equal(mpk_factorize(ctx, k ? back : an, k ? NULL : ax, &o, &fac), MPK_OK);
        assert_int_equal(mpk_solve(ctx, fac, 1, x[k], a.n, x[k], a.n, &o, NULL), MPK_OK);
        mpk_factor_destroy(&fac);
    }
    assert_memory_equal(x[0], x[1], (size_t)a.n * sizeof **x);
    free(ax), free(x[0]), free(x[1]);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&back);
    mpk_problem_destroy(&p);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_another_matrix(void **state) {
    (void)state;
    mpk_options o = options_of(MPK_METHOD_LDLT);
    mpk_problem *p = generate("helmholtz 2d 6 0.1"), *larger = generate("helmholtz 2d 7 0.1");
    mpk_problem *same_size = NULL, *complex = NULL;
    mpk_problem_view a;
    mpk_problem_view_get(p, &a);
    int32_t *ai = malloc((size_t)a.nnz * sizeof *ai);
    memcpy(ai, a.ai, (size_t)a.nnz * sizeof *ai);
    ai[1] = ai[1] == a.n - 1 ? a.n - 2 : a.n - 1; /* one entry elsewhere */
    assert_int_equal(
        mpk_problem_from_csc(ctx, a.n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, a.ap, ai, a.ax, &same_size),
        MPK_OK);
    double *z = calloc((size_t)a.nnz * 2, sizeof *z);
    assert_int_equal(
        mpk_problem_from_csc(ctx, a.n, MPK_Z, MPK_SYMMETRIC, MPK_LOWER, a.ap, a.ai, z, &complex),
        MPK_OK);
    mpk_analysis *an = analyse(p, &o);
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
    load(larger, MPK_ERR_ARGUMENT);
    assert_told("another pattern");
    load(same_size, MPK_ERR_ARGUMENT);
    assert_told("another pattern");
    load(complex, MPK_ERR_ARGUMENT);
    assert_told("another scalar type");
    assert_int_equal(mpk_analysis_load(ctx, NULL, path, &an), MPK_ERR_ARGUMENT);
    free(ai), free(z);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_problem_destroy(&larger);
    mpk_problem_destroy(&same_size);
    mpk_problem_destroy(&complex);
}

static void test_places(void **state) {
    (void)state;
    mpk_options o = options_of(MPK_METHOD_LDLT);
    mpk_problem *p = generate("helmholtz 2d 6 0.1");
    mpk_analysis *an = analyse(p, &o), *none = NULL;
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
    bytes before = bytes_of(path);
    assert_int_equal(mpk_analysis_save(ctx, an, "/nowhere/x.analysis"), MPK_ERR_FILE);
    assert_told("/nowhere/x.analysis");
    assert_int_equal(mpk_analysis_save(ctx, an, "-"), MPK_ERR_FILE);
    assert_int_equal(mpk_analysis_save(ctx, an, "/tmp"), MPK_ERR_FILE);
    assert_int_equal(mpk_analysis_save(ctx, an, "/dev/full"), MPK_ERR_FILE);
    assert_told("/dev/full");
    assert_int_equal(mpk_analysis_load(ctx, p, "/nowhere/x.analysis", &none), MPK_ERR_FILE);
    assert_told("/nowhere/x.analysis");
    assert_int_equal(mpk_analysis_load(ctx, p, "/tmp", &none), MPK_ERR_FILE);
    assert_int_equal(mpk_analysis_load(ctx, p, "/dev/null", &none), MPK_ERR_FILE);
    assert_int_equal(chmod(path, 0444), 0); /* nobody may write: what is there stays */
    assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_ERR_FILE);
    assert_int_equal(chmod(path, 0644), 0);
    bytes after = bytes_of(path);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    bytes_write(path, "%%MatrixMarket matrix", 21);
    load(p, MPK_ERR_FORMAT);
    assert_told("not a file that METAPACK has saved");
    free(before.data), free(after.data);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
}

/* Cut at every 97th byte, any byte changed: refused each time, with a text. */
static void test_damage(void **state) {
    (void)state;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT};
    for (int m = 0; m < 2; m++) {
        mpk_options o = options_of(methods[m]);
        mpk_problem *p = generate("nlpkkt 2");
        mpk_analysis *an = analyse(p, &o), *none = NULL;
        assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
        bytes b = bytes_of(path);
        for (size_t size = 0; size < b.size; size += size < 200 ? 1 : 97) {
            bytes_write(path, b.data, size);
            assert_int_equal(mpk_analysis_load(ctx, p, path, &none), MPK_ERR_FORMAT);
        }
        for (size_t at = 0; at < b.size; at += at < 200 ? 1 : 13) {
            b.data[at] ^= (unsigned char)(1 << at % 8);
            bytes_write(path, b.data, b.size);
            const mpk_status status = mpk_analysis_load(ctx, p, path, &none);
            assert_true(status == MPK_ERR_FORMAT || status == MPK_ERR_UNSUPPORTED);
            assert_null(none);
            b.data[at] ^= (unsigned char)(1 << at % 8);
        }
        b.data = realloc(b.data, b.size + 1); /* more than there should be */
        b.data[b.size] = 0;
        bytes_write(path, b.data, b.size + 1);
        assert_int_equal(mpk_analysis_load(ctx, p, path, &none), MPK_ERR_FORMAT);
        memcpy(b.data + 16, "9.9.9", 6);
        bytes_forge(&b);
        bytes_write(path, b.data, b.size);
        assert_int_equal(mpk_analysis_load(ctx, p, path, &none), MPK_ERR_UNSUPPORTED);
        assert_told("9.9.9");
        free(b.data);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
}

/* Numbers that somebody made up, with the checksum that belongs to them: an error, or an analysis
 * with which a factorization goes through. */
static void test_forged(void **state) {
    (void)state;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT};
    static const int32_t evil[] = {-1, 0, 1, 7, 0x7fffffff, (int32_t)0x80000000};
    int taken = 0, refused = 0;
    for (int m = 0; m < 2; m++) {
        mpk_options o = options_of(methods[m]);
        mpk_problem *p = generate("nlpkkt 2");
        mpk_analysis *an = analyse(p, &o);
        assert_int_equal(mpk_analysis_save(ctx, an, path), MPK_OK);
        const bytes b = bytes_of(path);
        for (size_t at = 40; at + 12 <= b.size; at += 4) {
            bytes c = {malloc(b.size), b.size};
            mpk_analysis *made = NULL;
            memcpy(c.data, b.data, b.size);
            memcpy(c.data + at, &evil[at / 4 % 6], 4);
            bytes_forge(&c);
            bytes_write(path, c.data, c.size);
            const mpk_status status = mpk_analysis_load(ctx, p, path, &made);
            assert_true(mpk_failed(status) == !made && status != MPK_ERR_INTERNAL);
            refused += made == NULL;
            taken += made != NULL;
            mpk_factor *fac = NULL;
            if (made) mpk_factorize(ctx, made, NULL, &o, &fac);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&made);
            free(c.data);
        }
        free(b.data);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
    assert_true(refused > taken / 2 && taken > 0);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (int m = 0; m < 2; m++) {
        mpk_options o = options_of(m ? MPK_METHOD_ILDLT : MPK_METHOD_LDLT);
        mpk_problem *p = generate("nlpkkt 2");
        mpk_analysis *an = analyse(p, &o), *back = NULL;
        mpk_status status = MPK_ERR_MEMORY;
        for (long k = 0; status == MPK_ERR_MEMORY; k++) {
            test_memory.countdown = k;
            status = mpk_analysis_save(ctx, an, path);
            if (!mpk_failed(status)) status = mpk_analysis_load(ctx, p, path, &back);
        }
        test_memory.countdown = -1;
        assert_int_equal(status, MPK_OK);
        mpk_analysis_destroy(&an);
        mpk_analysis_destroy(&back);
        mpk_problem_destroy(&p);
    }
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void test_tree(void **state) {
    (void)state;
    mpk_options o = options_of(MPK_METHOD_LDLT);
    mpk_problem *p = generate("helmholtz 2d 14 0.3");
    mpk_analysis *an = analyse(p, &o), *again = NULL, *chain = NULL, *none = NULL;
    mpk_tree t, u;
    mpk_analysis_tree_get(an, &t);
    assert_true(t.n == an->n && t.supernodes == an->nsuper && t.perm &&
                t.first[t.supernodes] == t.n);
    for (int32_t s = 0; s < t.supernodes; s++) /* a parent has the first row below */
        assert_int_equal(t.parent[s] < 0, t.row_first[s] == t.row_first[s + 1]);
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.supernodes, t.perm, t.first, t.parent, &again),
                     MPK_OK);
    mpk_analysis_tree_get(again, &u);
    assert_int_equal(t.supernodes, u.supernodes);
    assert_memory_equal(t.perm, u.perm, (size_t)t.n * sizeof *t.perm);
    assert_memory_equal(t.row, u.row, (size_t)t.row_first[t.supernodes] * sizeof *t.row);
    assert_int_equal(mpki_analysis_check(ctx, again), MPK_OK);
    size_t size;
    void *x = numbers_of(an, p, &o, &size), *y = numbers_of(again, p, &o, &size);
    assert_memory_equal(x, y, size);
    free(x), free(y);
    /* one column each, in a chain: fits every pattern, and is no postorder of what it becomes */
    int32_t *first = malloc(((size_t)t.n + 1) * sizeof *first);
    int32_t *parent = malloc((size_t)t.n * sizeof *parent);
    for (int32_t k = 0; k <= t.n; k++) first[k] = k;
    for (int32_t k = 0; k < t.n; k++) parent[k] = k + 1 < t.n ? k + 1 : -1;
    int32_t *natural = malloc((size_t)t.n * sizeof *natural);
    for (int32_t k = 0; k < t.n; k++) natural[k] = (int32_t)((int64_t)k * 5 % t.n);
    assert_int_equal(t.n % 5 == 0, 0);
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, natural, first, parent, &chain), MPK_OK);
    assert_int_equal(mpki_analysis_check(ctx, chain), MPK_OK);
    x = numbers_of(chain, p, &o, &size);
    free(x);
    const struct {
        int32_t at, first, parent;
        const char *text;
    } bad[] = {{5, 5, -1, "does not fit the pattern"},
               {3, 2, 4, "a supernode has columns"},
               {3, 3, 3, "neither -1 nor in"},
               {3, 3, 2147483647, "neither -1 nor in"},
               {0, 1, 1, "does not lead from 0 to n"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const int32_t keep[] = {first[bad[k].at], parent[bad[k].at]};
        first[bad[k].at] = bad[k].first, parent[bad[k].at] = bad[k].parent;
        assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, t.perm, first, parent, &none),
                         MPK_ERR_ARGUMENT);
        assert_told(bad[k].text);
        first[bad[k].at] = keep[0], parent[bad[k].at] = keep[1];
    }
    natural[1] = 0;
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, natural, first, parent, &none),
                     MPK_ERR_ARGUMENT);
    assert_told("not a permutation");
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, NULL, first, parent, &none),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, t.perm, NULL, parent, &none),
                     MPK_ERR_ARGUMENT);
    o.method = MPK_METHOD_ILDLT;
    assert_int_equal(mpk_analyse_tree(ctx, p, &o, t.n, t.perm, first, parent, &none),
                     MPK_ERR_UNSUPPORTED);
    assert_null(none);
    free(first), free(parent), free(natural);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&again);
    mpk_analysis_destroy(&chain);
    mpk_analysis_tree_get(NULL, &t);
    assert_true(!t.n && !t.perm);
    mpk_problem_destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_general, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_matrix, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tree, setup, teardown)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
