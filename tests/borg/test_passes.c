/* SPDX-License-Identifier: BSD-3-Clause */
/* Single passes, by what they make of small kernels; the lane order; grouping into InfRegs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "borg/borg.h"
#include "borg/passes.h"

static borg_program *program;
static char text[1 << 20];

/* The text form of the kernel's module (not its tail); *program stays for a look at it. */
static const char *compile(const char *source, borg_options options) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    options.verify = true;
    if (program) borg_program_free(program);
    program = NULL;
    if (borg_compile("t.cl", source, strlen(source), &options, NULL, &program) != BORG_OK)
        fail_msg("%s", borg_program_messages(program));
    borg_sink sink = {.arena = &arena};
    borg_print(program->units[0].module, &sink);
    snprintf(text, sizeof text, "%s", sink.text);
    borg_arena_free(&arena);
    return text;
}

static int teardown(void **state) {
    (void)state;
    borg_program_free(program);
    program = NULL;
    return 0;
}

static int count(const char *where, const char *what) {
    int n = 0;
    for (const char *at = strstr(where, what); at; at = strstr(at + 1, what)) ++n;
    return n;
}

#define K(body)                                                                                    \
    "__kernel void k(__global double *p, __global const double *q, int m) {\n" body "\n}\n"
#define AT "get_group_id() * WG_SIZE + get_local_id()"

static void test_address(void **state) {
    (void)state;
    /* row of a matrix: contiguous in the work-item; column: strided; the diagonal: both */
    const char *t = compile(K("p[" AT "] = q[(get_group_id() * 4 + get_local_id()) * 4 + 2];"),
                            (borg_options){.size = 4, .pack = 2});
    assert_non_null(strstr(t, ", a 16, b 4, c {2}"));
    assert_non_null(strstr(t, ", a 4, b 1, c {0}"));
    /* interleaved by blocks of 8: the groups of a pack lie side by side */
    t = compile(K("long g = get_group_id();\n"
                  "p[(g / 8 * 16 + get_local_id()) * 8 + g % 8] = 1;"),
                (borg_options){.size = 4, .pack = 8});
    assert_non_null(strstr(t, "a 1, b 8, c {0}"));
    assert_null(strstr(t, "gid")); /* all by g0: one scalar */
    t = compile(K("p[get_local_id() * m] = 1;"), (borg_options){.size = 4}); /* not affine */
    assert_int_equal(count(t, "storea"), 0);
    assert_int_equal(count(t, "store "), 1);
}

static void test_fma(void **state) {
    (void)state;
    const char *source =
        K("double x = q[" AT "], y = q[1]; p[" AT "] = x - x * y; p[" AT "] = x * y + 1;");
    const char *t = compile(source, (borg_options){.size = 4});
    assert_int_equal(count(t, " fma "), 0); /* the product is shared: two uses */
    t = compile(K("double x = q[" AT "], y = q[1]; p[" AT "] = x - x * y;"),
                (borg_options){.size = 4});
    assert_int_equal(count(t, " fma "), 1);
    assert_int_equal(count(t, " fmul "), 0);
    t = compile(K("double x = q[" AT "], y = q[1]; p[" AT "] = x - x * y;"),
                (borg_options){.size = 4, .strict = true});
    assert_int_equal(count(t, " fma "), 0);
}

/* In-scope variables need no selection; of nested selections with one mask the inner ones go. */
static void test_masks(void **state) {
    (void)state;
    const char *t = compile(K("double x = q[" AT "];\n"
                              "if (x > m) { double y = x * 2; y += 1; x = y; x *= y; x += 3; }\n"
                              "p[" AT "] = x;"),
                            (borg_options){.size = 4});
    assert_int_equal(count(t, "select"), 1);
    t = compile(K("double x = q[" AT "];\nif (get_local_id() >= 0) x += 1;\np[" AT "] = x;"),
                (borg_options){.size = 4});
    assert_int_equal(count(t, "select"), 0);
}

