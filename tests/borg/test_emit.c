/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's kernels by every CPU backend against the interpreter, bit for bit in strict mode
 * (all NaN are equal). The short run takes each kernel in a few shapes; BORG_EMIT=all takes all
 * packs, orders and sizes up to BORG_MOST (16), or of BORG_SIZE, of BORG_PACK; BORG_EMIT=KERNEL
 * those of one kernel; BORG_BACKEND=NAME: by one backend. BORG_CC, BORG_CFLAGS: another compiler.
 * BORG_CASES="SIZE[/ITEMS]:PACK:wi|wg:d|s ...": these of the kernel BORG_EMIT by the backend
 * BORG_BACKEND (ITEMS work-items share SIZE rows, in as many threads) with a line of result for
 * each, those of more than BORG_MOST_BYTES of code left out: this is what tests/borg/matrix asks
 * for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../sanitized.h"
#include "variants.h"
#ifdef METAPACK_OPENCL
#include "opencl_run.h"
#endif

/* Everything of BORG_EMIT, in portions; BORG_SIZE: of this size alone. */
static void check_all(const borg_backend *backend, const char *which) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 28, 32, 33, 48, 64};
    static const int packs[] = {1, 2, 4, 8};
    enum { SIZES = sizeof sizes / sizeof *sizes, PORTION = 32 };
    int only = number("BORG_SIZE", 0), most = number("BORG_MOST", 16);
    variant list[PORTION];
    int count = 0;
    for (int k = 0; k < LIBRARY_KERNELS; ++k) {
        if (strcmp(which, "all") != 0 && strcmp(which, library_kernels[k]) != 0) continue;
        for (int at = 0; at < SIZES * 4 * 2 * 2; ++at) {
            variant v = {.kernel = library_kernels[k],
                         .size = sizes[at / 16],
                         .pack = packs[at / 4 % 4],
                         .order = at & 2 ? BORG_WG_MINOR : BORG_WI_MINOR,
                         .single = at & 1};
            if (only ? v.size != only : v.size > most) continue;
            if (number("BORG_PACK", v.pack) != v.pack) continue;
            if (v.pack == 1 && v.order == BORG_WG_MINOR) continue; /* the orders are the same */
            list[count++] = v;
            if (count < PORTION) continue;
            check(backend, list, count);
            count = 0;
        }
    }
    if (count) check(backend, list, count);
}

/* BORG_CASES; how many there are. */
static int read_cases(const char *text, variant *list) {
    int count = 0, used;
    char order[3], type;
    for (; *text; text += used) {
        variant v = {.kernel = getenv("BORG_EMIT")};
        assert_int_equal(sscanf(text, " %d%n", &v.size, &used), 1);
        text += used;
        if (*text == '/') {
            assert_int_equal(sscanf(text, "/%d%n", &v.items, &used), 1);
            text += used;
        }
        assert_int_equal(sscanf(text, ":%d:%2[wig]:%c%n", &v.pack, order, &type, &used), 3);
        v.order = strcmp(order, "wg") == 0 ? BORG_WG_MINOR : BORG_WI_MINOR;
        v.single = type == 's';
        if (v.order == BORG_WG_MINOR) v.lanes = v.items;
        assert_true(count < MOST_CASES);
        list[count++] = v;
    }
    assert_true(count > 0);
    return count;
}

/* Each kernel, the shapes in turn. */
static void check_some(const borg_backend *backend) {
    static const int sizes[] = {4, 3, 2, 5, 1}, packs[] = {1, 2, 4, 8};
    variant list[LIBRARY_KERNELS];
    for (int k = 0; k < LIBRARY_KERNELS; ++k)
        list[k] = (variant){.kernel = library_kernels[k],
                            .size = k < 10 ? 2 * sizes[k % 5] : sizes[k % 5],
                            .pack = packs[(k / 2) % 4],
                            .order = k % 3 ? BORG_WG_MINOR : BORG_WI_MINOR,
                            .single = k % 4 == 3};
    check(backend, list, LIBRARY_KERNELS);
}

