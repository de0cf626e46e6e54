/* SPDX-License-Identifier: BSD-3-Clause */
/* What is not of the language is refused, with place and reason, and all errors of a file are told
 * in one run; any bytes at all are survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "borg/borg.h"

#define K(body) "__kernel void k(__global double *p, int m) {\n" body "\n}\n"

/* source, line:column of the message, a part of it */
static const char *const cases[][3] = {
    {K("x = 1;"), "2:1", "'x' is not declared"},
    {K("int x = 1; int x = 2;"), "2:16", "'x' is declared twice"},
    {K("double a[4]; a = 1;"), "2:14", "it needs an index"},
    {K("double a[4]; a[4] = 1;"), "2:16", "index 4 of 'a', which has 4 elements"},
    {K("double a[4]; for (int i = 0; i < 5; ++i) a[i] = 1;"), "2:44", "index 4 of 'a'"},
    {K("double a[m];"), "2:10", "not a constant"},
    {K("double a[0];"), "2:10", "cannot have 0 elements"},
    {K("int x = 1 +;"), "2:12", "expected an expression before ';'"},
    {K("if (m > 1 { m = 2; }"), "2:11", "expected ')' before '{'"},
    {K("const int c = 1; c = 2;"), "2:18", "'c' is constant"},
    {K("m = 1.5 % 2;"), "2:9", "'%' needs integers"},
    {K("p[1.0] = 2;"), "2:3", "an index is an integer"},
    {K("double *q = p;"), "2:8", "no pointers but the parameters"},
    {K("m = &m;"), "2:5", "no pointers but the parameters"},
    {K("float4 v;"), "2:1", "'float4' is not in the language"},
    {K("goto out;"), "2:1", "'goto' is not in the language"},
    {K("m = sin(2.0);"), "2:5", "no function 'sin'"},
    {K("m = max(2);"), "2:5", "wrong number of arguments of 'max'"},
    {K("m = pow(2);"), "2:5", "wrong number of arguments of 'pow'"},
    {K("m = floor(m, 2);"), "2:5", "wrong number of arguments of 'floor'"},
    {K("m = get_global_id(1);"), "2:5", "'get_global_id': there is one dimension, 0"},
    {K("break;"), "2:1", "no loop around this"},
    {K("return; m = 1;"), "2:1", "does not return early"},
    {K("p[0] = get_local_id(1);"), "2:8", "one dimension"},
    {K("if (get_local_id() > 1) p[0] = work_group_reduce_sum(p[1]);"), "2:32",
     "differs between the work-items"},
    {K("double x = get_local_id(); while (x < 2) { x += any(x > 1); }"), "2:49",
     "differs between the work-items"},
    {K("for (int i = 0; i < m; ++i) barrier(0);\nif (get_local_id() == 0) { barrier(0); }"), "3:28",
     "'barrier' under a condition"},
    {K("while (true) { m = m + 1; }"), "2:1", "does not end"},
    {K("\n#pragma unroll\nfor (int i = 0; i < m; ++i) p[i] = 1;"), "4:1", "cannot be unrolled"},
    {K("__local double d[4]; { __local double e[4]; }"), "2:39", "at the top of a kernel"},
    {K("volatile int x = 1;"), "2:1", "volatile is for __local arrays"},
    {K("__local volatile double d;"), "2:9", "volatile is for __local arrays"},
    {K("__local volatile bool d[4];"), "2:23", "bool is not kept in memory"},
    {K("__local volatile int d[4] = {1};"), "2:22", "has no initialiser"},
    {K("if (m) { __local volatile int d[4]; }"), "2:31", "at the top of a kernel"},
    {K("__local volatile int d[4]; d[4] = 1;"), "2:30", "index 4 of 'd', which has 4 elements"},
    {K("__local volatile int d[4]; for (int i = 0; i < 5; ++i) m += d[i];"), "2:63",
     "index 4 of 'd'"},
    {K("__local volatile int d[4]; d = 1;"), "2:28", "it needs an index"},
    {"__kernel void k(__global volatile double *p) { }", "1:26", "volatile is for __local arrays"},
    {"__kernel void k(__global double *volatile p) { }", "1:34", "volatile is for __local arrays"},
    {K("p[0] = \"text\";"), "2:8", "strings and characters"},
    {K("p[0] = 09z;"), "2:8", "not a number"},
    {K("p.x = 1;"), "2:2", "structures are not in the language"},
    {"__kernel int k(__global double *p) { }", "1:14", "is not void"},
    {"__kernel void k(__global bool *p) { }", "1:32", "bool is not kept in memory"},
    {"double f(double x) { }\n__kernel void k(__global double *p) { }", "1:8",
     "does not end in a return"},
    {"double f(double x) { return f(x); }\n__kernel void k(__global double *p) { }", "1:29",
     "calls itself"},
    {"void f(double *a) { }\n" K(""), "1:8", "takes arrays as T name[]"},
    {"void f(__local double *a) { }\n" K(""), "1:8", "takes arrays as T name[]"},
    {"void f(__local double a) { }\n" K(""), "1:8", "a __local parameter is an array"},
    {"void f(volatile double a[3]) { }\n" K(""), "1:8", "volatile is for __local arrays"},
    {"void f(__local volatile bool a[]) { }\n" K(""), "1:30", "bool is not kept in memory"},
    {"void f(double a[0]) { }\n" K(""), "1:17", "cannot have 0 elements"},
    {"void f(double a[2][3]) { }\n" K(""), "1:19", "arrays have one dimension"},
    {"void f(double a[3]) { a[3] = 1; }\n" K(""), "1:25", "index 3 of 'a'"},
    {"void f(double a[]) { a = 1; }\n" K(""), "1:22", "it needs an index"},
    {"void f(const double a[]) { a[0] = 1; }\n" K(""), "1:28", "'a' is constant"},
    {"void f(__global const double *a) { a[0] = 1; }\n" K(""), "1:36", "'a' is constant"},
    {"void f(double a[], double b[]) { f(b, a); }\n" K(""), "1:34", "calls itself"},
    {"void f(double a[]) { a[2] = 1; }\n" K("double b[2]; f(b);"), "1:24",
     "index 2 of 'b', which has 2 elements"},
    {"void f(double a[]) { }\n" K("double b[2]; f(b[1]);"), "3:16",
     "'a' is an array: the name of one is passed"},
    {"void f(double a[]) { }\n" K("double b[2]; f(b + 1);"), "3:18",
     "'a' is an array: the name of one is passed"},
    {"void f(double a[]) { }\n" K("f(p);"), "3:3", "'p' is __global, 'a' is private"},
    {"void f(__global double *a) { }\n" K("double b[2]; f(b);"), "3:16",
     "'b' is private, 'a' is __global"},
    {"void f(__global double **a) { }\n" K("f(p);"), "3:3",
     "'p' is __global, 'a' is __global pointers"},
    {"void f(__local double a[]) { }\n" K("__local volatile double b[2]; f(b);"), "3:33",
     "'b' is __local volatile, 'a' is __local"},
    {"void f(double a[]) { }\n" K("f(m);"), "3:3", "'m' is scalar, 'a' is private"},
    {"void f(double a[]) { }\n" K("f(c);"), "3:3", "'c' is not declared"},
    {"void f(double a[]) { }\n" K("int c[2]; f(c);"), "3:13",
     "'c' has elements of type int, 'a' of type double"},
    {"void f(double a[]) { }\n" K("const double c[2] = {1}; f(c);"), "3:28",
     "'c' is constant, 'a' is not"},
    {"void f(double a[3]) { }\n" K("double c[2]; f(c);"), "3:16",
     "'c' has 2 elements, 'a' needs 3"},
    {"void g(double b[3]) { }\nvoid f(double a[]) { g(a); }\n" K("double c[2]; f(c);"), "2:24",
     "'c' has 2 elements, 'b' needs 3"},
    {"void f(double a[]) { }\n" K("f();"), "3:1", "wrong number of arguments of 'f'"},
    {"#define F(x) x\n__kernel void k(__global double *p) { }", "1:9", "macros with arguments"},
    {"#include <x.h>\n__kernel void k(__global double *p) { }", "1:2",
     "expected #include \"name\""},
    {"#include \"\"\n__kernel void k(__global double *p) { }", "1:2", "expected #include \"name\""},
    {"#include \"x.h\n__kernel void k(__global double *p) { }", "1:2",
     "expected #include \"name\""},
    {"#include \"x.h\"\n__kernel void k(__global double *p) { }", "1:10",
     "cannot read x.h: there is nothing to read it with"},
    {"#if 1\n__kernel void k(__global double *p) { }", "1:2", "no #endif"},
    {"#endif\n__kernel void k(__global double *p) { }", "1:2", "there is no #if"},
    {"#error no luck\n__kernel void k(__global double *p) { }", "1:2", "#error no luck"},
    {"/* open\n__kernel void k(__global double *p) { }", "1:1", "not closed"},
    {"int x;", "1:5", "expected a function"},
    {"__kernel void k(__global double *p) {", "1:38", "found the end of the file"},
    {"void f(void) { }", "", "there is no kernel"},
    {"__kernel void k(int m) { }\n__kernel void k(int m) { }", "2:15", "two functions 'k'"},
};

