/* SPDX-License-Identifier: BSD-3-Clause */
/* InfReg-IR: its text is read and written back the same, the verifier finds faults, the interpreter
 * computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "borg/ir.h"

static borg_arena arena;
static borg_diags diags;

static int setup(void **state) {
    (void)state;
    borg_arena_init(&arena, NULL, 0);
    diags = (borg_diags){.arena = &arena, .source.file = "test"};
    return 0;
}

static int teardown(void **state) {
    (void)state;
    borg_arena_free(&arena);
    return 0;
}

static borg_module *parse(const char *text) {
    if (setjmp(arena.oom)) fail_msg("out of memory");
    diags.source.text = text;
    diags.source.length = strlen(text);
    borg_module *m = borg_parse(&arena, text, strlen(text), &diags, NULL);
    if (!m) {
        borg_sink sink = {.arena = &arena};
        borg_diags_print(&diags, &sink);
        print_message("%s", sink.text);
    }
    return m;
}

static borg_module *parse_quietly(const char *text) {
    if (setjmp(arena.oom)) fail_msg("out of memory");
    return borg_parse(&arena, text, strlen(text), &diags, NULL);
}

static const char *print(borg_module *m) {
    borg_sink sink = {.arena = &arena};
    borg_print(m, &sink);
    return sink.text;
}

/* Every operation once. */
static const char *const everything =
    "kernel @all size 4 pack 2 order wi strict fast_rcp (ptr<f64> restrict @a, "
    "ptr<ptr<u.i32>> readonly @list, u.i64 @m, f32 @x) local (u.i32 @own[4], f64 @never[36]) {\n"
    "  %0 = param uni<ptr> @a\n"
    "  %1 = gid wg<i64>\n"
    "  %2 = const wg<i64> 16\n"
    "  %3 = mul wg<i64> %1, %2\n"
    "  %4 = loada wi<4 x f64> %0, %3, a 0, b 4, c {0, 1, 2, 3} !row{0, 1, 2, 3}\n"
    "  %5 = lane wg<f64> %4, map {0, 1}\n"
    "  %6 = bcast wi<f64> %5\n"
    "  %7 = rows wi<4 x f64> %6, %6, %4, %6, map {0, 0, 3, 0}\n"
    "  %8 = fma wi<4 x f64> %4, %7, %4\n"
    "  %9 = lid wi<i32>\n"
    "  %10 = const wi<i32> {0, 0, 2, 3}\n"
    "  %11 = icmp.u gt wi<i1> %9, %10\n"
    "  %12 = perm wi<f64> %8, map {0, 0, 1, 1, 2, 2, 3, 3}\n"
    "  %13 = select wi<f64> %11, %12, %6\n"
    "  %14 = rmaxidx wg<i32> %13\n"
    "  %15 = bcast wi<i32> %14\n"
    "  %16 = shufv wi<f64> %13, %15\n"
    "  %17 = pickv wi<f64> %8, %15\n"
    "  %18 = fadd wi<f64> %16, %17\n"
    "  %19 = const uni<i32> 0\n"
    "  %20 = loop trip 3 {\n"
    "    %21 = phi uni<i32> %19\n"
    "    %22 = phi wi<f64> %18\n"
    "    %23 = const uni<i32> 3\n"
    "    %24 = icmp lt uni<i1> %21, %23\n"
    "    while %24\n"
    "  } do {\n"
    "    %25 = const uni<i32> 1\n"
    "    %26 = add uni<i32> %21, %25\n"
    "    %27 = fadd wi<f64> %22, %18\n"
    "    yield %26, %27\n"
    "  }\n"
    "  %28 = result wi<f64> %20, 1\n"
    "  %29 = anyp uni<i1> %11\n"
    "  %30 = if %29 {\n"
    "    yield %28\n"
    "  } else {\n"
    "    yield %18\n"
    "  }\n"
    "  %31 = result wi<f64> %30, 0\n"
    "  storea %0, %3, %31, mask %11, a 0, b 4, c {2}\n"
    "  barrier\n"
    "  %32 = param uni<ptr> @list\n"
    "  %33 = load wg<ptr> %32, %1\n"
    "  %34 = sext wi<i64> %9\n"
    "  %35 = load wi<i32> %33, %34, mask %11\n"
    "  store %33, %34, %35\n"
    "  %36 = const uni<f64> 0x7ff8000000000001\n"
    "  %37 = const uni<3 x f32> {-inf, -0, 0.100000001}\n"
    "  %38 = magnitude wi<i32> %18\n"
    "  %39 = local wg<ptr> @own\n"
    "  store %39, %9, %35, mask %11\n"
    "  %40 = load wg<i32> %39, %14\n"
    "}\n";

