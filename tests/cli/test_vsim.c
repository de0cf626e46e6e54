/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack vsim: from a kernel and a matrix to the table, JSON, CSV, picture and trace; bad
 * input. */
#include "support.h"

#define KERNEL METAPACK_VECTOR "/kernels/spmv.vrptx"

static outcome o;
static char text[1 << 18];

static int count(const char *in, const char *what) {
    int found = 0;
    for (const char *p = in; (p = strstr(p, what)); p += strlen(what)) found++;
    return found;
}

static void whole_way(void **state) {
    (void)state;
    RUN(&o, NULL, "vsim", KERNEL, "--generate", "mycielskian 7", "--slots", "1,2,64", "--threshold",
        "none,0,8", "--orders", "3", "--seed", "5", "--json", "--csv", "a.csv", "--plot", "a.svg",
        "--trace", "a.json", "--trace-cycles", "500", "--machine",
        METAPACK_VECTOR "/machines/aurora.conf");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"schema\": \"metapack-vsim/1\"");
    assert_has(o.out, "\"warps\": 95");
    assert_int_equal(count(o.out, "\"utilisation\""), 6);
    assert_int_equal(count(o.out, "\"impossible\""), 3); /* 64 slots: not enough registers */
    assert_has(o.err, "95 warps of 6 to 47 threads");
    assert_has(o.err, "slots = 64: the registers of aurora (256 vector, 16 mask)");
    read_text("a.csv", text, sizeof text);
    assert_int_equal(count(text, "\n"), 1 + 9);
    assert_int_equal(count(text, "none,"), 3);
    read_text("a.svg", text, sizeof text);
    assert_int_equal(count(text, "<polyline"), 2 * 3);
    assert_int_equal(count(text, "<g "), count(text, "</g>"));
    assert_has(text, "the first 500 cycles of 2 slots");
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    read_text("a.json", text, sizeof text);
    assert_true(json_valid(text));
    assert_has(text, "shfl.down.f64");
    assert_has(text, "\"partition 1\"");
    assert_files(3);
}

/* The same bits from two threads and from one; another seed gives others. */
static void deterministic(void **state) {
    (void)state;
    static char first[1 << 16];
    static const char *const threads[] = {"1", "2", "2"}, *const seeds[] = {"9", "9", "8"};
    for (int k = 0; k < 3; k++) {
        RUN(&o, NULL, "vsim", KERNEL, "--generate", "mycielskian 8", "--orders", "4", "--seed",
            seeds[k], "--threshold", "0,16", "--slots", "3", "--threads", threads[k], "--json",
            "-q");
        assert_code(&o, 0);
        assert_string_equal(o.err, "");
        if (k == 0) snprintf(first, sizeof first, "%s", o.out);
        assert_true((strcmp(first, o.out) == 0) == (k < 2));
    }
}

