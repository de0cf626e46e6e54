/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole kernels: source to InfReg-IR, interpreted, against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "borg/borg.h"

static char *read_kernel(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/kernels/%s.cl", BORG_TESTS, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    char *text = calloc(1, 1 << 16);
    size_t got = fread(text, 1, (1 << 16) - 1, file);
    assert_true(got > 0);
    fclose(file);
    return text;
}

static borg_program *compile(const char *source, const borg_options *options) {
    borg_program *p = NULL;
    borg_status status = borg_compile("test.cl", source, strlen(source), options, NULL, &p);
    assert_non_null(p);
    if (status != BORG_OK) print_message("%s", borg_program_messages(p));
    assert_int_equal(status, BORG_OK);
    return p;
}

static void run(borg_program *p, const borg_arg *args, int64_t groups) {
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, groups, 0, &p->diags)) {
        print_message("%s", borg_program_messages(p));
        fail();
    }
}

/* LDU without pivoting as in the listing of the thesis: L scaled by columns, U by the pivot row. */
static void plain_ldus(int n, double *a) {
    for (int s = 0; s < n; ++s) {
        for (int i = s + 1; i < n; ++i) a[i * n + s] /= a[s * n + s];
        for (int i = s + 1; i < n; ++i)
            for (int j = s + 1; j < n; ++j) a[i * n + j] -= a[i * n + s] * a[s * n + j];
        for (int j = s + 1; j < n; ++j) a[s * n + j] /= a[s * n + s];
    }
}

static double noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

static void check_ldus(const char *source, int n, int pack, borg_order order, bool no_vector) {
    enum { GROUPS = 11 };
    borg_options options = {.size = n,
                            .pack = pack,
                            .order = order,
                            .strict = true,
                            .verify = true,
                            .no_vector = no_vector};
    borg_program *p = compile(source, &options);
    double *a = malloc(sizeof *a * GROUPS * n * n), *b = malloc(sizeof *b * GROUPS * n * n);
    uint32_t state = (uint32_t)n;
    for (int g = 0; g < GROUPS; ++g)
        for (int i = 0; i < n * n; ++i)
            a[g * n * n + i] = b[g * n * n + i] = noise(&state) + (i % (n + 1) == 0) * n;
    borg_arg args[1] = {{.data = a, .count = GROUPS * n * n}};
    run(p, args, GROUPS);
    for (int g = 0; g < GROUPS; ++g) plain_ldus(n, b + g * n * n);
    assert_memory_equal(a, b, sizeof *a * GROUPS * n * n);
    free(a);
    free(b);
    borg_program_free(p);
}

static void test_ldus(void **state) {
    (void)state;
    char *source = read_kernel("ldus");
    static const int sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        check_ldus(source, sizes[i], 1, BORG_WI_MINOR, false);
        check_ldus(source, sizes[i], 4, BORG_WG_MINOR, false);
        if (sizes[i] < 16) check_ldus(source, sizes[i], 3, BORG_WI_MINOR, true);
    }
    free(source);
}

/* Listing 3 of the thesis: the loop splits into the index sets [0], [1, 2], [3]. */
static void test_listing3(void **state) {
    (void)state;
    char *source = read_kernel("listing3");
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink dump = {.arena = &arena};
    borg_options options = {
        .size = 3, .strict = true, .verify = true, .dump = "ssa", .dump_to = &dump};
    borg_program *p = compile(source, &options);
    assert_non_null(strstr(dump.text, "!b{0, 1}\n")); /* b[ix / 2] for ix = 1, 2 */
    assert_non_null(strstr(dump.text, "!a{1, 2}\n"));
    assert_null(strstr(dump.text, "!a{0, 1, 2, 3} %")); /* not as a whole */
    for (int s = 0; s < 3; ++s) {
        float data[12], want[12], a[3][4], b[3][4], c[3][4];
        for (int i = 0; i < 12; ++i) data[i] = (float)(i * i % 7);
        memcpy(a, data, sizeof a);
        memcpy(b, data, sizeof b);
        memcpy(c, data, sizeof c);
        for (int ix = 0; ix < 4; ++ix) {
            for (int w = 0; w < 3; ++w) a[w][ix] = a[w][ix] + 2 * (b[w][4 - ix - 1] + c[s][ix]);
            for (int w = 0; w < 3; ++w)
                if (w > s) b[w][ix / 2] += c[w][ix / 2];
        }
        for (int i = 0; i < 12; ++i) want[i] = a[i / 4][i % 4] + b[i / 4][i % 4];
        borg_arg args[2] = {{.data = data, .count = 12}, {.bits = (uint64_t)s}};
        run(p, args, 1);
        assert_memory_equal(data, want, sizeof want);
    }
    borg_program_free(p);
    borg_arena_free(&arena);
    free(source);
}