/* Shuffles with known lanes, reductions of constants, indices that need no limit. */
static void test_layouts(void **state) {
    (void)state;
    const char *t =
        compile(K("double x = q[" AT "];\n"
                  "p[" AT "] = shuffle(shuffle(x, get_local_id() ^ 1), get_local_id() ^ 2)"
                  " + shuffle(shuffle(x, get_local_id() ^ 1), 2);"),
                (borg_options){.size = 4});
    assert_int_equal(count(t, " perm "), 1);
    assert_non_null(strstr(t, "map {0, 3, 0, 2, 0, 1, 0, 0}"));
    assert_non_null(strstr(t, "lane wg<f64> "));
    t = compile(K("double x = q[" AT "];\n"
                  "int i = work_group_reduce_max_index(x);\n"
                  "p[" AT
                  "] = shuffle(x, i) + work_group_reduce_max_index(WG_SIZE - get_local_id());"),
                (borg_options){.size = 4});
    assert_int_equal(count(t, "umin"), 0);
    assert_int_equal(count(t, "rmaxidx"), 1);
    /* no bit above the highest of both */
    t = compile(K("p[" AT "] = shuffle(q[" AT "], (m & 4) | (get_local_id() & 3));"),
                (borg_options){.size = 8});
    assert_int_equal(count(t, "umin"), 0);
    t = compile(K("p[" AT "] = shuffle(q[" AT "], (m & 8) | (get_local_id() & 3));"),
                (borg_options){.size = 8});
    assert_int_equal(count(t, "umin"), 1);
}

/* What is the same for a group, or for all, is computed once for it. */
static void test_spread(void **state) {
    (void)state;
    const char *t = compile(K("double x = q[" AT "], d = shuffle(x, 0);\n"
                              "p[" AT "] = x * (1 / (d * d + m));"),
                            (borg_options){.size = 4, .pack = 4});
    assert_non_null(strstr(t, "fdiv wg<f64>"));
    assert_non_null(strstr(t, "sitofp uni<f64>"));
}

static void test_loops(void **state) {
    (void)state;
    const char *t =
        compile(K("double s = 0;\n#pragma nounroll\nfor (int i = 0; i < 10; i += 3) s += q[i];\n"
                  "p[" AT "] = s;"),
                (borg_options){.size = 4});
    assert_non_null(strstr(t, "loop trip 4"));
    assert_int_equal(count(t, "phi uni"), 2); /* no mask, nothing per work-item */
    /* a bound that the body changes */
    t = compile(K("int k = 4;\nfor (int i = 0; i < 6 && i < k; ++i) k++;\np[" AT "] = k;"),
                (borg_options){.size = 4});
    assert_non_null(strstr(t, "const wi<f64> 10"));
    t = compile(
        K("double s = 0, unused = 1;\nfor (int i = 0; i < m; ++i) { s += q[i]; unused *= 2; }\n"
          "p[" AT "] = s;"),
        (borg_options){.size = 4});
    assert_int_equal(count(t, "phi"), 2); /* what nobody uses is not carried */
}

/* a * n + b, divided by n and its remainder: the parts themselves where b < n and nothing wraps. */
static void test_indices(void **state) {
    static const struct {
        const char *index;
        int divisions;
    } cases[] = {
        {"uint i = ((uint)q[" AT "] & 15u) * 5u + get_local_id();", 0},
        {"uint i = get_local_id() + 5u * ((uint)q[" AT "] & 15u);", 0},
        {"uint i = ((uint)q[" AT "] & 15u) * 5u + ((uint)q[0] & 4u);", 0},
        {"uint i = ((uint)q[" AT "] & 15u) * 5u + 2 * get_local_id();", 2}, /* b up to 6 */
        {"uint i = (uint)q[" AT "] * 5u + get_local_id();", 2},             /* may wrap */
        {"uint i = ((uint)q[" AT "] & 15u) * 10u + get_local_id();", 2},    /* another factor */
        {"uint i = ((uint)q[" AT "] & 15u) * 5u - get_local_id();", 2}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[512];
        snprintf(source, sizeof source, K("%s\np[" AT "] = (i / 5u) * 64u + i %% 5u;"),
                 cases[k].index);
        const char *t = compile(source, (borg_options){.size = 4});
        assert_int_equal(count(t, "udiv") + count(t, "urem"), cases[k].divisions);
    }
}

