/* SPDX-License-Identifier: BSD-3-Clause */
/* char, short and half: every half, and doubles between them, beside rounding by the nearest two;
 * integers beside C; what is emitted beside the interpreter; what refuses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "variants.h"

static borg_program *compiled(const char *source, const char *backend) {
    borg_program *p = NULL;
    const borg_options o = {.size = 1,
                            .strict = true,
                            .verify = true,
                            .backend = backend ? borg_backend_find(backend) : NULL};
    if (borg_compile("n.cl", source, strlen(source), &o, NULL, &p) != BORG_OK)
        fail_msg("%s", borg_program_messages(p));
    return p;
}

static void run(borg_program *p, const borg_arg *args, int64_t groups) {
    if (!borg_interpret(p->units[0].module, NULL, args, 0, groups, (int64_t)1 << 40, &p->diags))
        fail_msg("%s", borg_program_messages(p));
}

static double value_of(int bits) {
    const int e = bits >> 10 & 31, m = bits & 1023;
    const double x =
        e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
    return bits & 0x8000 ? -x : x;
}

enum { HALVES = 1 << 16, BETWEEN = 5 };

static void test_bits(void **state) {
    (void)state;
    for (int i = 0; i < HALVES; ++i) {
        const double x = borg_half_value((uint16_t)i);
        if (isnan(x))
            assert_true(isnan(value_of(i)) && isnan(value_of(borg_half_bits(x))));
        else
            assert_int_equal(borg_half_bits(x), i);
    }
}

static void test_halves(void **state) {
    (void)state;
    static uint16_t in[HALVES], back[HALVES];
    static float wide[HALVES];
    for (int i = 0; i < HALVES; ++i) in[i] = (uint16_t)i;
    borg_program *p =
        compiled("__kernel void k(__global const half *h, __global float *f, __global half *g) {\n"
                 "    long i = get_group_id(); f[i] = h[i]; g[i] = h[i]; }\n",
                 NULL);
    const borg_arg args[] = {{.data = in, .count = HALVES},
                             {.data = wide, .count = HALVES},
                             {.data = back, .count = HALVES}};
    run(p, args, HALVES);
    for (int i = 0; i < HALVES; ++i) {
        const double x = value_of(i);
        if (isnan(x)) {
            assert_true(isnan(wide[i]) && isnan(value_of(back[i])));
            continue;
        }
        if ((double)wide[i] != x || !signbit(wide[i]) != !signbit(x))
            fail_msg("%04x became %a, not %a", (unsigned)i, (double)wide[i], x);
        assert_int_equal(back[i], i);
    }
    borg_program_free(p);
}

/* From each half to the next: the ends, the middle and its neighbours. */
static void test_rounding(void **state) {
    (void)state;
    enum { LAST = 0x7c00, COUNT = BETWEEN * LAST };
    double *x = malloc(COUNT * sizeof *x);
    uint16_t *got = malloc(COUNT * sizeof *got), *want = malloc(COUNT * sizeof *want);
    for (int i = 0; i < LAST; ++i) {
        const double low = value_of(i), high = i + 1 == LAST ? 65536 : value_of(i + 1),
                     middle = (low + high) / 2;
        const double list[BETWEEN] = {low, nextafter(middle, 0), middle, nextafter(middle, high),
                                      nextafter(high, 0)};
        const int places[BETWEEN] = {i, i, i % 2 ? i + 1 : i, i + 1, i + 1};
        const int sign = i % 3 == 1;
        for (int k = 0; k < BETWEEN; ++k) {
            x[BETWEEN * i + k] = sign ? -list[k] : list[k];
            want[BETWEEN * i + k] = (uint16_t)(places[k] | (sign ? 0x8000 : 0));
        }
    }
    borg_program *p = compiled("__kernel void k(__global const double *x, __global half *h) {\n"
                               "    long i = get_group_id(); h[i] = x[i]; }\n",
                               NULL);
    const borg_arg args[] = {{.data = x, .count = COUNT}, {.data = got, .count = COUNT}};
    run(p, args, COUNT);
    for (int i = 0; i < COUNT; ++i)
        if (got[i] != want[i]) fail_msg("%a became %04x, not %04x", x[i], got[i], want[i]);
    borg_program_free(p);
    free(x), free(got), free(want);
}

