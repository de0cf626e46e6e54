/* SPDX-License-Identifier: BSD-3-Clause */
/* Spatial pipelines: the snippet of fig. 8.6, every kernel of the source tree, the interpreter's
 * bits, exact cycles, budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "borg/variants.h"
#include "sim/spatial/simulate.h"

/* A table in which every unit takes a cycle, so that stages are cycles. */
static void unit_latencies(borg_unit_cost *costs) {
    borg_diags none = {0};
    assert_true(borg_costs_read(NULL, costs, &none));
    for (int k = 0; k < BORG_UNIT_KINDS; ++k) costs[k].latency = 1;
}

static void default_costs(borg_unit_cost *costs) {
    borg_diags none = {0};
    assert_true(borg_costs_read(NULL, costs, &none));
}

/* The thesis's: shuffle, fadd, shuffle, fadd, shuffle to a register of one lane. */
static const char snippet[] =
    "kernel @fig86 size 4 pack 1 order wi (ptr<f64> @y, ptr<f64> readonly @x) {\n"
    "  %0 = param uni<ptr> @y\n"
    "  %1 = param uni<ptr> @x\n"
    "  %2 = g0 uni<i64>\n"
    "  %3 = const uni<i64> 4\n"
    "  %4 = mul uni<i64> %2, %3\n"
    "  %5 = loada wi<f64> %1, %4, a 4, b 1, c {0}\n"
    "  %6 = perm wi<f64> %5, map {0, 1, 0, 1, 0, 3, 0, 3}\n"
    "  %7 = fadd wi<f64> %6, %5\n"
    "  %8 = perm wi<f64> %7, map {0, 2, 0, 2, 0, 2, 0, 2}\n"
    "  %9 = fadd wi<f64> %7, %8\n"
    "  %10 = lane wg<f64> %9, map {0, 0}\n"
    "  storea %0, %2, %10, a 1, b 0, c {0}\n"
    "}\n";

static borg_program *parse(const char *text) {
    borg_program *p = NULL;
    const borg_options o = {.strict = true};
    if (borg_compile_ir("test", text, strlen(text), &o, NULL, &p) != BORG_OK)
        fail_msg("%s", borg_program_messages(p));
    return p;
}

/* Two computing stages; shuffles cost none. A state of 4 + 1 lanes before, between and behind them:
 * 15 registers, of which 4, 2 and 1 hold what is needed. */
static void test_figure_8_6(void **unused) {
    (void)unused;
    borg_unit_cost costs[BORG_UNIT_KINDS];
    borg_program *program = parse(snippet);
    unit_latencies(costs);
    borg_pipeline *p = borg_pipeline_new(program->units[0].module, costs, &program->diags);
    assert_non_null(p);
    assert_int_equal(p->nstages, 2);
    assert_int_equal(p->depth, 2);
    assert_int_equal(p->interval, 1);
    assert_int_equal(p->counts.state_bits, 5 * 64);
    assert_int_equal(p->counts.lanes_before, 15);
    assert_int_equal(p->counts.lanes_after, 7);
    assert_int_equal(p->counts.adders, 3); /* of eight lanes */
    int live[3] = {0};
    for (int32_t n = 0; n < p->nnets; ++n)
        for (int32_t b = 0; b < 3; ++b)
            live[b] +=
                p->net[n].kind == BORG_NET_DATA && p->net[n].born <= b && b <= p->net[n].dies;
    assert_int_equal(live[0], 4);
    assert_int_equal(live[1], 2);
    assert_int_equal(live[2], 1);
    enum { JOBS = 9 };
    double x[4 * JOBS], y[JOBS];
    for (int i = 0; i < 4 * JOBS; ++i) x[i] = 1.0 / (i + 1);
    const borg_arg args[] = {{.data = y, .count = JOBS}, {.data = x, .count = 4 * JOBS}};
    sim_pipeline_counts counts;
    assert_true(sim_pipeline_run(p, args, 0, JOBS, &counts, &program->diags));
    assert_int_equal(counts.cycles, 2 + (JOBS - 1));
    assert_int_equal(counts.stored_late, counts.cycles);
    for (int j = 0; j < JOBS; ++j)
        assert_true(y[j] == (x[4 * j + 1] + x[4 * j]) + (x[4 * j + 3] + x[4 * j + 2]));
    borg_program_free(program);
}

