/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that stay loops (borg/lower/roll.c): the bits of what is unrolled, by the interpreter and
 * as emitted, and code that is much shorter. BORG_BACKEND=NAME: by one backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "variants.h"

static borg_program *compiled(const variant *v, const char *backend, borg_loops loops) {
    const char *defines[] = {v->single ? "SINGLE" : "DOUBLE", NULL};
    borg_options o = {.size = v->size,
                      .pack = v->pack,
                      .order = v->order,
                      .strict = true,
                      .verify = true,
                      .loops = loops,
                      .backend = borg_backend_find(backend),
                      .defines = defines,
                      .name = "tested"};
    return library_compile(v->kernel, &o);
}

static size_t length_of(const variant *v, const char *backend, borg_loops loops) {
    const char *text;
    size_t length;
    borg_options o = {.backend = borg_backend_find(backend)};
    borg_program *p = compiled(v, backend, loops);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_OK);
    borg_program_free(p);
    return length;
}

/* The module with loops and the one without make the same of the same arguments. */
static void same_bits(variant *v, const char *backend) {
    arguments args[2];
    int arrays[2];
    for (int i = 0; i < 2; ++i) {
        v->program = compiled(v, backend, i ? BORG_LOOPS_ALWAYS : BORG_LOOPS_NEVER);
        fill(v, &args[i]);
        interpret(v, &args[i]);
        arrays[i] = v->program->units[0].module->nlocals;
        if (i == 0) borg_program_free(v->program);
    }
    assert_int_equal(arrays[0], 0);
    assert_true(arrays[1] > 0); /* arrays lie in memory */
    const borg_module *m = v->program->units[0].module;
    for (int i = 0; i < m->nparams; ++i)
        if (m->params[i].type == BORG_PTR)
            assert_true(
                difference(&m->params[i], args[0].data[i], args[1].data[i], args[0].bytes[i]) < 0);
    borg_program_free(v->program);
    release(&args[0]);
    release(&args[1]);
}

static variant shapes[] = {
    {.kernel = "./kernels/loops", .size = 24, .pack = 1, .loops = BORG_LOOPS_ALWAYS},
    {.kernel = "./kernels/loops",
     .size = 19,
     .pack = 2,
     .single = true,
     .loops = BORG_LOOPS_ALWAYS},
    {.kernel = "./kernels/loops",
     .size = 17,
     .pack = 2,
     .order = BORG_WG_MINOR,
     .loops = BORG_LOOPS_ALWAYS},
    {.kernel = "./kernels/loops",
     .size = 12,
     .pack = 8,
     .order = BORG_WG_MINOR,
     .loops = BORG_LOOPS_ALWAYS},
    {.kernel = "./kernels/ldus", .size = 32, .pack = 1},
    {.kernel = "ldu_static", .size = 28, .pack = 1, .loops = BORG_LOOPS_ALWAYS},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_bits(void **state) {
    (void)state;
    for (int i = 0; i < SHAPES; ++i) {
        same_bits(&shapes[i], "c");
        if (shapes[i].size >= 24) same_bits(&shapes[i], "avx512");
    }
}

static void test_emitted(void **state) {
    static const char *const backends[] = {"c", "avx512"};
    (void)state;
    for (int k = 0; k < 2; ++k) {
        const borg_backend *backend = borg_backend_find(backends[k]);
        if (is_wanted(backend)) check(backend, shapes, SHAPES);
    }
}

/* Listing 4 of the thesis of 2021. */
static void test_length(void **state) {
    variant listing = {.kernel = "./kernels/ldus", .size = 32, .pack = 2, .order = BORG_ORDER_AUTO};
    (void)state;
    size_t length = length_of(&listing, "c", BORG_LOOPS_AUTO);
    assert_true(length < 1250000);
    assert_true(2 * length < length_of(&listing, "c", BORG_LOOPS_NEVER));
    listing.size = 4; /* registers hold it: nothing changes */
    listing.pack = 1;
    assert_int_equal(length_of(&listing, "c", BORG_LOOPS_AUTO),
                     length_of(&listing, "c", BORG_LOOPS_NEVER));
}

/* No room at any place: a status, and nothing lost (under the address sanitizer). */
typedef struct rationed {
    int left;
} rationed;

static void *ration(void *self, size_t bytes) {
    rationed *r = self;
    return r->left-- > 0 ? malloc(bytes) : NULL;
}

static void give_back(void *self, void *memory) {
    (void)self;
    free(memory);
}

static void test_memory(void **state) {
    (void)state;
    const char *source = "__kernel void k(__global double *a) { double x[40];"
                         "for (int i = 0; i < 40; ++i) x[i] = a[40 * get_local_id(0) + i];"
                         "for (int s = 0; s < 40; ++s) for (int i = s; i < 40; ++i) x[i] += "
                         "shuffle(x[i], s % 8) * x[i];"
                         "for (int i = 0; i < 40; ++i) a[40 * get_local_id(0) + i] = x[i]; }";
    bool done = false;
    for (int k = 0; !done; ++k) {
        rationed r = {k};
        borg_allocator allocator = {.self = &r, .alloc = ration, .release = give_back};
        borg_options o = {.size = 8, .loops = BORG_LOOPS_ALWAYS, .backend = borg_backend_find("c")};
        borg_program *p = NULL;
        borg_status status = borg_compile("k.cl", source, strlen(source), &o, &allocator, &p);
        done = status == BORG_OK;
        if (!done) assert_int_equal(status, BORG_ERR_MEMORY);
        if (done) assert_true(p->units[0].module->nlocals == 1);
        borg_program_free(p);
        assert_true(k < 10000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_emitted),
                                       cmocka_unit_test(test_length),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
