/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for warps of any size (borgc --emit=vrptx --sizes=any): figure 9.1 of the thesis of 2021
 * as it stands, instruction by instruction beside the hand-written kernel, on matrices of many
 * shapes; own and random kernels bit for bit beside the interpreter, warps of many sizes in one
 * partition; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "../sanitized.h"
#include "variants.h"
#include "generate.h"
#include "sim/vector/sweep.h"

enum { LANES = 256, MOST = 40, WARPS = 12 };

static const char *read_text(borg_arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = borg_alloc(arena, 1, 1 << 16);
    size_t length = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    text[length] = 0;
    return text;
}

static borg_options options_of(int32_t size, const char *const *defines) {
    return (borg_options){.size = size,
                          .pack = 1,
                          .strict = true,
                          .backend = borg_backend_find("vrptx"),
                          .defines = defines,
                          .name = "tested"};
}

/* The kernel of any size; NULL: refused, as p's messages say. */
static vr_program *any_size(const char *source, const char *const *defines, borg_diags *diags,
                            borg_program **p) {
    borg_options o = options_of(BORG_ANY_SIZE, defines);
    const char *text;
    size_t length;
    if (borg_compile("any.cl", source, strlen(source), &o, NULL, p) != BORG_OK) return NULL;
    if (borg_program_emit(*p, o.backend, &o, &text, &length) != BORG_OK) return NULL;
    vr_program *program = vr_assemble("emitted", text, length, diags);
    if (program) return program;
    borg_sink messages = {.arena = diags->arena};
    borg_diags_print(diags, &messages);
    fail_msg("%s\n%s", messages.text, text);
    return NULL;
}

/* ---- figure 9.1 ------------------------------------------------------------------------------ */

/* Rows of random lengths, from `least` to `most`. */
static vs_matrix random_rows(borg_arena *arena, int32_t nrows, int32_t ncols, int32_t least,
                             int32_t most, uint64_t seed) {
    vs_matrix a = {.nrows = nrows, .ncols = ncols};
    uint64_t s = seed;
    a.row = BORG_NEW(arena, nrows + 1, int64_t);
    for (int32_t i = 0; i < nrows; ++i) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        a.row[i + 1] = a.row[i] + least + (int64_t)(s >> 33) % (most - least + 1);
    }
    a.col = BORG_NEW(arena, a.row[nrows] + 1, int32_t);
    a.val = BORG_NEW(arena, a.row[nrows] + 1, double);
    for (int64_t k = 0; k < a.row[nrows]; ++k) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        a.col[k] = (int32_t)((s >> 33) % (uint64_t)ncols);
        a.val[k] = (double)(int64_t)(s >> 20) * 0x1p-43 - 1;
    }
    return a;
}

/* All rows by one program in one packing: b's bits and what was executed. */
static vs_case *run_rows(const vr_program *p, const vs_source *source, int64_t threshold,
                         vs_trace *trace, borg_diags *diags) {
    vs_case *k = source->make(source, p, NULL, diags);
    assert_non_null(k);
    vs_engine *e = vs_engine_new(p, LANES, 1024, &k->memory, k->args, diags);
    const vs_counts *counts = vs_count(e, k->warps, k->nwarps, VS_BY_LOT, diags->arena);
    vs_packing *packed =
        vs_pack(k->warps, k->nwarps, counts, LANES, threshold, VS_AS_GIVEN, diags->arena);
    for (int32_t i = 0; i < packed->nparts; ++i)
        assert_true(
            vs_run(e, packed->warps + packed->parts[i].first, packed->parts[i].count, trace) > 0);
    return k;
}

