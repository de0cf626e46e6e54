/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of the inverse against the whole of it: all scalar types, delayed columns, pivots of
 * order 2, fronts of several panels; the same bits for any number of threads; what the check tells;
 * zero pivots, refusals, failures. */
#include "../sanitized.h"
#include "systems.h"

#include <stdbool.h>

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p-23 : 0x1p-52;
}

static mpk_options options_of(int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = threads;
    return o;
}

static void *select_of(const system_of *s, mpk_selection what, mpk_status expected,
                       mpk_selected_info *info) {
    const size_t bytes = mpk_selected_size(s->fac, what);
    void *out = malloc(bytes + 1);
    memset(out, 7, bytes + 1);
    assert_int_equal(mpk_selected_inverse(s->ctx, s->fac, what, out, bytes, &s->o, info), expected);
    assert_int_equal(((char *)out)[bytes], 7);
    return out;
}

/* ---- against the whole inverse --------------------------------------------------------------- */

/* y := |M| x */
static void absolute(int n, const double complex *m, const double *x, double *y) {
    memset(y, 0, (size_t)n * sizeof *y);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) y[i] += cabs(m[i + (size_t)j * n]) * x[j];
}

/* Every entry of both selections, within `times` eps of the norm of |Z| |A| |Z|, with A scaled as
 * for its factor: which is what a small change of A's entries makes of Z. */
static void compare(const system_of *s, const double complex *a, const double complex *z,
                    double times) {
    const int n = s->a.n;
    mpk_selected_info info;
    double *scale = malloc((size_t)n * sizeof *scale), *x = calloc((size_t)n + 1, sizeof *x);
    double *y = malloc((size_t)n * sizeof *y);
    void *diagonal = select_of(s, MPK_SELECT_DIAGONAL, MPK_OK, &info);
    void *pattern = select_of(s, MPK_SELECT_PATTERN, MPK_OK, NULL);
    double bound = times * eps_of(s->a.scalar), size = 0;
    assert_true(info.row >= 0 && info.row < n && info.flops > 0 && info.peak_bytes > 0);
    assert_int_equal(mpk_get(s->ctx, s->fac, MPK_GET_SCALE, scale, (size_t)n * sizeof *scale),
                     MPK_OK);
    for (int i = 0; i < n; i++) x[i] = 1 / scale[i];
    absolute(n, z, x, y);
    absolute(n, a, y, x);
    absolute(n, z, x, y);
    for (int i = 0; i < n; i++) size = fmax(size, y[i] / scale[i]);
    bound *= size;
    assert_true(info.error <= bound && info.deviation <= bound);
    for (int j = 0; j < n; j++)
        for (int64_t k = s->a.ap[j]; k < s->a.ap[j + 1]; k++) {
            const int i = s->a.ai[k];
            const double complex e = scalar_load(s->a.scalar, pattern, k);
            assert_true(cabs(e - z[i + (size_t)j * n]) <= bound * scale[i] * scale[j]);
            if (i != j) continue;
            assert_true(e == scalar_load(s->a.scalar, diagonal, i));
            assert_true(s->a.symmetry != MPK_HERMITIAN || cimag(e) == 0);
        }
    for (int i = 0; i < n; i++) { /* also where A has no diagonal entry */
        const double complex e = scalar_load(s->a.scalar, diagonal, i);
        assert_true(cabs(e - z[i + (size_t)i * n]) <= bound * scale[i] * scale[i]);
    }
    free(diagonal), free(pattern), free(scale), free(x), free(y);
}

/* LAPACK's; false: A is nearly singular. */
static bool invert(const dense *m, double complex *z) {
    const int n = m->n;
    lapack_int *p = malloc(((size_t)n + 1) * sizeof *p);
    double norm = 0, other = 0;
    memcpy(z, m->a, (size_t)n * n * sizeof *z);
    for (int k = 0; k < n * n; k++) norm = fmax(norm, cabs(z[k]));
    bool good = LAPACKE_zgetrf(LAPACK_COL_MAJOR, n, n, z, n, p) == 0 &&
                LAPACKE_zgetri(LAPACK_COL_MAJOR, n, z, n, p) == 0;
    for (int k = 0; k < n * n; k++) other = fmax(other, cabs(z[k]));
    free(p);
    return good && norm * other * n < 0.01 / eps_of(m->scalar);
}