static void check_backend(const char *name) {
    const borg_backend *backend = borg_backend_find(name);
    assert_non_null(backend);
    if (!emitted_runs_here(backend)) skip();
    if (getenv("BORG_BACKEND") && strcmp(getenv("BORG_BACKEND"), name) != 0) skip();
    if (getenv("BORG_CASES")) {
        variant list[MOST_CASES];
        check(backend, list, read_cases(getenv("BORG_CASES"), list));
    } else if (getenv("BORG_EMIT")) {
        check_all(backend, getenv("BORG_EMIT"));
    } else {
        check_some(backend);
    }
}

static void test_c(void **state) {
    (void)state;
    check_backend("c");
}

static void test_avx512(void **state) {
    (void)state;
    check_backend("avx512");
}

/* Rows that end within a register: quarters and halves of it take the place of masks. */
static void test_pieces(void **state) {
    (void)state;
    const borg_backend *backend = borg_backend_find("avx512");
    variant list[8];
    if (!emitted_runs_here(backend)) skip();
    if (getenv("BORG_BACKEND") || getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 8; ++k)
        list[k] = (variant){.kernel = k & 1 ? "ldus" : "trsv",
                            .size = k & 1 ? 6 : 12,
                            .pack = k & 2 ? 2 : 1,
                            .order = BORG_WI_MINOR,
                            .single = k & 4};
    check(backend, list, 8);
}

/* LLVM IR, verified by opt and compiled by llc for this machine. */
static void test_llvm(void **state) {
    (void)state;
    check_backend("llvm");
}

/* Threads of a block that take turns: cuda_host.h. */
static void test_cuda(void **state) {
    (void)state;
    check_backend("cuda");
}

/* SX-Aurora's intrinsics as C: ve_host.h; then groups that fill several registers of 256 lanes. */
static void test_ve(void **state) {
    (void)state;
    check_backend("ve");
    if (getenv("BORG_EMIT")) return;
    variant list[] = {{.kernel = "gemm", .size = 8, .pack = 64},
                      {.kernel = "trsv", .size = 20, .pack = 16, .order = BORG_WG_MINOR},
                      {.kernel = "ldlt_partial", .size = 7, .pack = 40},
                      {.kernel = "ldus", .size = 5, .pack = 60, .single = true}};
    check(borg_backend_find("ve"), list, 4);
}

/* A warp for a group, padded ones, several work-items in a thread, a pack of several warps. */
static void test_cuda_wide(void **state) {
    (void)state;
    variant list[] = {
        {.kernel = "gemm_ab", .size = 32, .pack = 1},
        {.kernel = "gemm_ab", .size = 24, .pack = 1, .lanes = 8},
        {.kernel = "ldlt_partial", .size = 11, .pack = 2, .lanes = 4},
        {.kernel = "ldlt_partial", .size = 8, .pack = 1, .lanes = 4},
        {.kernel = "ldlt_partial", .size = 8, .pack = 1, .lanes = 4, .disable = BORG_NO_REUSE},
        {.kernel = "ldlt_partial", .size = 20, .pack = 1},
        {.kernel = "ldlt_complete", .size = 17, .pack = 2},
        {.kernel = "ldlt_rook", .size = 18, .pack = 1, .single = true},
        {.kernel = "ldlt_static", .size = 9, .pack = 8},
        {.kernel = "ldlt", .size = 34, .pack = 1},
        {.kernel = "trsv", .size = 64, .pack = 2},
        {.kernel = "ldu_partial", .size = 33, .pack = 1},
        {.kernel = "ldlt_partial", .size = 6, .pack = 5},
        {.kernel = "ldlt_rook", .size = 12, .pack = 3},
        {.kernel = "ldlt_solve", .size = 35, .pack = 3, .single = true},
        {.kernel = "ldlt_complete", .size = 24, .pack = 1, .lanes = 8},
        {.kernel = "ldlt_complete", .size = 20, .pack = 1},
        {.kernel = "ldlt_complete", .size = 17, .pack = 1, .single = true},
        {.kernel = "ldlt_complete", .size = 18, .pack = 1, .lanes = 8},
        {.kernel = "ldlt_solve", .size = 17, .pack = 2},
        {.kernel = "ldlt_complete", .size = 36, .pack = 1, .single = true},
        {.kernel = "ldu_complete", .size = 3, .pack = 4},
        {.kernel = "ldu_rook", .size = 7, .pack = 2, .single = true},
        {.kernel = "invert_diagonal", .size = 33, .pack = 1},
        {.kernel = "invert_diagonal", .size = 48, .pack = 1, .single = true}};
    const char *only = getenv("BORG_BACKEND");
    if ((only && strcmp(only, "cuda") != 0) || getenv("BORG_EMIT")) skip();
    check(borg_backend_find("cuda"), list, sizeof list / sizeof *list);
}

