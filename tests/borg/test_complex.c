/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex values: what the interpreter computes beside C's complex arithmetic, what is emitted
 * beside the interpreter, bit for bit, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <complex.h>
#include <float.h>
#include "variants.h"

enum { SIZE = 5, GROUPS = 3, ITEMS = SIZE * GROUPS };

static borg_program *compiled(const char *source, const borg_options *options) {
    borg_program *p = NULL;
    if (borg_compile("z.cl", source, strlen(source), options, NULL, &p) != BORG_OK)
        fail_msg("%s", borg_program_messages(p));
    return p;
}

static const char each[] =
    "__kernel void each(__global double complex *z, __global const double complex *x,\n"
    "                   __global const double complex *y) {\n"
    "    long i = get_global_id();\n"
    "    double complex t = x[i];\n"
    "    t *= y[i];\n"
    "    z[8 * i] = t;\n"
    "    z[8 * i + 1] = x[i] / y[i];\n"
    "    z[8 * i + 2] = conj(x[i]) - 3 + CMPLX(0, 2) * y[i];\n"
    "    z[8 * i + 3] = cabs(x[i]) + CMPLX(0, cabs1(y[i]));\n"
    "    z[8 * i + 4] = rcp(y[i]);\n"
    "    z[8 * i + 5] = work_group_reduce_sum(x[i]);\n"
    "    z[8 * i + 6] = shuffle(x[i], 2) * -cimag(y[i]) / creal(y[i]);\n"
    "    z[8 * i + 7] = (x[i] == y[i] ? 1 : 2) + (x[i] != x[i] ? 4 : 8);\n"
    "}\n";

static bool near(double complex x, double complex y) {
    return cabs(x - y) <= 8 * DBL_EPSILON * cabs(y);
}

static void test_values(void **state) {
    (void)state;
    double complex x[ITEMS], y[ITEMS], z[8 * ITEMS];
    uint32_t seed = 5;
    for (int i = 0; i < ITEMS; ++i) {
        x[i] = noise(&seed) + I * noise(&seed);
        y[i] = i % 3 ? noise(&seed) + I * noise(&seed) : 1e-200 + 1e-200 * I * noise(&seed);
    }
    x[4] = y[4];
    borg_options o = {.size = SIZE, .strict = true, .verify = true};
    borg_program *p = compiled(each, &o);
    const borg_arg args[] = {{.data = z, .count = 16 * ITEMS},
                             {.data = x, .count = 2 * ITEMS},
                             {.data = y, .count = 2 * ITEMS}};
    assert_true(borg_interpret(p->units[0].module, NULL, args, 0, GROUPS, 0, &p->diags));
    for (int i = 0; i < ITEMS; ++i) {
        double complex sum = 0;
        for (int k = 0; k < SIZE; ++k) sum += x[i / SIZE * SIZE + k];
        assert_true(near(z[8 * i], x[i] * y[i]));
        assert_true(near(z[8 * i + 1], x[i] / y[i]));
        assert_true(near(z[8 * i + 2], conj(x[i]) - 3 + 2 * I * y[i]));
        assert_true(near(z[8 * i + 3], cabs(x[i]) + I * (fabs(creal(y[i])) + fabs(cimag(y[i])))));
        assert_true(near(z[8 * i + 4], 1 / y[i]));
        assert_true(near(z[8 * i + 5], sum));
        assert_true(near(z[8 * i + 6], x[i / SIZE * SIZE + 2] * -cimag(y[i]) / creal(y[i])));
        assert_true(z[8 * i + 7] == (i == 4 ? 9 : 10));
    }
    borg_program_free(p);
}