/* Predicates in vector registers: told, printed, the same product; too few masks are refused. */
static void masks(void **state) {
    (void)state;
    static const char kernel[] =
        ".entry spmv (.param .ptr.b32 csr_row, .param .ptr.b32 csr_col, .param .ptr.f64 csr_val,\n"
        ".param .ptr.f64 x, .param .ptr.f64 b) {\n"
        ".reg .b32 %at, %col, %s, %next; .reg .f64 %val, %x, %res, %other;\n"
        ".reg .pred %more, %inside, %first, %one;\n"
        "setp.eq.s32 %first, $tid, 0; ld.global.b32 %at, [csr_row + $wid]; add.s32 %at, %at, "
        "$tid;\n"
        "ld.global.f64 %val, [csr_val + %at]; ld.global.b32 %col, [csr_col + %at];\n"
        "setp.lt.s32 %one, %col, 4; ld.global.f64 %x, [x + %col]; mul.f64 %res, %val, %x;\n"
        "mov.b32 %s, 1;\nturn: setp.lt.s32 %more, %s, $ntids; @!%more allbra end;\n"
        "add.s32 %next, $tid, %s; shfl.down.f64 %other, %res, %s;\n"
        "setp.lt.s32 %inside, %next, $ntids; @%inside add.f64 %res, %res, %other;\n"
        "shl.b32 %s, %s, 1; allbra turn;\nend: @%one add.f64 %res, %res, 0;\n"
        "@%first st.global.f64 [b + $wid], %res; exit;\n}\n";
    write_text("many.vrptx", kernel);
    RUN(&o, NULL, "vsim", "many.vrptx", "--masks", "2", "--print");
    assert_code(&o, 0);
    assert_has(o.out, "selp.b32 %one_v");
    assert_has(o.out, "setp.ne.s32 %one_m");
    assert_has(o.out, "setp.eq.s32 %first_m"); /* made again */
    RUN(&o, NULL, "vsim", "many.vrptx", "--generate", "mycielskian 6", "--masks", "2", "--slots",
        "8", "--threshold", "0,16", "--json");
    assert_code(&o, 0);
    assert_has(o.out,
               "\"spills\": {\"predicates\": 2, \"stores\": 1, \"loads\": 1, \"compares\": 1}");
    assert_has(o.err, "2 predicates in vector registers, for 2 masks");
    assert_null(strstr(o.out, "impossible"));
    RUN(&o, NULL, "vsim", "many.vrptx", "--generate", "mycielskian 6", "--set", "mask_registers=3",
        "--slots", "1", "--threshold", "0", "--json", "-q");
    assert_code(&o, 0); /* by itself, where one slot has not enough */
    assert_has(o.out, "\"spills\": {\"predicates\": 1");
    write_text("two.vrptx",
               ".entry k (.param .ptr.f64 b) {\n.reg .pred %p<3>;\n"
               "setp.gt.s32 %p0, $tid, 1;\nsetp.gt.s32 %p1, $wid, 1;\n"
               "and.pred %p2, %p0, %p1;\n@%p2 st.global.f64 [b + $wid], 1;\nexit;\n}\n");
    RUN(&o, NULL, "vsim", "two.vrptx", "--generate", "mycielskian 3", "--masks", "2");
    assert_code(&o, 2);
    assert_has(o.err, "two.vrptx:5:");
    assert_has(o.err, "2 mask registers are too few for this instruction");
    RUN(&o, NULL, "vsim", KERNEL, "--generate", "mycielskian 3", "--masks", "1");
    assert_code(&o, 1);
    assert_has(o.err, "--masks = '1'");
}

/* A part of a square matrix, a matrix that is not square, warps otherwise, a choice by itself. */
static void inputs(void **state) {
    (void)state;
    write_text(
        "r.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 1\n1 3 2\n2 2 3\n2 3 4\n");
    RUN(&o, NULL, "vsim", KERNEL, "--matrix", "r.mtx", "--threshold", "auto", "--slots", "auto");
    assert_code(&o, 0);
    assert_has(o.out, "2 warps of 2 to 2 threads");
    assert_has(o.err, "chosen on a sample");
    RUN(&o, NULL, "vsim", KERNEL, "--generate", "lp-kkt 20 40", "--rows", "40:", "--cols", ":40",
        "--sort", "falling", "--threshold", "100");
    assert_code(&o, 0);
    assert_has(o.out, "20 warps of");
    RUN(&o, NULL, "vsim", METAPACK_VECTOR "/kernels/spmv_rows.vrptx", "--generate", "lin 5 5 5",
        "--warps", "lanes:50");
    assert_code(&o, 0);
    assert_has(o.out, "3 warps of 25 to 50 threads");
    RUN(&o, NULL, "vsim", METAPACK_VECTOR "/kernels/spmv_loop.vrptx", "--generate", "mycielskian 8",
        "--warps", "rows:16");
    assert_code(&o, 0);
    assert_has(o.out, "of 7 to 16 threads");
    RUN(&o, NULL, "vsim", KERNEL, "--print");
    assert_code(&o, 0);
    assert_has(o.out, "shfl.down.f64 %other, %res, %s;");
    assert_files(1);
}

