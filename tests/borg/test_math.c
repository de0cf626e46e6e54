/* SPDX-License-Identifier: BSD-3-Clause */
/* exp, log, pow, floor and get_global_id: near enough to the machine's long double, special values
 * as C's functions have them, and the interpreter's bits from every backend that runs here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include "emitted.h"

static const char source[] = "__kernel void m(__global T *a, __global T *z, __global long *w) {\n"
                             "  long i = get_global_id(0);\n"
                             "  T x = a[2 * i], y = a[2 * i + 1];\n"
                             "  z[4 * i] = exp(x); z[4 * i + 1] = log(x); z[4 * i + 2] = pow(x, "
                             "y); z[4 * i + 3] = floor(x);\n"
                             "  w[i] = get_global_id(); }\n";

enum { SIZE = 4, PACK = 2, GROUPS = 1001, COUNT = SIZE * GROUPS };

typedef struct data {
    double a[2 * COUNT], z[4 * COUNT];
    float s[2 * COUNT], t[4 * COUNT];
    int64_t w[COUNT];
} data;

static void fill(data *d) {
    static const double special[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     0.5,
                                     -0.5,
                                     2,
                                     -2,
                                     3,
                                     -3,
                                     1e300,
                                     -1e300,
                                     1e-310,
                                     4503599627370497.5,
                                     -9007199254740993.0,
                                     0x1p-1074,
                                     -745.2,
                                     709.8,
                                     1e-30};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint64_t state = 7;
    for (int i = 0; i < COUNT; ++i) {
        double u[3];
        for (int k = 0; k < 3; ++k) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            u[k] = (double)(state >> 11) * 0x1p-53;
        }
        const double range = i % 3 == 0 ? 1 : i % 3 == 1 ? 40 : 740;
        double x = (2 * u[0] - 1) * range, y = (2 * u[1] - 1) * range;
        if (i % 4 == 1) x = ldexp(1 + u[0], (int)(2000 * u[2]) - 1040), y = (2 * u[1] - 1) * 0.9;
        if (i % 4 == 2) x = 0.7 + u[0], y = (2 * u[1] - 1) * 1300;
        if (i % 4 == 3) y = floor(y);
        if (i < SPECIAL * SPECIAL) x = special[i / SPECIAL], y = special[i % SPECIAL];
        d->a[2 * i] = x, d->a[2 * i + 1] = y;
        d->s[2 * i] = (float)x, d->s[2 * i + 1] = (float)y;
    }
}

static void set(const data *d, bool single, borg_arg *args) {
    memset(args, 0, 3 * sizeof *args);
    args[0] = (borg_arg){.data = single ? (void *)d->s : (void *)d->a, .count = 2 * COUNT};
    args[1] = (borg_arg){.data = single ? (void *)d->t : (void *)d->z, .count = 4 * COUNT};
    args[2] = (borg_arg){.data = (void *)d->w, .count = COUNT};
}

static borg_program *compile(const borg_backend *backend, bool single, borg_options *o) {
    static const char *const as_float[] = {"T=float", NULL}, *const as_double[] = {"T=double",
                                                                                   NULL};
    *o = (borg_options){
        .size = SIZE,
        .pack = backend && (!strcmp(backend->name, "vrptx") || !strcmp(backend->name, "hls"))
                    ? 1
                    : PACK,
        .strict = true,
        .verify = true,
        .backend = backend,
        .name = "k0",
        .defines = single ? as_float : as_double};
    borg_program *p = NULL;
    const borg_status status = borg_compile("m.cl", source, strlen(source), o, NULL, &p);
    if (status) print_message("%s", borg_program_messages(p));
    assert_int_equal(status, BORG_OK);
    return p;
}

static void interpret(data *d, bool single) {
    borg_options o;
    borg_arg args[3];
    borg_program *p = compile(NULL, single, &o);
    set(d, single, args);
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, GROUPS, 0, &p->diags))
        fail();
    borg_program_free(p);
}

/* In units of the last place of the exact result; a NaN, an infinity and the sign of a zero must be
 * as they should. */