/* cabs where a part is zero, infinite or NaN: C's. */
static void test_absolute(void **state) {
    (void)state;
    static const double parts[] = {0, 1, -3, 1e-200, 1e300, -INFINITY, INFINITY, NAN};
    enum { PARTS = sizeof parts / sizeof *parts, PAIRS = PARTS * PARTS };
    double re[PAIRS], im[PAIRS], got[PAIRS];
    float low[PAIRS], lim[PAIRS], lgot[PAIRS];
    for (int i = 0; i < PAIRS; ++i) {
        re[i] = parts[i % PARTS], im[i] = parts[i / PARTS];
        low[i] = isnan(re[i]) ? NAN : re[i] < 1e20 || isinf(re[i]) ? (float)re[i] : 4;
        lim[i] = isnan(im[i]) ? NAN : im[i] < 1e20 || isinf(im[i]) ? (float)im[i] : 4;
    }
    for (int strict = 0; strict < 2; ++strict) {
        borg_options o = {.size = 1, .strict = strict, .verify = true};
        borg_program *p =
            compiled("__kernel void k(__global const double *x, __global const double *y,\n"
                     "                __global double *r, __global const float *u,\n"
                     "                __global const float *v, __global float *s) {\n"
                     "    long i = get_group_id(); r[i] = cabs(CMPLX(x[i], y[i]));\n"
                     "    s[i] = cabs(CMPLX(u[i], v[i])); }\n",
                     &o);
        const borg_arg args[] = {{.data = re, .count = PAIRS},  {.data = im, .count = PAIRS},
                                 {.data = got, .count = PAIRS}, {.data = low, .count = PAIRS},
                                 {.data = lim, .count = PAIRS}, {.data = lgot, .count = PAIRS}};
        assert_true(borg_interpret(p->units[0].module, NULL, args, 0, PAIRS, 0, &p->diags));
        for (int i = 0; i < PAIRS; ++i) {
            const double want[] = {hypot(re[i], im[i]), (double)hypotf(low[i], lim[i])};
            const double have[] = {got[i], (double)lgot[i]};
            for (int k = 0; k < 2; ++k)
                if (isfinite(want[k]) ? fabs(have[k] - want[k]) > (k ? 1e-6 : 1e-15) * want[k]
                                      : !(have[k] == want[k] || (isnan(have[k]) && isnan(want[k]))))
                    fail_msg("cabs(%g, %g) is %g, not %g", re[i], im[i], have[k], want[k]);
        }
        borg_program_free(p);
    }
}

/* Batches of c and z by the backends that run here; opencl and vrptx have theirs in test_emit.c and
 * test_vrptx.c. */
static void test_emitted(void **state) {
    (void)state;
    variant list[] = {
        {.kernel = "./kernels/complex", .size = 3, .pack = 2},
        {.kernel = "./kernels/complex",
         .size = 4,
         .pack = 4,
         .order = BORG_WG_MINOR,
         .single = true},
        {.kernel = "./kernels/complex", .size = 8, .pack = 1},
        {.kernel = "./kernels/absolute", .size = 4, .pack = 1},
        {.kernel = "./kernels/absolute", .size = 5, .pack = 2, .single = true},
        {.kernel = "./kernels/absolute", .size = 4, .pack = 4, .order = BORG_WG_MINOR},
        {.kernel = "./kernels/absolute", .size = 16, .pack = 1, .single = true},
        {.kernel = "gema", .size = 4, .pack = 1, .is_complex = true},
        {.kernel = "gemm", .size = 4, .pack = 2, .is_complex = true, .single = true},
        {.kernel = "gemm_ab", .size = 5, .pack = 1, .is_complex = true},
        {.kernel = "trsv", .size = 6, .pack = 2, .is_complex = true},
        {.kernel = "trsm", .size = 3, .pack = 4, .is_complex = true, .single = true},
        {.kernel = "ldus", .size = 4, .pack = 8, .order = BORG_WG_MINOR, .is_complex = true},
        {.kernel = "ldu", .size = 5, .pack = 1, .is_complex = true},
        {.kernel = "ldu_static", .size = 4, .pack = 2, .is_complex = true, .single = true},
        {.kernel = "invert_triangle", .size = 6, .pack = 1, .is_complex = true},
    };
    check_backends(list, sizeof list / sizeof *list);
}