static void test_split(void **state) {
    (void)state;
    const char *t =
        compile(K("double a[4];\nfor (int i = 0; i < 4; ++i) a[i] = q[i * 4 + get_local_id()];\n"
                  "for (int i = 0; i < 4; ++i) p[i * 4 + get_local_id()] = a[3 - i] * 2;"),
                (borg_options){.size = 4});
    assert_null(strstr(t, " x f64>"));
    assert_int_equal(count(t, "loada wi<f64>"), 4);
    assert_int_equal(count(t, "rows"), 0);
}

/* The machine of the model: 8 doubles, 32 registers. */
static const borg_backend simd = {
    .name = "simd",
    .machine = {.vector_bytes = 64, .registers = 32, .perm_cost = 1, .gather_cost = 2},
    .takes = BORG_TAKES_ORDER | BORG_TAKES_WHOLE};

static const char *const outer_product =
    "__kernel void k(__global double *p, __global const double *q) {\n"
    "  long g = get_group_id();\n  double a[WG_SIZE], c[WG_SIZE];\n"
    "  for (int j = 0; j < WG_SIZE; ++j) { a[j] = q[LOAD]; c[j] = 0; }\n"
    "  for (int k = 0; k < WG_SIZE; ++k)\n"
    "    for (int j = 0; j < WG_SIZE; ++j) c[j] += a[k] * shuffle(a[j], k);\n"
    "  for (int j = 0; j < WG_SIZE; ++j) p[LOAD] = c[j];\n}\n";

#define JOINED_BODY                                                                                \
    "#pragma unroll\nfor (int j = 0; j < 16; ++j) {\n"                                             \
    "  double x = q[j * 16 + get_local_id()] * 2;\n"                                               \
    "  if (get_local_id() >= j) p[j * 16 + get_local_id()] = x;\n"                                 \
    "  if (get_local_id() > j) p[get_local_id() * 16 + j] = x;\n}"

/* What the module in `program` makes of p, q = 0, 1, 2, ...; p lies behind q, or in it. */
static void interpret(double *p, bool inside) {
    static double q[512];
    for (int i = 0; i < 512; ++i) q[i] = i;
    for (int i = 0; i < 256; ++i) p[i] = -i;
    borg_arg args[3] = {
        {.data = inside ? q : p, .count = 256}, {.data = q, .count = 256}, {.bits = 0}};
    assert_true(borg_interpret(program->units[0].module, NULL, args, 0, 1, 0, &program->diags));
    if (inside) memcpy(p, q, 256 * sizeof *p);
}

