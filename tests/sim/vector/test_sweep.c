/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing, machine files, files of warps and arrays, sweeps over settings, and the choice of
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support.h"
#include "sim/vector/rectangular.h"

/* ---- packing --------------------------------------------------------------------------------- */

/* Sizes 1, 2 | 3, 4 | 5 .. 8 | 9 .. 16 have 1, 1 | 2, 2 | 3 | 4 turns of 10 instructions. */
static vs_counts counts_of(int64_t *of) {
    for (int s = 1, turns = 0; s <= 16; ++s) {
        while (1 << turns < s) ++turns;
        of[s] = 5 + 10 * turns;
    }
    return (vs_counts){.most = 16, .of = of};
}

static void packing(void **state) {
    (void)state;
    static const int32_t sizes[] = {9, 2, 16, 3, 12, 2, 8, 4, 5, 1};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    static const struct {
        int64_t threshold;
        vs_sort sort;
        const char *wids; /* by partition, as first fit in 16 lanes gives them */
    } list[] = {
        {VS_NO_PACKING, VS_AS_GIVEN, "0|1|2|3|4|5|6|7|8|9|"},
        {0, VS_AS_GIVEN, "0|1 5|2|3 7|4|6 8|9|"},
        {10, VS_AS_GIVEN, "0|1 5 9|2|3 6 7|4|8|"},
        {100, VS_AS_GIVEN, "0 1 3 5|2|4 7|6 8 9|"},
        {100, VS_FALLING, "2|4 7|0 8 1|6 3 5 9|"},
        {100, VS_RISING, "9 1 5 3 7|8 6|0|4|2|"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        bench b;
        int64_t of[17] = {0};
        vs_warp warps[COUNT];
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        vs_counts counts = counts_of(of);
        for (int32_t k = 0; k < COUNT; ++k) warps[k] = (vs_warp){k, sizes[k]};
        vs_packing *p =
            vs_pack(warps, COUNT, &counts, 16, list[i].threshold, list[i].sort, &b.arena);
        borg_sink text = {.arena = &b.arena};
        for (int32_t k = 0; k < p->nparts; ++k) {
            int32_t threads = 0;
            for (int32_t w = 0; w < p->parts[k].count; ++w) {
                const vs_warp *x = &p->warps[p->parts[k].first + w];
                assert_int_equal(x->ntids, sizes[x->wid]);
                threads += x->ntids;
                borg_put(&text, "%s%d", w ? " " : "", x->wid);
            }
            assert_int_equal(threads, p->parts[k].threads);
            assert_true(threads <= 16);
            borg_put(&text, "|");
        }
        if (strcmp(text.text, list[i].wids))
            fail_msg("case %d: %s, not %s", (int)i, text.text, list[i].wids);
        bench_close(&b);
    }
}

/* A loop over the size; then, where x[wid] is positive, turns of three instructions until it is
 * used up: by lot the sizes differ by their loops alone, whatever the arrays hold; all warps and
 * the first one count as they run. A kernel without branches on data is counted as it is. */
static void estimates(void **state) {
    (void)state;
    static const char head[] = ".entry k (.param .ptr.f64 x, .param .ptr.f64 b) {\n"
                               ".reg .f64 %v; .reg .b32 %s; .reg .pred %p;\nmov.b32 %s, 0;\n"
                               "l: add.s32 %s, %s, 1; setp.lt.s32 %p, %s, $ntids; @%p allbra l;\n";
    static const char data[] =
        "ld.global.f64 %v, [x + $wid]; setp.le.f64 %p, %v, 0; @%p allbra m;\n"
        "t: sub.f64 %v, %v, 1; setp.gt.f64 %p, %v, 0; @%p allbra t;\nm:";
    static const char tail[] = "st.global.f64 [b + $wid], 1; exit; }";
    double x[9] = {0, 5, 2, 8, 0, 1, 0, 30, 1}, b[9];
    static const int32_t sizes[9] = {3, 3, 3, 3, 7, 7, 1, 12, 12};
    vs_warp warps[9];
    for (int i = 0; i < 9; ++i) warps[i] = (vs_warp){i, sizes[i]};
    for (int with = 0; with < 2; ++with) {
        bench t;
        bench_open(&t, 0);
        if (setjmp(t.arena.oom)) fail();
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s", head, with ? data : "", tail);
        vs_array arrays[] = {{"x", VR_F64, 9, x, 0}, {"b", VR_F64, 9, b, 0}};
        vs_memory memory = {2, arrays};
        const vs_arg args[] = {{.array = 0}, {.array = 1}};
        vs_place_arrays(&memory);
        const vr_program *p = assembled(&t, text);
        vs_engine *e = vs_engine_new(p, 16, 16, &memory, args, &t.diags);
        memset(b, 0, sizeof b);
        const vs_counts *lot = vs_count(e, warps, 9, VS_BY_LOT, &t.arena);
        for (int i = 0; i < 9; ++i) assert_true(b[i] == 0); /* nothing is written */
        const vs_counts *all = vs_count(e, warps, 9, VS_BY_ALL, &t.arena);
        const vs_counts *first = vs_count(e, warps, 9, VS_BY_FIRST, &t.arena);
        assert_int_equal(lot->most, 12);
        assert_int_equal(lot->of[5], 0);
        for (int s = 0; s < 4; ++s) {
            static const int32_t list[] = {1, 3, 7, 12};
            const int64_t known = 1 + 3 * list[s] + 2; /* without the data's branches */
            assert_int_equal(lot->of[list[s]] - known, lot->of[1] - 6);
            if (!with) assert_int_equal(lot->of[list[s]], known);
            if (!with) assert_int_equal(all->of[list[s]], known);
            if (!with) assert_int_equal(first->of[list[s]], known);
        }
        if (with) { /* half of them pass by; two turns in the mean */
            assert_in_range(lot->of[1] - 6, 3 + 1, 3 + 6);
            assert_int_equal(first->of[3], 12 + 3);
            assert_int_equal(all->of[3], 12 + 3 + 3 * (0 + 5 + 2 + 8) / 4);
            assert_int_equal(first->of[12], 39 + 3 + 90);
            assert_int_equal(all->of[12], 39 + 3 + (90 + 3 + 1) / 2);
        }
        bench_close(&t);
    }
}

/* The same everywhere. */
static void shuffling(void **state) {
    (void)state;
    static const int32_t want[] = {4, 3, 2, 7, 5, 6, 0, 1};
    int32_t order[8], seen = 0;
    vs_shuffle(order, 8, 1);
    for (int k = 0; k < 8; ++k) seen |= 1 << order[k];
    assert_int_equal(seen, 255);
    for (int k = 0; k < 8; ++k)
        if (order[k] != want[k])
            fail_msg("%d %d %d %d %d %d %d %d", order[0], order[1], order[2], order[3], order[4],
                     order[5], order[6], order[7]);
}

/* ---- machines -------------------------------------------------------------------------------- */

static void machines(void **state) {
    (void)state;
    static const char *const files[] = {"aurora", "riscv-v", "avx512"};
    static const struct {
        const char *text, *told;
    } wrong[] = {
        {"lanes = 0\n", "m:1:1: error: lanes = '0': expected 1 to 4096"},
        {"\n  lanes = 12x # no\n", "m:2:3: error: lanes = '12x'"},
        {"lane = 1\n", "a machine has no 'lane'"},
        {"lanes 256\n", "m:1:1: error: expected name = value"},
        {"access = all\n", "access is spans or lanes or stride, not 'all'"},
        {"dispatch = x\n", "dispatch is pipeline or striped, not 'x'"},
        {"bandwidth = nan\n", "bandwidth = 'nan'"},
        {"bandwidth = 1e9\n", "expected a number from 0.001 to 1e6"},
        {"name = a\"b\n", "name has 1 to 63 characters"},
        {"lanes = 99999999999999999999\n", "lanes = '99999999999999999999'"},
        {"cache_kib = 1\n", "cache_kib has no room for cache_ways lines"},
    };
    for (int k = 0; k < 3; ++k) {
        bench b;
        vs_machine m, again;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const char *text = file_text(&b, borg_format(&b.arena, "machines/%s.conf", files[k]));
        vs_machine_init(&m);
        if (!vs_machine_read(&m, files[k], text, strlen(text), &b.diags))
            fail_msg("%s", messages_of(&b));
        borg_sink printed = {.arena = &b.arena};
        vs_machine_print(&m, &printed);
        vs_machine_init(&again);
        strcpy(again.name, "other");
        again.lanes = 7;
        assert_true(vs_machine_read(&again, "m", printed.text, printed.length, &b.diags));
        assert_memory_equal(&m, &again, sizeof m);
        vs_machine_init(&again);
        assert_true((memcmp(&m, &again, sizeof m) == 0) ==
                    (k == 0)); /* aurora.conf is the default */
        bench_close(&b);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        bench b;
        vs_machine m;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        vs_machine_init(&m);
        assert_false(vs_machine_read(&m, "m", wrong[k].text, strlen(wrong[k].text), &b.diags));
        if (!has(messages_of(&b), wrong[k].told)) fail_msg("%s", messages_of(&b));
        bench_close(&b);
    }
}

/* ---- sweeps on files of warps ---------------------------------------------------------------- */

/* L = [2; 1 4; 0 3 5; 1 0 2 2], b = (2, 9, 11, 14): x = (1, 2, 1, 5.5); levels {0}, {1}, {2},
 * {3}. */
static const char triangle[] = "array row b32 4 0 1 2 3\n"
                               "array l_row b32 5 0 1 3 5 8\n"
                               "array l_col b32 8  0  0 1  1 2  0 2 3\n"
                               "array l_val f64 8  2  1 4  3 5  1 2 2 # by rows\n"
                               "array x f64 4  2 9 11 14\n"
                               "warps 1\nwarps 2\nwarps 2\nwarps 3\n"
                               "expect x 1e-14  1 2 1 5.5\n";

/* C = [1 2; 3 4] - [1; 2] 3 [1 1], and 5 - [1 1] diag(1, 2) [4; 1]. */
static const char blocks[] = "array m b32 2 2 1 array k b32 2 1 2\n"
                             "array a_at b32 2 0 2 array d_at b32 2 0 1\n"
                             "array b_at b32 2 0 2 array c_at b32 2 0 4\n"
                             "array a f64 4 1 2 1 1  array d f64 3 3 1 2\n"
                             "array b f64 4 1 1 4 1  array c f64 5 1 2 3 4 5\n"
                             "warps 2 1  expect c 0 -2 -1 -3 -2 -1\n";

/* T = [2; 1 4] by columns: w = (1/2, -1/8); T = [4]: w = 1/4. */
static const char columns[] = "array t_at b32 2 0 3 array w_at b32 2 0 2\n"
                              "array t f64 4 2 1 4 4 array w f64 3 0\n"
                              "warps 2 1 expect w 0 0.5 -0.125 0.25\n";

static vs_sweep *sweep_of(bench *b, const char *kernel, const char *list, vs_sweep_options *o) {
    static const int64_t thresholds[] = {VS_NO_PACKING, 0, 1000};
    static const int32_t slots[] = {1, 2};
    vs_source source = {0};
    const vr_program *p =
        assembled(b, file_text(b, borg_format(&b->arena, "kernels/%s.vrptx", kernel)));
    if (!vs_source_read(&source, "list", list, strlen(list), &b->diags)) return NULL;
    *o = (vs_sweep_options){.thresholds = thresholds,
                            .nthresholds = 3,
                            .slots = slots,
                            .nslots = 2,
                            .threads = 1,
                            .allocator = &b->allocator};
    vs_machine_init(&o->machine);
    return vs_run_sweep(&source, p, o, 0, &b->diags);
}

static void lists(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *list;
        int values;
    } good[] = {{"trisolve", triangle, 4}, {"downdate", blocks, 5}, {"isai", columns, 3}};
    for (size_t k = 0; k < sizeof good / sizeof *good; ++k) {
        bench b;
        vs_sweep_options o;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        vs_sweep *s = sweep_of(&b, good[k].kernel, good[k].list, &o);
        if (!s) fail_msg("%s", messages_of(&b));
        assert_int_equal(s->values, 3 * good[k].values);
        assert_true(s->worst_error <= 1);
        if (k == 0) assert_true(s->settings[0].partitions == 4);
        bench_close(&b);
    }
}