static void test_round_trip(void **state) {
    (void)state;
    borg_module *m = parse(everything);
    assert_non_null(m);
    assert_string_equal(print(m), everything);
    const char *tile = "kernel @tile size 32 pack 1 order wi () {\n"
                       "  %0 = const wi<2 x f32> 1\n"
                       "  %1 = mma wi<2 x f32> %0, %0, %0, 1\n"
                       "}\n";
    assert_string_equal(print(parse(tile)), tile);
    borg_sink sink = {.arena = &arena};
    borg_print_lanes(m, &sink);
    assert_non_null(strstr(sink.text, "type <32 x f64> metadata {ix, wi, wg} <{{0,0,0}, {0,1,0}"));
}

/* Each text breaks one rule; the message must name it. */
static void test_verifier(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"%0 = lid wi<i64>", "is i32 WI"},
        {"%0 = lid wi<i32>\n %1 = const uni<i32> 1\n %2 = add wi<i32> %0, %1", "another shape"},
        {"%0 = lid wi<i32>\n %1 = fadd wi<i32> %0, %0", "wrong kind"},
        {"%0 = lid wi<i32>\n %1 = perm wi<i32> %0, map {0,0,0,1,0,2,0,9}", "no such work-item"},
        {"%0 = lid wi<i32>\n %1 = rows wi<2 x i32> %0, %0, map {0, 1}", "row that the operand"},
        {"%0 = const wg<i1> 1\n %1 = if %0 {\n yield\n } else {\n yield\n }", "one lane"},
        {"%0 = const uni<i1> 1\n %1 = if %0 {\n %2 = lid wi<i32>\n yield\n } else {\n yield\n }\n"
         " %3 = neg wi<i32> %2",
         "not visible"},
        {"%0 = const uni<i1> 1\n %1 = loop {\n while %0\n } do {\n yield %0\n }", "differs"},
        {"%0 = const uni<i1> 1\n %1 = loop {\n %2 = phi uni<i1> %0\n while %0\n } do {\n yield\n }",
         "fewer values"},
        {"while %0", "not defined"},
        {"%0 = const uni<i1> 2", "does not fit"},
        {"%0 = frob uni<i1> 2", "no operation"},
        {"%0 = param uni<ptr> @a\n %1 = const wi<i64> 0\n %2 = load wg<f64> %0, %1", "differ in"},
        {"%0 = param uni<ptr> @a\n %1 = const wi<i64> 0\n %2 = load wi<i1> %0, %1", "no such type"},
        {"%0 = const uni<f64> 1\n %1 = sitofp uni<f32> %0", "no such conversion"},
        {"%0 = local wg<ptr> @u\n %1 = const wg<i32> 0\n %2 = load wg<f64> %0, %1", NULL},
        {"%0 = local wg<ptr> @v", "no local array"},
        {"%0 = local uni<ptr> @u", "is ptr WG"},
        {"%0 = local wg<ptr> @u\n %1 = const wg<i64> 0\n %2 = load wg<f64> %0, %1", "i32 index"},
        {"%0 = local wg<ptr> @u\n %1 = const wg<i32> 0\n %2 = load wg<f32> %0, %1", "another type"},
        {"%0 = local wg<ptr> @u\n %1 = const uni<i32> 0\n %2 = load uni<f64> %0, %1", "narrower"},
        {"%0 = local wg<ptr> @u\n %1 = const uni<i32> 0\n %2 = loada wg<f64> %0, %1, a 0, b 0, c "
         "{0}",
         "no affine"},
        {"%0 = local wg<ptr> @u\n %1 = rows wg<ptr> %0, map {0}", "loaded and stored by alone"},
        {"%0 = param uni<ptr> @a\n %1 = const wg<i32> 0\n %2 = load wg<f64> %0, %1", "i64 index"},
        {"%0 = const wi<f64> 1\n %1 = mma wi<f64> %0, %0, %0, 1", "for 32 work-items"},
        {"%0 = const wi<4096 x f64> 1", NULL},
        {"%0 = const wi<4097 x f64> 1", "expected an integer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[1024];
        diags.first = diags.last = NULL;
        diags.errors = 0;
        snprintf(text, sizeof text,
                 "kernel @k size 4 pack 2 order wi (ptr<f64> @a) local (f64 @u[3]) {\n %s\n}\n",
                 cases[i][0]);
        borg_module *m = parse_quietly(text);
        if (!cases[i][1]) {
            assert_non_null(m);
            continue;
        }
        assert_null(m);
        if (!strstr(diags.first->message, cases[i][1]))
            fail_msg("case %zu: '%s' does not say '%s'", i, diags.first->message, cases[i][1]);
    }
}