static void test_dense(void **state) {
    static const int orders[] = {1, 2, 3, 7, 20, 45};
    int64_t compared = 0, pairs = 0;
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int family = 0; family < FAMILY_COUNT; family++)
            for (int k = 0; k < 6; k++)
                for (int way = 0; way < 3; way++) {
                    dense m =
                        family_matrix(family, orders[k], kinds[kind].scalar, kinds[kind].symmetry);
                    double complex *z = malloc(((size_t)m.n * m.n + 1) * sizeof *z);
                    if (invert(&m, z)) {
                        mpk_options o = options_of(1);
                        o.matching = way == 1 ? MPK_ON : MPK_OFF;
                        o.ordering = way == 2 ? MPK_ORDERING_NATURAL : MPK_ORDERING_AUTO;
                        system_of s = of_dense(&m, o);
                        if (s.info.inertia.zero == 0) compare(&s, m.a, z, 500), compared++;
                        pairs += s.info.two_by_two;
                        end(&s);
                    }
                    free(z), free(m.a);
                }
    assert_true(compared > 300 && pairs > 300);
}

/* All columns of the inverse, refined. */
static void test_generated(void **state) {
    static const char *const specs[] = {
        "nlpkkt 4",
        "stokes mac 14",
        "lp-kkt 100 200 4",
        "quasi-definite 10",
        "optimal-control 20",
        "random 300 density=0.2 zeros=0.9",
        "random 300 density=0.01 zeros=0.6",
        "random 270 density=0.04 entries=complex",
        "random 270 density=0.04 entries=hermitian",
        "helmholtz 2d 18 boundary=absorbing",
        "elements triangles 17",
    };
    int64_t delayed = 0, pairs = 0;
    int32_t largest = 0;
    (void)state;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        system_of s = of_spec(specs[k], options_of(1));
        const int n = s.a.n;
        const size_t size = mpk_scalar_size(s.a.scalar), count = (size_t)n * n;
        double complex *a = calloc(count, sizeof *a), *z = calloc(count, sizeof *z);
        char *x = calloc(count, size);
        for (int j = 0; j < n; j++) {
            scalar_store(s.a.scalar, x, j + (int64_t)j * n, 1);
            for (int64_t e = s.a.ap[j]; e < s.a.ap[j + 1]; e++) {
                const double complex v = scalar_load(s.a.scalar, s.a.ax, e);
                a[s.a.ai[e] + (size_t)j * n] = v;
                a[j + (size_t)s.a.ai[e] * n] = s.a.symmetry == MPK_HERMITIAN ? conj(v) : v;
            }
        }
        assert_int_equal(mpk_solve(s.ctx, s.fac, n, x, n, x, n, &s.o, NULL), MPK_OK);
        for (size_t e = 0; e < count; e++) z[e] = scalar_load(s.a.scalar, x, (int64_t)e);
        compare(&s, a, z, 10);
        delayed += s.info.rejected, pairs += s.info.two_by_two;
        if (s.info.max_front > largest) largest = s.info.max_front;
        free(a), free(z), free(x);
        end(&s);
    }
    assert_true(delayed > 20 && pairs > 100 && largest > 256);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    static const char *const specs[] = {"nlpkkt 9", "stokes mac 60",
                                        "random 700 density=0.02 entries=hermitian"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        if (TEST_SANITIZED && k == 1) continue;
        void *first[2] = {NULL, NULL};
        for (int threads = 1; threads <= 4; threads += TEST_SANITIZED ? 3 : 1) {
            system_of s = of_spec(specs[k], options_of(threads));
            for (int more = 0; more < 2; more++) { /* than those of the factorization */
                s.o.threads = threads + more;
                for (int what = 0; what < 2; what++) {
                    mpk_selected_info info;
                    void *out = select_of(&s, (mpk_selection)what, MPK_OK, &info);
                    assert_int_equal(info.threads, threads > 1 ? threads + more : 1);
                    if (!first[what]) {
                        first[what] = out;
                        continue;
                    }
                    assert_memory_equal(out, first[what],
                                        mpk_selected_size(s.fac, (mpk_selection)what));
                    free(out);
                }
            }
            end(&s);
        }
        free(first[0]), free(first[1]);
    }
}

