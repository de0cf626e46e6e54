/* SPDX-License-Identifier: BSD-3-Clause */
/* Random kernels: the reference on the tree against the interpreter of the IR, for several packs
 * and orders, with and without vectors, and after each pass. Bit for bit (all NaN are equal). A
 * program that fails is made smaller before it is shown. BORG_RANDOM=count and BORG_SEED=first for
 * a long run. The backends are compared with the interpreter on the same programs, fewer of them:
 * BORG_RANDOM_EMIT=count (tools/check-all asks for more), BORG_BACKEND=name for one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "borg/borg.h"
#include "borg/passes.h"
#include "emitted.h"
#include "generate.h"
#include "reference.h"
#ifdef METAPACK_OPENCL
#include "opencl_run.h"
#endif

enum { GROUPS = 5, MAX_ITEMS = 8, MAX_LINES = 2000 };

typedef struct data {
    double p[GROUPS * MAX_ITEMS];
    float r[GROUPS * MAX_ITEMS];
} data;

static void fill(data *d, uint64_t seed) {
    uint64_t state = seed + 99;
    for (int i = 0; i < GROUPS * MAX_ITEMS; ++i) {
        state = state * 6364136223846793005u + 1;
        d->p[i] = (double)(int)(state >> 40 & 255) / 16.0 - 6;
        d->r[i] = (float)(state >> 50 & 63) / 8.0f - 3;
    }
}

static void set_args(borg_arg *args, data *d, int n) {
    double f = 1.5;
    memset(args, 0, 4 * sizeof *args);
    args[0] = (borg_arg){.data = d->p, .count = GROUPS * n};
    args[1] = (borg_arg){.data = d->r, .count = GROUPS * n};
    args[2].bits = 3;
    memcpy(&args[3].bits, &f, sizeof f);
}

static bool same(const data *x, const data *y, int n) {
    for (int i = 0; i < GROUPS * n; ++i) {
        bool p =
            memcmp(&x->p[i], &y->p[i], sizeof(double)) == 0 || (isnan(x->p[i]) && isnan(y->p[i]));
        bool r =
            memcmp(&x->r[i], &y->r[i], sizeof(float)) == 0 || (isnan(x->r[i]) && isnan(y->r[i]));
        if (!p || !r) return false;
    }
    return true;
}

typedef enum outcome { FINE, NO_TEST, FAILED } outcome;

static char reason[512];

static outcome in_arena(borg_arena *arena, const char *source, int n, uint64_t seed, data *result) {
    borg_diags diags = {.arena = arena, .source = {NULL, source, strlen(source)}};
    char size[32];
    snprintf(size, sizeof size, "WG_SIZE=%d", n);
    const char *defines[] = {size, NULL};
    borg_token *tokens = borg_lex(arena, defines, NULL, &diags);
    borg_function *file = borg_parse_source(arena, tokens, &diags);
    borg_check(file, arena, n, &diags);
    const borg_function *kernel = file;
    while (kernel && !kernel->kernel) kernel = kernel->next;
    fill(result, seed);
    borg_arg args[4];
    set_args(args, result, n);
    const char *wrong = diags.errors || !kernel ? "source" : NULL;
    for (int g = 0; g < GROUPS && !wrong; ++g) wrong = ref_run(arena, kernel, n, g, args, 400000);
    return wrong ? NO_TEST : FINE;
}

/* The tree's result; NO_TEST where the program is refused or leaves the language. */
static outcome by_tree(const char *source, int n, uint64_t seed, data *result) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) return NO_TEST;
    outcome out = in_arena(&arena, source, n, seed, result);
    borg_arena_free(&arena);
    return out;
}

static outcome by_ir(const char *source, int n, uint64_t seed, const borg_options *options,
                     const data *want) {
    borg_program *p = NULL;
    data got;
    borg_arg args[4];
    outcome out = FINE;
    borg_status status = borg_compile("random.cl", source, strlen(source), options, NULL, &p);
    if (status != BORG_OK) {
        const char *messages = p ? borg_program_messages(p) : "out of memory";
        snprintf(reason, sizeof reason, "compile: %.400s", messages);
        bool refused = p && strstr(messages, "differs between the work-items");
        borg_program_free(p);
        return refused ? NO_TEST : FAILED;
    }
    fill(&got, seed);
    set_args(args, &got, n);
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, GROUPS, 20000000,
                        &p->diags)) {
        snprintf(reason, sizeof reason, "interpreter: %.400s", borg_program_messages(p));
        out = FAILED;
    } else if (!same(&got, want, n)) {
        snprintf(reason, sizeof reason, "other results");
        out = FAILED;
    }
    borg_program_free(p);
    return out;
}