static void same_run(const vr_program *p, const vr_program *q, const vs_source *source,
                     int64_t threshold, borg_diags *diags) {
    static const char *const sets[][2] = {{"complex_by", "active"},
                                          {"issue_width", "1"},
                                          {"load_latency", "7"},
                                          {"dispatch", "striped"},
                                          {"policy", "robin"}};
    vs_trace x = {0}, y = {0};
    vs_case *k = run_rows(p, source, threshold, &x, diags);
    vs_case *l = run_rows(q, source, threshold, &y, diags);
    const vs_array *b = &k->memory.arrays[k->expects[0].array],
                   *c = &l->memory.arrays[l->expects[0].array];
    assert_int_equal(b->count, c->count);
    assert_memory_equal(b->data, c->data, (size_t)b->count * (size_t)vr_bytes(b->type));
    assert_int_equal(x.nsteps, y.nsteps);
    assert_memory_equal(x.spans, y.spans, x.nspans * sizeof *x.spans);
    for (size_t i = 0; i < x.nsteps; ++i) {
        assert_int_equal(vr_classify(&p->insts[x.steps[i].inst & ~VS_STRIP]),
                         vr_classify(&q->insts[y.steps[i].inst & ~VS_STRIP]));
        assert_int_equal(x.steps[i].vl, y.steps[i].vl);
        assert_int_equal(x.steps[i].active, y.steps[i].active);
        assert_int_equal(x.steps[i].nspans, y.steps[i].nspans);
    }
    for (int32_t s = 0; s <= 5; ++s)
        for (int32_t slots = 1; slots <= 8; slots += 7) {
            vs_machine m;
            vs_times t, u;
            vs_machine_init(&m);
            if (s) assert_null(vs_machine_set(&m, sets[s - 1][0], sets[s - 1][1], diags->arena));
            assert_true(vs_replay(&m, p, &x, NULL, 1, slots, &t, NULL, diags));
            assert_true(vs_replay(&m, q, &y, NULL, 1, slots, &u, NULL, diags));
            if (memcmp(&t, &u, sizeof t))
                fail_msg("set %d, %d slots: %lld and %lld cycles", s, slots, (long long)t.cycles,
                         (long long)u.cycles);
        }
}

static const char *replaced(borg_arena *arena, const char *text, const char *from, const char *to) {
    borg_sink out = {.arena = arena};
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
        borg_put_text(&out, text, (size_t)(at - text));
        borg_put_text(&out, to, strlen(to));
    }
    borg_put_text(&out, text, strlen(text));
    return out.text;
}

static void check_figure(bool real) {
    static const struct {
        int32_t rows, columns, least, most;
    } shapes[] = {{120, 120, 1, 9}, {60, 200, 0, 70}, {200, 30, 4, 4}, {5, 900, 200, 700}};
    static const int64_t thresholds[] = {VS_NO_PACKING, 0, 1000};
    static const char *const doubles[] = {"float=double", NULL};
    borg_arena arena;
    borg_program *compiled = NULL;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_diags diags = {.arena = &arena};
    const char *hand = read_text(&arena, METAPACK_VECTOR "/kernels/spmv.vrptx");
    if (!real) hand = replaced(&arena, hand, "f64", "f32");
    vr_program *q = vr_assemble("spmv.vrptx", hand, strlen(hand), &diags);
    vr_program *p = any_size(read_text(&arena, METAPACK_VECTOR "/kernels/spmv.cl"),
                             real ? doubles : NULL, &diags, &compiled);
    assert_non_null(p);
    assert_non_null(q);
    assert_int_equal(p->entries[0].ntids, 0);
    assert_int_equal(p->ninsts, q->ninsts);
    vr_needs need = vr_registers_needed(p, &arena), by_hand = vr_registers_needed(q, &arena);
    assert_memory_equal(&need, &by_hand, sizeof need);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        vs_matrix a = random_rows(&arena, shapes[k].rows, shapes[k].columns, shapes[k].least,
                                  shapes[k].most, k + 5);
        vs_source source = vs_source_matrix(&a, (vs_rows){0});
        for (int t = 0; t < 3; ++t) same_run(p, q, &source, thresholds[t], &diags);
    }
    borg_program_free(compiled);
    borg_arena_free(&arena);
}

/* The figure in float, as it is printed, and in double. */
static void test_figure(void **state) {
    (void)state;
    check_figure(false);
    check_figure(true);
}

/* ---- beside the interpreter ------------------------------------------------------------------ */

typedef struct data {
    double p[WARPS * MOST];
    float r[WARPS * MOST];
    int32_t q[WARPS * MOST];
} data;

