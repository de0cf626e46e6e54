/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs compute: lanes that part and meet again, exchange between the threads of warps of
 * all sizes, alone and packed; what is out of bounds or never ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support.h"

enum { MOST = 600 };

/* Run warps of the sizes given, `together` in a partition; arrays in and out of MOST words. */
static int64_t run(bench *b, const char *text, const int32_t *sizes, int32_t count,
                   int32_t together, int32_t *in, int32_t *out) {
    const vr_program *p = assembled(b, text);
    vs_array arrays[] = {{"in", VR_B32, MOST, in, 0}, {"out", VR_B32, MOST, out, 0}};
    vs_memory memory = {2, arrays};
    const vs_arg args[] = {{0, 0}, {1, 0}};
    vs_warp warps[64];
    int64_t total = 0;
    int32_t most = 1;
    for (int32_t i = 0; i < count; ++i) {
        warps[i] = (vs_warp){i, sizes[i]};
        most += sizes[i];
    }
    vs_place_arrays(&memory);
    vs_engine *e = vs_engine_new(p, 256, most, &memory, args, &b->diags);
    for (int32_t i = 0; i < count; i += together) {
        int64_t steps = vs_run(e, &warps[i], i + together > count ? count - i : together, NULL);
        if (steps < 0) return -1;
        total += steps;
    }
    return total;
}

/* The place of a thread in `out`: base[wid] + tid, base in in[256 ..]. */
#define PLACE "add.s32 %at, $wid, 256; ld.global.b32 %at, [in + %at]; add.s32 %at, %at, $tid;\n"

/* Nested branches in a loop whose turns differ by thread: steps of Collatz's sequence, those from
 * multiples of three counted double. */