static void test_join(void **state) {
    (void)state;
    double plain[256], joined[256];
    borg_options options = {.size = 16};
    for (int inside = 0; inside < 2; ++inside) {
        /* q may lie in p unless p is restrict: then stores keep their places */
        const char *source = inside ? K(JOINED_BODY)
                                    : "__kernel void k(__global double *restrict p, __global const "
                                      "double *q, int m) {\n" JOINED_BODY "\n}\n";
        options.backend = NULL;
        compile(source, options);
        interpret(plain, inside);
        options.backend = borg_backend_find("avx512");
        assert_non_null(options.backend);
        const char *t = compile(source, options);
        assert_int_equal(count(t, "storea"), inside ? 31 : 17);
        assert_int_equal(count(t, "rows"), inside ? 0 : 1);
        interpret(joined, inside);
        assert_memory_equal(plain, joined, sizeof plain);
    }
    /* what is asked for in between */
    const char *t = compile("__kernel void k(__global double *restrict p) {\n#pragma unroll\n"
                            "for (int j = 0; j < 8; ++j) {\n"
                            "  double x = p[get_local_id() * 8 + j + 1];\n"
                            "  p[get_local_id() * 8 + j] = x + 1;\n}\n}\n",
                            (borg_options){.size = 8, .backend = options.backend});
    assert_int_equal(count(t, "rows"), 1); /* each is read before it is written */
    t = compile("__kernel void k(__global double *restrict p) {\n#pragma unroll\n"
                "for (int j = 1; j < 8; ++j) {\n"
                "  double x = p[get_local_id() * 8 + j - 1];\n"
                "  p[get_local_id() * 8 + j] = x + 1;\n}\n}\n",
                (borg_options){.size = 8, .backend = options.backend});
    assert_int_equal(count(t, "rows"), 0);
}

static void test_lane_order(void **state) {
    (void)state;
    const char *interleaved[] = {"LOAD=(g/8*(WG_SIZE*WG_SIZE)+j*WG_SIZE+get_local_id())*8+g%8",
                                 NULL};
    const char *one_by_one[] = {"LOAD=g*(WG_SIZE*WG_SIZE)+j*WG_SIZE+get_local_id()", NULL};
    borg_options options = {
        .size = 4, .pack = 8, .order = BORG_ORDER_AUTO, .backend = &simd, .defines = interleaved};
    compile(outer_product, options);
    assert_int_equal(program->units[0].module->order, BORG_WG_MINOR);
    options.size = 8; /* one matrix after the other, 8 columns of one register each */
    options.pack = 1;
    options.defines = one_by_one;
    compile(outer_product, options);
    assert_int_equal(program->units[0].module->order, BORG_WI_MINOR);
    /* the model's cost is that of the order chosen, and neither is free */
    borg_module *m = program->units[0].module;
    assert_true(borg_cost(m, &simd.machine) > 100);
    options.order = BORG_WG_MINOR;
    compile(outer_product, options);
    assert_int_equal(program->units[0].module->order, BORG_WG_MINOR);
}

static void test_groups(void **state) {
    (void)state;
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink dump = {.arena = &arena};
    borg_options options = {.size = 4, .dump = "infreg", .dump_to = &dump};
    compile(
        K("double x = q[" AT "], y = q[" AT " + 100]; p[" AT "] = x + 1; p[" AT " + 50] = y * 2;"),
        options);
    /* x and y never meet, so they lie side by side, from lanes 0 and 4 */
    assert_non_null(strstr(dump.text, "from lane 0: x=IR0"));
    assert_non_null(strstr(dump.text, "from lane 4: y=IR0"));
    borg_arena_free(&arena);
}

/* A run-time index into more than two rows of a __local array: one pick where work-items read each
 * other's slots, in every size (the checker looks on). */
static void test_picked_row(void **state) {
    (void)state;
    for (int size = 1; size <= 4; ++size)
        for (int pack = 1; pack <= 2; ++pack) {
            borg_options options = {
                .size = size, .pack = pack, .backend = borg_backend_find("cuda")};
            const char *t = compile(K("__local double d[12]; d[get_local_id()] = q[" AT "];\n"
                                      "p[" AT "] = d[(uint)m % 12] + m;"),
                                    options);
            assert_int_equal(count(t, "pickv"), 12 / size >= 3);
        }
}

