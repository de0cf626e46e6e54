/* SPDX-License-Identifier: BSD-3-Clause */
/* --fast-rcp: what avx512 makes of it is within 2 ulp and right for special values, and where it
 * has no meaning it is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include "emitted.h"

static const char both[] = "__kernel void r(__global double *a, __global float *b) {\n"
                           "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                           "  a[i] = rcp(a[i]); b[i] = rcp(b[i]); }\n";
static const char floats[] = "__kernel void r(__global float *b) {\n"
                             "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                             "  b[i] = rcp(b[i]); }\n";
/* one value for a group: scalars */
static const char scalars[] = "__kernel void r(__global double *a, __global float *b) {\n"
                              "  long i = get_group_id();\n"
                              "  double x = rcp(a[i]); float y = rcp(b[i]);\n"
                              "  barrier(CLK_GLOBAL_MEM_FENCE);\n"
                              "  a[i] = x; b[i] = y; }\n";

enum { COUNT = 1 << 15 };

static uint64_t state;
static uint64_t bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) << 32 | (state * 2862933555777941757u + 3037000493u) >> 32;
}

static void fill(double *a, float *b) {
    static const double special[] = {0.0,
                                     INFINITY,
                                     1,
                                     3,
                                     DBL_MAX,
                                     DBL_MIN,
                                     0x1p-1023,
                                     0x1p-1024,
                                     0x1.8p-1024,
                                     0x1p-1074,
                                     0x1p1022,
                                     0x1.8p1022,
                                     0x1p1023,
                                     0x1.fffffffffffffp-1,
                                     0x1.0000000000001p0,
                                     0x1p-1022};
    static const float special32[] = {
        0.0f,          INFINITY,    1,         3,        FLT_MAX,    FLT_MIN,  0x1p-127f,
        0x1p-128f,     0x1.8p-128f, 0x1p-149f, 0x1p126f, 0x1.8p126f, 0x1p127f, 0x1.fffffep-1f,
        0x1.000002p0f, 0x1p-126f};
    state = 1;
    for (int i = 0; i < COUNT; ++i) {
        uint64_t x = bits();
        uint32_t y = (uint32_t)(bits() >> 32);
        memcpy(&a[i], &x, sizeof x); /* all exponents, subnormals and NaN among them */
        memcpy(&b[i], &y, sizeof y);
        if (i % 4 == 1) a[i] = 1 + ldexp((double)(x >> 12), -52);
        if (i % 4 == 2) b[i] = 1 + ldexpf((float)(y >> 9), -23);
        if (i < 32) a[i] = i % 2 ? -special[i / 2] : special[i / 2];
        if (i < 32) b[i] = i % 2 ? -special32[i / 2] : special32[i / 2];
        if (i == 32) a[i] = NAN, b[i] = NAN;
    }
}

/* How far y is from 1/x in units of the last place of 1/x; what is no number or infinite, and the
 * sign of zero, must be as a division has it: else infinity. */
static double ulps(double x, double y, int digits, int least, double most) {
    long double exact = 1 / (long double)x;
    if (isnan(x)) return isnan(y) ? 0 : INFINITY;
    if (isinf(x) || x == 0 || fabsl(exact) > most)
        return y == (x == 0 || !isinf(x) ? copysign(INFINITY, x) : copysign(0.0, x)) &&
                       !signbit(x) == !signbit(y)
                   ? 0
                   : INFINITY;
    int exponent;
    (void)frexpl(exact, &exponent);
    int unit = exponent - digits;
    long double off = fabsl((long double)y - exact) / ldexpl(1, unit < least ? least : unit);
    return isfinite(y) ? (double)off : INFINITY;
}

static borg_options options_of(const char *backend, int size) {
    return (borg_options){.size = size,
                          .pack = 1,
                          .fast_rcp = true,
                          .verify = true,
                          .backend = borg_backend_find(backend)};
}