/* Groups interleaved in several threads each: packs that fill a warp, are parts of one or a group;
 * work-items that fill the threads, fewer and more. */
static void test_cuda_interleaved(void **state) {
    (void)state;
    variant list[] = {
        {.kernel = "ldlt_partial", .size = 2, .pack = 16, .lanes = 2},
        {.kernel = "ldlt_partial", .size = 3, .pack = 1, .lanes = 4},
        {.kernel = "ldlt_partial", .size = 4, .pack = 4, .lanes = 4, .single = true},
        {.kernel = "ldlt_partial", .size = 8, .pack = 1, .lanes = 2},
        {.kernel = "ldlt_partial", .size = 6, .pack = 8, .lanes = 4},
        {.kernel = "ldlt_rook", .size = 4, .pack = 16, .lanes = 2},
        {.kernel = "ldlt_rook", .size = 7, .pack = 1, .lanes = 8, .single = true},
        {.kernel = "ldlt_complete", .size = 8, .pack = 4, .lanes = 8},
        {.kernel = "ldlt_complete", .size = 6, .pack = 1, .lanes = 4},
        {.kernel = "ldlt_complete", .size = 3, .pack = 2, .lanes = 2, .single = true},
        {.kernel = "ldlt", .size = 9, .pack = 2, .lanes = 4},
        {.kernel = "ldlt", .size = 4, .pack = 8, .lanes = 4},
        {.kernel = "ldu_partial", .size = 8, .pack = 1, .lanes = 4},
        {.kernel = "ldu_complete", .size = 5, .pack = 4, .lanes = 2},
        {.kernel = "ldlt_solve", .size = 6, .pack = 8, .lanes = 4},
        {.kernel = "ldlt_static", .size = 8, .pack = 2, .lanes = 8, .single = true},
        {.kernel = "trsv", .size = 8, .pack = 16, .lanes = 2},
        {.kernel = "trsv", .size = 33, .pack = 2, .lanes = 16},
        {.kernel = "gemm_ab", .size = 6, .pack = 4, .lanes = 8},
        {.kernel = "invert_diagonal", .size = 4, .pack = 2, .lanes = 2},
        {.kernel = "./kernels/votes", .size = 2, .pack = 1, .lanes = 2},
        {.kernel = "./kernels/votes", .size = 3, .pack = 8, .lanes = 4},
        {.kernel = "./kernels/votes", .size = 4, .pack = 2, .lanes = 2},
        {.kernel = "./kernels/votes", .size = 6, .pack = 1, .lanes = 4},
        {.kernel = "./kernels/votes", .size = 8, .pack = 4, .lanes = 8},
        {.kernel = "./kernels/votes", .size = 13, .pack = 1, .lanes = 16, .single = true},
        {.kernel = "./kernels/partners", .size = 5, .pack = 1, .lanes = 4},
        {.kernel = "./kernels/partners", .size = 8, .pack = 4, .lanes = 8},
        {.kernel = "./kernels/votes", .size = 6, .pack = 1, .lanes = 4}};
    enum { COUNT = sizeof list / sizeof *list };
    const char *only = getenv("BORG_BACKEND");
    if ((only && strcmp(only, "cuda") != 0) || getenv("BORG_EMIT")) skip();
    for (int k = 0; k < COUNT - 1; ++k) list[k].order = BORG_WG_MINOR;
    check(borg_backend_find("cuda"), list, COUNT);
}

/* A group in each thread, its arrays by shared memory or registers: pieces that are a multiple of
 * 16 bytes and others, wholly written ones, ones of which parts are not touched. */
