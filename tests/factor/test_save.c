/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct factors in files: what is loaded solves, tells and is factorized again with the bits of
 * what was saved; other processes, other places, damage. */
#include "systems.h"

#include "files.h"

#include <metapack/save.h>
#include <metapack/selected.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static mpk_options direct(int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    return o;
}

static void assert_told(mpk_context *ctx, const char *what) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, what)) fail_msg("no \"%s\" in: %s", what, text);
}

/* The same matrix in a context of its own, with the analysis and the factor of the file. */
static system_of load(const system_of *s) {
    system_of t = {.o = s->o};
    assert_int_equal(mpk_context_create(NULL, &t.ctx), MPK_OK);
    assert_int_equal(mpk_problem_from_csc(t.ctx, s->a.n, s->a.scalar, s->a.symmetry, MPK_LOWER,
                                          s->a.ap, s->a.ai, s->a.ax, &t.problem),
                     MPK_OK);
    mpk_problem_view_get(t.problem, &t.a);
    assert_false(mpk_failed(mpk_analysis_load(t.ctx, t.problem, path, &t.an)));
    t.status = mpk_factor_load(t.ctx, t.an, path, &t.fac);
    assert_int_equal(t.status, s->status);
    mpk_factor_info_get(t.fac, &t.info);
    return t;
}

static void assert_quantities(const system_of *s, const system_of *t) {
    for (int what = 0; what <= MPK_GET_LOGDET; what++) {
        const size_t size = mpk_get_size(s->fac, (mpk_quantity)what);
        assert_int_equal(size, mpk_get_size(t->fac, (mpk_quantity)what));
        void *x = calloc(size + 1, 1), *y = calloc(size + 1, 1);
        assert_int_equal(mpk_get(s->ctx, s->fac, (mpk_quantity)what, x, size), MPK_OK);
        assert_int_equal(mpk_get(t->ctx, t->fac, (mpk_quantity)what, y, size), MPK_OK);
        assert_memory_equal(x, y, size);
        free(x), free(y);
    }
    mpk_factor_info x = s->info, y = t->info;
    assert_int_equal(y.inertia.certified, x.inertia.certified);
    assert_int_equal(y.rank, x.rank);
    assert_int_equal(y.nnz, x.nnz);
    assert_int_equal(y.precision, x.precision);
    assert_int_equal(y.asymmetry.pairs, x.asymmetry.pairs);
    assert_true(y.growth == x.growth && y.flops == x.flops && y.rejected == x.rejected);
}

/* x := solves of `nrhs` systems, and the status. */
static mpk_status solve(const system_of *s, int nrhs, void **x) {
    const size_t n = (size_t)s->a.n * (size_t)nrhs;
    *x = calloc(n + 1, 16);
    for (size_t i = 0; i < n; i++)
        scalar_store(s->a.scalar, *x, (int64_t)i, sin((double)i) + (i % 3) * I);
    return mpk_solve(s->ctx, s->fac, nrhs, *x, s->a.n, *x, s->a.n, &s->o, NULL);
}

static void assert_solves(const system_of *s, const system_of *t) {
    for (int nrhs = 1; nrhs <= 9; nrhs += 8) {
        void *x, *y;
        assert_int_equal(solve(s, nrhs, &x), solve(t, nrhs, &y));
        assert_memory_equal(x, y, (size_t)s->a.n * nrhs * mpk_scalar_size(s->a.scalar));
        free(x), free(y);
    }
}