/* A picture and the two texts say what the counts say. */
static void test_formats(void **unused) {
    (void)unused;
    const char *text;
    size_t length;
    borg_options o = {.strict = true};
    borg_program *p = parse(snippet);
    const borg_backend *pipe = borg_backend_find("pipe");
    assert_int_equal(borg_program_emit(p, pipe, &o, &text, &length), BORG_OK);
    assert_non_null(strstr(text, "2 stages"));
    assert_non_null(strstr(text, "units                add_f64 3\n"));
    o.format = "json";
    assert_int_equal(borg_program_emit(p, pipe, &o, &text, &length), BORG_OK);
    assert_non_null(strstr(text, "\"stages\": 2, \"depth\": 10, \"interval\": 1"));
    o.format = "svg";
    assert_int_equal(borg_program_emit(p, pipe, &o, &text, &length), BORG_OK);
    int boxes = 0, shaded = 0;
    for (const char *at = text; (at = strstr(at, "<rect x=")); ++at) ++boxes;
    for (const char *at = text; (at = strstr(at, "\"off\"")); ++at) ++shaded;
    assert_int_equal(boxes, 12); /* the vector; the register of one lane is a wire out of it */
    assert_int_equal(shaded, 5);
    borg_program_free(p);
}

/* ---- every kernel ---------------------------------------------------------------------------- */

#define SHUFFLE "a shuffle by an index that is known at run time alone"
#define LOOP "a loop whose turns are not known when it is compiled"

/* Those that no pipeline can take, and why. */
static const struct {
    const char *kernel, *reason;
} refused[] = {{"ldlt_partial", SHUFFLE}, {"ldlt_rook", LOOP},       {"ldlt_complete", SHUFFLE},
               {"ldlt_solve", LOOP},      {"llt_complete", SHUFFLE}, {"ldu_partial", SHUFFLE},
               {"ldu_rook", LOOP},        {"ldu_complete", SHUFFLE}};

static const char *reason_of(const char *kernel) {
    for (size_t k = 0; k < sizeof refused / sizeof *refused; ++k)
        if (strcmp(refused[k].kernel, kernel) == 0) return refused[k].reason;
    return NULL;
}

/* Simulated and interpreted: the same bits, and depth + (jobs - 1) * interval cycles. */
static void check_bits(variant *v, const borg_pipeline *p) {
    arguments want, got;
    borg_arg args[MOST_PARAMS] = {{0}};
    sim_pipeline_counts counts;
    borg_program *program = v->program;
    const borg_module *m = p->module;
    fill(v, &want);
    fill(v, &got);
    for (int i = 0; i < MOST_PARAMS; ++i)
        args[i] = (borg_arg){.bits = got.scalar[i], .data = got.data[i], .count = got.count[i]};
    const int64_t groups = groups_of(v);
    if (!sim_pipeline_run(p, args, 0, groups, &counts, &program->diags))
        fail_msg("%s: %s", v->kernel, borg_program_messages(program));
    assert_int_equal(counts.jobs, groups);
    assert_int_equal(counts.cycles, p->depth + (groups - 1) * p->interval);
    variant other = *v; /* compiled anew: not predicated */
    borg_options o;
    assert_true(compile_variant(&other, &o, NULL, NULL));
    interpret(&other, &want);
    for (int i = 0; i < m->nparams; ++i)
        if (got.data[i] && difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]) >= 0)
            fail_msg("%s, size %d: %s has other bits", v->kernel, v->size, m->params[i].name);
    borg_program_free(other.program);
    release(&want);
    release(&got);
}