/* A load from an array in memory needs no mask where its index is inside for certain. */
static void test_inside(void **state) {
    (void)state;
    static const struct {
        const char *index;
        int masks;
    } cases[] = {{"get_local_id()", 0},
                 {"m & 7", 0},
                 {"m & 15", 1},
                 {"m", 1},
                 {"(m & 15) >> 1", 0},
                 {"(m & 15) >> 0", 1},
                 {"(m & 3) * (m & 3) / 2", 0},
                 {"(m & 7) * (m & 3) / 2", 1},
                 {"(m & 15) / -2", 1},
                 {"m / 1000", 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[512];
        snprintf(source, sizeof source,
                 K("__local volatile double s[8];\n"
                   "if (get_local_id() < 4) s[get_local_id()] = q[" AT "];\n"
                   "barrier(CLK_LOCAL_MEM_FENCE);\n"
                   "if (q[get_group_id()] > 0) p[" AT "] = s[%s];"),
                 cases[k].index);
        const char *t = compile(source, (borg_options){.size = 4, .pack = 2}), *load = t;
        int masks = 0;
        while ((load = strstr(load + 1, "load w")))
            masks += strstr(load, "mask") && strstr(load, "mask") < strchr(load, '\n');
        assert_int_equal(masks, cases[k].masks);
    }
}

/* Where each work-item has a thread, it reads its own stores by itself: no load is made for the
 * group. */
static void test_alone(void **state) {
    (void)state;
    const char *source = K("__local volatile double s[8];\n"
                           "s[get_local_id()] = q[" AT "];\n"
                           "barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "if (get_local_id() == 2) { s[m & 7] = s[3]; p[0] = s[3] + s[m]; }");
    const char *t = compile(source, (borg_options){.size = 4});
    assert_int_equal(count(t, "load wg<f64>"), 3);
    t = compile(source, (borg_options){.size = 4, .backend = borg_backend_find("cuda")});
    assert_int_equal(count(t, "load wi<f64>"), 3);
    assert_int_equal(count(t, " any "), 0);
}

/* A store stays before the barrier behind it, be there one to another array between. */
static void test_schedule(void **state) {
    (void)state;
    const char *t = compile(K("__local volatile double s[2 * WG_SIZE];\n"
                              "__local volatile uint c[WG_SIZE];\n"
                              "int w = get_local_id();\n"
                              "double x = q[" AT "], sum = 1, a[6], b[6] = {1, p[" AT "], x};\n"
                              "for (int i = 0; i < 6; ++i) a[i] = p[" AT "] + i;\n"
                              "s[w + WG_SIZE] = x;\n"
                              "c[w] = w;\n"
                              "barrier(CLK_LOCAL_MEM_FENCE);\n"
                              "s[2 * w + 1] = c[(w + m) % WG_SIZE];\n"
                              "barrier(CLK_LOCAL_MEM_FENCE);\n"
                              "double d = s[w] - s[2 * WG_SIZE - 1 - w];\n"
                              "for (int i = 0; i < 6; ++i) sum += a[i] * 0.5 + b[i];\n"
                              "p[" AT "] = sum + d;\n"),
                            (borg_options){.size = 8, .pack = 4});
    const char *barrier = strstr(t, "barrier\n"), *at = t;
    assert_non_null(barrier);
    for (int i = 0; i < 2; ++i) {
        at = strstr(at + 1, "store ");
        assert_true(at && at < barrier);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_address, teardown),
        cmocka_unit_test_teardown(test_fma, teardown),
        cmocka_unit_test_teardown(test_masks, teardown),
        cmocka_unit_test_teardown(test_layouts, teardown),
        cmocka_unit_test_teardown(test_spread, teardown),
        cmocka_unit_test_teardown(test_loops, teardown),
        cmocka_unit_test_teardown(test_split, teardown),
        cmocka_unit_test_teardown(test_indices, teardown),
        cmocka_unit_test_teardown(test_join, teardown),
        cmocka_unit_test_teardown(test_inside, teardown),
        cmocka_unit_test_teardown(test_alone, teardown),
        cmocka_unit_test_teardown(test_schedule, teardown),
        cmocka_unit_test_teardown(test_lane_order, teardown),
        cmocka_unit_test_teardown(test_groups, teardown),
        cmocka_unit_test_teardown(test_picked_row, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