static void test_accuracy(void **unused) {
    (void)unused;
    const borg_backend *backend = borg_backend_find("avx512");
    if (!emitted_runs_here(backend) || emitted_only()) skip();
    emitted e;
    borg_program *p[3];
    assert_true(emitted_start(&e));
    const int wide = emitted_compile(&e, both, options_of("avx512", 8), &p[0]);
    const int narrow = emitted_compile(&e, floats, options_of("avx512", 16), &p[1]);
    const int alone = emitted_compile(&e, scalars, options_of("avx512", 8), &p[2]);
    assert_true(wide >= 0 && narrow >= 0 && alone >= 0);
    assert_true(emitted_build(&e, backend));
    double *a = malloc(COUNT * sizeof *a), *x = malloc(COUNT * sizeof *x), worst = 0, worst32 = 0;
    float *b = malloc(COUNT * sizeof *b), *y = malloc(COUNT * sizeof *y);
    for (int run = 0; run < 3; ++run) {
        fill(a, b);
        memcpy(x, a, COUNT * sizeof *x);
        memcpy(y, b, COUNT * sizeof *y);
        void *args[] = {x, y}, *only[] = {y};
        if (run == 0) emitted_call(&e, wide, 0, COUNT / 8, args);
        if (run == 1) emitted_call(&e, narrow, 0, COUNT / 16, only);
        if (run == 2) emitted_call(&e, alone, 0, COUNT, args);
        int differs = 0;
        for (int i = 0; i < COUNT; ++i) {
            if (run != 1) worst = fmax(worst, ulps(a[i], x[i], DBL_MANT_DIG, -1074, DBL_MAX));
            worst32 = fmax(worst32, ulps(b[i], y[i], FLT_MANT_DIG, -149, FLT_MAX));
            differs += y[i] == y[i] && y[i] != 1 / b[i];
        }
        if (worst > 2 || worst32 > 2) print_message("run %d: %g, %g ulp\n", run, worst, worst32);
        assert_true(worst <= 2 && worst32 <= 2);
        if (run == 1) assert_true(differs > 0); /* it is no division */
    }
    print_message("1/x: double %.3f ulp, float %.3f ulp\n", worst, worst32);
    free(a), free(b), free(x), free(y);
    emitted_end(&e, false);
    for (int k = 0; k < 3; ++k) borg_program_free(p[k]);
}

static const char *as_text(borg_program *p, size_t *length) {
    if (setjmp(p->arena.oom)) fail();
    borg_sink *sink = BORG_NEW(&p->arena, 1, borg_sink);
    sink->arena = &p->arena;
    borg_print(p->units[0].module, sink);
    *length = sink->length;
    return sink->text;
}

/* Source, IR, and a program that was compiled for no backend. */
static void test_refused(void **unused) {
    (void)unused;
    int refused = 0, taken = 0;
    for (const borg_backend *const *b = borg_backends(); *b; ++b) {
        borg_options options = options_of((*b)->name, 4);
        borg_program *p = NULL;
        const char *text;
        size_t length;
        const borg_status expected = (*b)->fast_rcp ? BORG_OK : BORG_ERR_OPTION;
        assert_int_equal(borg_compile("r.cl", floats, strlen(floats), &options, NULL, &p),
                         expected);
        const char *told = borg_program_messages(p);
        assert_true((strstr(told, "--fast-rcp") && strstr(told, (*b)->name)) == !(*b)->fast_rcp);
        borg_program_free(p);
        options.backend = NULL;
        assert_int_equal(borg_compile("r.cl", floats, strlen(floats), &options, NULL, &p), BORG_OK);
        assert_true(p->units[0].module->fast_rcp);
        assert_int_equal(borg_program_emit(p, *b, &options, &text, &length), expected);
        if (expected) assert_true(length == 0 && strstr(borg_program_messages(p), (*b)->name));
        text = as_text(p, &length);
        borg_program *ir = NULL;
        options.backend = *b;
        assert_int_equal(borg_compile_ir("r.ir", text, length, &options, NULL, &ir), expected);
        borg_program_free(ir);
        /* what the text says is not an option: backends may, and need not, make use of it */
        options.fast_rcp = false;
        assert_int_equal(borg_compile_ir("r.ir", text, length, &options, NULL, &ir), BORG_OK);
        assert_true(ir->units[0].module->fast_rcp);
        borg_program_free(ir);
        borg_program_free(p);
        *((*b)->fast_rcp ? &taken : &refused) += 1;
    }
    assert_true(taken > 0 && refused > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
