/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the language by every CPU backend, and by cuda on the host, against the interpreter:
 * arrays in memory, array parameters, zeros, tiles, work-items that share rows. BORG_BACKEND=NAME:
 * by one backend; BORG_SHAPES=all: in all shapes. BORG_EMIT is test_emit.c's: nothing is done here
 * then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "variants.h"

/* Maxima of zeros of either sign: the interpreter's, to the bit, in all shapes of a tree. */
static int zeros(variant *list) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 19, 33};
    int count = 0;
    for (int i = 0; i < 11; ++i)
        for (int k = 0; k < 4; ++k) {
            if (k != i % 4 && !all_shapes()) continue;
            list[count++] = (variant){.kernel = "./kernels/zeros",
                                      .size = sizes[i],
                                      .pack = k == 0   ? 1
                                              : k == 3 ? 8
                                                       : 2,
                                      .lanes = k == 1 && sizes[i] > 4 ? 4 : 0,
                                      .order = k > 1 ? BORG_WG_MINOR : BORG_WI_MINOR,
                                      .single = (i + k) % 3 == 0};
        }
    return count;
}

static void test_zeros(void **state) {
    variant list[MOST_CASES];
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    check_backends(list, zeros(list));
}

/* Arrays in memory, read and written at places that are known at run time only. */
static void test_locals(void **state) {
    static const int sizes[] = {4, 1, 3, 2, 5, 8, 7, 6, 16}, packs[] = {1, 2, 4, 8};
    variant list[2 * MOST_CASES];
    int count = 0;
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int i = 0; i < 9; ++i)
        for (int k = i % 2; k < 8; k += 2) {
            if (k / 2 != (i + i / 4) % 4 && !all_shapes()) continue;
            list[count++] = (variant){.kernel = k / 2 % 2 ? "./kernels/turns" : "./kernels/locals",
                                      .size = sizes[i],
                                      .pack = packs[(i + k) / 2 % 4],
                                      .order = (i + k) / 2 & 1 ? BORG_WG_MINOR : BORG_WI_MINOR,
                                      .single = (i + k / 2) % 3 == 0};
        }
    check_backends(list, count);
}

/* Functions that take arrays of every kind. */
static void test_arrays(void **state) {
    static const int sizes[] = {4, 1, 3, 8, 5, 16};
    variant list[12];
    int count = 0;
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int i = 0; i < 12; ++i) {
        if (i % 2 != i / 6 && !all_shapes()) continue;
        list[count++] = (variant){.kernel = "./kernels/arrays",
                                  .size = sizes[i % 6],
                                  .pack = 1 << i % 4,
                                  .order = i < 6 ? BORG_WI_MINOR : BORG_WG_MINOR,
                                  .single = i % 3 == 1};
    }
    check_backends(list, count);
}

/* How often `what` occurs in the code emitted for tiles.cl. */
static int count_in_tiles(const char *what, const variant *wanted) {
    const char *text;
    size_t length;
    borg_options o;
    variant v = *wanted;
    int count = 0;
    const borg_backend *backend = borg_backend_find("cuda");
    assert_true(compile_variant(&v, &o, backend, "tiles"));
    assert_int_equal(borg_program_emit(v.program, backend, &o, &text, &length), BORG_OK);
    for (const char *at = text; (at = strstr(at, what)); ++at) ++count;
    borg_program_free(v.program);
    return count;
}

/* Tiles: by moves and FMA in strict mode, else by the instruction where there is one: then both
 * halves of a tile at once. */