static void fill_data(data *d, uint64_t seed) {
    uint64_t s = seed + 99;
    for (int i = 0; i < WARPS * MOST; ++i) {
        s = s * 6364136223846793005u + 1;
        d->p[i] = (double)(int)(s >> 40 & 255) / 16.0 - 6;
        if (i % 37 == 5) d->p[i] = NAN;
        d->r[i] = (float)(s >> 50 & 63) / 8.0f - 3;
        d->q[i] = (int32_t)(s >> 33) % 100 - 20;
    }
}

static bool same_data(const data *x, const data *y) {
    const borg_param p = {.elem = BORG_F64}, r = {.elem = BORG_F32}, q = {.elem = BORG_I32};
    return difference(&p, x->p, y->p, sizeof x->p) < 0 &&
           difference(&r, x->r, y->r, sizeof x->r) < 0 &&
           difference(&q, x->q, y->q, sizeof x->q) < 0;
}

/* Warps of many sizes, `together` a partition, and the interpreter's group by group. 1: the same
 * bits, 0: refused by the one or the other, -1: others. */
static int compared(const char *source, uint64_t seed, int together, bool integers) {
    static const int32_t sizes[] = {4, 3, 8, 1, 17, MOST, 2, 32};
    borg_arena arena;
    borg_program *compiled = NULL;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_diags diags = {.arena = &arena};
    data want, got;
    double f = 1.5;
    int result = 1;
    fill_data(&want, seed);
    fill_data(&got, seed);
    vr_program *program = any_size(source, NULL, &diags, &compiled);
    if (!program) result = 0;
    vs_warp warps[WARPS];
    for (int g = 0; g < WARPS; ++g) warps[g] = (vs_warp){g, sizes[(seed + 5 * (uint64_t)g) % 8]};
    for (int s = 0; s < 8 && result == 1; ++s) {
        borg_options o = options_of(sizes[s], NULL);
        borg_program *p = NULL;
        borg_arg args[5] = {{.data = want.p, .count = WARPS * MOST},
                            {.data = want.r, .count = WARPS * MOST},
                            {.data = want.q, .count = WARPS * MOST},
                            {.bits = 3},
                            {.bits = 0}};
        if (!integers) args[2] = args[3];
        memcpy(&args[integers ? 4 : 3].bits, &f, sizeof f);
        if (borg_compile("any.cl", source, strlen(source), &o, NULL, &p) != BORG_OK) result = 0;
        for (int g = 0; g < WARPS && result == 1; ++g)
            if (warps[g].ntids == sizes[s] &&
                !borg_interpret(p->units[0].module, NULL, args, g, g + 1, 2000000, &p->diags))
                result = 0;
        if (!result && (integers || getenv("BORG_REFUSED")))
            print_message("%s", borg_program_messages(p));
        borg_program_free(p);
    }
    if (result == 1) {
        vs_array arrays[3] = {{"p", VR_F64, WARPS * MOST, got.p, 0},
                              {"r", VR_F32, WARPS * MOST, got.r, 0},
                              {"q", VR_B32, WARPS * MOST, got.q, 0}};
        vs_arg args[5] = {{.array = 0}, {.array = 1}, {.array = 2}, {.bits = 3}, {.bits = 0}};
        if (!integers) args[2] = args[3];
        memcpy(&args[integers ? 4 : 3].bits, &f, sizeof f);
        vs_memory memory = {3, arrays};
        vs_place_arrays(&memory);
        vs_engine *e = vs_engine_new(program, LANES, MOST * WARPS, &memory, args, &diags);
        vs_limit_steps(e, 2000000);
        for (int g = 0; g < WARPS && result == 1; g += together)
            if (vs_run(e, warps + g, g + together > WARPS ? WARPS - g : together, NULL) < 0) {
                borg_sink messages = {.arena = &arena};
                borg_diags_print(&diags, &messages);
                print_message("%s", messages.text);
                result = -1;
            }
        if (!same_data(&want, &got)) result = -1;
    }
    if (result == 0 && (integers || getenv("BORG_REFUSED")) && compiled)
        print_message("%s", borg_program_messages(compiled));
    borg_program_free(compiled);
    borg_arena_free(&arena);
    return result;
}