static outcome try(const char *source, uint64_t seed) {
    static const int sizes[] = {4, 3, 8, 1}, packs[] = {1, 2, 4, 3};
    int n = sizes[seed % 4];
    data want;
    if (by_tree(source, n, seed, &want) != FINE) return NO_TEST;
    for (int variant = 0; variant < 4; ++variant) {
        borg_options options = {.size = n,
                                .pack = packs[(seed / 4 + (uint64_t)variant) % 4],
                                .strict = true,
                                .verify = true};
        options.order = variant & 1 ? BORG_WG_MINOR : BORG_WI_MINOR;
        options.optimise = variant == 0 ? -1 : 0;
        options.no_vector = variant == 3;
        if (variant == 2) options.unroll_budget = 300; /* loops at run time */
        outcome out = by_ir(source, n, seed, &options, &want);
        if (out == FAILED && variant == 2 && strstr(reason, "passes the budget")) continue;
        if (out != FINE) return out;
    }
    return FINE;
}

/* ---- shrinking: leave out ranges of lines as long as it still fails -------------------------- */

static void join(char *text, char **lines, const bool *keep, int count) {
    *text = 0;
    for (int i = 0; i < count; ++i) {
        if (!keep[i]) continue;
        text += sprintf(text, "%s\n", lines[i]);
    }
}

static void shrink(char *source, uint64_t seed) {
    size_t length = strlen(source);
    char *copy = malloc(length + 2), *trial = malloc(2 * length + MAX_LINES), *lines[MAX_LINES];
    bool keep[MAX_LINES];
    int count = 0;
    memcpy(copy, source, length + 1);
    for (char *line = strtok(copy, "\n"); line && count < MAX_LINES; line = strtok(NULL, "\n")) {
        keep[count] = true;
        lines[count++] = line;
    }
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (int size = count / 2; size >= 1; size = size > 1 ? size / 2 : 0) {
            for (int from = 0; from + size <= count; ++from) {
                bool saved[MAX_LINES], any = false;
                memcpy(saved, keep, sizeof keep);
                for (int i = from; i < from + size; ++i) any = any || keep[i], keep[i] = false;
                if (!any) continue;
                join(trial, lines, keep, count);
                if (try(trial, seed) == FAILED) {
                    smaller = true;
                } else {
                    memcpy(keep, saved, sizeof keep);
                }
            }
        }
    }
    join(trial, lines, keep, count);
    memcpy(source, trial, strlen(trial) + 1);
    try(source, seed);
    free(trial);
    free(copy);
}

static outcome one_program(uint64_t seed) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink text = {.arena = &arena};
    gen_program(&text, seed);
    outcome out = try(text.text, seed);
    if (out == FAILED) {
        shrink(text.text, seed);
        print_message("seed %llu: %s\n%s", (unsigned long long)seed, reason, text.text);
    }
    borg_arena_free(&arena);
    return out;
}

static void test_random(void **state) {
    (void)state;
    long count = getenv("BORG_RANDOM") ? atol(getenv("BORG_RANDOM")) : 300, tested = 0;
    uint64_t first = getenv("BORG_SEED") ? strtoull(getenv("BORG_SEED"), NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + (uint64_t)count; ++seed) {
        outcome out = one_program(seed);
        assert_int_not_equal(out, FAILED);
        tested += out == FINE;
    }
    print_message("%ld programs of %ld\n", tested, count);
    assert_true(2 * tested > count); /* the generator makes programs of the language, mostly */
}

/* ---- what backends make of them -------------------------------------------------------------- */

enum { PORTION = 4 };

typedef struct emission {
    borg_program *program;
    uint64_t seed;
    int n, lanes;
    char name[16]; /* of the function: the program points to it */
} emission;

/* Threads of a group, for GPUs; interleaved packs that fit a warp. 0: chosen. */
static int lanes_of(uint64_t seed, int pack, bool interleaved) {
    static const int lanes[] = {4, 0, 2, 8, 1};
    int n = lanes[seed / 120 % 5];
    return interleaved && (n * pack > 32 || pack == 3) ? 0 : n;
}

/* The program of a seed, in shapes that take turns; false: none, or refused. */
static bool compile_random(uint64_t seed, int number, const borg_backend *backend, emission *e) {
    static const int sizes[] = {4, 3, 8, 1, 5, 7}, packs[] = {2, 4, 1, 8, 3};
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink text = {.arena = &arena};
    gen_program(&text, seed);
    int pack = packs[seed / 6 % 5];
    bool interleaved = seed / 30 % 2;
    *e = (emission){.seed = seed, .n = sizes[seed % 6], .lanes = lanes_of(seed, pack, interleaved)};
    snprintf(e->name, sizeof e->name, "k%d", number);
    borg_options options = {.size = sizes[seed % 6],
                            .pack = pack,
                            .order = interleaved ? BORG_WG_MINOR : BORG_WI_MINOR,
                            .lanes = e->lanes,
                            .strict = seed / 60 % 2 == 0, /* else FMAs are the interpreter's */
                            .backend = backend,
                            .name = e->name};
    borg_status status =
        borg_compile("random.cl", text.text, strlen(text.text), &options, NULL, &e->program);
    borg_arena_free(&arena);
    if (status == BORG_OK) return true;
    borg_program_free(e->program);
    return false;
}