/* ---- what the check tells -------------------------------------------------------------------- */

/* A power of two on each row and column changes no bit but the exponents, and neither number. */
static void test_scaled(void **state) {
    enum { N = 30 };
    mpk_selected_info info[2];
    (void)state;
    dense m = family_matrix(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 2; k++) {
        mpk_options o = options_of(1);
        o.ordering = MPK_ORDERING_NATURAL;
        system_of s = of_dense(&m, o);
        free(select_of(&s, MPK_SELECT_DIAGONAL, MPK_OK, &info[k]));
        end(&s);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                m.a[i + j * N] = creal(m.a[i + j * N]) * ldexp(1, i * 7 % 50 + j * 7 % 50 - 50);
    }
    assert_true(info[1].error < 1e-13 && info[1].deviation < 1e-12);
    free(m.a);
}

/* A Hilbert matrix: no digit of its inverse comes out. */
static void test_inaccurate(void **state) {
    enum { N = 14 };
    (void)state;
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) dense_set(&m, i, j, 1.0 / (i + j + 1));
    mpk_options o = options_of(1);
    o.zero_tolerance = 0;
    system_of s = of_dense(&m, o);
    mpk_selected_info info;
    free(select_of(&s, MPK_SELECT_PATTERN, MPK_INACCURATE, &info));
    assert_true(info.deviation > 0.1);
    end(&s);
    for (int j = 0; j < N; j++) dense_set(&m, j, j, 2);
    s = of_dense(&m, o);
    free(select_of(&s, MPK_SELECT_PATTERN, MPK_OK, &info));
    s.o.accuracy = 1e-18;
    free(select_of(&s, MPK_SELECT_PATTERN, MPK_INACCURATE, &info));
    end(&s);
    free(m.a);
}

static void test_outcomes(void **state) {
    (void)state;
    dense m = dense_new(3, MPK_D, MPK_SYMMETRIC);
    mpk_selected_info info;
    dense_set(&m, 0, 0, 1), dense_set(&m, 1, 0, 1), dense_set(&m, 1, 1, 1), dense_set(&m, 2, 2, 1);
    system_of s = of_dense(&m, options_of(1)); /* singular */
    double *out = select_of(&s, MPK_SELECT_DIAGONAL, MPK_SINGULAR, &info);
    for (int k = 0; k < 3; k++) assert_true(isnan(out[k]));
    free(out);
    end(&s);
    mpk_options o = options_of(1);
    o.matching = MPK_OFF, o.static_shift = 1e-6;
    s = of_spec("stokes mac 14", o);
    assert_true(s.info.perturbed > 0);
    const char *text;
    free(select_of(&s, MPK_SELECT_DIAGONAL, MPK_INACCURATE, &info));
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "pivots were replaced"));
    s.o.accuracy = 10 * info.error;
    free(select_of(&s, MPK_SELECT_DIAGONAL, MPK_PERTURBED, &info));
    end(&s);
    dense_set(&m, 1, 0, 0);
    for (int k = 0; k < 3; k++) dense_set(&m, k, k, k == 2 ? 0x1p-1074 : 1);
    s = of_dense(&m, options_of(1)); /* 1 / a_22 is beyond the range */
    assert_int_equal(s.info.inertia.zero, 0);
    free(select_of(&s, MPK_SELECT_DIAGONAL, MPK_ERR_NUMERIC, &info));
    end(&s);
    free(m.a);
    for (int kind = 0; kind < KINDS; kind++) { /* an entry where A has none: -1 / a_10^2 */
        m = dense_new(2, kinds[kind].scalar, kinds[kind].symmetry);
        dense_set(&m, 1, 0, eps_of(m.scalar) > 1e-10 ? 1e-25 : 1e-200), dense_set(&m, 1, 1, 1);
        s = of_dense(&m, options_of(1));
        assert_int_equal(s.info.inertia.zero, 0);
        assert_int_equal(s.a.nnz, 2);
        free(select_of(&s, MPK_SELECT_DIAGONAL, MPK_ERR_NUMERIC, &info));
        free(select_of(&s, MPK_SELECT_PATTERN, MPK_OK, &info));
        end(&s);
        free(m.a);
    }
    m = dense_new(0, MPK_D, MPK_SYMMETRIC);
    s = of_dense(&m, options_of(1));
    free(select_of(&s, MPK_SELECT_PATTERN, MPK_OK, &info));
    assert_true(info.row == -1 && info.error == 0);
    end(&s);
    free(m.a);
}