static void test_cuda_staged(void **state) {
    (void)state;
    static const char *const all = "a,piv,info";
    variant list[] = {
        {.kernel = "ldlt", .size = 4, .stage = "a,info"},
        {.kernel = "ldlt", .size = 8, .stage = "a"},
        {.kernel = "ldlt", .size = 1, .stage = "info,a", .single = true},
        {.kernel = "ldlt_partial", .size = 4, .stage = all},
        {.kernel = "ldlt_partial", .size = 8, .stage = all, .single = true},
        {.kernel = "ldlt_partial", .size = 7, .stage = "piv"},
        {.kernel = "ldlt_rook", .size = 3, .stage = all, .single = true},
        {.kernel = "ldlt_complete", .size = 5, .stage = all},
        {.kernel = "ldlt_complete", .size = 6, .stage = all, .single = true},
        {.kernel = "ldlt_complete", .size = 2, .stage = all},
    };
    enum { COUNT = sizeof list / sizeof *list };
    const char *only = getenv("BORG_BACKEND");
    if ((only && strcmp(only, "cuda") != 0) || getenv("BORG_EMIT")) skip();
    for (int k = 0; k < COUNT; ++k) list[k].pack = 1, list[k].order = BORG_WG_MINOR;
    check(borg_backend_find("cuda"), list, COUNT);
}

/* An element that all work-items of a warp ask for is found by a jump, what all read of a value
 * lies side by side; the greatest of magnitudes loses one sign. */
static void test_cuda_jump(void **state) {
    static const char *const defines[] = {NULL};
    const char *text;
    size_t length;
    borg_options o = {.size = 20,
                      .pack = 1,
                      .strict = true,
                      .backend = borg_backend_find("cuda"),
                      .defines = defines,
                      .name = "tested"};
    (void)state;
    borg_program *p = library_compile("ldlt_complete", &o);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_OK);
    const char *loop = strstr(text, "for (;;)");
    assert_non_null(loop);
    const char *jump = strstr(loop, "switch (");
    assert_non_null(jump);
    assert_non_null(strstr(jump, "case 18: "));
    assert_null(strstr(jump, "case 20: "));
    const char *place = strstr(jump, "b_allf64[0 + 0 + b_l] = ");
    assert_non_null(place);
    assert_non_null(strstr(place, " = b_allf64[19];"));
    assert_non_null(strstr(loop, "b_max_s32("));
    borg_program_free(p);
}

/* Reorderings that are left out for measurements go through memory. */
static void test_disabled(void **state) {
    static const char *const kernels[] = {"ldus", "trsv", "gemm_adb", "ldlt_partial", "ldlt_solve"};
    static const int each[] = {BORG_NO_REUSE | BORG_STREAM,
                               BORG_NO_REUSE | BORG_NO_SCALAR | BORG_NO_VECTOR | BORG_NO_SEGMENTED |
                                   BORG_NO_PERMUTE,
                               BORG_NO_VECTOR | BORG_NO_PERMUTE};
    static const char *const backends[] = {"c", "avx512"};
    variant list[15];
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 15; ++k)
        list[k] = (variant){.kernel = kernels[k % 5],
                            .size = 3 + k % 7,
                            .pack = 1 + k % 3,
                            .disable = each[k / 5],
                            .single = k % 4 == 1};
    for (int k = 0; k < 2; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
        check(backend, list, 15);
    }
}

#ifdef METAPACK_OPENCL
static bool opencl_agrees(opencl *d, variant *v, const borg_options *o) {
    const char *text;
    size_t length;
    arguments want, got;
    bool good = true;
    assert_int_equal(borg_program_emit(v->program, o->backend, o, &text, &length), BORG_OK);
    if (emitted_only()) return true;
    const borg_module *m = v->program->units[0].module;
    fill(v, &want);
    fill(v, &got);
    interpret(v, &want);
    const char *wrong =
        opencl_run(d, text, o->name, m, got.data, got.bytes, got.scalar, groups_of(v));
    if (wrong) print_message("opencl: %s, size %d: %s\n", v->kernel, v->size, wrong);
    for (int i = 0; i < m->nparams && !wrong && good; ++i)
        good =
            !got.data[i] || difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]) < 0;
    if (!good) {
        print_message("opencl: %s, size %d, pack %d: other bits\n", v->kernel, v->size, v->pack);
    }
    say(v, wrong ? "uncompiled" : good ? "same" : "other");
    release(&want);
    release(&got);
    return good && !wrong;
}