static void bad_lists(void **state) {
    (void)state;
    static const struct {
        const char *text, *told;
    } wrong[] = {
        {"", "there is no warp"},
        {"warp 1 2", "list:1:1: error: expected scalar, array, warps or expect"},
        {"warps", "a stage has at least one warp"},
        {"warps 0", "list:1:7: error: threads of a warp: expected an integer from 1 to 32768"},
        {"array t f64 2 1 2 3 warps 1", "list:1:19: error: more values than elements"},
        {"array t f64 3 1 2 warps 1", "'t' has 3 elements, 2 values are given"},
        {"array t f65 1 1", "expected b32, b64, f32 or f64"},
        {"array t f64 -1 1", "the number of elements"},
        {"array t f64 1 x", "expected a number"},
        {"array t b32 1 1 array t b32 1 1", "this name is there already"},
        {"expect t 0 1", "expected an array that was given before"},
        {"array t f64 1 1 expect t -1 1", "a tolerance is not negative"},
        {"array t_at b32 1 0 warps 1", "has no array 'w_at' of .b32"},
        {"array t_at b32 1 0 array w_at b32 1 0 array t f64 1 4 array w f64 1 0 warps 1 expect w 0 "
         "0.3",
         "wrong result"},
        {"array t_at b32 1 9 array w_at b32 1 0 array t f64 1 4 array w f64 1 0 warps 1",
         "t[9] of 1 elements"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        bench b;
        vs_sweep_options o;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        assert_null(sweep_of(&b, "isai", wrong[k].text, &o));
        if (!has(messages_of(&b), wrong[k].told))
            fail_msg("%s:\n%s", wrong[k].text, messages_of(&b));
        bench_close(&b);
    }
}

/* A kernel for warps of two, one for warps of four, one for the others: which may not share a
 * partition, though they have as many instructions. */
static void kernels_by_size(void **state) {
    (void)state;
    static const char kernel[] = ".entry two (.param .ptr.b32 o) .ntids 2 { .reg .b32 %x; mov.b32 "
                                 "%x, 2; l: st.global.b32 [o + $wid], %x; exit; }\n"
                                 ".entry any (.param .ptr.b32 o) { .reg .b32 %x; mov.b32 %x, 9; l: "
                                 "st.global.b32 [o + $wid], %x; exit; }\n"
                                 ".entry four (.param .ptr.b32 o) .ntids 4 { .reg .b32 %y; mov.b32 "
                                 "%y, 4; st.global.b32 [o + $wid], %y; exit; }\n";
    static const char list[] = "array o b32 7 0 warps 2 4 3 2 5 4 3 expect o 0 2 4 9 2 9 4 9";
    static const int64_t thresholds[] = {VS_NO_PACKING, 0, 1000};
    static const int32_t slots[] = {2};
    bench b;
    vs_source source = {0};
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(&b, kernel);
    assert_int_equal(p->nentries, 3);
    assert_true(vr_entry_for(p, 2) == 0 && vr_entry_for(p, 4) == 2 && vr_entry_for(p, 5) == 1);
    borg_sink once = {.arena = &b.arena}, twice = {.arena = &b.arena};
    vr_print(p, &once);
    vr_print(assembled(&b, once.text), &twice);
    assert_string_equal(once.text, twice.text);
    assert_true(vs_source_read(&source, "list", list, strlen(list), &b.diags));
    vs_sweep_options o = {
        .thresholds = thresholds, .nthresholds = 3, .slots = slots, .nslots = 1, .threads = 1};
    vs_machine_init(&o.machine);
    vs_sweep *s = vs_run_sweep(&source, p, &o, 0, &b.diags);
    if (!s) fail_msg("%s", messages_of(&b));
    assert_true(s->settings[0].partitions == 7 && s->settings[1].partitions == 3 &&
                s->settings[2].partitions == 3);
    /* without the one for all others */
    p = assembled(&b,
                  ".entry two (.param .ptr.b32 o) .ntids 2 { st.global.b32 [o + $wid], 2; exit; }");
    assert_null(vs_run_sweep(&source, p, &o, 0, &b.diags));
    assert_true(has(messages_of(&b), "there is no kernel for warps of 4 threads"));
    bench_close(&b);
}

/* ---- limits, choice, memory ------------------------------------------------------------------ */

static vs_matrix rows_of(bench *b, int32_t rows, int32_t most) {
    vs_matrix a = {.nrows = rows, .ncols = most};
    a.row = BORG_NEW(&b->arena, rows + 1, int64_t);
    a.col = BORG_NEW(&b->arena, rows * most, int32_t);
    a.val = BORG_NEW(&b->arena, rows * most, double);
    int64_t at = 0;
    for (int32_t i = 0; i < rows; ++i) {
        for (int32_t k = 0; k <= i * 5 % most; ++k, ++at) {
            a.col[at] = k;
            a.val[at] = 1.0 / (1 + i + k);
        }
        a.row[i + 1] = at;
    }
    return a;
}

/* Registers and slots over a limit, by name; what is possible is computed all the same. */
static void limits(void **state) {
    (void)state;
    static const int64_t none[] = {VS_NO_PACKING};
    static const int32_t slots[] = {2, 40};
    bench b;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(&b, file_text(&b, "kernels/spmv.vrptx"));
    vs_matrix a = rows_of(&b, 12, 90);
    vs_source source = vs_source_matrix(&a, (vs_rows){0});
    vs_sweep_options o = {
        .thresholds = none, .nthresholds = 1, .slots = slots, .nslots = 2, .threads = 1};
    vs_machine_init(&o.machine);
    vs_sweep *s = vs_run_sweep(&source, p, &o, 0, &b.diags);
    assert_non_null(s);
    assert_int_equal(s->most_slots, 8); /* 16 masks, two a slot */
    assert_null(s->settings[0].impossible);
    assert_true(has(s->settings[1].impossible, "slots = 40") &&
                has(s->settings[1].impossible, "16 mask"));
    o.machine.vector_registers = 7;
    assert_null(vs_run_sweep(&source, p, &o, 0, &b.diags));
    assert_true(has(messages_of(&b),
                    "a slot needs 8 vector registers (8 values of 1 each), vector_registers = 7"));
    /* 56 threads are fourteen strips of four lanes */
    o.machine.vector_registers = 256;
    o.machine.lanes = 4;
    assert_null(vs_run_sweep(&source, p, &o, 0, &b.diags));
    assert_true(has(messages_of(&b), "mask registers (2 of "));
    bench_close(&b);
}

/* What is chosen on a sample is within a tenth of the best of all settings. */
static void choice(void **state) {
    (void)state;
    static const int64_t thresholds[] = {VS_NO_PACKING, 0, 8, 16, 24, 32, 40, 48};
    static const int32_t slots[] = {1, 2, 4, 8};
    bench b;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(&b, file_text(&b, "kernels/spmv.vrptx"));
    vs_matrix a = rows_of(&b, 400, 60);
    vs_source source = vs_source_matrix(&a, (vs_rows){0});
    vs_sweep_options o = {
        .thresholds = thresholds, .nthresholds = 8, .slots = slots, .nslots = 4, .threads = 1};
    vs_machine_init(&o.machine);
    vs_sweep *s = vs_run_sweep(&source, p, &o, 0, &b.diags);
    int64_t threshold = VS_AUTO;
    int32_t chosen = 0;
    assert_true(vs_choose(&source, p, &o, 100, &threshold, &chosen, &b.diags));
    o.thresholds = &threshold;
    o.slots = &chosen;
    o.nthresholds = o.nslots = 1;
    vs_sweep *own = vs_run_sweep(&source, p, &o, 0, &b.diags);
    assert_true(own->settings[0].cycles.mean <= 1.1 * s->settings[s->best].cycles.mean);
    bench_close(&b);
}

/* Fixed warps, capped ones and a row a lane give the same product. */
static void ways(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        vs_rows rows;
    } list[] = {{"spmv", {0}},
                {"spmv_masked", {0}},
                {"spmv_loop_masked", {.most = 9}},
                {"spmv_masked", {0}},
                {"spmv_loop", {0}},
                {"spmv_loop", {.most = 7}},
                {"spmv_loop", {.threads = 32}},
                {"spmv_rows", {.threads = 16, .by_lane = true}}};
    static const int64_t thresholds[] = {VS_NO_PACKING, 0, 1000};
    static const int32_t slots[] = {2};
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p =
            assembled(&b, file_text(&b, borg_format(&b.arena, "kernels/%s.vrptx", list[k].kernel)));
        vs_matrix a = rows_of(&b, 90, 50);
        vs_source source = vs_source_matrix(&a, list[k].rows);
        vs_sweep_options o = {.thresholds = thresholds,
                              .nthresholds = 3,
                              .slots = slots,
                              .nslots = 1,
                              .orders = 2,
                              .seed = 3,
                              .threads = 1};
        vs_machine_init(&o.machine);
        vs_sweep *s = vs_run_sweep(&source, p, &o, 0, &b.diags);
        if (!s) fail_msg("%s: %s", list[k].kernel, messages_of(&b));
        assert_int_equal(s->values, 2 * 3 * 90);
        bench_close(&b);
    }
}

