/* SPDX-License-Identifier: BSD-3-Clause */
/* Cycles counted by hand, by the rules of docs/design/vector-core.md: a slot fetches an
 * instruction a cycle from cycle 1 on, it is issued in the next one at the earliest, and a simple
 * one is done a cycle later. Then: no schedule is faster than its bounds, and what runs twice is
 * the same twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support.h"

typedef struct hand {
    const char *body;
    int32_t warps, threads, slots;
    int64_t cycles;
    const char *setting; /* NULL or name=value of the machine */
} hand;

static const char head[] = ".entry k (.param .ptr.f64 a, .param .ptr.f64 b)\n{\n"
                           ".reg .f64 %x, %y; .reg .b32 %i; .reg .pred %p;\n";

/* a and b lie at 4096 and on: line 32 = controller 2 of 6, which moves 16 bytes in a cycle. */
static const hand hands[] = {
    /* fetched in cycle 1; the slot is empty in cycle 2 */
    {"exit;", 1, 8, 1, 2, NULL},
    /* mov: fetched 1, issued 2, done 3 */
    {"mov.f64 %x, 1; exit;", 1, 8, 1, 3, NULL},
    /* a chain of four: issued in 2, 3, 4, 5, done in 6 */
    {"mov.f64 %x, 1; add.f64 %x, %x, %x; add.f64 %x, %x, %x; mul.f64 %x, %x, %x; exit;", 1, 8, 1, 6,
     NULL},
    /* 64 bytes of one line: issued 2, address made by 3, 4 cycles at the controller: 7, and 32 of
     * latency: 39 */
    {"ld.global.f64 %x, [a + $tid]; exit;", 1, 8, 1, 39, NULL},
    /* what needs it is issued in 39 */
    {"ld.global.f64 %x, [a + $tid]; add.f64 %y, %x, 1; exit;", 1, 8, 1, 40, NULL},
    /* mov issued 2, the store 3, eight lanes: 11 */
    {"mov.f64 %x, 1; st.global.f64 [b + $tid], %x; exit;", 1, 8, 1, 11, NULL},
    /* the shuffle issued 3, eight lanes: 11, the sum 12 */
    {"mov.f64 %x, 1; shfl.down.f64 %y, %x, 1; add.f64 %y, %y, %x; exit;", 1, 8, 1, 12, NULL},
    /* mov 2, the division issued 3, eight cycles: 11 */
    {"mov.f64 %x, 1; div.f64 %y, %x, 3; exit;", 1, 8, 1, 11, NULL},
    /* a turn: add and setp issued in n and n + 1, the branch decided in n + 2, add fetched in n + 3
     * and issued in n + 4; n = 3, 7, 11; decided in 13, exit fetched in 14 */
    {"mov.b32 %i, 0; l: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, 3; @%p allbra l; exit;", 1, 8, 1, 15,
     NULL},
    /* index issued 2, the gather 3; four elements leave in 4 .. 7, each half a cycle at the one
     * controller: 7.5, so 8, and latency: 40 */
    {"shl.b32 %i, $tid, 1; ld.global.f64 %x, [a + %i]; exit;", 1, 4, 1, 40, NULL},
    /* two warps in turn: 3, the next fetches from 4, issues in 5, is done in 6; side by side: 3 */
    {"mov.f64 %x, 1; exit;", 2, 8, 1, 6, NULL},
    {"mov.f64 %x, 1; exit;", 2, 8, 2, 3, NULL},
    /* 300 threads are two vector instructions: issued 2 and 3 */
    {"mov.f64 %x, 1; exit;", 1, 300, 1, 4, NULL},
    /* one instruction of all slots in a cycle: the four movs of cycle 2 take until 5, done 6 */
    {"mov.f64 %x, 1; exit;", 4, 8, 4, 6, "issue_width=1"},
    /* shuffles of two slots on the only unit: 3 .. 11, 11 .. 19 */
    {"mov.f64 %x, 1; shfl.down.f64 %y, %x, 1; exit;", 2, 8, 2, 19, "pipelines=1"},
    /* two shuffles of a slot on two pipelines: issued 3 and 4, done 12 */
    {"mov.f64 %x, 1; shfl.down.f64 %y, %x, 1; shfl.up.f64 %x, %x, 1; exit;", 1, 8, 1, 12, NULL},
    /* the same where the lanes at work count: four of eight; 2, 3, 4, the shuffle 5 .. 9 */
    {"mov.f64 %x, 1; setp.lt.s32 %p, $tid, 4; mov.f64 %y, 0; @%p shfl.down.f64 %y, %x, 1; exit;", 1,
     8, 1, 9, "complex_by=active"},
    /* with a cache the line is not in: all of it, 8 cycles, and 96 more: 3 + 8 + 96 + 32 */
    {"ld.global.f64 %x, [a + $tid]; exit;", 1, 8, 1, 139, "cache_kib=16"},
    /* two cores beside each other; four warps are two for each, three one more for one */
    {"mov.f64 %x, 1; exit;", 2, 8, 1, 3, "cores=2"},
    {"mov.f64 %x, 1; exit;", 4, 8, 1, 6, "cores=2"},
    {"mov.f64 %x, 1; exit;", 3, 8, 1, 6, "cores=2,assign=steal"},
    /* each shuffles on its own unit */
    {"mov.f64 %x, 1; shfl.down.f64 %y, %x, 1; exit;", 2, 8, 1, 11, "cores=2,pipelines=1"},
    /* the same line for both by one controller: 7 and 11, and latency: 43 */
    {"ld.global.f64 %x, [a + $tid]; exit;", 2, 8, 1, 43, "cores=2"},
    /* in the cache for both: the second finds it there, and has not to wait for the miss */
    {"ld.global.f64 %x, [a + $tid]; exit;", 2, 8, 1, 139, "cores=2,cache_kib=16"},
};

