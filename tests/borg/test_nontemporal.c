/* SPDX-License-Identifier: BSD-3-Clause */
/* --nontemporal: what avx512 stores past the caches is what it stores without, aligned or not, and
 * where there is no such pointer or no such backend it is refused by name; without a list the size
 * of a call decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "emitted.h"

static const char doubles[] = "__kernel void r(__global double *c, __global const double *a) {\n"
                              "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                              "  c[i] = a[i] + 1; }\n";
static const char floats[] = "__kernel void r(__global float *c, __global const float *a) {\n"
                             "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                             "  c[i] = a[i] + 1; }\n";
/* what was stored is read again */
static const char again[] = "__kernel void r(__global double *c, __global const double *a) {\n"
                            "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                            "  c[i] = a[i];\n"
                            "  barrier(CLK_GLOBAL_MEM_FENCE);\n"
                            "  c[i] = c[get_group_id() * WG_SIZE] + c[i] + 1; }\n";

/* 9 bytes for each work-item */
static const char chars[] = "__kernel void r(__global double *c, __global const char *a) {\n"
                            "  long i = get_group_id() * WG_SIZE + get_local_id();\n"
                            "  c[i] = a[i] + 1; }\n";

enum { COUNT = 1 << 12 };

static borg_options options_of(const char *backend, int size, const char *list) {
    return (borg_options){.size = size,
                          .pack = 1,
                          .nontemporal = list,
                          .verify = true,
                          .backend = borg_backend_find(backend)};
}

static bool emits(const char *source, const borg_options *options, const char *word) {
    borg_program *p = NULL;
    const char *text;
    size_t length;
    assert_int_equal(borg_compile("r.cl", source, strlen(source), options, NULL, &p), BORG_OK);
    assert_int_equal(borg_program_emit(p, options->backend, options, &text, &length), BORG_OK);
    const bool found = strstr(text, word) != NULL;
    borg_program_free(p);
    return found;
}

/* Whole registers alone, of the pointer that is named alone; without it the text is what it was. */
static void test_text(void **unused) {
    (void)unused;
    borg_options options = options_of("avx512", 8, "c");
    options.flat = -1; /* group by group */
    assert_true(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
    assert_true(emits(doubles, &options, "    b_streamed();\n}"));
    assert_false(emits(floats, &options, "b_stream_f32(((float *)p_c)")); /* half a register */
    options.size = 16;
    assert_true(emits(floats, &options, "b_stream_f32(((float *)p_c)"));
    options.size = 12; /* half of each column is no whole register */
    assert_false(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
    options.size = 4;
    assert_false(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
    assert_false(emits(doubles, &options, "    b_streamed();\n}"));
    options.flat = 0; /* elements side by side */
    assert_true(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
    options = options_of("avx512", 8, "never");
    assert_false(emits(doubles, &options, "b_stream"));
}

/* Without a list: what is only written, where what a call touches (16 bytes for each work-item) is
 * more than caches hold. */
static void test_auto(void **unused) {
    static const char *const lists[] = {NULL, "auto"};
    (void)unused;
    for (int k = 0; k < 2; ++k) {
        borg_options options = options_of("avx512", 8, lists[k]);
        assert_true(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
        assert_true(emits(doubles, &options, "(double)(last - first) * 128 > BORG_FAR"));
        assert_true(emits(chars, &options, "(double)(last - first) * 72 > BORG_FAR"));
        assert_true(emits(doubles, &options, "if (b_past == 63) b_streamed();\n}"));
        assert_false(emits(again, &options, "b_stream"));
        options.pack = 4;
        assert_true(emits(doubles, &options, "(double)(last - first) * 128 > BORG_FAR"));
        options.backend = borg_backend_find("c");
        assert_false(emits(doubles, &options, "b_stream"));
    }
}

static void check_values(const borg_backend *backend, const char *list) {
    emitted e;
    borg_program *p[2];
    assert_true(emitted_start(&e));
    const int whole = emitted_compile(&e, doubles, options_of("avx512", 16, list), &p[0]);
    const int twice = emitted_compile(&e, again, options_of("avx512", 8, list), &p[1]);
    assert_true(whole >= 0 && twice >= 0);
    assert_true(emitted_build(&e, backend));
    double *a = aligned_alloc(64, (COUNT + 8) * sizeof *a),
           *c = aligned_alloc(64, (COUNT + 8) * sizeof *c);
    for (int i = 0; i < COUNT + 8; ++i) a[i] = i % 97;
    for (int shift = 0; shift < 3; ++shift)
        for (int run = 0; run < 2; ++run) {
            const int groups = run ? COUNT / 8 : COUNT / 16, items = run ? 8 : 16;
            for (int i = 0; i < COUNT + 8; ++i) c[i] = -7;
            void *args[] = {c + shift, a};
            emitted_call(&e, run ? twice : whole, 0, groups, args);
            for (int i = 0; i < groups * items; ++i)
                assert_true(c[shift + i] == a[i] + 1 + (run ? a[i / 8 * 8] : 0));
            for (int i = 0; i < shift; ++i) assert_true(c[i] == -7);
            for (int i = shift + groups * items; i < COUNT + 8; ++i) assert_true(c[i] == -7);
        }
    free(a), free(c);
    emitted_end(&e, false);
    for (int k = 0; k < 2; ++k) borg_program_free(p[k]);
}

/* Named; far enough for all calls; never far enough. */
static void test_values(void **unused) {
    (void)unused;
    const borg_backend *backend = borg_backend_find("avx512");
    if (!emitted_runs_here(backend) || emitted_only()) skip();
    const char *given = getenv("BORG_CFLAGS");
    char *before = given ? strdup(given) : NULL, flags[512];
    check_values(backend, "c");
    for (int far = 0; far < 2; ++far) {
        snprintf(flags, sizeof flags, "%s -DBORG_FAR=%d", before ? before : "-O0", far << 30);
        assert_int_equal(setenv("BORG_CFLAGS", flags, 1), 0);
        check_values(backend, NULL);
    }
    assert_int_equal(before ? setenv("BORG_CFLAGS", before, 1) : unsetenv("BORG_CFLAGS"), 0);
    free(before);
}

static void refused(const char *backend, const char *list, const char *word) {
    borg_options options = options_of(backend, 8, list);
    borg_program *p = NULL;
    const char *text;
    size_t length;
    assert_int_equal(borg_compile("r.cl", doubles, strlen(doubles), &options, NULL, &p), BORG_OK);
    assert_int_equal(borg_program_emit(p, options.backend, &options, &text, &length),
                     BORG_ERR_OPTION);
    if (length || !strstr(borg_program_messages(p), word))
        fail_msg("%s %s: %s", backend, list, borg_program_messages(p));
    borg_program_free(p);
}

static void test_refused(void **unused) {
    (void)unused;
    refused("avx512", "d", "'d'");
    refused("avx512", "a", "'a'"); /* const */
    refused("avx512", "c,", "''");
    refused("avx512", "", "''");
    refused("avx512", "cc", "'cc'");
    refused("c", "c", "backend c ");
    refused("cuda", "c", "backend cuda ");
    borg_options options = options_of("avx512", 8, "c,c");
    assert_true(emits(doubles, &options, "b_stream_f64(((double *)p_c)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_auto),
                                       cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