/* All that may be asked of a factor. */
static void assert_same(const system_of *s, const system_of *t) {
    mpk_certificate a, b;
    assert_quantities(s, t);
    assert_solves(s, t);
    assert_int_equal(mpk_certify(s->ctx, s->fac, &a), MPK_OK);
    assert_int_equal(mpk_certify(t->ctx, t->fac, &b), MPK_OK);
    assert_true(a.certified == b.certified && a.vectors == b.vectors &&
                a.contraction == b.contraction);
    if (s->info.inertia.zero || s->info.precision == MPK_PRECISION_SINGLE) return;
    const size_t bytes = mpk_selected_size(s->fac, MPK_SELECT_PATTERN);
    void *x = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
    assert_int_equal(
        mpk_selected_inverse(s->ctx, s->fac, MPK_SELECT_PATTERN, x, bytes, &s->o, NULL),
        mpk_selected_inverse(t->ctx, t->fac, MPK_SELECT_PATTERN, y, bytes, &t->o, NULL));
    assert_memory_equal(x, y, bytes);
    free(x), free(y);
}

/* New values for both. */
static void assert_again(system_of *s, system_of *t) {
    const int parts = s->a.scalar >= MPK_C ? 2 : 1;
    const bool single = s->a.scalar == MPK_S || s->a.scalar == MPK_C;
    char *ax = malloc((size_t)s->a.nnz * mpk_scalar_size(s->a.scalar) + 1);
    memcpy(ax, s->a.ax, (size_t)s->a.nnz * mpk_scalar_size(s->a.scalar));
    for (int64_t k = 0; k < s->a.nnz * parts; k++) {
        const double by = 1 + 0.2 * cos((double)k);
        if (single)
            ((float *)ax)[k] *= (float)by;
        else
            ((double *)ax)[k] *= by;
    }
    s->status = mpk_refactorize(s->ctx, ax, &s->o, s->fac);
    t->status = mpk_refactorize(t->ctx, ax, &t->o, t->fac);
    assert_int_equal(s->status, t->status);
    assert_false(mpk_failed(s->status));
    mpk_factor_info_get(s->fac, &s->info);
    mpk_factor_info_get(t->fac, &t->info);
    assert_quantities(s, t);
    assert_solves(s, t);
    free(ax);
}

static void there_and_back(system_of *s) {
    assert_int_equal(mpk_factor_save(s->ctx, s->fac, path), MPK_OK);
    const bytes first = bytes_of(path);
    system_of t = load(s);
    assert_int_equal(mpk_factor_save(t.ctx, t.fac, path), MPK_OK);
    const bytes second = bytes_of(path);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    free(first.data), free(second.data);
    assert_same(s, &t);
    assert_again(s, &t);
    end(&t);
}

/* ---- there and back -------------------------------------------------------------------------- */

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

/* Zeros on part of the diagonal, so that there are pairs and delayed columns. rank: of them */
static dense matrix(int n, int rank, int k) {
    dense m = dense_new(n, kinds[k].scalar, kinds[k].symmetry);
    support_state = (uint64_t)(n + k);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n && i < j + 9; i++)
            if ((i + j) % 3 && (i != j || j % 4)) dense_set(&m, i, j, uniform() + uniform() * I);
    for (int j = 0; rank < n && j < n; j++) /* the last ones repeat the first */
        for (int i = rank; i < n; i++) dense_set(&m, i, j, dense_get(&m, i - rank, j));
    return m;
}

static void test_kinds(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++)
        for (int threads = 1; threads <= 2; threads++) {
            dense m = matrix(90, 90, k);
            system_of s = of_dense(&m, direct(threads));
            there_and_back(&s);
            end(&s);
            free(m.a);
        }
}

static void test_problems(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        mpk_ordering ordering;
        mpk_precision precision;
    } of[] = {{"nlpkkt 6", MPK_ORDERING_AUTO, MPK_PRECISION_DOUBLE},
              {"nlpkkt 6", MPK_ORDERING_AMD, MPK_PRECISION_SINGLE},
              {"helmholtz 2d 40 0.3", MPK_ORDERING_ND, MPK_PRECISION_DOUBLE},
              {"helmholtz 2d 40 0.3", MPK_ORDERING_NATURAL, MPK_PRECISION_SINGLE},
              {"random 60 0.2 0.3 complex", MPK_ORDERING_AUTO, MPK_PRECISION_DOUBLE},
              {"random 60 0.2 0.3 hermitian", MPK_ORDERING_AUTO, MPK_PRECISION_SINGLE},
              {"stokes mac 8", MPK_ORDERING_AUTO, MPK_PRECISION_DOUBLE}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        mpk_options o = direct(2);
        o.ordering = of[k].ordering;
        o.precision = of[k].precision;
        system_of s = of_spec(of[k].spec, o);
        there_and_back(&s);
        end(&s);
    }
}