/* What a function does to an array parameter it does to the argument: by way of another function,
 * with one array twice, in a loop at run time, where only some work-items are, and in memory. */
static void test_array_parameters(void **state) {
    (void)state;
    static const char source[] =
        "static void put(int x[], int at, int value) { x[at] = value; }\n"
        "static void both(int a[2], int b[], int k) { put(a, 0, k); put(b, 1, 10 * a[0]); }\n"
        "static int total(const int x[]) { int s = 0; for (int i = 0; i < 2; ++i) s += x[i];\n"
        "  return s; }\n"
        "static void share(__local volatile int t[], __local int d[3], __global const int *p) {\n"
        "  t[get_local_id()] = p[3 + get_local_id()]; d[get_local_id()] = p[get_local_id()];\n"
        "  barrier(0); }\n"
        "__kernel void k(__global int *p, int n) {\n"
        "  __local volatile int t[3]; __local int d[3]; int a[2], b[2];\n"
        "  share(t, d, p);\n"
        "  both(a, b, 1); both(a, a, 2);\n"
        "  for (int i = 0; i < n; ++i) put(b, 0, b[0] + a[0] + i);\n"
        "  if (get_local_id() > 0) both(b, a, 5);\n"
        "  put(p, 6, total(a));\n" /* refused: put takes private arrays */
        "}\n";
    borg_options options = {.size = 3, .strict = true, .verify = true};
    borg_program *p = NULL;
    assert_int_equal(borg_compile("t.cl", source, strlen(source), &options, NULL, &p),
                     BORG_ERR_SOURCE);
    assert_non_null(strstr(borg_program_messages(p), "'p' is __global, 'x' is private"));
    borg_program_free(p);
    char text[2048];
    const char *end = strstr(source, "  put(p, 6");
    snprintf(text, sizeof text, "%.*s%s", (int)(end - source), source,
             "  p[get_local_id()] = total(a);\n"
             "  p[3 + get_local_id()] = total(b);\n"
             "  p[6 + get_local_id()] = t[2 - get_local_id()] + d[1];\n}\n");
    /* a is 2, 20; b is 0 + (2 + 0) + (2 + 1) = 5, 10; then behind item 0 b[0] = 5, a[1] = 50 */
    int32_t data[9] = {1, 2, 3, 40, 50, 60};
    static const int32_t want[9] = {22, 52, 52, 15, 15, 15, 62, 52, 42};
    for (int whole = 0; whole < 2; ++whole) {
        int32_t given[9];
        options.no_vector = whole != 0;
        p = compile(text, &options);
        memcpy(given, data, sizeof given);
        borg_arg args[2] = {{.data = given, .count = 9}, {.bits = 2}};
        run(p, args, 1);
        assert_memory_equal(given, want, sizeof want);
        borg_program_free(p);
    }
}

enum { MIX_GROUPS = 7, MIX = 4 };

/* The mixture of everything, by hand, one group. */
static void plain_mixture(double *p, int n, int m, const double *list) {
    double x[MIX], s[MIX], d[MIX + 2] = {0}, arr[MIX][4];
    int piv = 0;
    for (int w = 0; w < MIX; ++w) {
        x[w] = p[w];
        d[w] = x[w];
        d[MIX] = x[w] + 1;
    }
    for (int w = 0; w < MIX; ++w) {
        s[w] = 0;
        for (int i = 0; i < n; ++i) {
            s[w] += x[w] * d[i < 5 ? i : 5];
            if (s[w] > 10.0) break;
            if (i == 2) continue;
            s[w] += 1;
        }
        for (int k = w; k < m; k += 2) x[w] = x[w] + s[w];
        if (n > 3) {
            x[w] = x[w] * x[w] + 1;
            x[w] *= 2;
            x[w] = x[w] > 3 && s[w] < 100 ? x[w] : s[w];
            x[w] += list[w];
            x[w] += 1;
            x[w] += 2;
        }
        if (fabs(x[w]) > fabs(x[piv])) piv = w;
    }
    double top = x[piv];
    for (bool again = true; again;) {
        again = false;
        for (int w = 0; w < MIX; ++w) again |= (x[w] *= 0.5) > 1;
    }
    for (int w = 0; w < MIX; ++w) {
        double first[4] = {1, 2, x[w], 0};
        memcpy(arr[w], first, sizeof first);
        arr[w][w % 4] += top;
        arr[w][piv & 3] = arr[w][n & 3] + d[MIX + 1];
    }
    double sum = (x[0] + x[2]) + (x[1] + x[3]);
    for (int w = 0; w < MIX; ++w) p[w] = x[w] + top + arr[w][0] + arr[w][3] + sum + d[MIX];
}

