/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend vrptx: each kernel of the library, and those of tests/borg, assembled and run warp by
 * warp and with all warps in one partition, bit for bit beside the interpreter (strict; all NaN are
 * equal). The table of what came of each is in docs/design/vector-core.md: BORG_VRPTX=table prints
 * it; BORG_SIZE=n: kernels of this size alone. Random kernels likewise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../sanitized.h"
#include "variants.h"
#include "generate.h"
#include "sim/vector/timing.h"

enum { LANES = 256, GROUPS = 11, RANDOM_GROUPS = 5, RANDOM_MOST = 40 };

typedef struct outcome {
    const char *refused; /* why the compiler or the assembler did not make it; NULL: it did */
    int32_t instructions;
    vr_needs needs;
    int64_t executed;
    /* packed, in one slot, with the Aurora's 16 masks, with 5, with as many as it needs */
    int64_t cycles, few_cycles, free_cycles;
    vr_spills spills;
    int32_t vectors; /* registers of a slot then */
} outcome;

/* The program of a compiled kernel; NULL with the reason in `out`. */
static vr_program *assemble(borg_program *p, const borg_options *o, borg_diags *diags,
                            outcome *out) {
    const char *text;
    size_t length;
    if (borg_program_emit(p, o->backend, o, &text, &length) != BORG_OK) {
        out->refused = borg_program_messages(p);
        return NULL;
    }
    vr_program *program = vr_assemble("emitted", text, length, diags);
    if (!program) { /* what the backend writes is right: anything else is a fault */
        borg_sink messages = {.arena = diags->arena};
        borg_diags_print(diags, &messages);
        fail_msg("%s", messages.text);
    }
    borg_sink once = {.arena = diags->arena}, twice = {.arena = diags->arena};
    vr_print(program, &once);
    vr_program *again = vr_assemble("printed", once.text, once.length, diags);
    assert_non_null(again);
    vr_print(again, &twice);
    assert_string_equal(once.text, twice.text);
    return program;
}

/* Run `groups` groups on the arguments, `together` of them in a partition. */
static int64_t run(const vr_program *program, int32_t size, int groups, int together,
                   const borg_module *m, void *const *data, const int64_t *count,
                   const uint64_t *scalar, vs_trace *trace, borg_diags *diags) {
    static const vr_type types[] = {VR_B32, VR_B32, VR_B32, VR_B64, VR_F32, VR_F64, VR_B64};
    vs_array arrays[MOST_PARAMS];
    vs_arg args[MOST_PARAMS] = {{0}};
    vs_memory memory = {0, arrays};
    vs_warp warps[64];
    int64_t executed = 0;
    for (int i = 0; i < m->nparams; ++i) {
        args[i].bits = scalar[i];
        if (!data[i]) continue;
        args[i].array = memory.count;
        arrays[memory.count++] =
            (vs_array){m->params[i].name, types[m->params[i].elem], count[i], data[i], 0};
    }
    vs_place_arrays(&memory);
    vs_engine *e = vs_engine_new(program, LANES, size * together, &memory, args, diags);
    for (int g = 0; g < groups; g += together) {
        int n = groups - g < together ? groups - g : together;
        for (int k = 0; k < n; ++k) warps[k] = (vs_warp){g + k, size};
        int64_t steps = vs_run(e, warps, n, trace);
        if (steps < 0) {
            borg_sink messages = {.arena = diags->arena};
            borg_diags_print(diags, &messages);
            print_message("%s", messages.text);
            return -1;
        }
        executed += steps;
    }
    return executed;
}

/* Bits of one run beside the interpreter's. */
static bool same_run(const variant *v, const vr_program *program, int together, vs_trace *trace,
                     int64_t *executed, borg_diags *diags) {
    const borg_module *m = v->program->units[0].module;
    arguments want, got;
    fill(v, &want);
    fill(v, &got);
    interpret(v, &want);
    *executed = run(program, v->size, (int)groups_of(v), together, m, got.data, got.count,
                    got.scalar, trace, diags);
    bool good = *executed >= 0;
    for (int i = 0; i < m->nparams && good; ++i)
        good =
            !got.data[i] || difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]) < 0;
    release(&want);
    release(&got);
    return good;
}

static bool is_again(const vr_program *p, borg_diags *diags) {
    borg_sink text = {.arena = diags->arena};
    vr_print(p, &text);
    vr_program *again = vr_assemble("spilled", text.text, text.length, diags);
    return again && again->ninsts == p->ninsts && again->nregisters == p->nregisters;
}