static void failures(void **state) {
    (void)state;
    write_text("bad.vrptx", ".entry k (.param .ptr.f64 b)\n{ mov.f64 %x, 1; exit; }\n");
    write_text("bad.conf", "lanes = none\n");
    write_text("bad.txt", "array b f64 1 0\nwarps 0\n");
    write_text("wrong.vrptx",
               ".entry k (.param .ptr.f64 b) { st.global.f64 [b + $wid], 1; exit; }");
    write_text("spin.vrptx", ".entry k (.param .ptr.f64 b) { .reg .b32 %i; mov.b32 %i, 0; l: "
                             "xor.b32 %i, %i, 1; allbra l; }");
    static const struct {
        const char *args[10];
        int code;
        const char *told;
    } list[] = {
        {{"vsim"}, 1, "no kernel"},
        {{"vsim", KERNEL}, 1, "nothing to run on"},
        {{"vsim", KERNEL, KERNEL}, 1, "one kernel at a time"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--slots", "0"}, 1, "--slots '0'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--threshold", "-2"}, 1, "--threshold '-2'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--warps", "fixed"}, 1, "--warps 'fixed'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--sort", "up"}, 1, "--sort 'up'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--orders", "x"}, 1, "--orders = 'x'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--input", "bad.txt"}, 1, "one of them"},
        {{"vsim", "no.vrptx", "--generate", "lin 3 3 3"}, 2, "no.vrptx: error: cannot be read"},
        {{"vsim", "bad.vrptx", "--generate", "lin 3 3 3"},
         2,
         "bad.vrptx:2:11: error: no register '%x'"},
        {{"vsim", KERNEL, "--matrix", "no.mtx"}, 2, "no.mtx"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--machine", "bad.conf"},
         2,
         "bad.conf:1:1: error: lanes = 'none'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--set", "lanes=0"}, 1, "lanes = '0'"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--rows", "5:99"}, 1, "within 27 x 27"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--set", "mask_registers=1"},
         2,
         "a slot needs 2 mask registers"},
        {{"vsim", "wrong.vrptx", "--input", "bad.txt"}, 2, "bad.txt:2:7: error: threads of a warp"},
        {{"vsim", "wrong.vrptx", "--generate", "lin 3 3 3", "--csv", "x.csv"}, 2, "wrong result"},
        {{"vsim", "spin.vrptx", "--generate", "lin 3 3 3"}, 2, "deadlock: warp 0 waits for ever"},
        {{"vsim", KERNEL, "--generate", "lin 3 3 3", "--csv", "no/folder/x.csv"},
         2,
         "no/folder/x.csv"},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const char *const *a = list[k].args;
        RUN(&o, NULL, a[0], a[1] ? a[1] : "--json", a[1] ? (a[2] ? a[2] : "--json") : "-q",
            a[2] && a[3] ? a[3] : "-q", a[2] && a[3] && a[4] ? a[4] : "-q",
            a[2] && a[3] && a[4] && a[5] ? a[5] : "-q", "--json");
        if (o.code != list[k].code || !strstr(o.err, list[k].told))
            fail_msg("case %d: code %d: %s", (int)k, o.code, o.err);
        if (list[k].code != 2 || !strstr(list[k].told, "folder")) assert_true(json_valid(o.out));
    }
    assert_files(5);
}

/* Each option of the help is in the manual page and in the completions of bash. */
static void documented(void **state) {
    (void)state;
    static char page[1 << 15], bash[1 << 16];
    read_text(METAPACK_DATA "/../man/metapack-vsim.1", page, sizeof page);
    read_text(METAPACK_DATA "/../completions/metapack.bash", bash, sizeof bash);
    char *own = strstr(bash, "        vsim)");
    assert_non_null(own);
    *strstr(own, ";;") = '\0';
    RUN(&o, NULL, "vsim", "--help");
    assert_code(&o, 0);
    int options = 0;
    for (const char *p = o.out; (p = strstr(p, " --")); p += 3) {
        char name[64], wanted[80];
        if (sscanf(p, " --%63[a-z-]", name) != 1) continue;
        snprintf(wanted, sizeof wanted, "Fl -%s", name);
        if (!strstr(page, wanted)) fail_msg("%s is not in the manual page", name);
        snprintf(wanted, sizeof wanted, "--%s", name);
        if (!strstr(own, wanted)) fail_msg("%s is not completed", name);
        options++;
    }
    assert_true(options > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(whole_way, empty_folder),
                                       cmocka_unit_test_setup(deterministic, empty_folder),
                                       cmocka_unit_test_setup(masks, empty_folder),
                                       cmocka_unit_test_setup(inputs, empty_folder),
                                       cmocka_unit_test_setup(failures, empty_folder),
                                       cmocka_unit_test(documented)};
    return cmocka_run_group_tests_name("vsim", tests, enter_folder, leave_folder);
}
