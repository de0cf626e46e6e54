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
        cmocka_unit_test(test_values), cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_emitted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