/* Cycles of the Aurora with so many masks; 0: it has not the vector registers. */
static int64_t cycles_of(const vr_program *p, const vs_trace *trace, int32_t masks,
                         borg_diags *diags) {
    const char *why;
    vs_machine machine;
    vs_times times;
    vs_machine_init(&machine);
    machine.mask_registers = masks;
    vr_needs needs = vr_registers_needed(p, diags->arena);
    if (needs.vector_registers > machine.vector_registers) return 0;
    assert_true(vs_most_slots(&machine, &needs, 1, diags->arena, &why) >= 1);
    assert_true(vs_replay(&machine, p, trace, NULL, 1, 1, &times, NULL, diags));
    return times.cycles;
}

/* Predicates in vector registers, for 16 masks and for as few as go: the same bits, no more masks
 * than that; timed on 16. */
static bool same_spilled(const variant *v, const vr_program *program, int together, outcome *out,
                         borg_diags *diags) {
    const vr_needs needs = vr_registers_needed(program, diags->arena);
    vr_spills few;
    vs_trace trace = {0};
    int64_t executed;
    for (int32_t masks = 16; masks >= 5; masks -= 11) {
        const vr_program *q = vr_spill(program, masks, masks == 16 ? &out->spills : &few, diags);
        assert_non_null(q);
        const vr_needs now = vr_registers_needed(q, diags->arena);
        assert_true(now.mask_registers <= masks);
        assert_true(q == program ? needs.mask_registers <= masks : is_again(q, diags));
        vs_trace_reset(&trace);
        if (!same_run(v, q, together, &trace, &executed, diags)) return false;
        *(masks == 16 ? &out->cycles : &out->few_cycles) = cycles_of(q, &trace, masks, diags);
        if (masks == 16) out->vectors = now.vector_registers;
    }
    vs_trace_reset(&trace);
    if (!same_run(v, program, together, &trace, &executed, diags)) return false;
    out->free_cycles = cycles_of(program, &trace, 1 << 20, diags);
    return true;
}

static bool check_program(variant *v, const borg_options *o, outcome *out, borg_diags *diags) {
    const vr_program *program = assemble(v->program, o, diags, out);
    const int all = LANES / v->size < GROUPS ? LANES / v->size : GROUPS;
    if (!program) return true;
    out->instructions = program->ninsts;
    out->needs = vr_registers_needed(program, diags->arena);
    return same_run(v, program, 1, NULL, &out->executed, diags) &&
           same_spilled(v, program, all, out, diags);
}

/* One kernel in one size; false: other bits. */
static bool same_bits(variant *v, outcome *out) {
    borg_options o;
    borg_arena arena;
    memset(out, 0, sizeof *out);
    assert_true(compile_variant(v, &o, borg_backend_find("vrptx"), "tested"));
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_diags diags = {.arena = &arena};
    const bool good = check_program(v, &o, out, &diags);
    if (!good)
        print_message("vrptx: %s, size %d, %s: other bits\n", v->kernel, v->size,
                      v->single ? "float" : "double");
    borg_arena_free(&arena);
    return good;
}

/* In percent. */
static double more(int64_t cycles, int64_t than) {
    return than ? 100.0 * (double)(cycles - than) / (double)than : 0;
}

static void print_row(const variant *v, const outcome *out) {
    const char *table = getenv("BORG_VRPTX");
    if (!table || strcmp(table, "table") != 0) return;
    if (out->refused)
        printf("| %s | %d | %s | refused: %s |\n", v->kernel, v->size, v->single ? "s" : "d",
               out->refused);
    else
        printf(
            "| %s | %d | %s | %d | %d | %d | %d | %d + %d + %d | %d | %lld | %.1f %% | %.1f %% |\n",
            v->kernel, v->size, v->single ? "s" : "d", out->instructions,
            out->needs.vector_registers, out->needs.mask_registers, out->spills.predicates,
            out->spills.stores, out->spills.loads, out->spills.again, out->vectors,
            (long long)out->cycles, more(out->cycles, out->free_cycles),
            more(out->few_cycles, out->free_cycles));
}