/* A row of the table in docs/guide/accelerators.md. */
static void table_row(const variant *v, const borg_pipeline *p, char *row, size_t room) {
    if (!p) {
        snprintf(row, room, "| `%s` | refused: %s | |", v->kernel, reason_of(v->kernel));
        return;
    }
    const borg_spatial_counts *c = &p->counts;
    snprintf(
        row, room,
        "| `%s` | %d | %d | %d | %lld | %lld | %lld | %lld / %lld / %lld | %lld | %lld | %lld |",
        v->kernel, p->nstages, p->depth, p->interval, (long long)c->state_bits,
        (long long)c->bits_before, (long long)c->bits_after, (long long)c->adders,
        (long long)c->multipliers, (long long)c->dividers, (long long)c->lut, (long long)c->ff,
        (long long)c->dsp);
}

static char *read_docs(void) {
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s/../docs/guide/accelerators.md", METAPACK_DATA);
    FILE *file = fopen(path, "rb");
    char *text = file ? borg_read_all(file, &length) : NULL;
    assert_non_null(text);
    fclose(file);
    return text;
}

static void test_kernels(void **unused) {
    (void)unused;
    char *docs = read_docs(), row[300];
    borg_unit_cost costs[BORG_UNIT_KINDS];
    default_costs(costs);
    bool stale = false;
    for (int k = 0; k < LIBRARY_KERNELS; ++k) {
        variant v = {.kernel = library_kernels[k], .size = 4, .pack = 1};
        borg_options o;
        assert_true(compile_variant(&v, &o, borg_backend_find("pipe"), NULL));
        borg_program *program = v.program;
        program->diags.source.file = v.kernel; /* that of library_compile is gone */
        const borg_pipeline *p =
            borg_pipeline_new(program->units[0].module, costs, &program->diags);
        const char *reason = reason_of(v.kernel);
        if (!p && (!reason || !strstr(borg_program_messages(program), reason)))
            fail_msg("%s: %s", v.kernel, borg_program_messages(program));
        if (!p) assert_non_null(strchr(borg_program_messages(program), '^'));
        if (p && reason) fail_msg("%s is not refused", v.kernel);
        table_row(&v, p, row, sizeof row);
        if (!strstr(docs, row)) print_message("%s\n", row), stale = true;
        if (p) check_bits(&v, p);
        borg_program_free(program);
    }
    free(docs);
    if (stale) fail_msg("these rows are not in docs/guide/accelerators.md");
}

/* Other sizes, packs of several groups, single precision. */
static void test_shapes(void **unused) {
    (void)unused;
    variant list[] = {{.kernel = "gemm", .size = 3, .pack = 1},
                      {.kernel = "trsv", .size = 8, .pack = 1, .single = true},
                      {.kernel = "trsv", .size = 3, .pack = 1},
                      {.kernel = "ldlt", .size = 1, .pack = 1},
                      {.kernel = "ldlt", .size = 6, .pack = 1, .single = true},
                      {.kernel = "ldu", .size = 5, .pack = 1},
                      {.kernel = "llt", .size = 7, .pack = 1}};
    borg_unit_cost costs[BORG_UNIT_KINDS];
    default_costs(costs);
    costs[BORG_UNIT_div_f64].interval = 3; /* dividers that take a job in three cycles */
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        borg_options o;
        assert_true(compile_variant(&list[k], &o, borg_backend_find("pipe"), NULL));
        borg_program *program = list[k].program;
        const borg_pipeline *p =
            borg_pipeline_new(program->units[0].module, costs, &program->diags);
        if (!p) fail_msg("%s: %s", list[k].kernel, borg_program_messages(program));
        if (!list[k].single && p->counts.dividers) assert_int_equal(p->interval, 3);
        check_bits(&list[k], p);
        borg_program_free(program);
    }
}

/* The C for synthesis, by the build's compiler and by the other one, warnings errors. */
static void check_hls(const char *compiler) {
    char command[64];
    variant list[LIBRARY_KERNELS];
    int count = 0;
    if (emitted_only()) skip(); /* the build without sanitizers compiles what is emitted */
    snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compiler);
    if (system(command) != 0) skip();
    for (int k = 0; k < LIBRARY_KERNELS; ++k)
        if (!reason_of(library_kernels[k]))
            list[count++] = (variant){
                .kernel = library_kernels[k], .size = 2 + k % 3, .pack = 1, .single = k % 5 == 4};
    setenv("BORG_CC", compiler, 1);
    setenv("BORG_SHAPES", "all", 1);
    setenv("BORG_CFLAGS", "-O0", 1);
    check(borg_backend_find("hls"), list, count);
}