static const char collatz[] = ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) {\n"
                              ".reg .b32 %at, %x, %n, %t; .reg .pred %p;\n" PLACE
                              "ld.global.b32 %x, [in + %at]; mov.b32 %n, 0;\n"
                              "top: join;\n"
                              "setp.le.s32 %p, %x, 1; @%p bra out_of_it;\n"
                              "add.s32 %n, %n, 1;\n"
                              "rem.s32 %t, %x, 3; setp.ne.s32 %p, %t, 0; @%p bra plain;\n"
                              "add.s32 %n, %n, 1;\n"
                              "plain: join;\n"
                              "and.b32 %t, %x, 1; setp.eq.s32 %p, %t, 0; @%p bra even;\n"
                              "mul.s32 %x, %x, 3; add.s32 %x, %x, 1;\n"
                              "bra top;\n"
                              "even: join; shr.s32 %x, %x, 1; bra top;\n"
                              "out_of_it: join; st.global.b32 [out + %at], %n; exit; }";

static int32_t steps_of(int32_t x) {
    int32_t n = 0;
    while (x > 1) {
        n += x % 3 == 0 ? 2 : 1;
        x = x % 2 ? 3 * x + 1 : x / 2;
    }
    return n;
}

static void divergence(void **state) {
    (void)state;
    static const int32_t sizes[] = {1, 2, 3, 7, 8, 31, 32, 33, 64, 5, 1};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    for (int32_t together = 1; together <= COUNT; together += 5) {
        int32_t in[MOST] = {0}, out[MOST] = {0}, n = 0;
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        for (int32_t i = 0; i < COUNT; ++i) {
            in[256 + i] = n;
            n += sizes[i];
        }
        for (int32_t k = 0; k < n; ++k) in[k] = 1 + k * 7 % 97;
        assert_true(run(&b, collatz, sizes, COUNT, together, in, out) > 0);
        for (int32_t k = 0; k < n; ++k) assert_int_equal(out[k], steps_of(in[k]));
        bench_close(&b);
    }
}

/* All sizes up to a vector and beyond it: the sum over a warp by halves, and one thread's exit
 * before the others'. */
static const char sums[] =
    ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) {\n"
    ".reg .b32 %x, %s, %y, %n; .reg .pred %p;\n"
    "mul.s32 %x, $tid, $tid; mov.b32 %s, 1;\n"
    "loop: setp.ge.s32 %p, %s, $ntids; @%p allbra end;\n"
    "shfl.down.b32 %y, %x, %s; add.s32 %n, $tid, %s; setp.lt.s32 %p, %n, $ntids; @%p add.s32 %x, "
    "%x, %y;\n"
    "shl.b32 %s, %s, 1; allbra loop;\n"
    "end: setp.ne.s32 %p, $tid, 0; @%p bra away; st.global.b32 [out + $wid], %x;\n"
    "exit; away: join; exit; }";

static void sizes_of_warps(void **state) {
    (void)state;
    for (int32_t n = 1; n <= 300; n += n < 70 ? 1 : 23) {
        const int32_t sizes[] = {n, n > 9 ? n - 9 : 1, n};
        for (int32_t together = 1; together <= 3; together += 2) {
            int32_t in[MOST] = {0}, out[MOST] = {0};
            bench b;
            bench_open(&b, 0);
            if (setjmp(b.arena.oom)) fail();
            assert_true(run(&b, sums, sizes, 3, together, in, out) > 0);
            for (int32_t i = 0; i < 3; ++i) {
                int32_t m = sizes[i];
                assert_int_equal(out[i], (m - 1) * m * (2 * m - 1) / 6);
            }
            bench_close(&b);
        }
    }
}

/* Each way to shuffle, at both ends of a warp of five beside one of three; votes of warps that
 * differ. */
static void exchange(void **state) {
    (void)state;
    static const char text[] =
        ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) {\n"
        ".reg .b32 %at, %x, %y, %z; .reg .pred %p, %q;\n" PLACE "add.s32 %x, $tid, 10;\n"
        "shfl.up.b32 %y, %x, 1; shfl.down.b32 %z, %x, 2; mul.s32 %y, %y, 100; add.s32 %y, %y, %z; "
        "st.global.b32 [out + %at], %y;\n"
        "shfl.xor.b32 %y, %x, 1; shfl.idx.b32 %z, %x, 4; mul.s32 %y, %y, 100; add.s32 %y, %y, %z; "
        "add.s32 %at, %at, 8; st.global.b32 [out + %at], %y;\n"
        "setp.eq.s32 %p, $wid, 1; setp.eq.s32 %q, $tid, 2; or.pred %q, %p, %q; vote.any.pred %p, "
        "%q; vote.all.pred %q, %q;\n"
        "selp.b32 %y, 2, 0, %p; selp.b32 %z, 1, 0, %q; add.s32 %y, %y, %z; add.s32 %at, %at, 8; "
        "st.global.b32 [out + %at], %y; exit; }";
    static const int32_t sizes[] = {5, 3};
    static const int32_t want[] = {
        1012, 1013, 1114, 1213,
        1314, 1012, 1011, 1112, /* up 1, down 2; beyond the ends: its own */
        1114, 1014, 1314, 1214,
        1414, 1110, 1011, 1212, /* xor 1, of thread 4; the warp of 3 has none */
        2,    2,    2,    2,
        2,    3,    3,    3};
    for (int32_t together = 1; together <= 2; ++together) {
        int32_t in[MOST] = {0}, out[MOST] = {0};
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        in[257] = 5;
        assert_true(run(&b, text, sizes, 2, together, in, out) > 0);
        for (size_t k = 0; k < sizeof want / sizeof *want; ++k) assert_int_equal(out[k], want[k]);
        bench_close(&b);
    }
}

/* What traps elsewhere does not here: division by zero, the least number by -1, shifts beyond the
 * width, conversions out of range. */
static void edges(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int32_t want;
    } list[] = {
        {"div.s32 %x, 7, 0", 0},
        {"rem.s32 %x, 7, 0", 7},
        {"div.s32 %x, -2147483648, -1", INT32_MIN},
        {"rem.s32 %x, -2147483648, -1", 0},
        {"div.s32 %x, -7, 2", -3},
        {"div.u32 %x, -2, 2", INT32_MAX},
        {"shl.b32 %x, 3, 33", 6},
        {"shr.s32 %x, -8, 1", -4},
        {"shr.u32 %x, -8, 1", 0x7ffffffc},
        {"abs.s32 %x, -2147483648", INT32_MIN},
        {"min.u32 %x, -1, 5", 5},
        {"max.s32 %x, -1, 5", 5},
        {"not.b32 %x, 0", -1},
        {"cvt.s32.f64 %x, 1e300", INT32_MAX},
        {"cvt.s32.f64 %x, -1e300", INT32_MIN},
        {"cvt.u32.f64 %x, -0.5", 0},
        {"cvt.s32.f64 %x, 0d7ff8000000000000", 0},
        {"cvt.u32.f64 %x, 4294967295.7", -1},
        {"cvt.s32.f32 %x, -2.9", -2},
        {"cvt.s32.s64 %x, 4294967297", 1},
        {"mul.s32 %x, 65536, 65537", 65536},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        static const int32_t one[] = {1};
        int32_t in[MOST] = {0}, out[MOST] = {0};
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const char *text = borg_format(&b.arena,
                                       ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) { .reg "
                                       ".b32 %%x; %s; st.global.b32 [out + 0], %%x; exit; }",
                                       list[k].op);
        assert_int_equal(run(&b, text, one, 1, 1, in, out), 3);
        if (out[0] != list[k].want) fail_msg("%s: %d, not %d", list[k].op, out[0], list[k].want);
        bench_close(&b);
    }
}