static void test_tiles(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    const char *kernel = "./kernels/tiles", *call = "b_mma_f64(&";
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 4; ++k) {
        variant list[] = {
            {.kernel = kernel, .size = 32, .pack = 1},
            {.kernel = kernel, .size = 32, .pack = 1, .fused = true},
            {.kernel = kernel, .size = 32, .pack = 2, .fused = true},
            {.kernel = kernel, .size = 32, .pack = 2, .order = BORG_WG_MINOR, .fused = true},
            {.kernel = kernel, .size = 32, .pack = 1, .lanes = k == 3 ? 8 : 0, .fused = true},
            {.kernel = kernel, .size = 32, .pack = 1, .single = true, .fused = true}};
        const borg_backend *backend = borg_backend_find(backends[k]);
        if (!is_wanted(backend)) continue;
        check(backend, list, sizeof list / sizeof *list);
    }
    variant v = {.kernel = kernel, .size = 32, .pack = 1, .fused = true};
    assert_int_equal(count_in_tiles(call, &v), 9);
    /* `rows` has no sign, `columns` may have one */
    assert_int_equal(count_in_tiles(">> 32) & 0x7fffffffu", &v), 1);
    assert_int_equal(count_in_tiles("b_table", &v), 3); /* w ^ 5, used twice */
    v.pack = 2;
    assert_int_equal(count_in_tiles(call, &v), 9);
    v.order = BORG_WG_MINOR;
    assert_int_equal(count_in_tiles(call, &v), 0);
    v.pack = 1;
    v.order = BORG_WI_MINOR;
    v.lanes = 16;
    assert_int_equal(count_in_tiles(call, &v), 0);
    v = (variant){.kernel = kernel, .size = 32, .pack = 1, .single = true, .fused = true};
    assert_int_equal(count_in_tiles(call, &v), 0);
    v = (variant){.kernel = kernel, .size = 32, .pack = 1};
    assert_int_equal(count_in_tiles(call, &v), 0);
}

/* Such arrays in shared memory: groups of one thread and of several, interleaved and side by side,
 * threads without a work-item, several work-items in a thread, packs of several warps. */
static void test_cuda_locals(void **state) {
    (void)state;
    variant list[] = {{.size = 2, .pack = 16, .lanes = 2, .order = BORG_WG_MINOR},
                      {.size = 4, .pack = 8, .lanes = 4, .order = BORG_WG_MINOR},
                      {.size = 4, .pack = 1, .lanes = 4, .order = BORG_WG_MINOR, .single = true},
                      {.size = 3, .pack = 1, .lanes = 4, .order = BORG_WG_MINOR},
                      {.size = 6, .pack = 8, .lanes = 4, .order = BORG_WG_MINOR},
                      {.size = 6, .pack = 4, .lanes = 2, .order = BORG_WG_MINOR},
                      {.size = 8, .pack = 4, .lanes = 8, .order = BORG_WG_MINOR},
                      {.size = 5, .pack = 2, .lanes = 8, .order = BORG_WG_MINOR, .single = true},
                      {.size = 4, .pack = 64, .order = BORG_WG_MINOR},
                      {.size = 11, .pack = 2, .lanes = 4},
                      {.size = 8, .pack = 1, .lanes = 2},
                      {.size = 7, .pack = 1},
                      {.size = 12, .pack = 3, .single = true},
                      {.size = 32, .pack = 1},
                      {.size = 33, .pack = 1}};
    enum { COUNT = sizeof list / sizeof *list };
    const char *only = getenv("BORG_BACKEND");
    if ((only && strcmp(only, "cuda") != 0) || getenv("BORG_EMIT")) skip();
    static const char *const kernels[] = {"./kernels/locals", "./kernels/turns", "./kernels/copies",
                                          "./kernels/arrays"};
    for (int i = 0; i < 4; ++i) {
        variant taken[COUNT];
        int count = 0;
        for (int k = 0; k < COUNT; ++k) {
            if (k % 4 != i && !all_shapes()) continue;
            taken[count] = list[k];
            taken[count++].kernel = kernels[i];
        }
        check(borg_backend_find("cuda"), taken, count);
    }
}

/* Fewer work-items than a matrix has rows: ORDER. */
static void test_rows(void **state) {
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    variant list[] = {
        {.kernel = "./kernels/rows", .size = 9, .items = 4, .pack = 8},
        {.kernel = "./kernels/rows", .size = 12, .items = 4, .pack = 1, .single = true},
        {.kernel = "./kernels/rows", .size = 17, .items = 2, .pack = 4, .order = BORG_WG_MINOR},
        {.kernel = "./kernels/rows", .size = 3, .items = 4, .pack = 2, .order = BORG_WG_MINOR},
        {.kernel = "./kernels/rows", .size = 13, .items = 4, .pack = 8, .order = BORG_WG_MINOR},
        {.kernel = "./kernels/rows", .size = 24, .items = 32, .pack = 1}};
    list[4].lanes = 4; /* a warp's, interleaved */
    check_backends(list, sizeof list / sizeof *list);
}

