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
#include "emitted.h"
#include "library.h"
#ifdef METAPACK_OPENCL
#include "opencl_run.h"
#endif

enum { MOST_PARAMS = 16, MOST_CASES = 64 };

typedef struct variant {
    const char *kernel;
    int size, pack, lanes, disable;
    int items; /* work-items that share `size` rows; 0: as many */
    borg_order order;
    bool single, fused; /* fused: not strict */
    const char *stage;  /* with a group in each thread */
    bool large;         /* left out: its code is beyond BORG_MOST_BYTES */
    char ld[16], stride[24], rows[16];
    const char *defines[3], *set[3];
    borg_program *program;
} variant;

/* A warp of staged groups and some. */
static int64_t groups_of(const variant *v) {
    return v->stage ? 43 : 11;
}

typedef struct arguments {
    uint64_t scalar[MOST_PARAMS];
    void *data[MOST_PARAMS];
    size_t bytes[MOST_PARAMS];
    int64_t count[MOST_PARAMS];
} arguments;

static double noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 8388608.0 - 1;
}

/* Matrices well and badly conditioned, one with a NaN, one that is zero. */
static double entry(int n, int64_t i, uint32_t *state) {
    int64_t group = i / (n * n), place = i % (n * n);
    double x = noise(state);
    if (group == 2 && place == n / 2) return (double)NAN;
    if (group == 3) return 0;
    if (group % 2 && place % (n + 1) == 0) return x + n + 1;
    return *state >> 8 & 7 ? x : 0;
}

static void fill_array(const variant *v, const borg_param *p, arguments *a, int i) {
    int n = v->size;
    bool lu = strncmp(v->kernel, "ldu", 3) == 0;
    uint32_t state = (uint32_t)(17 * n + i);
    a->count[i] = (groups_of(v) + 2) * (n * n + 10 * n + 4);
    a->bytes[i] = (size_t)a->count[i] * (size_t)borg_type_bytes(p->elem);
    a->data[i] = malloc(a->bytes[i]);
    for (int64_t k = 0; k < a->count[i]; ++k) {
        double x = entry(n, k, &state);
        float f = (float)x;
        int32_t pivot = (int32_t)(k % n);
        if (!lu && n > 2 && (pivot == 1 || pivot == 2)) pivot = ~pivot;
        if (p->elem == BORG_F64) memcpy((char *)a->data[i] + 8 * k, &x, 8);
        if (p->elem == BORG_F32) memcpy((char *)a->data[i] + 4 * k, &f, 4);
        if (p->elem == BORG_I32) memcpy((char *)a->data[i] + 4 * k, &pivot, 4);
    }
}

static void fill(const variant *v, arguments *a) {
    const borg_module *m = v->program->units[0].module;
    memset(a, 0, sizeof *a);
    assert_true(m->nparams <= MOST_PARAMS);
    for (int i = 0; i < m->nparams; ++i) {
        const borg_param *p = &m->params[i];
        double tol = 1e-12;
        float tolf = 1e-6f;
        if (p->type == BORG_PTR) fill_array(v, p, a, i);
        if (p->type == BORG_F64) memcpy(&a->scalar[i], &tol, sizeof tol);
        if (p->type == BORG_F32) memcpy(&a->scalar[i], &tolf, sizeof tolf);
        if (p->type == BORG_I32) a->scalar[i] = (uint64_t)v->size;
        if (p->type == BORG_I64) a->scalar[i] = (uint64_t)v->size * (uint64_t)v->size;
        if (strcmp(p->name, "nrhs") == 0) a->scalar[i] = v->size < 3 ? 1 : 3;
        if (strcmp(p->name, "total") == 0) a->scalar[i] = (uint64_t)(v->size * groups_of(v));
    }
}

static void release(arguments *a) {
    for (int i = 0; i < MOST_PARAMS; ++i) free(a->data[i]);
}