/* Pointers in registers, arrays of warps and of constants; NaN and ties of min and max. */
static void spaces(void **state) {
    (void)state;
    static const char text[] =
        ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) {\n"
        ".shared .b32 own[4]; .const .b32 t[3] = {5, 6, 7};\n"
        ".reg .b64 %p; .reg .b32 %x, %y; .reg .f64 %d;\n"
        "ld.const.b32 %x, [t + $tid]; st.shared.b32 [own + $tid], %x; sub.s32 %y, $ntids, 1; "
        "sub.s32 %y, %y, $tid;\n"
        "ld.shared.b32 %x, [own + %y]; mov.b64 %p, out; add.s64 %p, %p, 8; add.s32 %y, $wid, $wid; "
        "add.s32 %y, %y, $wid; add.s32 %y, %y, $tid;\n"
        "st.global.b32 [%p + %y], %x; min.f64 %d, 1, 0d7ff8000000000000; cvt.s32.f64 %x, %d; "
        "st.global.b32 [out + 0], %x; exit; }";
    static const int32_t sizes[] = {3, 2};
    static const int32_t want[] = {1, 0, 7, 6, 5, 6, 5};
    int32_t in[MOST] = {0}, out[MOST] = {0};
    bench b;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    assert_true(run(&b, text, sizes, 2, 2, in, out) > 0);
    for (int k = 0; k < 7; ++k) assert_int_equal(out[k], want[k]);
    bench_close(&b);
}

static void trouble(void **state) {
    (void)state;
    static const struct {
        const char *body, *told;
    } list[] = {
        {"add.s32 %x, $tid, 599; ld.global.b32 %x, [in + %x];",
         "warp 0, thread 1: in[600] of 600 elements"},
        {"ld.global.b32 %x, [in + -1];", "in[-1] of 600 elements"},
        {"mov.b64 %p, out; add.s64 %p, %p, 2400; st.global.b32 [%p], 1;", "out[600] of 600"},
        {"mov.b64 %p, out; sub.s64 %p, %p, 4; st.global.b32 [%p], 1;", "out[-1] of 600"},
        {"mov.b64 %p, out; add.s64 %p, %p, 2; st.global.b32 [%p], 1;", "between the elements"},
        {"mov.b64 %p, 5; ld.global.b32 %x, [%p];", "no pointer to an array"},
        {"l: ld.global.b32 %x, [in + 7]; setp.eq.s32 %q, %x, 0; @%q allbra l;",
         "deadlock: warp 0, 1 wait for ever in lines 2 to 2: nothing changes any more; what was "
         "read last is in[7]"},
        {"mov.b32 %x, 0; l: add.s32 %x, %x, 1; allbra l;",
         "warp 0 has not ended after 20000 instructions"},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; ++k) {
        bench b;
        int32_t in[MOST] = {0}, out[MOST] = {0};
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p =
            assembled(&b, borg_format(&b.arena,
                                      ".entry k (.param .ptr.b32 in, .param .ptr.b32 out) { .reg "
                                      ".b32 %%x; .reg .b64 %%p; .reg .pred %%q;\n%s exit; }",
                                      list[k].body));
        vs_array arrays[] = {{"in", VR_B32, MOST, in, 0}, {"out", VR_B32, MOST, out, 0}};
        vs_memory memory = {2, arrays};
        const vs_arg args[] = {{0, 0}, {1, 0}};
        const vs_warp warps[] = {{0, 2}, {1, 3}};
        vs_engine *e = vs_engine_new(p, 256, 5, &memory, args, &b.diags);
        vs_limit_steps(e, 20000);
        assert_int_equal(vs_run(e, warps, 2, NULL), -1);
        if (!has(messages_of(&b), list[k].told)) fail_msg("%s: %s", list[k].body, messages_of(&b));
        bench_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergence), cmocka_unit_test(sizes_of_warps), cmocka_unit_test(exchange),
        cmocka_unit_test(edges),      cmocka_unit_test(spaces),         cmocka_unit_test(trouble)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