static bool check_opencl(opencl *d, variant *v) {
    borg_options o;
    if (!compile_variant(v, &o, borg_backend_find("opencl"), "tested")) return true;
    bool good = opencl_agrees(d, v, &o);
    borg_program_free(v->program);
    return good;
}

/* OpenCL C on whatever platform there is; BORG_EMIT: all kernels. */
static void test_opencl(void **state) {
    (void)state;
    opencl d;
    variant list[MOST_CASES];
    int count = 0;
    bool good = true;
    const char *only = getenv("BORG_BACKEND");
    if (only && strcmp(only, "opencl") != 0) skip();
    if (!emitted_only() && !opencl_open(&d)) skip();
    for (int k = 0; k < LIBRARY_KERNELS; k += getenv("BORG_EMIT") ? 1 : 4)
        list[count++] = (variant){.kernel = library_kernels[k],
                                  .size = 2 + k % 4,
                                  .pack = 1 + k % 3,
                                  .single = k % 5 == 4};
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "./kernels/zeros", .size = 5, .pack = 2};
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "./kernels/tiles", .size = 32, .pack = 1};
    for (int k = 0; k < 8 && !getenv("BORG_EMIT"); ++k) {
        static const char *const own[] = {"./kernels/narrow", "./kernels/partners",
                                          "./kernels/complex", "./kernels/absolute"};
        list[count++] =
            (variant){.kernel = own[k / 2], .size = 4 + k % 2, .pack = 1 + k % 2, .single = k % 2};
    }
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "ldlt_complete", .size = 7, .items = 32, .pack = 1};
    if (getenv("BORG_CASES")) count = read_cases(getenv("BORG_CASES"), list);
    for (int i = 0; i < count; ++i) good = check_opencl(&d, &list[i]) && good;
    if (!emitted_only()) opencl_close(&d);
    assert_true(good);
}
#else
static void test_opencl(void **state) {
    (void)state;
    skip();
}
#endif

/* What factorizations leave is the same on all machines, of matrices with a NaN, too: the
 * interpreter objects where a finished row is chosen once more, so that two rows go to one
 * place. */
static void test_one_place(void **state) {
    static const char *const kernels[] = {"ldlt_partial", "ldlt_rook",   "ldlt_complete",
                                          "llt_complete", "ldu_partial", "ldu_rook",
                                          "ldu_complete", "ldlt_static"};
    static const char *const backends[] = {"c", "cuda"};
    (void)state;
    if (getenv("BORG_EMIT") || getenv("BORG_BACKEND")) skip();
    for (size_t k = 0; k < 2 * sizeof kernels / sizeof *kernels; ++k)
        for (int size = 3; size <= 8; ++size) {
            if (test_sanitizer_skips(size, 3)) continue;
            variant v = {.kernel = kernels[k / 2],
                         .size = size,
                         .pack = 1 + size % 2,
                         .single = size % 3 == 0};
            borg_options o;
            arguments a;
            assert_true(compile_variant(&v, &o, borg_backend_find(backends[k % 2]), "k0"));
            fill(&v, &a);
            interpret(&v, &a);
            release(&a);
            borg_program_free(v.program);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_c),
                                       cmocka_unit_test(test_avx512),
                                       cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_llvm),
                                       cmocka_unit_test(test_opencl),
                                       cmocka_unit_test(test_cuda),
                                       cmocka_unit_test(test_ve),
                                       cmocka_unit_test(test_cuda_wide),
                                       cmocka_unit_test(test_cuda_interleaved),
                                       cmocka_unit_test(test_cuda_staged),
                                       cmocka_unit_test(test_cuda_jump),
                                       cmocka_unit_test(test_disabled),
                                       cmocka_unit_test(test_one_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