static vs_case *case_of(bench *b, const vr_program *p, int32_t warps, int32_t threads) {
    enum { ELEMENTS = 4096 };
    vs_case *k = BORG_NEW(&b->arena, 1, vs_case);
    k->nwarps = warps;
    k->warps = BORG_NEW(&b->arena, warps, vs_warp);
    for (int32_t i = 0; i < warps; ++i) k->warps[i] = (vs_warp){i, threads};
    k->args = BORG_NEW(&b->arena, p->nparams + 1, vs_arg);
    k->memory.arrays = BORG_NEW(&b->arena, p->nparams + 1, vs_array);
    for (int32_t i = 0; i < p->nparams; ++i) {
        k->args[i].array = i;
        k->memory.arrays[k->memory.count++] = (vs_array){
            p->params[i].name, p->params[i].type, ELEMENTS, borg_alloc(&b->arena, ELEMENTS, 8), 0};
    }
    vs_place_arrays(&k->memory);
    return k;
}

static void set(bench *b, vs_machine *m, const char *setting) {
    vs_machine_init(m);
    if (!setting) return;
    char *copy = borg_copy_text(&b->arena, setting, strlen(setting)), *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *equal = strchr(word, '=');
        *equal = '\0';
        assert_null(vs_machine_set(m, word, equal + 1, &b->arena));
    }
}

static void by_hand(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hands / sizeof *hands; ++i) {
        const hand *h = &hands[i];
        bench b;
        vs_machine m;
        vs_trace trace = {0};
        vs_times times;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p = assembled(&b, borg_format(&b.arena, "%s%s\n}\n", head, h->body));
        vs_case *k = case_of(&b, p, h->warps, h->threads);
        set(&b, &m, h->setting);
        vs_engine *e = vs_engine_new(p, m.lanes, h->threads, &k->memory, k->args, &b.diags);
        for (int32_t w = 0; w < h->warps; ++w) assert_true(vs_run(e, &k->warps[w], 1, &trace) > 0);
        assert_true(vs_replay(&m, p, &trace, NULL, 0, h->slots, &times, NULL, &b.diags));
        if (times.cycles != h->cycles)
            fail_msg("%s: %lld cycles, by hand %lld", h->body, (long long)times.cycles,
                     (long long)h->cycles);
        bench_close(&b);
    }
}

/* Each core loads the same lines: they are brought in once, as the cache is shared; more cores are
 * faster where memory has enough for all. */