static int check_kernels(const char *const *kernels, int count, const int *sizes, int nsizes) {
    int bad = 0;
    for (int k = 0; k < count; ++k)
        for (int s = 0; s < nsizes; ++s) {
            outcome out;
            variant v = {
                .kernel = kernels[k], .size = sizes[s], .pack = 1, .single = (k + s) % 3 == 1};
            if (!same_bits(&v, &out)) ++bad;
            print_row(&v, &out);
            assert_null(out.refused);
            borg_program_free(v.program);
        }
    return bad;
}

static void test_library(void **state) {
    const int sizes[] = {4, 3, 1, 8}, only = number("BORG_SIZE", 0);
    (void)state;
    int bad = only ? check_kernels(library_kernels, LIBRARY_KERNELS, &only, 1)
                   : check_kernels(library_kernels, LIBRARY_KERNELS, sizes, all_shapes() ? 4 : 2);
    assert_int_equal(bad, 0);
}

static void test_own(void **state) {
    static const char *const kernels[] = {
        "./kernels/votes",    "./kernels/turns",   "./kernels/locals",  "./kernels/zeros",
        "./kernels/partners", "./kernels/complex", "./kernels/absolute"};
    static const int sizes[] = {5, 8};
    (void)state;
    assert_int_equal(check_kernels(kernels, 7, sizes, 2), 0);
}

/* Sizes over one warp of 32, and a whole vector. */
static void test_wide(void **state) {
    static const char *const kernels[] = {"trsv", "gemm_ab"};
    static const int sizes[] = {33, 64};
    (void)state;
    assert_int_equal(check_kernels(kernels, 2, sizes, TEST_SANITIZED ? 1 : 2), 0);
}

/* Kernels of several sizes in one file, groups of these sizes in turn: each does what the
 * interpreter does with the module of its size, group by group. */
static void test_sizes(void **state) {
    static const char *const kernels[] = {"llt", "ldlt_partial"};
    static const int sizes[] = {3, 8, 4};
    (void)state;
    for (int k = 0; k < 2; ++k) {
        variant v[3];
        borg_options o;
        borg_arena arena;
        arguments want, got;
        const char *text;
        size_t length;
        borg_arena_init(&arena, NULL, 0);
        if (setjmp(arena.oom)) fail();
        borg_diags diags = {.arena = &arena};
        borg_sink all = {.arena = &arena};
        for (int i = 0; i < 3; ++i) {
            v[i] = (variant){.kernel = kernels[k], .size = sizes[i], .pack = 1};
            assert_true(compile_variant(&v[i], &o, borg_backend_find("vrptx"), "tested"));
            assert_int_equal(borg_program_emit(v[i].program, o.backend, &o, &text, &length),
                             BORG_OK);
            borg_put_text(&all, text, length);
        }
        vr_program *program = vr_assemble("sizes", all.text, all.length, &diags);
        assert_non_null(program);
        assert_int_equal(program->nentries, 3);
        fill(&v[1], &want);
        fill(&v[1], &got);
        vs_array arrays[MOST_PARAMS];
        vs_arg args[MOST_PARAMS] = {{0}};
        borg_arg list[MOST_PARAMS] = {{0}};
        vs_memory memory = {0, arrays};
        const borg_module *m = v[1].program->units[0].module;
        for (int i = 0; i < m->nparams; ++i) {
            vr_type type = m->params[i].elem == BORG_F64 ? VR_F64 : VR_B32;
            list[i] =
                (borg_arg){.bits = want.scalar[i], .data = want.data[i], .count = want.count[i]};
            args[i].bits = got.scalar[i];
            if (!got.data[i]) continue;
            args[i].array = memory.count;
            arrays[memory.count++] =
                (vs_array){m->params[i].name, type, got.count[i], got.data[i], 0};
        }
        vs_place_arrays(&memory);
        vs_engine *e = vs_engine_new(program, LANES, 8, &memory, args, &diags);
        for (int g = 0; g < 9; ++g) {
            const vs_warp warp = {g, sizes[g % 3]};
            assert_true(vs_run(e, &warp, 1, NULL) > 0);
            assert_true(borg_interpret(v[g % 3].program->units[0].module, NULL, list, g, g + 1, 0,
                                       &v[0].program->diags));
        }
        for (int i = 0; i < m->nparams; ++i)
            if (got.data[i])
                assert_true(difference(&m->params[i], want.data[i], got.data[i], got.bytes[i]) < 0);
        release(&want);
        release(&got);
        for (int i = 0; i < 3; ++i) borg_program_free(v[i].program);
        borg_arena_free(&arena);
    }
}

