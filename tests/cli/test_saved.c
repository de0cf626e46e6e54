/* SPDX-License-Identifier: BSD-3-Clause */
/* Analyses, factors and trees in files, from the shell. */
#include "support.h"

static bool same_bytes(const char *a, const char *b) {
    char x[1 << 16], y[1 << 16];
    read_text(a, x, sizeof x);
    read_text(b, y, sizeof y);
    return x[0] && !strcmp(x, y);
}

static void there_and_back(void **state) {
    (void)state;
    outcome o;
    RUN(&o, NULL, "generate", "nlpkkt 4", "-o", "A.mtx", "-q");
    RUN(&o, NULL, "solve", "A.mtx", "-o", "x.mtx", "-q", "--save-factor", "A.factor");
    assert_code(&o, 0);
    RUN(&o, NULL, "analyse", "A.mtx", "-o", "A.analysis", "--tree", "A.txt");
    assert_code(&o, 0);
    assert_has(o.out, "A.analysis");
    assert_has(o.out, "A.txt");
    static const char *const ways[][2] = {{"--factor", "A.factor"},
                                          {"--analysis", "A.factor"},
                                          {"--analysis", "A.analysis"},
                                          {"--given-tree", "A.txt"}};
    for (int k = 0; k < 4; k++) {
        RUN(&o, NULL, "solve", "A.mtx", ways[k][0], ways[k][1], "-o", "y.mtx");
        assert_code(&o, 0);
        assert_true(same_bytes("x.mtx", "y.mtx"));
        RUN(&o, NULL, "inertia", "A.mtx", ways[k][0], ways[k][1], "-q");
        assert_code(&o, 0);
        assert_string_equal(o.out, "160 64 0\n");
        RUN(&o, NULL, "inverse", "A.mtx", ways[k][0], ways[k][1], "-o", k ? "e.mtx" : "d.mtx",
            "-q");
        assert_code(&o, 0);
        assert_true(!k || same_bytes("d.mtx", "e.mtx"));
    }
    RUN(&o, NULL, "analyse", "A.mtx", "--method", "ildlt", "-o", "P.analysis", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", "A.mtx", "--method", "ildlt", "--analysis", "P.analysis", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", "A.mtx", "--factor", "A.factor"); /* times are told as what they are */
    assert_has(o.err, "FLOP, loaded");
    assert_has(o.err, "load the analysis");
    assert_has(o.err, "load the factor");
    assert_null(strstr(o.err, "FLOP/s"));
    RUN(&o, NULL, "solve", "A.mtx", "--factor", "A.factor", "--json");
    assert_has(o.out, "\"loaded\": \"factor\"");
    RUN(&o, NULL, "solve", "A.mtx", "--analysis", "A.factor", "--json");
    assert_has(o.out, "\"loaded\": \"analysis\"");
    remove_all();
}

static void refused(void **state) {
    (void)state;
    outcome o;
    RUN(&o, NULL, "generate", "nlpkkt 3", "-o", "A.mtx", "-q");
    RUN(&o, NULL, "generate", "nlpkkt 4", "-o", "B.mtx", "-q");
    RUN(&o, NULL, "inertia", "A.mtx", "-q", "--save-factor", "A.factor");
    assert_code(&o, 0);
    RUN(&o, NULL, "analyse", "A.mtx", "-q", "-o", "A.analysis", "--tree", "A.txt");
    assert_code(&o, 0);
    RUN(&o, NULL, "analyse", "A.mtx", "-q", "-o", "P.analysis", "--method", "ildlt");
    write_text("short.txt", "1 1 0\n");
    write_text("late.txt", "1 2 0\n");
    write_text("words.txt", "1 one 0\n");
    write_text("apart.txt", "1 1 2\n2 1 3\n");
    static const struct {
        const char *words[7];
        int code;
        const char *text;
    } bad[] = {
        {{"solve", "B.mtx", "--factor", "A.factor"}, 1, "another pattern"},
        {{"solve", "A.mtx", "--factor", "A.analysis"}, 1, "no factor"},
        {{"solve", "A.mtx", "--analysis", "A.mtx"}, 2, "not a file that METAPACK has saved"},
        {{"solve", "A.mtx", "--analysis", "nothing"}, 2, "nothing"},
        {{"solve", "A.mtx", "--analysis", "P.analysis"}, 1, "method ildlt"},
        {{"solve", "A.mtx", "--analysis", "A.analysis", "--factor", "A.factor"},
         1,
         "one is enough"},
        {{"solve", "A.mtx", "--analysis", "A.analysis", "--ordering", "amd"}, 1, "--ordering"},
        {{"solve", "A.mtx", "--method", "ildlt", "--save-factor", "f"},
         1,
         "only the direct method"},
        {{"analyse", "A.mtx", "--method", "ildlt", "--tree", "f"}, 1, "only the direct method"},
        {{"analyse", "A.mtx", "-o", "-"}, 1, "not to standard output"},
        {{"analyse", "A.mtx", "-o", "A.mtx"}, 1, "is read"},
        {{"analyse", "A.mtx", "-o", "no/where"}, 2, "no/where"},
        {{"analyse", "A.mtx", "-o", "/dev/full"}, 2, "/dev/full"},
        {{"solve", "A.mtx", "--given-tree", "short.txt"}, 2, "fewer positions"},
        {{"solve", "A.mtx", "--given-tree", "late.txt"}, 2, "numbered 1, 2"},
        {{"solve", "A.mtx", "--given-tree", "words.txt"}, 2, "words.txt:1: expected"},
        {{"solve", "A.mtx", "--given-tree", "apart.txt"}, 2, "two parents"},
        {{"solve", "B.mtx", "--given-tree", "A.txt"}, 2, "fewer positions"},
        {{"solve", "A.mtx", "--factor", "A.factor", "--precision", "single"}, 1, "--precision"},
        {{"solve", "A.mtx", "--factor", "A.factor", "--scaling", "off"}, 1, "not read: the factor"},
        {{"solve", "A.mtx", "--dense", "on", "--factor", "A.factor"}, 1, "--factor"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        run_words(&o, NULL, bad[k].words);
        if (o.code != bad[k].code) print_error("case %d\n", (int)k);
        assert_code(&o, bad[k].code);
        assert_has(o.err, bad[k].text);
    }
    /* the same pattern with other values */
    char text[1 << 16];
    read_text("A.mtx", text, sizeof text);
    char *end = text + strlen(text) - 1;
    while (end[-1] != ' ') end--;
    *end = '7';
    write_text("A.mtx", text);
    RUN(&o, NULL, "solve", "A.mtx", "--factor", "A.factor");
    assert_code(&o, 2);
    assert_has(o.err, "other values");
    RUN(&o, NULL, "solve", "A.mtx", "--analysis", "A.factor", "-q");
    assert_code(&o, 0);
    remove_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(there_and_back, empty_folder),
                                       cmocka_unit_test_teardown(refused, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