/* ---- refusals and failures ------------------------------------------------------------------- */

static void refused(system_of *s, mpk_selection what, void *out, size_t bytes,
                    mpk_status expected) {
    assert_int_equal(mpk_selected_inverse(s->ctx, s->fac, what, out, bytes, &s->o, NULL), expected);
}

static void test_refused(void **state) {
    double out[60 * 60], copy[60 * 60];
    (void)state;
    memset(out, 3, sizeof out), memcpy(copy, out, sizeof out);
    dense m = family_matrix(BANDED, 30, MPK_D, MPK_SYMMETRIC);
    system_of s = of_dense(&m, options_of(1));
    const size_t bytes = mpk_selected_size(s.fac, MPK_SELECT_PATTERN);
    assert_int_equal(mpk_selected_size(NULL, MPK_SELECT_PATTERN), 0);
    assert_int_equal(mpk_selected_size(s.fac, (mpk_selection)2), 0);
    assert_int_equal(bytes, (size_t)s.a.nnz * sizeof(double));
    refused(&s, MPK_SELECT_PATTERN, out, bytes - 1, MPK_ERR_ARGUMENT);
    refused(&s, MPK_SELECT_PATTERN, NULL, bytes, MPK_ERR_ARGUMENT);
    refused(&s, (mpk_selection)2, out, bytes, MPK_ERR_ARGUMENT);
    refused(&s, (mpk_selection)-1, out, bytes, MPK_ERR_ARGUMENT);
    mpk_factor *fac = s.fac;
    s.fac = NULL;
    refused(&s, MPK_SELECT_PATTERN, out, bytes, MPK_ERR_ARGUMENT);
    s.fac = fac;
    assert_int_equal(mpk_selected_inverse(NULL, fac, MPK_SELECT_PATTERN, out, bytes, NULL, NULL),
                     MPK_ERR_ARGUMENT);
    s.o.memory_limit = 100;
    refused(&s, MPK_SELECT_PATTERN, out, bytes, MPK_ERR_MEMORY);
    end(&s);
    mpk_options o = options_of(1);
    o.method = MPK_METHOD_ILDLT;
    s = of_dense(&m, o);
    refused(&s, MPK_SELECT_DIAGONAL, out, sizeof out, MPK_ERR_UNSUPPORTED);
    end(&s);
    assert_memory_equal(out, copy, sizeof out);
    free(m.a);
}