/* Chunk by chunk, memory fails everywhere once; always the same end: a jump to the caller. */
static void no_memory(void **state) {
    (void)state;
    volatile int failures = 0;
    for (volatile int k = 1; k < 40; ++k) {
        bench b;
        vs_sweep_options o;
        volatile bool done = false;
        bench_open(&b, k);
        if (setjmp(b.arena.oom)) {
            ++failures;
        } else {
            done = sweep_of(&b, "downdate", blocks, &o) != NULL;
            assert_true(done);
        }
        bench_close(&b);
        if (done) break;
    }
    assert_true(failures >= 3);
}

static void rectangular(void **state) {
    (void)state;
    static const char good[] =
        "%%MatrixMarket matrix coordinate real general\n% text\n2 3 3\n1 3 2.5\n2 1 -1\n1 1 4\n";
    static const struct {
        const char *text, *told;
    } wrong[] = {
        {"%%MatrixMarket matrix coordinate complex general\n2 3 1\n1 1 1 1\n",
         "values are real, integer or a pattern"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 1\n3 1 1\n",
         "m:3:1: error: no row of the matrix"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 4 1\n",
         "m:3:3: error: no column"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 1\n", "entries are missing"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 inf\n", "not a finite number"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 999999999\n1 2 1\n",
         "more entries than the file has bytes"},
    };
    bench b;
    vs_matrix a;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    assert_true(vs_is_rectangular(good, strlen(good)));
    assert_false(vs_is_rectangular("%%MatrixMarket matrix coordinate real general\n3 3 1\n", 52));
    assert_true(vs_matrix_read(&a, "m", good, strlen(good), &b.diags));
    assert_true(a.nrows == 2 && a.ncols == 3 && a.row[1] == 2 && a.row[2] == 3);
    assert_true(a.col[0] == 2 && a.val[0] == 2.5 && a.col[2] == 0 && a.val[2] == -1);
    vs_matrix part = vs_matrix_part(&a, (int64_t[]){0, 1}, (int64_t[]){1, 3}, &b.arena);
    assert_true(part.nrows == 1 && part.ncols == 2 && part.row[1] == 1 && part.col[0] == 1);
    bench_close(&b);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        assert_false(vs_matrix_read(&a, "m", wrong[k].text, strlen(wrong[k].text), &b.diags));
        if (!has(messages_of(&b), wrong[k].told)) fail_msg("%s", messages_of(&b));
        bench_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates),   cmocka_unit_test(packing),
        cmocka_unit_test(shuffling),   cmocka_unit_test(machines),
        cmocka_unit_test(lists),       cmocka_unit_test(bad_lists),
        cmocka_unit_test(limits),      cmocka_unit_test(choice),
        cmocka_unit_test(ways),        cmocka_unit_test(no_memory),
        cmocka_unit_test(rectangular), cmocka_unit_test(kernels_by_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
