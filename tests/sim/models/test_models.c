/* SPDX-License-Identifier: BSD-3-Clause */
/* The three machines of fig. 8.5: formulas against a count by hand, crossings against every number
 * of jobs, the texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "sim/models/models.h"

static sim_models make(const char *kernel, int n, int warps) {
    char text[SIM_MODELS_TEXT];
    sim_models m;
    const sim_models_request q = {.kernel = kernel, .n = n, .warps = warps, .jobs = 1000};
    if (!sim_models_make(&q, &m, text)) fail_msg("%s", text);
    return m;
}

/* gemm, n = 2: four times a multiplication and a subtraction of two lanes, one after the other, 11
 * cycles each pair; cells do one pair a beat. */
static void test_by_hand(void **unused) {
    (void)unused;
    const sim_models m = make("gemm", 2, 8);
    assert_int_equal(m.pipeline_units, 16);
    assert_int_equal(m.depth, 4 * 11);
    assert_int_equal(sim_model_cycles(&m, SIM_PIPELINE, 10), 44 + 9);
    assert_int_equal(m.cells, 4);
    assert_int_equal(m.beat, 11);
    assert_int_equal(m.latency, 2 + 2 + 2 - 1);
    assert_int_equal(m.array_interval, 2 + 2); /* two rows, and two beats to load */
    assert_int_equal(sim_model_cycles(&m, SIM_ARRAY, 10), 11 * (2 + 5 + 9 * 4));
    /* 8 instructions that compute, of 6 and 5 cycles; 4 moves of lanes, 6 loads and 2 stores of
     * one */
    assert_int_equal(m.instructions, 8 + 4 + 6 + 2);
    assert_int_equal(sim_model_cycles(&m, SIM_GPU, 1), 44 + 12);
    assert_int_equal(sim_model_cycles(&m, SIM_GPU, 8), 20 * 8);
    assert_int_equal(sim_model_cycles(&m, SIM_GPU, 17), 2 * 160 + 44 + 12);
    assert_true(sim_model_bits(&m, SIM_GPU) == 8 * m.state_bits);
    /* a job each cycle uses all units in the end; so does a full batch */
    assert_true(sim_model_utilisation(&m, SIM_PIPELINE, 1000000) > 0.9999);
    assert_true(sim_model_utilisation(&m, SIM_GPU, 8) == 1);
}

/* The caption of fig. 8.5: a pipeline has the most registers, a warp the fewest of the three for a
 * job, from n = 8 on; for all its warps a GPU has more than an array. */
static void test_registers(void **unused) {
    (void)unused;
    static const char *const kernels[] = {"ldlt", "trsv", "gemm"};
    for (int k = 0; k < 3; k++)
        for (int n = 4; n <= 16; n *= 2) {
            const sim_models m = make(kernels[k], n, 32);
            assert_true(sim_model_bits(&m, SIM_PIPELINE) > sim_model_bits(&m, SIM_ARRAY));
            assert_true(sim_model_bits(&m, SIM_PIPELINE) > sim_model_bits(&m, SIM_GPU));
            assert_true(sim_model_bits(&m, SIM_GPU) > sim_model_bits(&m, SIM_ARRAY));
        }
}

static void test_crossings(void **unused) {
    (void)unused;
    static const char *const kernels[] = {"ldlt", "trsv", "gemm"};
    for (int k = 0; k < 3; k++)
        for (int n = 2; n <= 10; n += 4)
            for (int warps = 1; warps <= 32; warps *= 4) {
                const sim_models m = make(kernels[k], n, warps);
                for (int a = 0; a < SIM_MODELS; a++)
                    for (int b = 0; b < SIM_MODELS; b++) {
                        enum { MOST = 3000 };
                        int64_t last = 0; /* with a not before b */
                        for (int64_t t = 1; t <= MOST && a != b; t++)
                            if (sim_model_cycles(&m, (sim_model)a, t) >=
                                sim_model_cycles(&m, (sim_model)b, t))
                                last = t;
                        const int64_t got =
                            a == b ? 1 : sim_model_crossing(&m, (sim_model)a, (sim_model)b);
                        if (a == b) continue;
                        if (last > MOST - warps) /* in each batch some: for ever */
                            assert_true(got == 0 || got > MOST - warps);
                        else
                            assert_int_equal(got, last + 1);
                    }
            }
}

static void test_formats(void **unused) {
    (void)unused;
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    const sim_models m = make("ldlt", 4, 32);
    borg_sink text = {.arena = &arena}, json = text, svg = text;
    sim_models_text(&m, &text);
    assert_non_null(
        strstr(text.text, "16 cells, 11 beats of 31 cycles and 4 to load, a job every 9"));
    assert_non_null(strstr(text.text, "from 1 job on: pipeline before gpu\n"));
    assert_non_null(strstr(text.text, "never: array before gpu\n"));
    sim_models_json(&m, &json);
    assert_non_null(strstr(json.text, "\"crossings\": {\"pipeline before array\": 1"));
    sim_models_svg(&m, &svg);
    assert_non_null(strstr(svg.text, "</svg>"));
    borg_arena_free(&arena);
}

static void refuse(const sim_models_request *q, const char *words) {
    char text[SIM_MODELS_TEXT];
    sim_models m;
    assert_false(sim_models_make(q, &m, text));
    if (!strstr(text, words)) fail_msg("not '%s' but '%s'", words, text);
}

static void test_refusals(void **unused) {
    (void)unused;
    sim_models_request q = {.kernel = "nothing", .n = 4, .warps = 4, .jobs = 9};
    refuse(&q, "there is no kernel 'nothing'");
    q = (sim_models_request){.source = "__kernel void a(__global double *x) { x[0] = 1; }\n"
                                       "__kernel void b(__global double *x) { x[0] = 1; }\n",
                             .file = "k.cl",
                             .n = 4,
                             .warps = 4,
                             .jobs = 9};
    refuse(&q, "k.cl has 2 kernels: choose one");
    q = (sim_models_request){.kernel = "ldlt",
                             .cells = "program x\nmesh n\n",
                             .cells_file = "c.cells",
                             .n = 4,
                             .warps = 4,
                             .jobs = 9};
    refuse(&q, "c.cells:2:7: error: expected ','");
    q = (sim_models_request){.kernel = "ldlt", .units = "UNIT(", .n = 4, .warps = 4, .jobs = 9};
    refuse(&q, "table of units, line 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_crossings), cmocka_unit_test(test_formats),
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
