/* SPDX-License-Identifier: BSD-3-Clause */
/* Flat modules (borg/pass_flat.c): what is emitted has the interpreter's bits, of groups that go up
 * in registers and of those that are left; and kernels whose work-items have to do with each other
 * stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "variants.h"

/* Orders that divide a register and that do not, rows side by side (gema), stores whose places are
 * known at run time (pade), the item's number as data (enum), two numbers for each item (frcg). 11
 * groups: some are left to the tail. */
static variant shapes[] = {
    {.kernel = "gema", .size = 4, .pack = 1},
    {.kernel = "gema", .size = 3, .pack = 2, .single = true},
    {.kernel = "gema", .size = 12, .pack = 1, .flat = 2},
    {.kernel = "pade", .size = 12, .pack = 1},
    {.kernel = "pade", .size = 20, .pack = 1, .single = true, .flat = 4},
    {.kernel = "pade", .size = 5, .pack = 4},
    {.kernel = "enum", .size = 12, .pack = 2, .flat = 3},
    {.kernel = "enum", .size = 28, .pack = 1, .single = true},
    {.kernel = "enum", .size = 2, .pack = 1},
    {.kernel = "frcg", .size = 12, .pack = 1, .single = true},
    {.kernel = "frcg", .size = 6, .pack = 1, .flat = 2},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_emitted(void **state) {
    static const char *const backends[] = {"c", "avx512", "cuda"};
    (void)state;
    for (int k = 0; k < 3; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        for (int i = 0; i < SHAPES; ++i) {
            borg_options o;
            assert_true(compile_variant(&shapes[i], &o, backend, "tested"));
            const borg_unit *u = &shapes[i].program->units[0];
            if (!u->flat) fail_msg("%s, %d: not flat", shapes[i].kernel, shapes[i].size);
            assert_int_equal(u->flat->flat, shapes[i].size * (i < 3 ? shapes[i].size : 1));
            borg_program_free(shapes[i].program);
        }
        if (is_wanted(backend)) check(backend, shapes, SHAPES);
    }
}

/* The elements of a group, 0 where there is no flat module. */
static int flat_of(const char *body, const borg_options *options) {
    char source[1024];
    borg_program *p = NULL;
    snprintf(source, sizeof source,
             "__kernel void k(__global double *x, __global const double *y, __global double **z, "
             "long m) {\n"
             "  long i = get_group_id() * WG_SIZE + get_local_id();\n  %s }\n",
             body);
    borg_options o = *options;
    o.size = 12;
    o.verify = true;
    assert_int_equal(borg_compile("k.cl", source, strlen(source), &o, NULL, &p), BORG_OK);
    const int elements = p->units[0].flat ? p->units[0].flat->flat : 0;
    borg_program_free(p);
    return elements;
}

static void test_chosen(void **state) {
    (void)state;
    borg_options o = {.pack = 1, .backend = borg_backend_find("avx512")};
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 12);
    assert_int_equal(flat_of("x[i] = y[m] * y[i];", &o), 12); /* the same for all */
    assert_int_equal(flat_of("x[2 * i] = x[2 * i + 1];", &o), 12);
    assert_int_equal(flat_of("x[i] = y[(long)y[i]];", &o), 12); /* gathered */
    assert_int_equal(flat_of("if (y[i] > 0) x[i] = i;", &o), 12);
    /* work-items that have to do with each other, or are not where they stand */
    assert_int_equal(flat_of("x[i] = shuffle(y[i], 3);", &o), 0);
    assert_int_equal(flat_of("x[i] = y[i]; barrier(CLK_GLOBAL_MEM_FENCE); x[i] += 1;", &o), 0);
    assert_int_equal(flat_of("x[i + 1] = x[i];", &o), 0);
    assert_int_equal(flat_of("x[i] = x[i + m];", &o), 0);
    assert_int_equal(flat_of("x[i] = x[(long)y[i]];", &o), 0);
    assert_int_equal(
        flat_of("x[get_group_id() * WG_SIZE + WG_SIZE - 1 - get_local_id()] = y[i];", &o), 0);
    /* the work-item or the group alone */
    assert_int_equal(flat_of("x[i] = y[i] * get_local_id();", &o), 0);
    assert_int_equal(flat_of("if (get_local_id() > 3) x[i] = y[i];", &o), 0);
    assert_int_equal(flat_of("x[i] = y[get_group_id()];", &o), 0);
    assert_int_equal(flat_of("x[get_group_id() * (WG_SIZE + 1) + get_local_id()] = y[i];", &o), 0);
    assert_int_equal(flat_of("z[get_group_id()][get_local_id()] = y[i];", &o), 0);
    /* loops at run time; nothing stored; not asked for; another machine */
    assert_int_equal(flat_of("double s = 0; for (long k = 0; k < m; ++k) s += y[k]; x[i] = s;", &o),
                     0);
    o.flat = -1;
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 0);
    o.flat = 0;
    o.backend = borg_backend_find("llvm");
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 0);
    o.backend = borg_backend_find("cuda");
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 12);
    o.flat = -1;
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 0);
    o.flat = 1;
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 12);
    o.flat = 0;
    o.lanes = 4;
    assert_int_equal(flat_of("x[i] = y[i] * 2;", &o), 0);
    /* asked for, it is refused */
    static const char asked[] = "__kernel void k(__global double *x) {\n"
                                "    x[get_group_id() * WG_SIZE + get_local_id()] *= 2; }\n";
    borg_program *p = NULL;
    o.flat = 1;
    o.size = 12;
    assert_int_equal(borg_compile("k.cl", asked, strlen(asked), &o, NULL, &p), BORG_ERR_OPTION);
    assert_non_null(strstr(borg_program_messages(p), "--flat: there is no flat module of 'k'"));
    borg_program_free(p);
    p = NULL;
    o.lanes = 0;
    assert_int_equal(borg_compile("k.cl", asked, strlen(asked), &o, NULL, &p), BORG_OK);
    borg_program_free(p);
}