static void test_tile(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"mma wi<f64> %0, %0, %0, 0", NULL},
        {"mma wi<f64> %0, %0, %0, 2", "the half of the tile"},
        {"mma wi<f64> %0, %0, %1, 0", "another type or shape"},
        {"mma wi<f64> %0, %2, %0, 0", "another type or shape"},
        {"mma wi<f64> %0, %0, 0", "wrong number of operands"},
        {"mma wg<f64> %2, %2, %2, 0", "f32 or f64, WI"},
        {"mma wi<i32> %3, %3, %3, 0", "f32 or f64, WI"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[512];
        diags.first = diags.last = NULL;
        diags.errors = 0;
        snprintf(text, sizeof text,
                 "kernel @k size 32 pack 1 order wi () {\n %%0 = const wi<f64> 1\n %%1 = const "
                 "wi<f32> 1\n %%2 = const wg<f64> 1\n %%3 = lid wi<i32>\n %%4 = %s\n}\n",
                 cases[i][0]);
        borg_module *m = parse_quietly(text);
        assert_int_equal(m != NULL, cases[i][1] == NULL);
        if (cases[i][1] && !strstr(diags.first->message, cases[i][1]))
            fail_msg("case %zu: '%s' does not say '%s'", i, diags.first->message, cases[i][1]);
    }
}

/* A first kernel, by hand: two groups of four items, group 1 shifted by 100. */
static void test_interpret(void **state) {
    (void)state;
    borg_module *m = parse(everything);
    assert_non_null(m);
    double a[32];
    uint32_t one[4] = {1, 2, 3, 4}, two[4] = {5, 6, 7, 8}, *list[2] = {one, two};
    for (int i = 0; i < 32; ++i) a[i] = i < 16 ? i : 100 + i;
    borg_arg args[4] = {{.data = a, .count = 32}, {.data = list, .count = 2}};
    assert_true(borg_interpret(m, NULL, args, 0, 2, 0, &diags));
    /* item 1 of group 0: row 4..7, %5 = a[1][0] = 4, %12 = 5*4 + 5 = 25 > {8, 4, ...};
     * item 3: 15 * 4 + 15 = 75 is masked: lid 3 > 3 is false -> 4. The greatest is item 1's 25. */
    assert_true(a[6] == 4 * (25 + (5 * 4 + 5)));
    assert_true(a[2] == 2 && a[10] == 10 && a[14] == 14);
    assert_int_equal(two[1], 6);
    args[0].count = 31;
    assert_false(borg_interpret(m, NULL, args, 0, 2, 0, &diags));
    assert_non_null(strstr(diags.last->message, "a[31] of 31"));
    assert_false(borg_interpret(m, NULL, args, 0, 3, 0, &diags)); /* no tail */
    args[0].count = 32;
    assert_false(borg_interpret(m, NULL, args, 0, 2, 10, &diags));
    assert_non_null(strstr(diags.last->message, "too many steps"));
}