#define K(body)                                                                                    \
    "static double twice(double x, double a[3]) { a[1] += x; double y = x; y *= 2; return y; }\n"  \
    "__kernel void k(__global double *p, __global float *r, __global int *q, int m, double f) {\n" \
    "const int i = wid * 40 + tid; double x = p[i];\n" body "\np[i] = x; }\n"

static const char *const own[] = {
    K("for (int s = 1; s < ntids; s *= 2) { if (tid + s < ntids) x += shuffle_down(x, s); }"),
    K("for (int s = 1; s < ntids; s += 3) { if (s + tid < ntids) { x += shuffle_down(x, s) * f; "
      "q[i] += s; } else x -= 1; }"),
    K("int s = 1; while (s < ntids) { if (tid >= s) x = x * f + shuffle_up(x, s); s += s; } q[i] = "
      "s;"),
    K("for (int s = 1; s < 64; s <<= 1) if (tid & s) x += shuffle_xor(x, s); else x -= "
      "shuffle(x, tid / 2);"),
    K("if (tid > 1) { int k = 5; double y = x; if (q[i] > 10) { y = shuffle(x, k) + f; k = tid; } "
      "x = y * k; } else if (q[i] < 0 || r[i] > 1) x = -x; else { r[i] *= 2; }"),
    K("int n = 0; while (q[i] > n) { n += tid + 1; if (n > 60) break; if (n % 3 == 0) continue; x "
      "+= "
      "n; } q[i] = n;"),
    K("int n = q[i]; do { n /= 2; x += shuffle_down(n, 1); if (n == 7) { x = 0; break; } r[i] += "
      "1; } "
      "while (n > 1); q[i] = n;"),
    K("for (int n = 0;; ++n) { if (n > tid) { if (n > 5 && q[i] > 0) break; if (n > 9) break; "
      "continue; } x += shuffle(x, n); }"),
    K("double t = work_group_reduce_sum(x); x = t + work_group_reduce_max(r[i]) * "
      "work_group_reduce_min(q[i]); q[i] = work_group_reduce_max_index(r[i]) + 100 * any(q[i] > "
      "70) + "
      "200 * all(q[i] > -15);"),
    K("if (q[wid * 40] > 30) { x = work_group_reduce_sum(r[i]); for (int k = 0; k < m; ++k) x += "
      "work_group_reduce_max(q[i] + k) - shuffle(x, k); }"),
    K("uint u = (uint)q[i]; q[i] = (int)(work_group_reduce_max(u) >> 3) + "
      "work_group_reduce_max_index(fabs(x)) + (int)work_group_reduce_min(p[i]);"),
    K("double a[3] = {1, x}; for (int k = 0; k < 6; ++k) { a[k % 3] += a[(k + tid) % 3] + twice(x, "
      "a); "
      "x = a[2] > 50 ? p[wid * 40] : a[0]; }"),
    K("__local double d[40]; __local volatile int c[80]; d[tid] = x; c[2 * tid] = q[i]; "
      "barrier(0); x = "
      "d[ntids - 1 - tid] + c[2 * ((tid + 1) % ntids)]; barrier(0); d[0] = tid; x += d[0];"),
    K("bool b = x > 0, c = shuffle_down(b, 1); long l = (long)q[i] * 1000003 + get_global_id() / "
      "ntids; "
      "ulong v = (ulong)l >> 5; b ^= c; x = b ? (double)(v % 1000) : l << (q[i] & 7); r[i] = "
      "(float)(uint)l; "
      "q[i] = (int)(x / 3) + !b + (int)magnitude(x);"),
    K("double y, z; int n; if (x > 0) y = x; for (n = 0; n < q[i]; n += 7) { double w; w += n; z "
      "+= w; } x = "
      "y + z; int j = n++; q[i] = j * 100 + n--; x = x == x ? fma(x, f, z) : sqrt(fabs(f));"),
    K("x = tid < 3 && p[i] > 0 && shuffle_down(x, 2) > -2 ? max(x, f) : min(shuffle_up(x, 1), "
      "rcp(f)); "
      "q[i] = abs(q[i]) % (tid + 2) * (int)WG_SIZE; if (isnan(x)) x = 4;"),
    K("r[i] = floor(r[i] / 3 - 0.01f); x = floor(x) + floor(-0.0) + floor(x * 1e17);"),
    K("int s; for (s = 1; s < ntids; s *= 2) if (tid + s < ntids) x += shuffle_down(x, s); q[i] = "
      "s;"),
    K("if (tid % 2) for (int s = 1; s < ntids; s *= 2) if (tid + s < ntids) x += shuffle_down(x, "
      "s);"),
    K("for (int s = 1; s < ntids; s *= 2) { if (q[i] > 50) continue; if (tid + s < ntids) x += "
      "shuffle_down(x, s); q[i] += 9; }"),
    K("for (int k = 0; k < 3; ++k) for (int s = k; s < ntids; ++s) { if (tid + s < ntids) { if (x "
      "< 2) x += "
      "shuffle_down(x, s); } if (tid + s <= ntids) x *= 0.5; }"),
};