static void test_hls_gcc(void **unused) {
    (void)unused;
    check_hls("gcc");
}

static void test_hls_clang(void **unused) {
    (void)unused;
    check_hls(system("clang --version >/dev/null 2>&1") == 0 ? "clang" : "clang-14");
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refusal(const char *source, const char *message) {
    borg_program *p = NULL;
    const char *text;
    size_t length;
    borg_options o = {.size = 4, .strict = true, .backend = borg_backend_find("pipe")};
    assert_int_equal(borg_compile("k.cl", source, strlen(source), &o, NULL, &p), BORG_OK);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_ERR_SOURCE);
    if (!strstr(borg_program_messages(p), message)) fail_msg("%s", borg_program_messages(p));
    assert_non_null(strchr(borg_program_messages(p), '^'));
    borg_program_free(p);
}

static void test_refusals(void **unused) {
    (void)unused;
    expect_refusal("__kernel void k(__global double *a, int n) {\n"
                   "    double x = a[get_local_id(0)];\n"
                   "    for (int i = 0; i < n; ++i) x = x * x + 1;\n"
                   "    a[get_local_id(0)] = x;\n}\n",
                   "k.cl:3:25: error: no pipeline: a loop whose turns are not known");
    expect_refusal("__kernel void k(__global double *a) {\n"
                   "    double x = a[get_local_id(0)];\n"
                   "    while (work_group_any(x > 1)) x = x / 2;\n"
                   "    a[get_local_id(0)] = x;\n}\n",
                   "error: no pipeline: a loop");
    expect_refusal("__kernel void k(__global double *a, __global int *p) {\n"
                   "    double x = a[get_local_id(0)];\n"
                   "    a[get_local_id(0)] = shuffle(x, p[get_local_id(0)] & 3);\n}\n",
                   "error: no pipeline: a shuffle by an index");
    expect_refusal("__kernel void k(__global double *a) {\n"
                   "    __local volatile double u[4];\n"
                   "    u[get_local_id(0)] = a[get_local_id(0)];\n"
                   "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                   "    a[get_local_id(0)] = u[3 - get_local_id(0)];\n}\n",
                   "error: no pipeline: an array in memory");
}

/* The messages are copied: the program's source has the name of the file on its stack. */
static borg_status emit_with(const char *kernel, const char *units, const char *budget,
                             char messages[1000]) {
    const char *text;
    size_t length;
    char path[512];
    borg_options o = {.size = 8,
                      .strict = true,
                      .backend = borg_backend_find("pipe"),
                      .units = units,
                      .budget = budget};
    borg_program *p = library_compile(kernel, &o);
    snprintf(path, sizeof path, "%s.cl", kernel);
    p->diags.source.file = path; /* library_compile's is gone */
    const borg_status status = borg_program_emit(p, o.backend, &o, &text, &length);
    snprintf(messages, 1000, "%s", borg_program_messages(p));
    borg_program_free(p);
    return status;
}

static void test_budget(void **unused) {
    (void)unused;
    char messages[1000];
    assert_int_equal(emit_with("gemm", NULL, "lut=100000", messages), BORG_ERR_BUDGET);
    assert_non_null(strstr(messages, "gemm with WG_SIZE=8 needs 884224 look-up tables, the budget "
                                     "has 100000"));
    assert_int_equal(emit_with("gemm", NULL, "dsp=7168", messages), BORG_OK);
    assert_int_equal(emit_with("gemm", NULL, "dsp=7167", messages), BORG_ERR_BUDGET);
    assert_int_equal(emit_with("gemm", NULL, "luts=1", messages), BORG_ERR_OPTION);
    assert_int_equal(emit_with("gemm", "UNIT(mul_f64, 6, 1, 1, 1, 1)\n", "lut=600000", messages),
                     BORG_OK);
    assert_int_equal(emit_with("gemm", "/* a */\n\nUNIT(mul_f65, 6, 1, 1, 1, 1)", NULL, messages),
                     BORG_ERR_OPTION);
    assert_non_null(strstr(messages, "table of units, line 3: there is no unit of this name"));
    assert_int_equal(emit_with("gemm", "UNIT(mul_f64, 0, 1, 1, 1, 1)", NULL, messages),
                     BORG_ERR_OPTION);
}