/* The same of factorizations with pivots: a matrix in each lane, and rows in lanes. */
static void test_pivoted(void **state) {
    (void)state;
#define IN_LANES_OF(n) .size = n, .pack = 8, .order = BORG_WG_MINOR, .is_complex = true
#define BY_ROWS_OF(n) .size = n, .pack = 1, .is_complex = true
    variant list[] = {
        {.kernel = "llt", IN_LANES_OF(3), .hermitian = true},
        {.kernel = "ldlt", IN_LANES_OF(4)},
        {.kernel = "ldlt", BY_ROWS_OF(5), .hermitian = true, .single = true},
        {.kernel = "ldlt_partial", IN_LANES_OF(4), .hermitian = true},
        {.kernel = "ldlt_partial", BY_ROWS_OF(5)},
        {.kernel = "ldlt_complete", BY_ROWS_OF(4), .hermitian = true},
        {.kernel = "ldu_partial", IN_LANES_OF(4)},
        {.kernel = "ldu_complete", BY_ROWS_OF(4)},
    };
    check_backends(list, sizeof list / sizeof *list);
}

enum { MOST_ROWS = 8, MATRICES = 9 };

/* What a factorization has to show: P A P^T = L D L^T (or P A Q = L D U), by how it lies in `f`. */
static double residual(const variant *v, const double complex *a, const double complex *f,
                       const int32_t *piv) {
    const int n = v->size;
    const bool lu = strncmp(v->kernel, "ldu", 3) == 0, root = strncmp(v->kernel, "llt", 3) == 0;
    const bool pivoted = strchr(v->kernel, '_') != NULL;
    double complex l[MOST_ROWS][MOST_ROWS] = {{0}}, d[MOST_ROWS][MOST_ROWS] = {{0}},
                   u[MOST_ROWS][MOST_ROWS] = {{0}};
    int row[MOST_ROWS], col[MOST_ROWS], pairs = 0;
    double worst = 0, most = 0;
    for (int k = 0; k < n; ++k) {
        row[k] = !pivoted ? k : piv[k] < 0 ? ~piv[k] : piv[k];
        col[k] = lu && pivoted ? piv[n + k] : row[k];
        l[k][k] = root ? f[k * n + k] : 1;
        d[k][k] = root ? 1 : f[k * n + k];
        for (int i = k + 1; i < n; ++i) l[i][k] = f[k * n + i];
        if (pivoted && !lu && !root && piv[k] < 0 && pairs++ % 2 == 0) {
            d[k + 1][k] = f[k * n + k + 1];
            d[k][k + 1] = v->hermitian ? conj(d[k + 1][k]) : d[k + 1][k];
            l[k + 1][k] = 0;
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            u[i][j] = lu             ? i == j  ? 1
                                       : i < j ? f[j * n + i]
                                               : 0
                      : v->hermitian ? conj(l[j][i])
                                     : l[j][i];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const int p = row[i], q = col[j];
            double complex x = lu || p >= q ? a[q * n + p] : a[p * n + q], sum = 0;
            if (!lu && v->hermitian) x = p < q ? conj(x) : p == q ? creal(x) : x;
            for (int k = 0; k < n; ++k)
                for (int m = 0; m < n; ++m) sum += l[i][k] * d[k][m] * u[m][j];
            worst = fmax(worst, cabs(x - sum)), most = fmax(most, cabs(x));
        }
    return worst / most;
}

/* Factors of random symmetric, Hermitian and general matrices, whose diagonals are small where
 * pivots are looked for, give these again; inertias of Hermitian ones are those of their D. */
static void test_factors(void **state) {
    (void)state;
    static const char *const kernels[] = {"llt",          "llt_complete", "ldlt",
                                          "ldlt_partial", "ldlt_rook",    "ldlt_complete",
                                          "ldu_partial",  "ldu_rook",     "ldu_complete"};
    double complex a[MATRICES * 64], f[MATRICES * 64];
    int32_t piv[MATRICES * 16], info[MATRICES * 4];
    for (size_t c = 0; c < 8 * sizeof kernels / sizeof *kernels; ++c) {
        variant v = {.kernel = kernels[c / 8], .is_complex = true, .hermitian = c & 1};
        const bool lu = v.kernel[2] == 'u', root = v.kernel[1] == 'l' && v.kernel[2] == 't';
        const bool pivoted = strchr(v.kernel, '_') != NULL;
        if ((lu && v.hermitian) || (root && !v.hermitian)) continue;
        v.size = c & 2 ? 7 : 4, v.pack = c & 4 ? 8 : 1;
        v.order = c & 4 ? BORG_WG_MINOR : BORG_WI_MINOR;
        const int n = v.size;
        uint32_t seed = (uint32_t)c + 1;
        for (int k = 0; k < MATRICES * n * n; ++k) {
            const bool diagonal = k % (n * n) % (n + 1) == 0;
            a[k] = noise(&seed) + I * noise(&seed);
            if (diagonal && !pivoted) a[k] += 3 * n;
            if (diagonal && root) a[k] += 3 * n;
            if (diagonal && pivoted && !root) a[k] *= 0.01;
            f[k] = a[k];
        }
        borg_options o;
        if (!compile_variant(&v, &o, borg_backend_find("avx512"), "k")) continue;
        borg_arg args[6] = {{.data = f, .count = 2 * MATRICES * n * n},
                            {.bits = (uint64_t)n},
                            {.bits = (uint64_t)(n * n)}};
        int at = 3;
        if (pivoted) args[at++] = (borg_arg){.data = piv, .count = MATRICES * 16};
        args[at++] = (borg_arg){.data = info, .count = MATRICES * 4};
        const double tol = 1e-14;
        memcpy(&args[at].bits, &tol, sizeof tol);
        assert_true(borg_interpret(v.program->units[0].module, v.program->units[0].tail, args, 0,
                                   MATRICES, 0, &v.program->diags));
        for (int m = 0; m < MATRICES; ++m) {
            const int lists = lu ? 2 : 1;
            const double r = residual(&v, a + m * n * n, f + m * n * n, piv + m * n * lists);
            if (!(r < 1e-12) || info[4 * m])
                fail_msg("%s%s, order %d, pack %d, matrix %d: %g, outcome %d", v.kernel,
                         v.hermitian ? ", Hermitian" : "", n, v.pack, m, r, info[4 * m]);
            const int counted = info[4 * m + 1] + info[4 * m + 2];
            assert_int_equal(counted, v.hermitian || lu ? n : 0);
        }
        borg_program_free(v.program);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"double x = z[0];", "a complex value is no real one"},
        {"if (z[0] < z[1]) z[0] = 1;", "complex values have no order"},
        {"z[0] = sqrt(z[1]);", "'sqrt' is not for complex values"},
        {"z[0]++;", "is for real values"},
        {"z[0] = max(z[0], z[1]);", "'max' is not for complex values"},
        {"__local double complex t[4]; z[0] = t[1];", "a __local volatile one"},
        {"int complex t = 1;", "complex is of float or double"},
        {"z[0] = z[z[1]];", "an index is an integer"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char source[256];
        borg_program *p = NULL;
        borg_options o = {.size = 4};
        snprintf(source, sizeof source, "__kernel void k(__global double complex *z) { %s }",
                 wrong[i][0]);
        assert_int_equal(borg_compile("z.cl", source, strlen(source), &o, NULL, &p),
                         BORG_ERR_SOURCE);
        if (!strstr(borg_program_messages(p), wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], borg_program_messages(p));
        borg_program_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_emitted),
        cmocka_unit_test(test_factors), cmocka_unit_test(test_pivoted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