/* The struct of an older program, and of a newer one. */
static void test_sizes(void **state) {
    enum { ROOM = 1000 };
    double out[30];
    unsigned char info[ROOM];
    (void)state;
    dense m = family_matrix(BANDED, 30, MPK_D, MPK_SYMMETRIC);
    system_of s = of_dense(&m, options_of(1));
    for (size_t size = 0; size <= ROOM; size += 8) {
        memset(info, 1, sizeof info);
        assert_int_equal(mpk_selected_inverse_sized(size, s.ctx, s.fac, MPK_SELECT_DIAGONAL, out,
                                                    sizeof out, NULL, (mpk_selected_info *)info),
                         MPK_OK);
        for (size_t k = size; k < ROOM; k++) assert_int_equal(info[k], 1);
        for (size_t k = sizeof(mpk_selected_info); k < size; k++) assert_int_equal(info[k], 0);
    }
    end(&s);
    free(m.a);
}

/* Another context than the factor's, and no info. */
static void test_other_context(void **state) {
    double out[30], other[30];
    mpk_context *ctx = NULL;
    (void)state;
    dense m = family_matrix(BANDED, 30, MPK_D, MPK_SYMMETRIC);
    system_of s = of_dense(&m, options_of(1));
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 64);
    refused(&s, MPK_SELECT_DIAGONAL, out, sizeof out, MPK_OK);
    assert_int_equal(
        mpk_selected_inverse(ctx, s.fac, MPK_SELECT_DIAGONAL, other, sizeof other, NULL, NULL),
        MPK_OK);
    assert_memory_equal(out, other, sizeof out);
    mpk_context_destroy(&ctx);
    end(&s);
    free(m.a);
}

static void test_allocation(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        failing f = {0};
        mpk_context *ctx = NULL;
        const mpk_allocator allocator = {failing_alloc, failing_release, &f};
        system_of s = of_spec("nlpkkt 7", options_of(threads));
        const size_t bytes = mpk_selected_size(s.fac, MPK_SELECT_DIAGONAL);
        char *out = malloc(bytes), *copy = malloc(bytes);
        bool succeeded = false;
        memset(out, 5, bytes), memcpy(copy, out, bytes);
        for (int64_t k = 1; !succeeded; k++) {
            f = (failing){0};
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            f.calls = 0, f.fail_at = k;
            const mpk_status status =
                mpk_selected_inverse(ctx, s.fac, MPK_SELECT_DIAGONAL, out, bytes, &s.o, NULL);
            succeeded = f.calls < k;
            assert_int_equal(status, succeeded ? MPK_OK : MPK_ERR_MEMORY);
            if (!succeeded) assert_memory_equal(out, copy, bytes);
            f.fail_at = 0;
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        free(out), free(copy);
        end(&s);
    }
}

typedef struct patience {
    int calls, most;
} patience;

static int stop(const char *stage, double fraction, void *user) {
    patience *p = user;
    assert_true(fraction >= 0 && fraction <= 1 && !strcmp(stage, "inverse"));
    return __atomic_add_fetch(&p->calls, 1, __ATOMIC_SEQ_CST) > p->most;
}

static void test_cancel(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        system_of s = of_spec("nlpkkt 9", options_of(threads));
        const size_t bytes = mpk_selected_size(s.fac, MPK_SELECT_DIAGONAL);
        char *out = malloc(bytes), *copy = malloc(bytes);
        mpk_status status = MPK_ERR_CANCELLED;
        memset(out, 5, bytes), memcpy(copy, out, bytes);
        mpki_progress_each(s.ctx, 0);
        for (int most = 0; status == MPK_ERR_CANCELLED; most += 3) {
            patience p = {0, most};
            mpk_context_set_progress(s.ctx, stop, &p);
            status =
                mpk_selected_inverse(s.ctx, s.fac, MPK_SELECT_DIAGONAL, out, bytes, &s.o, NULL);
            if (most == 0) assert_int_equal(status, MPK_ERR_CANCELLED);
            if (status == MPK_ERR_CANCELLED) assert_memory_equal(out, copy, bytes);
        }
        assert_int_equal(status, MPK_OK);
        free(out), free(copy);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),      cmocka_unit_test(test_generated),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_inaccurate), cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_other_context),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_allocation),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