static void check(size_t i) {
    borg_options options = {.size = 4};
    borg_program *p = NULL;
    char want[64];
    borg_status status = borg_compile("t.cl", cases[i][0], strlen(cases[i][0]), &options, NULL, &p);
    assert_non_null(p);
    const char *text = borg_program_messages(p);
    snprintf(want, sizeof want, cases[i][1][0] ? "t.cl:%s: error: " : "t.cl: error: ", cases[i][1]);
    const char *at = strstr(text, want);
    if (status != BORG_ERR_SOURCE || !at || !strstr(at, cases[i][2]))
        fail_msg("case %zu: wanted %s%s, got\n%s", i, want, cases[i][2], text);
    borg_program_free(p);
}

/* What is refused of work-groups of 32, and of others. */
static void test_tiles(void **state) {
    (void)state;
    static const struct {
        int size;
        const char *source, *message;
    } list[] = {
        {16, K("p[0] = mma8x8x4(p[1], p[2], p[3], 0);"),
         "2:8: error: 'mma8x8x4' is for WG_SIZE 32"},
        {64, K("p[0] = mma8x8x4(p[1], p[2], p[3], 0);"),
         "2:8: error: 'mma8x8x4' is for WG_SIZE 32"},
        {32, K("p[0] = mma8x8x4(p[1], p[2], p[3], 2);"), "2:35: error: the last argument"},
        {32, K("p[0] = mma8x8x4(p[1], p[2], p[3], m);"), "2:35: error: the last argument"},
        {32, K("p[0] = mma8x8x4(p[1], p[2], p[3], 0.0);"), "2:35: error: the last argument"},
        {32, K("p[0] = mma8x8x4(p[1], p[2], p[3]);"), "2:8: error: wrong number of arguments"},
        {32, K("if (get_local_id() > 1) p[0] = mma8x8x4(p[1], p[2], p[3], 1);"),
         "2:32: error: 'mma8x8x4' under a condition"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        borg_options options = {.size = list[i].size};
        borg_program *p = NULL;
        borg_status status =
            borg_compile("t.cl", list[i].source, strlen(list[i].source), &options, NULL, &p);
        assert_non_null(p);
        assert_int_equal(status, BORG_ERR_SOURCE);
        if (!strstr(borg_program_messages(p), list[i].message))
            fail_msg("case %zu: %s", i, borg_program_messages(p));
        borg_program_free(p);
    }
}

static void test_messages(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check(i);
}

/* The source line, a caret below the place; four errors of one file, in order. */
static void test_all_at_once(void **state) {
    (void)state;
    const char *source = "__kernel void k(__global double *p) {\n"
                         "    int a = b;\n"
                         "    p[0] = 1 +;\n"
                         "    sin(3);\n"
                         "    if (p[0] > 1) {\n"
                         "\tc = 2;\n"
                         "    }\n"
                         "}\n";
    const char *want = "t.cl:2:13: error: 'b' is not declared\n"
                       "      int a = b;\n"
                       "              ^\n"
                       "t.cl:3:15: error: expected an expression before ';'\n"
                       "      p[0] = 1 +;\n"
                       "                ^\n"
                       "t.cl:4:5: error: no function 'sin'\n"
                       "      sin(3);\n"
                       "      ^~~\n"
                       "t.cl:6:2: error: 'c' is not declared\n"
                       "   c = 2;\n"
                       "   ^\n";
    borg_options options = {.size = 4};
    borg_program *p = NULL;
    assert_int_equal(borg_compile("t.cl", source, strlen(source), &options, NULL, &p),
                     BORG_ERR_SOURCE);
    assert_string_equal(borg_program_messages(p), want);
    borg_program_free(p);
}

static void test_warnings(void **state) {
    (void)state;
    static const char *const warned[][2] = {
        {K("double a[3]; a[m] = 1; p[0] = a[0];"), "all 3 elements are searched"},
        {K("__local double d[4]; d[m * get_local_id()] = p[0]; p[1] = d[2];"),
         "one after the other"},
        {K("\n#pragma once\nm = 1;"), "not known"},
        {K("\n#pragma unroll\nm = 1;"), "no loop follows"},
        {K("for (int i = 0; i < 60000; ++i) p[i] = i;"), "runs at run time"},
    };
    for (size_t i = 0; i < sizeof warned / sizeof *warned; ++i) {
        borg_options options = {.size = 4, .unroll_budget = 5000, .no_vector = true};
        borg_program *p = NULL;
        borg_status status =
            borg_compile("t.cl", warned[i][0], strlen(warned[i][0]), &options, NULL, &p);
        const char *text = borg_program_messages(p);
        if (status != BORG_OK || !strstr(text, "warning: ") || !strstr(text, warned[i][1]))
            fail_msg("case %zu: %s", i, text);
        borg_program_free(p);
    }
}

static void test_options(void **state) {
    (void)state;
    const char *source = "__kernel void k(__global double *p) { p[0] = 1; }";
    const char *bad[] = {"1x=2", NULL};
    borg_options options[] = {{.size = 0},
                              {.size = 257},
                              {.size = 4, .pack = 65},
                              {.size = 4, .kernel = "none"},
                              {.size = 4, .defines = bad}};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        borg_program *p = NULL;
        assert_true(borg_compile("t.cl", source, strlen(source), &options[i], NULL, &p) < 0);
        assert_true(p->diags.errors > 0);
        borg_program_free(p);
    }
}