/* A smaller n, weaker pivoting. */
static void test_proposals(void **unused) {
    (void)unused;
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s/ldlt_static.cl", METAPACK_KERNELS);
    FILE *file = fopen(path, "rb");
    char *text = borg_read_all(file, &length);
    fclose(file);
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    borg_sink out = {.arena = &arena};
    borg_options o = {.size = 6,
                      .strict = true,
                      .backend = borg_backend_find("pipe"),
                      .reader = &borg_file_reader,
                      .budget = "lut=220000"};
    borg_propose(path, text, length, &o, &out);
    assert_non_null(out.text);
    assert_non_null(strstr(out.text, "WG_SIZE=3 fits"));
    assert_non_null(strstr(out.text, "ldlt.cl fits with WG_SIZE=6"));
    borg_arena_free(&arena);
    free(text);
}

/* The k-th chunk of memory is refused: an error, and nothing is kept. */
typedef struct refusing {
    int64_t calls, at, held;
} refusing;

static void *refusing_alloc(void *self, size_t size) {
    refusing *r = self;
    if (++r->calls == r->at) return NULL;
    r->held++;
    return malloc(size);
}

static void refusing_release(void *self, void *p) {
    ((refusing *)self)->held--;
    free(p);
}

static void test_no_memory(void **unused) {
    (void)unused;
    static const char *const backends[] = {"pipe", "hls"};
    const char source[] = "__kernel void k(__global double *a) {\n"
                          "    double x = a[get_local_id(0)];\n"
                          "    for (int i = 0; i < 40; ++i) x = shuffle(x, i % 8) * x + i;\n"
                          "    a[get_local_id(0)] = x;\n}\n";
    double a[80];
    for (int b = 0; b < 2; ++b) {
        borg_status status = BORG_ERR_MEMORY;
        for (int64_t k = 1; k < 200 && status != BORG_OK; ++k) {
            refusing r = {.at = k};
            const borg_allocator allocator = {refusing_alloc, refusing_release, &r};
            const borg_options o = {
                .size = 8, .strict = true, .backend = borg_backend_find(backends[b])};
            borg_program *p = NULL;
            const char *text;
            size_t length;
            status = borg_compile("k.cl", source, strlen(source), &o, &allocator, &p);
            if (status == BORG_OK) status = borg_program_emit(p, o.backend, &o, &text, &length);
            assert_true(status == BORG_OK || status == BORG_ERR_MEMORY);
            borg_program_free(p);
            assert_int_equal(r.held, 0);
        }
        assert_int_equal(status, BORG_OK);
    }
    for (int64_t k = 0, good = 0; !good && k < 100; ++k) { /* the simulator's */
        refusing r = {.at = -1};
        const borg_allocator allocator = {refusing_alloc, refusing_release, &r};
        borg_unit_cost costs[BORG_UNIT_KINDS];
        borg_program *p = NULL;
        const borg_options o = {.size = 8, .strict = true};
        for (int i = 0; i < 80; ++i) a[i] = 1.0 / (i + 1);
        const borg_arg args[] = {{.data = a, .count = 80}};
        assert_int_equal(borg_compile("k.cl", source, strlen(source), &o, &allocator, &p), BORG_OK);
        default_costs(costs);
        const borg_pipeline *pipe = borg_pipeline_new(p->units[0].module, costs, &p->diags);
        assert_non_null(pipe);
        r.at = r.calls + 1 + k;
        good = sim_pipeline_run(pipe, args, 0, 10, NULL, &p->diags);
        if (!good) assert_non_null(strstr(borg_program_messages(p), "no memory"));
        assert_true(k > 0 || !good);
        borg_program_free(p);
        assert_int_equal(r.held, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_8_6), cmocka_unit_test(test_formats),
        cmocka_unit_test(test_kernels),    cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_hls_gcc),    cmocka_unit_test(test_hls_clang),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_budget),
        cmocka_unit_test(test_proposals),  cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