static double ulps(long double exact, double y, int digits, int least, double most) {
    if (isnan(exact)) return isnan(y) ? 0 : INFINITY;
    int exponent = 0;
    (void)frexpl(exact, &exponent);
    const int unit = exponent - digits;
    const long double last = ldexpl(1, unit < least ? least : unit);
    if (fabsl(exact) > most + last / 2 || isinf(exact))
        return isinf(y) && !signbit(exact) == !signbit(y) ? 0 : INFINITY;
    if (exact == 0) return y == 0 && !signbit(exact) == !signbit(y) ? 0 : INFINITY;
    return isnan(y) ? INFINITY : (double)(fabsl((long double)y - exact) / last);
}

static void check(bool single, const double *most) {
    data *d = calloc(1, sizeof *d);
    double worst[4] = {0};
    fill(d);
    interpret(d, single);
    for (int i = 0; i < COUNT; ++i) {
        const double x = single ? d->s[2 * i] : d->a[2 * i],
                     y = single ? d->s[2 * i + 1] : d->a[2 * i + 1];
        const long double exact[4] = {expl(x), logl(x), powl(x, y), floorl(x)};
        assert_int_equal(d->w[i], i);
        for (int k = 0; k < 4; ++k) {
            const double z = single ? d->t[4 * i + k] : d->z[4 * i + k];
            const double off = single ? ulps(exact[k], z, FLT_MANT_DIG, -149, FLT_MAX)
                                      : ulps(exact[k], z, DBL_MANT_DIG, -1074, DBL_MAX);
            if (off > most[k]) print_message("%d: x %a y %a: %a, not %La\n", k, x, y, z, exact[k]);
            worst[k] = fmax(worst[k], off);
        }
    }
    print_message("exp %.3f, log %.3f, pow %.3f, floor %.3f ulp\n", worst[0], worst[1], worst[2],
                  worst[3]);
    for (int k = 0; k < 4; ++k) assert_true(worst[k] <= most[k]);
    free(d);
}

static void test_double(void **state) {
    (void)state;
    check(false, (const double[]){1, 1, 1, 0});
}

static void test_float(void **state) {
    (void)state;
    check(true, (const double[]){0.51, 0.51, 0.51, 0});
}

static void test_backends(void **state) {
    (void)state;
    if (emitted_only()) skip();
    for (const borg_backend *const *b = borg_backends(); *b; ++b)
        for (int single = 0; single < 2; ++single) {
            borg_options o;
            emitted e;
            borg_program *p = compile(*b, single, &o);
            if (!emitted_runs_here(*b)) { /* it must at least be emitted */
                const char *text;
                size_t length;
                if (borg_program_emit(p, *b, &o, &text, &length))
                    fail_msg("%s: %s", (*b)->name, borg_program_messages(p));
                assert_true(length > 0);
                borg_program_free(p);
                continue;
            }
            data *mine = calloc(1, sizeof *mine), *other = calloc(1, sizeof *other);
            fill(mine), fill(other);
            interpret(mine, single);
            assert_true(emitted_start(&e));
            assert_int_equal(emitted_add(&e, p, *b, &o), 0);
            assert_true(emitted_build(&e, *b));
            void *args[] = {single ? (void *)other->s : (void *)other->a,
                            single ? (void *)other->t : (void *)other->z, other->w};
            emitted_call(&e, 0, 0, GROUPS, args);
            for (int i = 0; i < 4 * COUNT; ++i) {
                const bool same = single ? memcmp(&mine->t[i], &other->t[i], 4) == 0 ||
                                               (isnan(mine->t[i]) && isnan(other->t[i]))
                                         : memcmp(&mine->z[i], &other->z[i], 8) == 0 ||
                                               (isnan(mine->z[i]) && isnan(other->z[i]));
                if (!same) fail_msg("%s: entry %d", (*b)->name, i);
            }
            assert_memory_equal(mine->w, other->w, sizeof mine->w);
            emitted_end(&e, false);
            borg_program_free(p);
            free(mine), free(other);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_double), cmocka_unit_test(test_float),
                                       cmocka_unit_test(test_backends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
