/* SPDX-License-Identifier: BSD-3-Clause */
/* The assembler: what is right goes round trip, what is wrong is told with line, caret and
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support.h"

static const char *const kernels[] = {"spmv",      "spmv_masked", "spmv_loop_masked", "spmv_loop",
                                      "spmv_rows", "trisolve",    "downdate",         "isai"};

static void round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p =
            assembled(&b, file_text(&b, borg_format(&b.arena, "kernels/%s.vrptx", kernels[i])));
        borg_sink once = {.arena = &b.arena}, twice = {.arena = &b.arena};
        vr_print(p, &once);
        const vr_program *q = assembled(&b, once.text);
        vr_print(q, &twice);
        assert_string_equal(once.text, twice.text);
        assert_int_equal(p->ninsts, q->ninsts);
        for (int32_t k = 0; k < p->ninsts; ++k) {
            const vr_inst *x = &p->insts[k], *y = &q->insts[k];
            assert_true(x->op == y->op && x->type == y->type && x->how == y->how);
            assert_true(x->guard == y->guard && x->dst == y->dst && x->target == y->target);
        }
        bench_close(&b);
    }
}

/* Every literal keeps its bits. */
static void literals(void **state) {
    (void)state;
    bench b;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(
        &b,
        ".entry k () { .reg .f64 %d; .reg .f32 %f; .reg .b32 %i; .reg .b64 %l; .reg .pred %p;\n"
        "mov.f64 %d, -1.5e-3; mov.f64 %d, 0d7ff8000000000001; mov.f32 %f, 0f80000000; mov.f32 %f, "
        "2;\n"
        "mov.b32 %i, -2147483648; mov.b32 %i, 0xffffffff; mov.b64 %l, -1; mov.pred %p, 1; exit; }");
    const double x = -1.5e-3;
    const uint64_t want[] = {0,           0x7ff8000000000001u, 0x80000000u, 0x40000000u,
                             0x80000000u, 0xffffffffu,         UINT64_MAX,  1};
    for (int k = 0; k < 8; ++k) {
        uint64_t bits = want[k];
        if (k == 0) memcpy(&bits, &x, sizeof x);
        assert_true(p->constants[p->insts[k].a[0].at] == bits);
    }
    bench_close(&b);
}

static const struct {
    const char *text, *place, *reason;
} wrong[] = {
    {"", "1:1", "expected '.entry'"},
    {".entry k (", "1:11", "the text ends here"},
    {".entry k () {", "1:14", "expected '}'"},
    {".entry k () { }", "1:8", "there is no instruction"},
    {".entry k () {\n  mov.f64 %x, 1;\n exit; }", "2:11", "no register '%x'"},
    {".entry k () { .reg .f64 %x;\n  mov.f32 %x, 1;\n exit; }", "2:11", "'%x' is .f64, not .f32"},
    {".entry k () { .reg .f64 %x;\n  add.f65 %x, 1, 1; exit; }", "2:6", "expected a type"},
    {".entry k () { .reg .b32 %x;\n  fma.s32 %x, 1, 1, 1; exit; }", "2:6", "fma has no type .s32"},
    {".entry k () { .reg .b32 %x;\n  foo.s32 %x, 1; exit; }", "2:3", "no instruction 'foo'"},
    {".entry k () { .reg .b32 %x;\n  mov.b32 %x, 4294967296; exit; }", "2:15",
     "out of the range of .b32"},
    {".entry k () { .reg .f64 %x;\n  mov.f64 %x, 0d12; exit; }", "2:15", "16 hexadecimal digits"},
    {".entry k () { .reg .f64 %x;\n  mov.f64 %x, 1.2.3; exit; }", "2:15", "not a number"},
    {".entry k () { .reg .f64 %x, %x; exit; }", "1:29", "'%x' is there already"},
    {".entry k () { .reg .b32 %x;\n  allbra l; exit; }", "2:10", "no label 'l'"},
    {".entry k () { .reg .b32 %x;\n l: bra l; }", "2:5", "a join must stand at its label"},
    {".entry k () { .reg .pred %p; mov.pred %p, 1;\n l: join; @%p bra l; exit; }", "2:15",
     "a join must stand behind a bra that goes back"},
    {".entry k () { .reg .b32 %x;\n mov.b32 %x, 1; }", "2:2", "exit is missing"},
    {".entry k () { .reg .b32 %x, %y;\n mov.b32 %x, %y; exit; }", "2:2",
     "'%y' may be read before it was written"},
    {".entry k () { .reg .b32 %x, %y; .reg .pred %p; setp.eq.s32 %p, $tid, 0; @%p allbra l; "
     "mov.b32 %y, 1;\nl: mov.b32 %x, %y; exit; }",
     "2:4", "'%y' may be read before"},
    {".entry k () { .reg .b32 %x;\n mov.b32 %x, $lane; exit; }", "2:14",
     "the metadata registers are"},
    {".entry k () { .reg .b64 %x;\n mov.b64 %x, $tid; exit; }", "2:14",
     "a metadata register is .b32"},
    {".entry k (.param .ptr.f64 a) { .reg .b32 %x;\n ld.global.b32 %x, [a]; exit; }", "2:21",
     "elements of 'a' are .f64, not .b32"},
    {".entry k (.param .f64 a) { .reg .f64 %x;\n ld.global.f64 %x, [a]; exit; }", "2:21",
     "expected an array"},
    {".entry k () { .const .b32 t[2] = {1, 2};\n st.const.b32 [t], 1; exit; }", "2:2",
     "cannot be written"},
    {".entry k () { .const .b32 t[3] = {1, 2}; exit; }", "1:39", "expected ','"},
    {".entry k () { .shared .f64 t[0]; exit; }", "1:28", "1 to 1048576 elements"},
    {".entry k () { .reg .pred %p; mov.pred %p, 1; @%p exit; }", "1:50", "exit takes no guard"},
    {".entry k () .ntids 0 { exit; }", "1:20", "a warp has 1 to 32767 threads"},
    {".entry k (.param .s32 n) .ntids 2 { exit; } .entry l (.param .s32 m) { exit; }", "1:70",
     "the kernels of a file have the same parameters"},
    {".entry k () .ntids 2 { l: exit; } .entry k () .ntids 3 { allbra l; }", "1:65",
     "no label 'l'"},
    {".entry k () { exit; } .entry l () { exit; }", "1:30",
     "there is a kernel for warps of this size already"},
    {".entry k () { .reg .f64 %x<300000>; exit; }", "1:25", "more than 262144 registers"},
    {".entry k () { \x01 exit; }", "1:15", "expected an instruction"},
    {".entry k () { /* no end", "1:24", "expected '}'"},
};