static void test_integers(void **state) {
    (void)state;
    int8_t c[256];
    uint16_t w[256];
    double d[256];
    int32_t out[4 * 256];
    for (int i = 0; i < 256; ++i)
        c[i] = (int8_t)i, w[i] = (uint16_t)(257 * i), d[i] = 1000.0 * (i - 128);
    borg_program *p =
        compiled("__kernel void k(__global const char *c, __global const ushort *w, __global const "
                 "double *d, __global int *o) {\n"
                 "    long i = get_group_id(); char x = c[i]; unsigned short y = w[i];\n"
                 "    x *= 3; y += 40000; o[4 * i] = x; o[4 * i + 1] = y >> 1;\n"
                 "    o[4 * i + 2] = (short)d[i]; o[4 * i + 3] = (uchar)(x - y); }\n",
                 NULL);
    const borg_arg args[] = {{.data = c, .count = 256},
                             {.data = w, .count = 256},
                             {.data = d, .count = 256},
                             {.data = out, .count = 4 * 256}};
    run(p, args, 256);
    for (int i = 0; i < 256; ++i) {
        const int8_t x = (int8_t)(c[i] * 3);
        const uint16_t y = (uint16_t)(w[i] + 40000);
        const double z = d[i] < -32768 ? -32768 : d[i] > 32767 ? 32767 : d[i];
        assert_int_equal(out[4 * i], x);
        assert_int_equal(out[4 * i + 1], y >> 1);
        assert_int_equal(out[4 * i + 2], (int)z);
        assert_int_equal(out[4 * i + 3], (uint8_t)(x - y));
    }
    borg_program_free(p);
}

static void test_emitted(void **state) {
    (void)state;
    static const char *const backends[] = {"c", "avx512", "cuda"};
    for (int k = 0; k < 3; ++k) {
        variant list[] = {
            {.kernel = "./kernels/narrow", .size = 4, .pack = 1},
            {.kernel = "./kernels/narrow", .size = 3, .pack = 2},
            {.kernel = "./kernels/narrow", .size = 8, .pack = 2, .order = BORG_WG_MINOR},
            {.kernel = "./kernels/narrow", .size = 5, .pack = 8}};
        const borg_backend *backend = borg_backend_find(backends[k]);
        if (is_wanted(backend)) check(backend, list, 4);
    }
}

/* Elements side by side. */
static void test_flat(void **state) {
    static const char *const backends[] = {"c", "avx512", "cuda"};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        variant list[] = {{.kernel = "./kernels/shorts", .size = 4, .pack = 1},
                          {.kernel = "./kernels/shorts", .size = 5, .pack = 2},
                          {.kernel = "./kernels/shorts", .size = 12, .pack = 1, .flat = 2}};
        const borg_backend *backend = borg_backend_find(backends[k]);
        for (int i = 0; i < 3; ++i) {
            borg_options o;
            assert_true(compile_variant(&list[i], &o, backend, "tested"));
            assert_non_null(list[i].program->units[0].flat);
            borg_program_free(list[i].program);
        }
        if (is_wanted(backend)) check(backend, list, 3);
    }
}

static void test_refused(void **state) {
    (void)state;
    for (const borg_backend *const *b = borg_backends(); *b; ++b) {
        borg_program *p =
            compiled("__kernel void k(__global short *s) { s[get_group_id()] += 1; }", (*b)->name);
        const borg_options o = {.size = 1, .backend = *b};
        const char *text;
        size_t length;
        const borg_status status = borg_program_emit(p, *b, &o, &text, &length);
        assert_int_equal(status, (*b)->takes & BORG_TAKES_NARROW ? BORG_OK : BORG_ERR_OPTION);
        if (status) assert_non_null(strstr(borg_program_messages(p), "no char, short or half"));
        borg_program_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),     cmocka_unit_test(test_halves),
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_emitted),
        cmocka_unit_test(test_flat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