/* ---- any text -------------------------------------------------------------------------------- */

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void survive(const char *text, size_t length) {
    borg_options options = {.size = 3, .pack = 2, .verify = true, .unroll_budget = 3000};
    borg_program *p = NULL;
    borg_status status = borg_compile("t.cl", text, length, &options, NULL, &p);
    assert_non_null(p);
    assert_int_not_equal(status, BORG_ERR_INTERNAL);
    assert_true((status == BORG_OK) == (p->diags.errors == 0));
    assert_null(strstr(borg_program_messages(p), ": after ")); /* the checker's words */
    borg_program_free(p);
}

static size_t read_file(const char *name, char *text, size_t room) {
    char path[512];
    snprintf(path, sizeof path, "%s/kernels/%s.cl", BORG_TESTS, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    size_t length = fread(text, 1, room, file);
    fclose(file);
    return length;
}

static void test_any_bytes(void **state) {
    (void)state;
    static const char *const names[] = {"mixture", "listing3", "ldus"};
    static const char *const words[] = {
        "(",   ")",   "{",       "}",         "[",        "]",    ";",      "+",   "=",  "if",
        "for", "1e9", "shuffle", "#define x", "\n#if",    "0x",   "break;", "int", "\"", "/*",
        "*/",  "?",   ":",       ",",         "while(1)", "\\\n", "\xff",   "T"};
    char text[8192], whole[4096];
    uint32_t random = 7;
    for (int round = 0; round < 900; ++round) {
        size_t length = read_file(names[round % 3], whole, sizeof whole);
        if (round % 4 == 0) { /* cut off */
            survive(whole, next(&random) % length);
        } else if (round % 4 == 1) { /* noise */
            size_t count = next(&random) % 200;
            for (size_t i = 0; i < count; ++i) text[i] = (char)next(&random);
            survive(text, count);
        } else { /* words are put in, bytes are changed */
            size_t at = next(&random) % length;
            const char *word = words[next(&random) % (sizeof words / sizeof *words)];
            size_t skip = next(&random) % 4, size = strlen(word);
            if (skip > length - at) skip = length - at;
            memcpy(text, whole, at);
            memcpy(text + at, word, size);
            memcpy(text + at + size, whole + at + skip, length - at - skip);
            survive(text, length + size - skip);
        }
    }
}

/* Input that would take a careless compiler endless time or memory. */
static void test_bombs(void **state) {
    (void)state;
    char *text = malloc(1 << 20);
    size_t at = (size_t)sprintf(text, "#define A0 1+1\n");
    for (int i = 1; i < 40; ++i)
        at += (size_t)sprintf(text + at, "#define A%d A%d+A%d\n", i, i - 1, i - 1);
    at += (size_t)sprintf(text + at, "__kernel void k(__global int *p) { p[0] = A39; }\n");
    survive(text, at);
    static const char *const repeated[][3] = {
        {"__kernel void k(__global int *p) { p[0] = ", "(", "1;}"},
        {"__kernel void k(__global int *p) { p[0] = ", "-", "1;}"},
        {"__kernel void k(__global int *p) { p[0] = 1", "+1", ";}"},
        {"__kernel void k(__global int *p) { ", "{", "}"},
        {"__kernel void k(__global int *p) { ", "if (p[0]) ", ";}"},
        {"__kernel void k(__global int *p) { p", "[0]", "=1;}"},
        {"__kernel void k(__global int *p) { p[0] = ", "1?1:", "1;}"},
        {"__kernel void k(__global int *p) { p[0] = ", "p[0] = ", "1;}"},
        {"__kernel void k(__global int *p) { ", "for(int i=0;i<9;++i)", "p[0]=1;}"},
        {"", "#if 1\n", ""},
        {"", "@", ""},
        {"__kernel void k(__global int *p) { p[0] = 1 ", ", 2", ";}"},
        {"__kernel void k(__global int *p) { int a[2] = {0", ", 2", "};}"},
    };
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; ++i) {
        at = (size_t)sprintf(text, "%s", repeated[i][0]);
        for (int k = 0; k < 20000; ++k) at += (size_t)sprintf(text + at, "%s", repeated[i][1]);
        at += (size_t)sprintf(text + at, "%s", repeated[i][2]);
        survive(text, at);
    }
    free(text);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct failing {
    int64_t left, live;
} failing;

static void *failing_alloc(void *self, size_t size) {
    failing *f = self;
    if (f->left-- <= 0) return NULL;
    ++f->live;
    return malloc(size);
}

static void failing_release(void *self, void *ptr) {
    failing *f = self;
    --f->live;
    free(ptr);
}

static void test_no_memory(void **state) {
    (void)state;
    char text[4096];
    size_t length = read_file("mixture", text, sizeof text);
    borg_status status = BORG_ERR_MEMORY;
    for (int64_t k = 0; status == BORG_ERR_MEMORY; ++k) {
        failing f = {.left = k};
        borg_allocator allocator = {failing_alloc, failing_release, &f};
        borg_options options = {.size = 16, .pack = 2};
        borg_program *p = NULL;
        status = borg_compile("t.cl", text, length, &options, &allocator, &p);
        assert_true((status == BORG_ERR_MEMORY) == (p == NULL));
        borg_program_free(p);
        assert_int_equal(f.live, 0);
        assert_true(k < 10000);
    }
    assert_int_equal(status, BORG_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),    cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_all_at_once), cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_options),     cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_bombs),       cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