/* Zero pivots, vectors of the kernel; a column that no matching covers. */
static void test_singular(void **state) {
    (void)state;
    for (int k = 0; k < 6; k++) {
        dense m = dense_new(24, kinds[k].scalar, kinds[k].symmetry);
        support_state = 5;
        for (int j = 0; j < 12; j++)
            for (int i = j; i < 12; i++) {
                const double complex x = uniform() + (i == j ? 0 : uniform() * I);
                dense_set(&m, i, j, x); /* both halves are the same */
                dense_set(&m, 12 + i, 12 + j, x);
                dense_set(&m, 12 + i, j, x);
                dense_set(&m, 12 + j, i, m.symmetry == MPK_HERMITIAN ? conj(x) : x);
            }
        system_of s = of_dense(&m, direct(1));
        assert_int_equal(s.status, MPK_SINGULAR);
        there_and_back(&s);
        end(&s);
        free(m.a);
    }
    dense arrow = dense_new(10, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 10; i++) dense_set(&arrow, 9, i, i + 1);
    system_of s = of_dense(&arrow, direct(1));
    assert_int_equal(s.info.rank, MPK_RANK_STRUCTURAL);
    there_and_back(&s);
    end(&s);
    free(arrow.a);
}

/* The triangles differ: what they differ by is kept, too. */
static void test_triangles_that_differ(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 2, 4};
    static const int32_t ai[] = {0, 1, 0, 1};
    static const double ax[] = {4, 1, 1 + 1e-14, 3};
    mpk_problem *p = NULL;
    system_of s = {.o = direct(1)}, t = s;
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    assert_int_equal(mpk_problem_from_csc(s.ctx, 2, MPK_D, MPK_SYMMETRIC, MPK_FULL, ap, ai, ax, &p),
                     MPK_OK);
    s.problem = p;
    factorize(&s);
    assert_int_equal(s.info.asymmetry.pairs, 1);
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
    t = load(&s);
    assert_same(&s, &t);
    end(&t);
    end(&s);
}

/* Outer pivoting has made an analysis of its own. */
static void test_own_analysis(void **state) {
    (void)state;
    mpk_options o = direct(1);
    mpk_problem_view a;
    system_of s = {.o = o};
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(s.ctx, "stokes mac 12", 7, &s.problem), MPK_OK);
    mpk_problem_view_get(s.problem, &a);
    double *ax = malloc((size_t)a.nnz * sizeof *ax);
    for (int32_t j = 0; j < a.n; j++) /* analysed as if the diagonal were strong */
        for (int64_t k = a.ap[j]; k < a.ap[j + 1]; k++)
            ax[k] = a.ai[k] == j ? 100 : 0.01 * ((const double *)a.ax)[k];
    mpk_problem *strong = NULL;
    assert_int_equal(
        mpk_problem_from_csc(s.ctx, a.n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, a.ap, a.ai, ax, &strong),
        MPK_OK);
    mpk_problem_view_get(strong, &s.a);
    assert_int_equal(mpk_analyse(s.ctx, strong, &o, &s.an), MPK_OK);
    s.status = mpk_factorize(s.ctx, s.an, ax, &o, &s.fac);
    s.status = mpk_refactorize(s.ctx, a.ax, &o, s.fac);
    assert_false(mpk_failed(s.status));
    mpk_factor_info_get(s.fac, &s.info);
    there_and_back(&s);
    mpk_problem_destroy(&strong);
    free(ax);
    end(&s);
}

