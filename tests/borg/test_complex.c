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

/* Batches of c and z by all targets; others refuse nothing that they take in real numbers. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_emitted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