static void test_mixture(void **state) {
    (void)state;
    char *source = read_kernel("mixture");
    static const int packs[] = {1, 2, 4, 8};
    for (int i = 0; i < 8; ++i) {
        borg_options options = {.size = MIX,
                                .pack = packs[i % 4],
                                .strict = true,
                                .verify = true,
                                .optimise = i < 4 ? 0 : -1};
        borg_program *p = compile(source, &options);
        double a[MIX_GROUPS * MIX], b[MIX_GROUPS * MIX], lists[MIX_GROUPS][MIX];
        double *list[MIX_GROUPS];
        int32_t count[MIX_GROUPS];
        uint32_t random = 5;
        for (int g = 0; g < MIX_GROUPS; ++g) {
            list[g] = lists[g];
            count[g] = g;
            for (int w = 0; w < MIX; ++w) {
                a[g * MIX + w] = b[g * MIX + w] = 3 * noise(&random) - 1;
                lists[g][w] = noise(&random);
            }
        }
        borg_arg args[4] = {{.data = a, .count = MIX_GROUPS * MIX},
                            {.data = count, .count = MIX_GROUPS},
                            {.bits = 5},
                            {.data = list, .count = MIX_GROUPS}};
        run(p, args, MIX_GROUPS);
        for (int g = 0; g < MIX_GROUPS; ++g) plain_mixture(b + g * MIX, count[g], 5, list[g]);
        assert_memory_equal(a, b, sizeof a);
        borg_program_free(p);
    }
    free(source);
}

enum { TILE_GROUPS = 3, TILE_ITEMS = 32 };

/* C += A B with A in x, B in y and C in z, as the work-items hold them. */
static void plain_tile(const double *x, const double *y, double *z, int half) {
    for (int w = 0; w < TILE_ITEMS; ++w) {
        int row = w / 4, column = 2 * (w % 4) + half;
        for (int k = 0; k < 4; ++k) z[w] = fma(x[4 * row + k], y[4 * column + k], z[w]);
    }
}

/* Kept as one operation, or as moves and FMA: the same bits. */
static void test_tile(void **state) {
    (void)state;
    const char *source = "__kernel void k(__global double *c, __global const double *a, __global "
                         "const double *b) {\n"
                         "    long at = get_group_id() * 32 + get_local_id();\n"
                         "    double x = a[at], y = b[at], z[4];\n"
                         "    for (int i = 0; i < 4; ++i) z[i] = c[4 * at + i];\n"
                         "    for (int i = 0; i < 4; ++i) z[i] = mma8x8x4(x, y, z[i], i % 2);\n"
                         "    for (int i = 0; i < 4; ++i) c[4 * at + i] = z[i];\n"
                         "}\n";
    double a[TILE_GROUPS][TILE_ITEMS], b[TILE_GROUPS][TILE_ITEMS], z[TILE_ITEMS];
    double c[TILE_GROUPS][TILE_ITEMS][4], want[TILE_GROUPS][TILE_ITEMS][4];
    uint32_t random = 3;
    for (int k = 0; k < 12; ++k) {
        borg_options options = {.size = TILE_ITEMS,
                                .pack = 1 + k % 2,
                                .order = k & 2 ? BORG_WG_MINOR : BORG_WI_MINOR,
                                .strict = k >= 8,
                                .no_vector = k % 3 == 0,
                                .verify = true,
                                .backend = k & 4 ? borg_backend_find("c") : NULL};
        for (int i = 0; i < TILE_GROUPS * TILE_ITEMS; ++i) {
            int g = i / TILE_ITEMS, w = i % TILE_ITEMS;
            a[g][w] = noise(&random) - 0.5;
            b[g][w] = noise(&random) - 0.5;
            for (int e = 0; e < 4; ++e) c[g][w][e] = noise(&random);
        }
        memcpy(want, c, sizeof c);
        for (int g = 0; g < TILE_GROUPS; ++g) {
            for (int e = 0; e < 4; ++e) {
                for (int w = 0; w < TILE_ITEMS; ++w) z[w] = want[g][w][e];
                plain_tile(a[g], b[g], z, e % 2);
                for (int w = 0; w < TILE_ITEMS; ++w) want[g][w][e] = z[w];
            }
        }
        borg_program *p = compile(source, &options);
        int count = 0;
        for (const borg_inst *v = p->units[0].module->body->first; v; v = v->next)
            count += v->op == BORG_MMA;
        assert_int_equal(count, options.backend || options.strict ? 0 : 4);
        borg_arg args[3] = {{.data = c, .count = 4 * TILE_GROUPS * TILE_ITEMS},
                            {.data = a, .count = TILE_GROUPS * TILE_ITEMS},
                            {.data = b, .count = TILE_GROUPS * TILE_ITEMS}};
        run(p, args, TILE_GROUPS);
        assert_memory_equal(c, want, sizeof c);
        borg_program_free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ldus),     cmocka_unit_test(test_array_parameters),
        cmocka_unit_test(test_listing3), cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