/* The first entry that differs, -1 if there is none: any NaN is as good as another. */
static int64_t difference(const borg_param *p, const void *x, const void *y, size_t bytes) {
    int64_t size = borg_type_bytes(p->elem);
    if (memcmp(x, y, bytes) == 0) return -1;
    for (int64_t k = 0; k < (int64_t)bytes / size; ++k) {
        const char *a = (const char *)x + k * size, *b = (const char *)y + k * size;
        double d[2] = {0, 0};
        float f[2] = {0, 0};
        if (memcmp(a, b, (size_t)size) == 0) continue;
        if (p->elem == BORG_F64) memcpy(&d[0], a, 8), memcpy(&d[1], b, 8);
        if (p->elem == BORG_F32) {
            memcpy(&f[0], a, 4), memcpy(&f[1], b, 4);
            for (int i = 0; i < 2; ++i) d[i] = (double)f[i];
        }
        if (!isnan(d[0]) || !isnan(d[1])) return k;
    }
    return -1;
}

static void interpret(const variant *v, arguments *a) {
    borg_arg args[MOST_PARAMS] = {{0}};
    borg_program *p = v->program;
    for (int i = 0; i < MOST_PARAMS; ++i)
        args[i] = (borg_arg){.bits = a->scalar[i], .data = a->data[i], .count = a->count[i]};
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, groups_of(v), 0, &p->diags))
        fail_msg("%s: %s", v->kernel, borg_program_messages(p));
}

static bool agrees(const variant *v, const emitted *e, int which) {
    arguments want, got;
    void *args[MOST_PARAMS];
    const borg_module *m = v->program->units[0].module;
    bool good = true;
    fill(v, &want);
    fill(v, &got);
    interpret(v, &want);
    for (int i = 0; i < m->nparams; ++i)
        args[i] = got.data[i] ? got.data[i] : (void *)&got.scalar[i];
    emitted_call(e, which, 0, groups_of(v), args);
    for (int i = 0; i < m->nparams && good; ++i) {
        if (!got.data[i]) continue;
        int64_t at = difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]);
        good = at < 0;
        if (good) continue;
        int size = borg_type_bytes(m->params[i].elem);
        print_message("%s[%lld]: ", m->params[i].name, (long long)at);
        for (int k = size; k-- > 0;)
            print_message("%02x", ((const unsigned char *)want.data[i])[at * size + k]);
        print_message(" became ");
        for (int k = size; k-- > 0;)
            print_message("%02x", ((const unsigned char *)got.data[i])[at * size + k]);
        print_message("; ");
    }
    release(&want);
    release(&got);
    return good;
}

static int number(const char *name, int otherwise) {
    return getenv(name) ? atoi(getenv(name)) : otherwise;
}

/* What tests/borg/matrix reads: a line for each of BORG_CASES. */
static void say(const variant *v, const char *result) {
    if (!getenv("BORG_CASES")) return;
    printf("case %d", v->size);
    if (v->items) printf("/%d", v->items);
    printf(":%d:%s:%c %s\n", v->pack, v->order == BORG_WG_MINOR ? "wg" : "wi",
           v->single ? 's' : 'd', result);
    fflush(stdout);
}

/* Compile a variant's program for the backend; false: its code is beyond BORG_MOST_BYTES. */
static bool compile_variant(variant *v, borg_options *o, const borg_backend *backend,
                            const char *name) {
    const char *text;
    size_t length, most = (size_t)number("BORG_MOST_BYTES", INT32_MAX);
    v->defines[0] = v->single ? "SINGLE" : "DOUBLE";
    v->defines[1] = v->stage ? "IN_LANES" : v->items ? v->rows : NULL;
    v->set[0] = v->ld;
    v->set[1] = v->stride;
    snprintf(v->ld, sizeof v->ld, "lda=%d", v->size);
    snprintf(v->stride, sizeof v->stride, "stride=%d", v->size * v->size);
    snprintf(v->rows, sizeof v->rows, "ORDER=%d", v->size);
    *o = (borg_options){.size = v->items ? v->items : v->size,
                        .pack = v->pack,
                        .order = v->order,
                        .lanes = v->lanes,
                        .disable = v->disable,
                        .strict = !v->fused,
                        .backend = backend,
                        .defines = v->defines,
                        .set = v->stage ? v->set : NULL,
                        .stage = v->stage,
                        .name = name};
    v->program = library_compile(v->kernel, o);
    if (most == INT32_MAX) return true;
    borg_status status = borg_program_emit(v->program, backend, o, &text, &length);
    if (status == BORG_ERR_MEMORY) length = SIZE_MAX;
    assert_true(status == BORG_OK || status == BORG_ERR_MEMORY);
    v->large = length > most;
    if (!v->large) return true;
    say(v, "large");
    borg_program_free(v->program);
    return false;
}