static void test_own(void **state) {
    const int count = (int)(sizeof own / sizeof *own);
    (void)state;
    for (int k = 0; k < count; ++k)
        for (int together = 1; together <= 7; together += 3) {
            int got = compared(own[k], (uint64_t)(3 * k + together), together, true);
            if (got != 1) fail_msg("%s\n%s", got ? "other bits" : "refused", own[k]);
        }
}

/* Of the language; arrays and places as long as the largest warp wants them. */
static int one_random(uint64_t seed, int together) {
    borg_arena arena;
    borg_arena_init(&arena, NULL, 0);
    if (setjmp(arena.oom)) fail();
    borg_sink out = {.arena = &arena};
    gen_program(&out, seed);
    const char *text =
        replaced(&arena, out.text, "get_group_id() * WG_SIZE", "get_group_id() * 40");
    text = replaced(&arena, text, "s[2 * WG_SIZE];", "s[80];");
    text = replaced(&arena, text, "s[2 * WG_SIZE],", "s[80],");
    text = replaced(&arena, text, "c[WG_SIZE];", "c[40];");
    const int got = compared(text, seed, together, false);
    if (got < 0) fail_msg("seed %llu: other bits\n%s", (unsigned long long)seed, text);
    borg_arena_free(&arena);
    return got;
}

static void test_random(void **state) {
    const int programs = number("BORG_RANDOM_EMIT", 60);
    int tested = 0;
    (void)state;
    for (int k = 0; k < programs; ++k)
        tested += one_random((uint64_t)number("BORG_SEED", 1) + (uint64_t)k, 1 + k % 6);
    assert_true(tested > programs / 2);
}

static void test_refused(void **state) {
    static const struct {
        const char *source, *why;
    } list[] = {
        {K("double a[ntids]; a[0] = x;"), "name sizes"},
        {K("double a[2 * WG_SIZE]; a[0] = x;"), "name sizes"},
        {K("x = exp(x);"), "'exp'"},
        {K("if (tid > 1) x = work_group_reduce_sum(x);"), "cannot take part"},
        {K("while (x > tid) { x -= any(x > 3); }"), "cannot take part"},
        {K("if (q[i]) barrier(0);"), "cannot take part"},
        {K("\n#pragma unroll\nfor (int k = 0; k < 3; ++k) x += k;"), "unroll"},
        {K("x += nothing;"), "not declared"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        borg_arena arena;
        borg_program *p = NULL;
        borg_arena_init(&arena, NULL, 0);
        if (setjmp(arena.oom)) fail();
        borg_diags diags = {.arena = &arena};
        assert_null(any_size(list[k].source, NULL, &diags, &p));
        if (!strstr(borg_program_messages(p), list[k].why))
            fail_msg("%s\n%s", list[k].source, borg_program_messages(p));
        borg_program_free(p);
        borg_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figure), cmocka_unit_test(test_own),
                                       cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