static void errors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        bench b;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p = vr_assemble("bad", wrong[i].text, strlen(wrong[i].text), &b.diags);
        const char *text = messages_of(&b),
                   *place = borg_format(&b.arena, "bad:%s%s error: ", wrong[i].place,
                                        *wrong[i].place ? ":" : "");
        if (p || !has(text, place) || !has(text, wrong[i].reason))
            fail_msg("%s\nis told as\n%s", wrong[i].text, text);
        if (*wrong[i].place && *wrong[i].text) assert_true(has(text, "^"));
        bench_close(&b);
    }
}

/* Alive at once: %a and %b with %c, which takes the place of none; %dead needs one, too. */
static void registers(void **state) {
    (void)state;
    bench b;
    bench_open(&b, 0);
    if (setjmp(b.arena.oom)) fail();
    const vr_program *p = assembled(
        &b, ".entry k (.param .ptr.f64 o) { .reg .f64 %a, %b, %c, %dead; .reg .pred %p, %q;\n"
            "mov.f64 %a, 1; mov.f64 %b, 2; add.f64 %c, %a, %b; mov.f64 %dead, 1; mul.f64 %c, %c, "
            "%a; add.f64 %c, %c, %b;\n"
            "setp.lt.f64 %p, %c, 1; not.pred %q, %p; @%q st.global.f64 [o + $tid], %c; exit; }");
    vr_needs n = vr_registers_needed(p, &b.arena);
    assert_int_equal(n.data, 4);
    assert_int_equal(n.predicates, 1);
    assert_int_equal(n.metadata, 1);
    assert_int_equal(n.vector_registers, 6);
    assert_int_equal(n.mask_registers, 2);
    /* around a loop: what is read in its next turn lives through this one */
    p = assembled(
        &b, ".entry k () { .reg .b32 %i, %n, %t; .reg .pred %p; mov.b32 %i, 0; mov.b32 %n, 5;\n"
            "l: mov.b32 %t, 1; add.s32 %i, %i, %t; setp.lt.s32 %p, %i, %n; @%p allbra l; exit; }");
    n = vr_registers_needed(p, &b.arena);
    assert_int_equal(n.data, 3);
    assert_int_equal(n.metadata, 0);
    bench_close(&b);
}

/* Two predicates at once leave the masks step by step: what comes first, no place for both or more
 * registers than there may be, is told. */
static void spilled(void **state) {
    (void)state;
    static const char *const told[] = {
        "2 mask registers are too few for this instruction",
        "with predicates in vector registers there are more than 262144 registers"};
    for (int k = 0; k < 2; ++k) {
        bench b;
        vr_spills spills;
        bench_open(&b, 0);
        if (setjmp(b.arena.oom)) fail();
        const vr_program *p = assembled(
            &b, borg_format(&b.arena,
                            ".entry k (.param .ptr.f64 o) { .reg .b32 %%x<%d>; .reg .pred %%p<3>;\n"
                            "setp.gt.s32 %%p0, $tid, 1; setp.gt.s32 %%p1, $wid, 1;\n"
                            "and.pred %%p2, %%p0, %%p1; @%%p2 st.global.f64 [o + $wid], 1; exit; }",
                            k ? VR_MOST_REGISTERS - 3 : 1));
        assert_null(vr_spill(p, 2, &spills, &b.diags));
        if (!has(messages_of(&b), told[k])) fail_msg("%s", messages_of(&b));
        bench_close(&b);
    }
}

/* The k-th allocation fails: control comes to the caller, nothing is lost. */
static void no_memory(void **state) {
    (void)state;
    for (int k = 1; k < 4; ++k) {
        bench b;
        volatile bool lost = false;
        bench_open(&b, k);
        if (setjmp(b.arena.oom)) {
            lost = true;
        } else {
            const char *text = file_text(&b, "kernels/spmv.vrptx");
            assert_non_null(vr_assemble("t", text, strlen(text), &b.diags));
        }
        if (k == 1) assert_true(lost);
        bench_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(literals),
                                       cmocka_unit_test(errors),     cmocka_unit_test(registers),
                                       cmocka_unit_test(spilled),    cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