/* One shared object: all variants, their programs compiled anew. */
static void check(const borg_backend *backend, variant *list, int count) {
    emitted e;
    bool good = true;
    char names[EMITTED_MAX][16];
    assert_true(emitted_start(&e));
    for (int i = 0, k = 0; i < count; ++i) {
        borg_options o;
        snprintf(names[k], sizeof names[k], "k%d", k);
        if (!compile_variant(&list[i], &o, backend, names[k])) continue;
        assert_int_equal(emitted_add(&e, list[i].program, backend, &o), k);
        ++k;
    }
    if (e.count && !emitted_build(&e, backend)) {
        for (int i = 0; i < count; ++i)
            if (!list[i].large) say(&list[i], "uncompiled");
        emitted_end(&e, true);
        fail();
    }
    for (int i = 0, k = 0; i < count; ++i) {
        variant *v = &list[i];
        if (v->large) continue;
        if (agrees(v, &e, k)) {
            say(v, "same");
        } else {
            print_message("%s: %s, size %d, pack %d, order %s, %s: other bits (k%d)\n",
                          backend->name, v->kernel, v->size, v->pack,
                          v->order == BORG_WG_MINOR ? "wg" : "wi", v->single ? "float" : "double",
                          k);
            say(v, "other");
            good = false;
        }
        borg_program_free(v->program);
        ++k;
    }
    emitted_end(&e, !good);
    assert_true(good);
}

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
static void test_left_out(void **state) {
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

/* Maxima of zeros of either sign: the interpreter's, to the bit, in all shapes of a tree. */
static int zeros(variant *list) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 19, 33};
    int count = 0;
    for (int i = 0; i < 11; ++i)
        for (int k = 0; k < 4; ++k)
            list[count++] = (variant){.kernel = "./kernels/zeros",
                                      .size = sizes[i],
                                      .pack = k == 0   ? 1
                                              : k == 3 ? 8
                                                       : 2,
                                      .lanes = k == 1 && sizes[i] > 4 ? 4 : 0,
                                      .order = k > 1 ? BORG_WG_MINOR : BORG_WI_MINOR,
                                      .single = (i + k) % 3 == 0};
    return count;
}

static void test_zeros(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    variant list[MOST_CASES];
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 4; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
        check(backend, list, zeros(list));
    }
}

/* Arrays in memory, read and written at places that are known at run time only. */
static void test_locals(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    static const int sizes[] = {4, 1, 3, 2, 5, 8, 7, 6, 16}, packs[] = {1, 2, 4, 8};
    variant list[2 * MOST_CASES];
    int count = 0;
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int i = 0; i < 9; ++i)
        for (int k = i % 2; k < 8; k += 2)
            list[count++] = (variant){.kernel = k / 2 % 2 ? "./kernels/turns" : "./kernels/locals",
                                      .size = sizes[i],
                                      .pack = packs[(i + k) / 2 % 4],
                                      .order = (i + k) / 2 & 1 ? BORG_WG_MINOR : BORG_WI_MINOR,
                                      .single = (i + k / 2) % 3 == 0};
    for (int k = 0; k < 4; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
        check(backend, list, count);
    }
}

/* How often `what` stands in what is emitted for tiles.cl. */
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
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
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
    static const char *const kernels[] = {"./kernels/locals", "./kernels/turns",
                                          "./kernels/copies"};
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < COUNT; ++k) list[k].kernel = kernels[i];
        check(borg_backend_find("cuda"), list, COUNT);
    }
}