/* A pack is for the machine to make. */
static void test_pack(void **state) {
    static const char *const defines[] = {NULL};
    const char *text;
    size_t length;
    borg_options o = {.size = 4,
                      .pack = 2,
                      .strict = true,
                      .backend = borg_backend_find("vrptx"),
                      .defines = defines,
                      .name = "tested"};
    (void)state;
    borg_program *p = library_compile("llt", &o);
    assert_int_equal(borg_program_emit(p, o.backend, &o, &text, &length), BORG_ERR_OPTION);
    assert_non_null(strstr(borg_program_messages(p), "WG_PACK"));
    borg_program_free(p);
}

/* ---- random kernels -------------------------------------------------------------------------- */

typedef struct data {
    double p[RANDOM_GROUPS * RANDOM_MOST];
    float r[RANDOM_GROUPS * RANDOM_MOST];
} data;

static void fill_data(data *d, uint64_t seed) {
    uint64_t state = seed + 99;
    for (int i = 0; i < RANDOM_GROUPS * RANDOM_MOST; ++i) {
        state = state * 6364136223846793005u + 1;
        d->p[i] = (double)(int)(state >> 40 & 255) / 16.0 - 6;
        d->r[i] = (float)(state >> 50 & 63) / 8.0f - 3;
    }
}

static bool same_data(const data *x, const data *y, int n) {
    const borg_param p = {.elem = BORG_F64}, r = {.elem = BORG_F32};
    return difference(&p, x->p, y->p, (size_t)n * 8) < 0 &&
           difference(&r, x->r, y->r, (size_t)n * 4) < 0;
}

/* 1: same bits, 0: no test (the source leaves the language), -1: other bits. */
static int random_agrees(const char *source, uint64_t seed, int n, borg_diags *diags) {
    borg_options o = {.size = n,
                      .pack = 1,
                      .strict = true,
                      .backend = borg_backend_find("vrptx"),
                      .name = "tested",
                      .unroll_budget = seed % 2 ? 300 : 0};
    borg_program *p = NULL;
    outcome out = {0};
    data want, got;
    double f = 1.5;
    if (borg_compile("random.cl", source, strlen(source), &o, NULL, &p) != BORG_OK) {
        borg_program_free(p);
        return 0;
    }
    borg_module *m = p->units[0].module;
    fill_data(&want, seed);
    borg_arg args[4] = {{.data = want.p, .count = RANDOM_GROUPS * n},
                        {.data = want.r, .count = RANDOM_GROUPS * n},
                        {.bits = 3},
                        {.bits = 0}};
    memcpy(&args[3].bits, &f, sizeof f);
    int result = borg_interpret(m, NULL, args, 0, RANDOM_GROUPS, 2000000, &p->diags) ? 1 : 0;
    const vr_program *program = result ? assemble(p, &o, diags, &out) : NULL;
    for (int together = 1; program && result == 1 && together <= RANDOM_GROUPS;
         together += RANDOM_GROUPS - 1) {
        void *list[4] = {got.p, got.r};
        int64_t count[4] = {RANDOM_GROUPS * n, RANDOM_GROUPS * n};
        uint64_t scalar[4] = {0, 0, 3, args[3].bits};
        fill_data(&got, seed);
        if (run(program, n, RANDOM_GROUPS, together, m, list, count, scalar, NULL, diags) < 0 ||
            !same_data(&got, &want, RANDOM_GROUPS * n))
            result = -1;
    }
    borg_program_free(p);
    return result;
}

/* Program `seed` at `size`: 1 where bits agree, 0 where it is refused. */
static int one_random(uint64_t seed, int size) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink text = {.arena = &arena};
    borg_diags diags = {.arena = &arena};
    gen_program(&text, seed);
    const int result = random_agrees(text.text, seed, size, &diags);
    if (result < 0)
        fail_msg("seed %llu, size %d: other bits\n%s", (unsigned long long)seed, size, text.text);
    borg_arena_free(&arena);
    return result;
}

static void test_random(void **state) {
    static const int sizes[] = {4, 3, 8, 1, 17, RANDOM_MOST};
    const int programs = number("BORG_RANDOM_EMIT", 60);
    int tested = 0;
    (void)state;
    for (int k = 0; k < programs; ++k)
        tested += one_random((uint64_t)number("BORG_SEED", 1) + (uint64_t)k, sizes[k % 6]);
    assert_true(tested > programs / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library), cmocka_unit_test(test_own),
        cmocka_unit_test(test_wide),    cmocka_unit_test(test_pack),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