/* ---- another process ------------------------------------------------------------------------- */

static void test_another_process(void **state) {
    (void)state;
    system_of s = of_spec("nlpkkt 6", direct(1));
    void *x, *y = calloc((size_t)s.a.n, sizeof(double));
    int ends[2], status;
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
    assert_int_equal(solve(&s, 1, &x), MPK_OK);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        system_of t = {.o = direct(1)};
        void *z;
        if (mpk_context_create(NULL, &t.ctx) ||
            mpk_problem_generate(t.ctx, "nlpkkt 6", 7, &t.problem))
            _exit(1);
        mpk_problem_view_get(t.problem, &t.a);
        if (mpk_analysis_load(t.ctx, t.problem, path, &t.an) ||
            mpk_factor_load(t.ctx, t.an, path, &t.fac) || solve(&t, 1, &z))
            _exit(2);
        const size_t size = (size_t)t.a.n * sizeof(double);
        _exit(write(ends[1], z, size) == (ssize_t)size ? 0 : 3);
    }
    close(ends[1]);
    for (size_t got = 0, size = (size_t)s.a.n * sizeof(double); got < size;) {
        const ssize_t some = read(ends[0], (char *)y + got, size - got);
        assert_true(some > 0);
        got += (size_t)some;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_memory_equal(x, y, (size_t)s.a.n * sizeof(double));
    close(ends[0]);
    free(x), free(y);
    end(&s);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_refused(void **state) {
    (void)state;
    system_of s = of_spec("nlpkkt 4", direct(1)), other = of_spec("nlpkkt 5", direct(1));
    mpk_options blocks = direct(1);
    blocks.method = MPK_METHOD_ILDLT;
    system_of incomplete = of_spec("nlpkkt 4", blocks);
    mpk_factor *none = NULL;
    mpk_analysis *schur = NULL;
    const int32_t variables[] = {3, 5};
    assert_int_equal(mpk_factor_save(incomplete.ctx, incomplete.fac, path), MPK_ERR_UNSUPPORTED);
    assert_told(incomplete.ctx, "only factors by the direct method");
    assert_int_equal(mpk_factor_save(s.ctx, NULL, path), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(s.ctx, s.problem, &s.o, 2, variables, &schur), MPK_OK);
    assert_int_equal(mpk_analysis_save(s.ctx, schur, path), MPK_ERR_UNSUPPORTED);
    assert_told(s.ctx, "Schur complement");
    assert_int_equal(mpk_factor_load(s.ctx, schur, path, &none), MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
    assert_int_equal(mpk_factor_load(other.ctx, other.an, path, &none), MPK_ERR_ARGUMENT);
    assert_told(other.ctx, "of another analysis");
    assert_int_equal(mpk_analysis_save(s.ctx, s.an, path), MPK_OK);
    assert_int_equal(mpk_factor_load(s.ctx, s.an, path, &none), MPK_ERR_ARGUMENT);
    assert_told(s.ctx, "no factor");
    assert_null(none);
    mpk_analysis_destroy(&schur);
    end(&s);
    end(&other);
    end(&incomplete);
}

/* A fresh analysis of the same matrix does as well as one from the file. */
static void test_fresh_analysis(void **state) {
    (void)state;
    system_of s = of_spec("nlpkkt 5", direct(1)), t = of_spec("nlpkkt 5", direct(1));
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
    mpk_factor_destroy(&t.fac);
    assert_int_equal(mpk_factor_load(t.ctx, t.an, path, &t.fac), MPK_OK);
    mpk_factor_info_get(t.fac, &t.info);
    assert_same(&s, &t);
    end(&s);
    end(&t);
}

/* The disk is full, the file too large: what was there stays. */
static void test_places(void **state) {
    (void)state;
    system_of s = of_spec("nlpkkt 6", direct(1));
    const struct rlimit small = {10000, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
    bytes_write(path, "precious", 8);
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, "/dev/full"), MPK_ERR_FILE);
    assert_told(s.ctx, "/dev/full");
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, "/nowhere/f"), MPK_ERR_FILE);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_ERR_FILE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    bytes kept = bytes_of(path);
    assert_int_equal(kept.size, 8);
    assert_memory_equal(kept.data, "precious", 8);
    free(kept.data);
    end(&s);
}