static void cores(void **state) {
    (void)state;
    static const char body[] = "ld.global.f64 %x, [a + $tid]; add.f64 %x, %x, 1; exit;";
    int64_t before = INT64_MAX;
    for (int32_t n = 1; n <= 8; n *= 2) {
        bench b;
        vs_machine m;
        vs_trace trace = {0};
        vs_times times;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p = assembled(&b, borg_format(&b.arena, "%s%s\n}\n", head, body));
        vs_case *k = case_of(&b, p, 16, 256);
        set(&b, &m, borg_format(&b.arena, "cores=%d,cache_kib=1024,bandwidth=10000", n));
        vs_engine *e = vs_engine_new(p, m.lanes, 256, &k->memory, k->args, &b.diags);
        for (int32_t w = 0; w < 16; ++w) assert_true(vs_run(e, &k->warps[w], 1, &trace) > 0);
        assert_true(vs_replay(&m, p, &trace, NULL, 0, 1, &times, NULL, &b.diags));
        assert_int_equal(times.misses, 256 * 8 / m.line_bytes);
        assert_int_equal(times.lookups, 16 * times.misses);
        assert_int_equal(times.units[VS_PORT], n * m.ports);
        assert_int_equal(times.issued, 32);
        assert_true(times.cycles < before && times.cycles >= times.bound_path);
        before = times.cycles;
        bench_close(&b);
    }
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* A machine of random numbers. */
static void any_machine(vs_machine *m, uint64_t *state) {
    vs_machine_init(m);
    m->lanes = 8 << draw(state, 6);
    m->pipelines = 1 + (int32_t)draw(state, 8);
    m->fma_units = (int32_t)draw(state, 3);
    m->fma_alu_units = 1 + (int32_t)draw(state, 2);
    m->alu_store_units = 1 + (int32_t)draw(state, 2);
    m->issue_width = 1 + (int32_t)draw(state, 6);
    m->fetch_rate = 1 + (int32_t)draw(state, 3);
    m->buffer = 1 + (int32_t)draw(state, 40);
    m->ports = 1 + (int32_t)draw(state, 4);
    m->load_latency = 1 + (int32_t)draw(state, 200);
    m->memory_queue = 1 + (int32_t)draw(state, 40);
    m->controllers = 1 + (int32_t)draw(state, 8);
    m->granule_bytes = 8 << draw(state, 5);
    m->bandwidth = 4 + draw(state, 200);
    m->cache_kib = draw(state, 2) ? 0 : 64;
    m->access = (int32_t)draw(state, 3);
    m->dispatch = (int32_t)draw(state, 2);
    m->policy = (int32_t)draw(state, 2);
    m->complex_by = (int32_t)draw(state, 2);
    m->assign = (int32_t)draw(state, 3);
    m->branch_cycles = 1 + (int32_t)draw(state, 3);
    m->complex_lanes = 1 << draw(state, 4);
    m->cores = 1 + (int32_t)draw(state, 3);
}

static vs_matrix any_matrix(bench *b, int32_t rows, int32_t cols, uint64_t *state) {
    vs_matrix a = {.nrows = rows, .ncols = cols};
    int32_t most = 1 + (int32_t)draw(state, (uint32_t)cols);
    a.row = BORG_NEW(&b->arena, rows + 1, int64_t);
    a.col = BORG_NEW(&b->arena, rows * cols, int32_t);
    a.val = BORG_NEW(&b->arena, rows * cols, double);
    int64_t at = 0;
    for (int32_t i = 0; i < rows; ++i) {
        int32_t n = (int32_t)draw(state, (uint32_t)most + 1);
        for (int32_t k = 0; k < n; ++k, ++at) {
            a.col[at] = (int32_t)draw(state, (uint32_t)cols);
            a.val[at] = (double)draw(state, 2000) / 256 - 3;
        }
        a.row[i + 1] = at;
    }
    return a;
}

/* cycles >= work / units, bytes / bandwidth, the longest chain; values right; twice the same, by
 * two threads and by one. */
static void bounds(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 60; ++round) {
        static const int64_t thresholds[] = {VS_NO_PACKING, 0, 8, 100};
        static const int32_t slots[] = {1, 2, 3, 8};
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p = assembled(&b, file_text(&b, "kernels/spmv.vrptx"));
        vs_matrix a =
            any_matrix(&b, 1 + (int32_t)draw(&random, 40), 1 + (int32_t)draw(&random, 90), &random);
        if (a.row[a.nrows] == 0) a.row[a.nrows] = 1;
        vs_source source = vs_source_matrix(&a, (vs_rows){0});
        vs_sweep_options o = {.thresholds = thresholds,
                              .nthresholds = 4,
                              .slots = slots,
                              .nslots = 4,
                              .orders = 2,
                              .seed = (uint64_t)round,
                              .sort = (vs_sort)draw(&random, 3),
                              .threads = 2};
        any_machine(&o.machine, &random);
        o.machine.vector_registers = o.machine.mask_registers = 4096;
        vs_sweep *s = vs_run_sweep(&source, p, &o, 50, &b.diags);
        if (!s) fail_msg("%s", messages_of(&b));
        o.threads = 1;
        vs_sweep *again = vs_run_sweep(&source, p, &o, 0, &b.diags);
        assert_true(s->worst_error <= 1 && s->values == 2 * 4 * a.nrows);
        for (int32_t i = 0; i < s->nsettings; ++i) {
            const vs_setting *x = &s->settings[i];
            assert_null(x->impossible);
            assert_true(x->cycles.least > 0 && x->bound > 0);
            assert_true(x->cycles.mean >= x->bounds[0] && x->cycles.mean >= x->bounds[1]);
            assert_true(x->cycles.mean >= x->bounds[2]);
            assert_true(x->utilisation.most <= 1 && x->busy[VS_PORT] <= 1);
            double stalls = 0;
            for (int k = 0; k < VS_STALLS; ++k) stalls += x->stalls[k];
            assert_true(stalls >= 0 && stalls <= 1 + 1e-9);
            assert_memory_equal(x, &again->settings[i], offsetof(vs_setting, impossible));
            assert_memory_equal(&x->cycles, &again->settings[i].cycles,
                                sizeof *x - offsetof(vs_setting, cycles));
        }
        bench_close(&b);
    }
}