static bool emission_agrees(const emitted *all, const emission *e, int which) {
    data want, got;
    borg_arg args[4];
    int32_t three = 3;
    double f = 1.5;
    borg_program *p = e->program;
    fill(&want, e->seed);
    fill(&got, e->seed);
    set_args(args, &want, e->n);
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, GROUPS, 20000000, &p->diags))
        return true; /* too long for the interpreter */
    void *pointers[] = {got.p, got.r, &three, &f};
    emitted_call(all, which, 0, GROUPS, pointers);
    if (same(&want, &got, e->n)) return true;
    print_message("seed %llu: function k%d has other bits\n", (unsigned long long)e->seed, which);
    return false;
}

static bool wanted(const char *name) {
    return !getenv("BORG_BACKEND") || strcmp(getenv("BORG_BACKEND"), name) == 0;
}

static void check_backend(const char *name) {
    const borg_backend *backend = borg_backend_find(name);
    long count = getenv("BORG_RANDOM_EMIT") ? atol(getenv("BORG_RANDOM_EMIT")) : PORTION;
    uint64_t seed = getenv("BORG_SEED") ? strtoull(getenv("BORG_SEED"), NULL, 10) : 1;
    assert_non_null(backend);
    if (!emitted_runs_here(backend) || !wanted(name)) skip();
    for (long done = 0; done < count; done += PORTION) {
        emission list[PORTION];
        emitted all;
        bool good = emitted_start(&all);
        for (int i = 0; i < PORTION && good; ++seed) {
            if (!compile_random(seed, i, backend, &list[i])) continue;
            borg_options options = {
                .size = list[i].n, .lanes = list[i].lanes, .strict = true, .backend = backend};
            good = emitted_add(&all, list[i].program, backend, &options) == i;
            ++i;
        }
        const bool runs = !emitted_only();
        good = good && (!runs || emitted_build(&all, backend));
        for (int i = 0; i < PORTION && good && runs; ++i) good = emission_agrees(&all, &list[i], i);
        for (int i = 0; i < PORTION; ++i) borg_program_free(list[i].program);
        emitted_end(&all, !good);
        assert_true(good);
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

static void test_llvm(void **state) {
    (void)state;
    check_backend("llvm");
}

/* Threads of a block that take turns: cuda_host.h. */
static void test_cuda(void **state) {
    (void)state;
    check_backend("cuda");
}

#ifdef METAPACK_OPENCL
static bool opencl_agrees(opencl *d, const emission *e, const borg_options *options) {
    data want, got;
    borg_arg args[4];
    const char *text;
    size_t length;
    borg_program *p = e->program;
    const borg_module *m = p->units[0].module;
    double f = 1.5;
    uint64_t scalars[4] = {0, 0, 3, 0};
    void *arrays[4] = {got.p, got.r, NULL, NULL};
    size_t bytes[4] = {sizeof got.p, sizeof got.r, 0, 0};
    memcpy(&scalars[3], &f, sizeof f);
    fill(&want, e->seed);
    fill(&got, e->seed);
    set_args(args, &want, e->n);
    if (!borg_interpret(p->units[0].module, p->units[0].tail, args, 0, GROUPS, 20000000, &p->diags))
        return true; /* too long for the interpreter */
    if (borg_program_emit(p, options->backend, options, &text, &length) != BORG_OK) return false;
    if (emitted_only()) return true;
    const char *wrong = opencl_run(d, text, e->name, m, arrays, bytes, scalars, GROUPS);
    if (!wrong && same(&want, &got, e->n)) return true;
    print_message("opencl, seed %llu: %s\n", (unsigned long long)e->seed,
                  wrong ? wrong : "other bits");
    return false;
}

/* A program for each kernel: compiling takes the time. */
static void test_opencl(void **state) {
    (void)state;
    opencl d;
    long count = getenv("BORG_RANDOM_EMIT") ? atol(getenv("BORG_RANDOM_EMIT")) : 3;
    uint64_t seed = getenv("BORG_SEED") ? strtoull(getenv("BORG_SEED"), NULL, 10) : 1;
    const borg_backend *backend = borg_backend_find("opencl");
    if (!wanted("opencl") || (!emitted_only() && !opencl_open(&d))) skip();
    for (long done = 0; done < count; ++seed) {
        emission e;
        if (!compile_random(seed, 0, backend, &e)) continue;
        borg_options options = {.size = e.n, .strict = true, .backend = backend, .name = e.name};
        bool good = opencl_agrees(&d, &e, &options);
        borg_program_free(e.program);
        assert_true(good);
        ++done;
    }
    if (!emitted_only()) opencl_close(&d);
}
#else
static void test_opencl(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_c),    cmocka_unit_test(test_avx512),
        cmocka_unit_test(test_llvm),   cmocka_unit_test(test_cuda), cmocka_unit_test(test_opencl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