static void test_damage(void **state) {
    (void)state;
    for (int single = 0; single < 2; single++) {
        mpk_options o = direct(1);
        o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
        system_of s = of_spec("nlpkkt 2", o);
        mpk_factor *none = NULL;
        assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
        bytes b = bytes_of(path);
        for (size_t size = 0; size < b.size; size += 97) {
            bytes_write(path, b.data, size);
            assert_int_equal(mpk_factor_load(s.ctx, s.an, path, &none), MPK_ERR_FORMAT);
        }
        for (size_t at = 0; at < b.size; at += 29) {
            b.data[at] ^= (unsigned char)(1 << at % 8);
            bytes_write(path, b.data, b.size);
            const mpk_status status = mpk_factor_load(s.ctx, s.an, path, &none);
            assert_true(status == MPK_ERR_FORMAT || status == MPK_ERR_UNSUPPORTED);
            assert_null(none);
            b.data[at] ^= (unsigned char)(1 << at % 8);
        }
        free(b.data);
        end(&s);
    }
}

/* Numbers that somebody made up, with the right checksum: an error, or a factor that can be asked
 * anything. */
static void test_forged(void **state) {
    (void)state;
    static const int32_t evil[] = {-1, 0, 1, 7, 0x7fffffff, (int32_t)0x80000000, 0x7fc00000};
    dense m = matrix(12, 12, 1);
    system_of s = of_dense(&m, direct(1));
    int taken = 0, refused = 0;
    assert_int_equal(mpk_factor_save(s.ctx, s.fac, path), MPK_OK);
    const bytes b = bytes_of(path);
    for (size_t at = 40; at + 12 <= b.size; at += 4) {
        bytes c = {malloc(b.size), b.size};
        mpk_factor *fac = NULL;
        memcpy(c.data, b.data, b.size);
        memcpy(c.data + at, &evil[at / 4 % 7], 4);
        bytes_forge(&c);
        bytes_write(path, c.data, c.size);
        const mpk_status status = mpk_factor_load(s.ctx, s.an, path, &fac);
        assert_true(mpk_failed(status) == !fac && status != MPK_ERR_INTERNAL);
        refused += fac == NULL;
        taken += fac != NULL;
        if (fac) {
            double x[12 * 9], logdet[3], d[24];
            int32_t perm[12];
            for (int i = 0; i < 12 * 9; i++) x[i] = i;
            mpk_get(s.ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
            mpk_get(s.ctx, fac, MPK_GET_D, d, sizeof d);
            mpk_get(s.ctx, fac, MPK_GET_PERM, perm, sizeof perm);
            mpk_solve(s.ctx, fac, 9, x, 12, x, 12, &s.o, NULL);
            mpk_solve(s.ctx, fac, 1, x, 12, x, 12, &s.o, NULL);
            mpk_certify(s.ctx, fac, NULL);
            mpk_selected_inverse(s.ctx, fac, MPK_SELECT_DIAGONAL, x, 12 * sizeof *x, &s.o, NULL);
            mpk_refactorize(s.ctx, s.a.ax, &s.o, fac);
        }
        mpk_factor_destroy(&fac);
        free(c.data);
    }
    assert_true(refused > 0 && taken > 0);
    free(b.data);
    end(&s);
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_singular),     cmocka_unit_test(test_triangles_that_differ),
        cmocka_unit_test(test_own_analysis), cmocka_unit_test(test_another_process),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_fresh_analysis),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_damage),
        cmocka_unit_test(test_forged)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