/* Each group has its own array, zeros when a pack begins; lanes go to any element of it. */
static void test_locals(void **state) {
    (void)state;
    borg_module *m = parse("kernel @own size 2 pack 2 order wg (ptr<f64> @a, ptr<i32> @at) "
                           "local (i64 @before[2], f64 @u[3]) {\n"
                           "  %0 = param uni<ptr> @a\n"
                           "  %1 = param uni<ptr> @at\n"
                           "  %2 = g0 uni<i64>\n"
                           "  %3 = const uni<i64> 2\n"
                           "  %4 = mul uni<i64> %2, %3\n"
                           "  %5 = loada wi<f64> %0, %4, a 2, b 1, c {0}\n"
                           "  %6 = loada wi<i32> %1, %4, a 2, b 1, c {0}\n"
                           "  %7 = local wg<ptr> @u\n"
                           "  store %7, %6, %5\n"
                           "  barrier\n"
                           "  %8 = const wi<i32> {2, 0}\n"
                           "  %9 = load wi<f64> %7, %8\n"
                           "  storea %0, %4, %9, a 2, b 1, c {0}\n"
                           "}\n");
    assert_non_null(m);
    double a[8] = {10, 11, 20, 21, 30, 31, 40, 41};
    static const double want[8] = {11, 10, 0, 20, 0, 31, 41, 0};
    int32_t at[8] = {0, 2, 0, 1, 1, 0, 1, 2};
    borg_arg args[2] = {{.data = a, .count = 8}, {.data = at, .count = 8}};
    assert_true(borg_interpret(m, NULL, args, 0, 4, 0, &diags));
    assert_memory_equal(a, want, sizeof a);
    at[3] = 3;
    assert_false(borg_interpret(m, NULL, args, 0, 4, 0, &diags));
    assert_non_null(strstr(diags.last->message, "index 3 of 'u', which has 3 elements"));
    at[3] = -1;
    assert_false(borg_interpret(m, NULL, args, 0, 4, 0, &diags));
    assert_non_null(strstr(diags.last->message, "index -1 of 'u'"));
}

/* Lanes that write to one address must write the same: a machine may leave any of the values. */
static void test_one_address(void **state) {
    (void)state;
    borg_module *m = parse("kernel @one size 2 pack 1 order wi (ptr<f64> @a, ptr<i64> @at) {\n"
                           "  %0 = param uni<ptr> @a\n"
                           "  %1 = param uni<ptr> @at\n"
                           "  %2 = const uni<i64> 0\n"
                           "  %3 = loada wi<f64> %0, %2, a 0, b 1, c {0}\n"
                           "  %4 = loada wi<i64> %1, %2, a 0, b 1, c {0}\n"
                           "  store %0, %4, %3\n"
                           "}\n");
    assert_non_null(m);
    double a[4] = {1, 2, 7, 7}, nan[4] = {(double)NAN, -(double)NAN, 0, 0};
    int64_t apart[2] = {3, 2}, same[2] = {2, 2};
    borg_arg args[2] = {{.data = a, .count = 4}, {.data = apart, .count = 2}};
    assert_true(borg_interpret(m, NULL, args, 0, 1, 0, &diags));
    assert_true(a[3] == 1 && a[2] == 2);
    args[1].data = same;
    assert_false(borg_interpret(m, NULL, args, 0, 1, 0, &diags));
    assert_non_null(strstr(diags.last->message, "another value to the same address"));
    a[1] = 1;
    assert_true(borg_interpret(m, NULL, args, 0, 1, 0, &diags));
    args[0].data = nan;
    assert_true(borg_interpret(m, NULL, args, 0, 1, 0, &diags));
    assert_true(isnan(nan[2]));
}

static uint64_t bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static uint64_t eval(borg_op op, borg_type to, borg_type from, uint64_t x, uint64_t y) {
    borg_inst v = {.op = op, .type = to};
    return borg_evaluate(&v, from, x, y, 0);
}