/* Fewer work-items than a matrix has rows: ORDER. */
static void test_rows(void **state) {
    static const char *const backends[] = {"c", "avx512", "llvm", "cuda"};
    (void)state;
    if (getenv("BORG_EMIT")) skip();
    for (int k = 0; k < 4; ++k) {
        variant list[] = {
            {.kernel = "./kernels/rows", .size = 9, .items = 4, .pack = 8},
            {.kernel = "./kernels/rows", .size = 12, .items = 4, .pack = 1, .single = true},
            {.kernel = "./kernels/rows", .size = 17, .items = 2, .pack = 4, .order = BORG_WG_MINOR},
            {.kernel = "./kernels/rows", .size = 3, .items = 4, .pack = 2, .order = BORG_WG_MINOR},
            {.kernel = "./kernels/rows", .size = 13, .items = 4, .pack = 8, .order = BORG_WG_MINOR},
            {.kernel = "./kernels/rows", .size = 24, .items = 32, .pack = 1}};
        list[4].lanes = 4; /* a warp's, interleaved */
        const borg_backend *backend = borg_backend_find(backends[k]);
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
        check(backend, list, sizeof list / sizeof *list);
    }
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
        const char *only = getenv("BORG_BACKEND");
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
        for (int i = 0; i < (k ? 8 : 4); ++i)
            list[count++] = (variant){.kernel = kernels[(i + k) % 2],
                                      .size = orders[i],
                                      .pack = 1,
                                      .single = (i + k) % 4 == 1};
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
        const char *only = getenv("BORG_BACKEND");
        int count = k == 0 ? 1 : k < 3 ? 2 : 5; /* compilers take long */
        if (!emitted_runs_here(backend) || (only && strcmp(only, backends[k]) != 0)) continue;
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
    assert_non_null(strstr(text, "b_store_f64((l_u + 0) + 0, "));
    assert_non_null(strstr(text, " = b_load_f64((l_u + 0) + (int64_t)(int32_t)"));
    assert_non_null(strstr(text, "b_store_i64((l_many + 0) + 8, "));
    assert_non_null(strstr(text, "b_gather_i32("));
    borg_program_free(p);
}

#ifdef METAPACK_OPENCL
static bool opencl_agrees(opencl *d, variant *v, const borg_options *o) {
    const char *text;
    size_t length;
    arguments want, got;
    bool good = true;
    assert_int_equal(borg_program_emit(v->program, o->backend, o, &text, &length), BORG_OK);
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
    if (!opencl_open(&d)) skip();
    for (int k = 0; k < LIBRARY_KERNELS; k += getenv("BORG_EMIT") ? 1 : 4)
        list[count++] = (variant){.kernel = library_kernels[k],
                                  .size = 2 + k % 4,
                                  .pack = 1 + k % 3,
                                  .single = k % 5 == 4};
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "./kernels/zeros", .size = 5, .pack = 2};
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "./kernels/tiles", .size = 32, .pack = 1};
    if (!getenv("BORG_EMIT"))
        list[count++] = (variant){.kernel = "ldlt_complete", .size = 7, .items = 32, .pack = 1};
    if (getenv("BORG_CASES")) count = read_cases(getenv("BORG_CASES"), list);
    for (int i = 0; i < count; ++i) good = check_opencl(&d, &list[i]) && good;
    opencl_close(&d);
    assert_true(good);
}
#else
static void test_opencl(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_c),
                                       cmocka_unit_test(test_avx512),
                                       cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_llvm),
                                       cmocka_unit_test(test_opencl),
                                       cmocka_unit_test(test_cuda),
                                       cmocka_unit_test(test_cuda_wide),
                                       cmocka_unit_test(test_cuda_interleaved),
                                       cmocka_unit_test(test_cuda_staged),
                                       cmocka_unit_test(test_cuda_jump),
                                       cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_zeros),
                                       cmocka_unit_test(test_locals),
                                       cmocka_unit_test(test_cuda_locals),
                                       cmocka_unit_test(test_locals_together),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_rows_tiles),
                                       cmocka_unit_test(test_rows_halves),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