/* LDLT with pivots by tiles of a warp: orders that fill tiles and others; by `c` small ones, as
 * compilers take long; by `cuda` also with the instruction, several groups in a pack, several
 * work-items in a thread. */
static void test_rows_tiles(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    static const char *const kernels[] = {"ldlt_partial", "ldlt_complete"};
    static const int orders[] = {1, 7, 8, 13, 16, 24, 31, 32};
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 4; ++k) {
        variant list[17] = {
            {.kernel = kernels[0], .size = 1, .pack = 1, .fused = true},
            {.kernel = kernels[1], .size = 8, .pack = 1, .fused = true},
            {.kernel = kernels[1], .size = 13, .pack = 1, .fused = true},
            {.kernel = kernels[0], .size = 20, .pack = 2, .fused = true},
            {.kernel = kernels[0], .size = 32, .pack = 1, .fused = true},
            {.kernel = kernels[1], .size = 32, .pack = 1, .fused = true},
            {.kernel = kernels[0], .size = 9, .pack = 1, .lanes = 8},
            {.kernel = kernels[1], .size = 17, .pack = 2, .lanes = 16, .order = BORG_WG_MINOR},
            {.kernel = kernels[0], .size = 18, .pack = 1, .fused = true}};
        int count = k == 3 ? 9 : 0;
        const borg_backend *backend = borg_backend_find(backends[k]);
        if (!is_wanted(backend)) continue;
        for (int i = 0; i < (k ? 8 : 4); ++i) {
            if ((i + k) % 3 && !all_shapes()) continue;
            list[count++] = (variant){.kernel = kernels[(i + k) % 2],
                                      .size = orders[i],
                                      .pack = 1,
                                      .single = (i + k) % 4 == 1};
        }
        for (int i = 0; i < count; ++i) list[i].items = 32;
        check(backend, list, count);
    }
}

/* Bunch-Kaufman with two rows in a work-item: groups that share a warp, packs, a group in each lane
 * of a vector, fewer threads. */
static void test_rows_halves(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 4; ++k) {
        variant list[] = {
            {.size = 9, .pack = 1, .single = true},
            {.size = 13, .pack = k == 3 ? 4 : 2},
            {.size = 11, .pack = 8, .order = k == 3 ? BORG_WI_MINOR : BORG_WG_MINOR, .fused = true},
            {.size = 16, .pack = 1, .fused = true},
            {.size = 15, .pack = 2, .lanes = k == 3 ? 4 : 0}};
        const borg_backend *backend = borg_backend_find(backends[k]);
        int count = k == 0 ? 1 : k < 3 ? 2 : 5; /* compilers take long */
        if (!is_wanted(backend)) continue;
        for (int i = 0; i < count; ++i) {
            list[i].kernel = "ldlt_partial";
            list[i].items = 8;
        }
        check(backend, list, count);
    }
}

/* A group in each lane: the model takes that order, an element of each group is a register. */
static void test_locals_together(void **state) {
    static const char *const defines[] = {NULL};
    const char *text;
    size_t length;
    borg_options o = {.size = 1,
                      .pack = 8,
                      .order = BORG_ORDER_AUTO,
                      .strict = true,
                      .backend = borg_backend_find("avx512"),
                      .defines = defines,
                      .name = "tested"};
    (void)state;
    borg_program *p = library_compile("./kernels/locals", &o);
    assert_int_equal(p->units[0].module->order, BORG_WG_MINOR);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_OK);
    assert_non_null(strstr(text, "b_store_f64(l_u + 0, "));
    assert_non_null(strstr(text, " = b_load_f64(l_u + 0 + (int64_t)(int32_t)"));
    assert_non_null(strstr(text, "b_store_i64(l_many + 8, "));
    assert_non_null(strstr(text, "b_gather_i32("));
    borg_program_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zeros),
                                       cmocka_unit_test(test_locals),
                                       cmocka_unit_test(test_arrays),
                                       cmocka_unit_test(test_cuda_locals),
                                       cmocka_unit_test(test_locals_together),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_rows_tiles),
                                       cmocka_unit_test(test_rows_halves),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