static int lanes_of(const char *kernel, const char *backend, int flat) {
    const char *defines[] = {"DOUBLE", NULL};
    borg_options o = {.size = 12, .pack = 1, .flat = flat, .defines = defines};
    o.backend = borg_backend_find(backend);
    borg_program *p = library_compile(kernel, &o);
    const int lanes = p->units[0].flat ? p->units[0].flat->size : 0;
    borg_program_free(p);
    return lanes;
}

/* As many elements at a time as results that wait for each other need; in a GPU's thread one, or
 * several that share what they read. */
static void test_lanes(void **state) {
    (void)state;
    assert_int_equal(lanes_of("enum", "avx512", 0), 8);
    assert_int_equal(lanes_of("frcg", "avx512", 0), 24);
    assert_int_equal(lanes_of("frcg", "avx512", 1), 8);
    assert_int_equal(lanes_of("pade", "c", 0), 8); /* eleven streams: two registers */
    assert_int_equal(lanes_of("pade", "c", 1), 4);
    assert_int_equal(lanes_of("pade", "c", 2), 8);
    assert_int_equal(lanes_of("enum", "cuda", 0), 128); /* four share the coefficients */
    assert_int_equal(lanes_of("pade", "cuda", 0), 128);
    assert_int_equal(lanes_of("frcg", "cuda", 0), 32);
    assert_int_equal(lanes_of("pade", "cuda", 1), 32);
    assert_int_equal(lanes_of("enum", "cuda", 1), 32);
    assert_int_equal(lanes_of("enum", "cuda", 2), 64);
    assert_int_equal(lanes_of("enum", "cuda", -1), 0);
}

/* WG_PACK=auto: a matrix in each lane where rows are shorter than registers; one after the other
 * where they are some cache lines. */
static void test_packs(void **state) {
    static const struct {
        const char *kernel;
        int size, pack;
        borg_order order;
    } wanted[] = {{"ldus", 4, 8, BORG_WG_MINOR},
                  {"trsv", 8, 1, BORG_WI_MINOR},
                  {"ldus", 16, 1, BORG_WI_MINOR},
                  {"gemm", 12, 1, BORG_WI_MINOR}};
    const char *defines[] = {"DOUBLE", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        borg_options o = {.size = wanted[i].size,
                          .pack = BORG_PACK_AUTO,
                          .order = BORG_ORDER_AUTO,
                          .defines = defines};
        o.backend = borg_backend_find("avx512");
        borg_program *p = library_compile(wanted[i].kernel, &o);
        assert_int_equal(p->units[0].module->pack, wanted[i].pack);
        assert_int_equal(p->units[0].module->order, wanted[i].order);
        borg_program_free(p);
    }
}

/* The number of the register and of the value that a line defines, -1: none. */
static void defined(const char *line, int *value, int *index) {
    if (sscanf(line, " const vf64 v%d_%d = b_", value, index) != 2) *value = *index = -1;
}

/* Where a flat module has three registers, some instructions are done for one of them before they
 * are for the next. */
static void test_order(void **state) {
    const char *defines[] = {"DOUBLE", NULL};
    (void)state;
    borg_options o = {.size = 12, .pack = 1, .flat = 3, .defines = defines};
    const char *text;
    size_t length;
    int same = 0, next = 0;
    o.backend = borg_backend_find("avx512");
    borg_program *p = library_compile("frcg", &o);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_OK);
    for (const char *line = strstr(text, "frcg_flat("), *after; line; line = after) {
        int value, index, value2, index2;
        after = strchr(line, '\n');
        if (!after || *line == '}') break;
        ++after;
        defined(line, &value, &index);
        defined(after, &value2, &index2);
        if (value < 0 || value2 < 0) continue;
        same += index == index2 && value != value2;
        next += index != index2;
    }
    assert_true(same > 0 && same > 2 * next);
    borg_program_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emitted),
                                       cmocka_unit_test(test_chosen), cmocka_unit_test(test_lanes),
                                       cmocka_unit_test(test_packs), cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