static void test_arithmetic(void **state) {
    (void)state;
    const uint64_t min32 = 0x80000000u, min64 = (uint64_t)1 << 63;
    assert_int_equal(eval(BORG_SDIV, BORG_I32, BORG_I32, 7, 0), 0);
    assert_int_equal(eval(BORG_SREM, BORG_I32, BORG_I32, 7, 0), 7);
    assert_int_equal(eval(BORG_SDIV, BORG_I32, BORG_I32, min32, 0xffffffffu), min32);
    assert_int_equal(eval(BORG_SREM, BORG_I64, BORG_I64, min64, UINT64_MAX), 0);
    assert_int_equal(eval(BORG_SDIV, BORG_I32, BORG_I32, 0xfffffff9u, 2), 0xfffffffdu); /* -7/2 */
    assert_int_equal(eval(BORG_ASHR, BORG_I32, BORG_I32, min32, 33), 0xc0000000u);
    assert_int_equal(eval(BORG_FPTOSI, BORG_I32, BORG_F64, bits(NAN), 0), 0);
    assert_int_equal(eval(BORG_FPTOSI, BORG_I32, BORG_F64, bits(1e300), 0), 0x7fffffff);
    assert_int_equal(eval(BORG_FPTOSI, BORG_I64, BORG_F64, bits(-1e300), 0), min64);
    assert_int_equal(eval(BORG_FPTOSI, BORG_I32, BORG_F64, bits(-2.9), 0), 0xfffffffeu);
    assert_int_equal(eval(BORG_FPTOUI, BORG_I32, BORG_F64, bits(-5.0), 0), 0);
    assert_int_equal(eval(BORG_FPTOUI, BORG_I64, BORG_F64, bits(1e30), 0), UINT64_MAX);
    assert_int_equal(eval(BORG_FMAX, BORG_F64, BORG_F64, bits(1.0), bits(NAN)), bits(1.0));
    assert_true(eval(BORG_FMAX, BORG_F64, BORG_F64, bits(-0.0), bits(0.0)) == bits(-0.0));
    assert_true(eval(BORG_FNEG, BORG_F64, BORG_F64, bits(0.0), 0) == bits(-0.0));
    assert_int_equal(eval(BORG_SEXT, BORG_I64, BORG_I32, 0xffffffffu, 0), UINT64_MAX);
    assert_int_equal(eval(BORG_ABS, BORG_I32, BORG_I32, min32, 0), min32);
}

static void test_reductions(void **state) {
    (void)state;
    /* the halving tree of 3: (x0 + x2) + x1 */
    uint64_t x[3] = {bits(1e16), bits(1.0), bits(-1e16)};
    assert_true(borg_reduce(BORG_RSUM, BORG_F64, false, x, 3) == bits(1.0));
    uint64_t y[4] = {bits(NAN), bits(-3.0), bits(NAN), bits(-3.0)};
    assert_int_equal(borg_reduce(BORG_RMAXIDX, BORG_F64, false, y, 4), 1);
    uint64_t z[2] = {bits(NAN), bits(NAN)};
    assert_int_equal(borg_reduce(BORG_RMAXIDX, BORG_F64, false, z, 2), 0);
    assert_true(borg_reduce(BORG_RMAX, BORG_F64, false, z, 2) == bits(-INFINITY));
    uint64_t u[2] = {1, 0xffffffffu};
    uint64_t zeros[] = {bits(-1.0), bits(-0.0), bits(0.0), bits(-1.0)};
    assert_true(borg_reduce(BORG_RMAX, BORG_F64, false, zeros, 4) == bits(-0.0)); /* the lowest */
    assert_int_equal(borg_reduce(BORG_RMAXIDX, BORG_I32, false, u, 2), 0);
    assert_int_equal(borg_reduce(BORG_RMAXIDX, BORG_I32, true, u, 2), 1);
}

static void survive(const char *text, size_t length) {
    borg_arena local;
    borg_arena_init(&local, NULL, 64 << 20);
    borg_diags messages = {.arena = &local};
    if (!setjmp(local.oom)) {
        borg_module *m = borg_parse(&local, text, length, &messages, NULL);
        assert_true((m != NULL) == (messages.errors == 0));
    }
    borg_arena_free(&local);
}

/* Any prefix, and any text with a byte changed, is read or refused, and never more. */
static void test_broken_text(void **state) {
    (void)state;
    size_t length = strlen(everything);
    char *text = malloc(length + 1);
    uint32_t random = 1;
    for (int round = 0; round < 3000; ++round) {
        memcpy(text, everything, length + 1);
        size_t end = length;
        random = random * 1664525 + 1013904223;
        if (round % 3 == 0) {
            end = random % length;
        } else {
            for (int i = 0; i <= round % 4; ++i) {
                random = random * 1664525 + 1013904223;
                text[(random >> 8) % length] = "{}<>%@,x0149-.uw\n \0z"[random % 21];
            }
        }
        survive(text, end);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_verifier, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interpret, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_address, setup, teardown),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_broken_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