/* ---- what cannot go on ----------------------------------------------------------------------- */

/* No unit that divides: who waits for what is told. */
static void no_unit(void **state) {
    (void)state;
    bench b;
    vs_machine m;
    vs_trace trace = {0};
    vs_times times;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(
        &b, borg_format(&b.arena, "%s%s\n}\n", head, "mov.f64 %x, 1; add.f64 %x, %x, 1; exit;"));
    vs_case *k = case_of(&b, p, 1, 4);
    set(&b, &m, "fma_units=0");
    m.fma_alu_units = 0;
    vs_engine *e = vs_engine_new(p, m.lanes, 4, &k->memory, k->args, &b.diags);
    assert_true(vs_run(e, k->warps, 1, &trace) > 0);
    assert_false(vs_replay(&m, p, &trace, NULL, 0, 1, &times, NULL, &b.diags));
    assert_true(has(messages_of(&b), "deadlock in cycle"));
    assert_true(
        has(messages_of(&b), "slot 0 (partition 0) waits in line 4 for a unit of class fma"));
    bench_close(&b);
}

/* Stages: the second waits for the first. */
static void stages(void **state) {
    (void)state;
    bench b;
    vs_machine m;
    vs_trace trace = {0};
    vs_times one, two;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p =
        assembled(&b, borg_format(&b.arena, "%s%s\n}\n", head, "mov.f64 %x, 1; exit;"));
    vs_case *k = case_of(&b, p, 2, 4);
    vs_machine_init(&m);
    vs_engine *e = vs_engine_new(p, m.lanes, 4, &k->memory, k->args, &b.diags);
    for (int i = 0; i < 2; ++i) assert_true(vs_run(e, &k->warps[i], 1, &trace) > 0);
    static const int32_t ends[] = {1, 2};
    assert_true(vs_replay(&m, p, &trace, NULL, 0, 2, &one, NULL, &b.diags));
    assert_true(vs_replay(&m, p, &trace, ends, 2, 2, &two, NULL, &b.diags));
    assert_int_equal(one.cycles, 3);
    assert_int_equal(two.cycles, 6);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cores), cmocka_unit_test(by_hand),
                                       cmocka_unit_test(bounds), cmocka_unit_test(no_unit),
                                       cmocka_unit_test(stages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
