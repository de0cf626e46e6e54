/* SPDX-License-Identifier: BSD-3-Clause */
/* Options in the shell: what the method does not read is an error, and reports print what was in
 * force. */
#include "support.h"

static outcome o;

/* The help has each option's sentence and default. */
static void help_is_the_table(void **state) {
    (void)state;
    const mpk_option *row;
    RUN(&o, NULL, "solve", "--help=all");
    char *whole = strdup(o.out), *to = whole;
    for (const char *from = o.out; *from; from++) { /* blanks and line breaks: one blank */
        const char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || (to > whole && to[-1] != ' ')) *to++ = c;
    }
    *to = '\0';
    for (int k = 0; (row = mpk_option_at(k)); k++) {
        char text[512];
        if (row->count)
            snprintf(text, sizeof text, "%s; default %s", row->text, row->words[(int)row->preset]);
        else if (strstr(row->text, "(default)"))
            snprintf(text, sizeof text, "%s", row->text);
        else
            snprintf(text, sizeof text, "%s; default %g", row->text, row->preset);
        if (!strstr(whole, text)) fail_msg("no \"%s\" in the help", text);
    }
    free(whole);
}

/* An error names the option and who does not read it; nothing is computed. */
static void not_read(void **state) {
    (void)state;
    static const struct {
        const char *words[10], *said;
    } cases[] = {
        {{"solve", "--method", "ldlt", "--schedule", "jacobi"},
         "option --schedule is not read by method ldlt, but by auto, ildlt and ilu0"},
        {{"solve", "--dense", "rook", "--krylov", "gmres"},
         "option --krylov is not read by --dense rook"},
        {{"solve", "--dense", "rook", "--plot", "x.svg"},
         "option --plot is not read by --dense rook"},
        {{"solve", "--dense", "rook", "--pivot-threshold", "0.1"},
         "option --pivot-threshold is not read by --dense rook"},
        {{"solve", "--dense", "tile", "--seed", "2"}, "option --seed is not read by --dense tile"},
        {{"solve", "--method", "ldlt", "--deterministic=off"},
         "option --deterministic is off for methods ildlt"},
        {{"solve", "--backend", "cpu", "--device", "cuda"},
         "option --device is not read by --backend"},
        {{"solve", "--method", "ildlt", "--sweeps", "4"},
         "option --sweeps is not read by schedule pull, but by jacobi"},
        {{"solve", "--method", "ildlt", "--zero-tolerance", "1e-9"},
         "option --zero-tolerance is not read by method ildlt"},
        {{"solve", "--method", "ildlt", "--restart", "10"},
         "option --restart is not read by method ildlt with krylov sqmr, but with gmres and "
         "fgmres"},
        {{"solve", "--method", "jacobi", "--static-shift", "1e-3"},
         "option --static-shift is not read by method jacobi"},
        {{"solve", "--method", "ilu0", "--stages", "3"},
         "option --stages is not read by method ilu0"},
        {{"solve", "--method", "ilu0", "--pivoting", "rook"},
         "option --pivoting is not read by method ilu0"},
        {{"solve", "--method", "none", "--ordering", "amd"},
         "option --ordering is not read by method none"},
        {{"solve", "--method", "ldlt", "--no-direct"},
         "option --direct is not read by method ldlt"},
        {{"solve", "--method", "ldlt", "--krylov", "cg", "--condition"},
         "option --condition is not read by method ldlt with krylov cg"},
        {{"solve", "--level", "2"}, "option --level is not read by method auto"},
        {{"solve", "--tolerance", "1e-3"},
         "option --tolerance is not read where method auto solves directly, as of every "
         "matrix that fits: --no-direct asks for its ladder"},
        {{"solve", "--max-iterations", "3"}, "option --max-iterations is not read where method"},
        {{"solve", "--restart", "5"},
         "option --restart is not read by method auto with krylov sqmr"},
        {{"solve", "--krylov", "gmres", "--condition"}, "option --condition is not read"},
        {{"solve", "--no-direct", "--condition"},
         "option --condition is read by the direct solver alone, which method auto does not take"},
        {{"solve", "--fp64-emulation", "on"},
         "option --fp64-emulation is read by device cuda and auto alone"},
        {{"solve", "--device-number", "3"},
         "option --device-number is read by device cuda and auto alone"},
        {{"inertia", "--precision", "single"}, "--precision"},
        {{"analyse", "--device-memory-limit", "3"},
         "option --device-memory-limit is read by device"},
        {{"solve", "--method", "ildlt", "--level-rule", "max"},
         "option --level-rule is read from level 2 on alone"},
        {{"solve", "--method", "ildlt", "--pivot-threshold", "0.1"},
         "option --pivot-threshold is not read with stages 1"},
        {{"info", "--seed", "3"}, "option --seed is read with --generate alone"},
        {{"analyse", "--block", "8"}, "option --block is not read by method ldlt"},
        {{"inertia", "--method", "ildlt", "--zero-tolerance", "1e-9"},
         "option --zero-tolerance is not read by method ildlt"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *words[16] = {0};
        int count = 0;
        for (; cases[k].words[count]; count++) words[count] = cases[k].words[count];
        words[count++] = TINY "kkt.mtx", words[count++] = "--json";
        run_words(&o, NULL, words);
        assert_code(&o, 1);
        assert_has(o.err, cases[k].said);
        assert_true(json_valid(o.out));
        assert_has(o.out, "\"status\": \"argument\"");
    }
    assert_files(0);
}

static const char *flag_of(const mpk_option *row, char flag[80]) {
    snprintf(flag, 80, "--%s", row->key);
    for (char *c = flag; *c; c++)
        if (*c == '_') *c = '-';
    if (row->count)
        snprintf(flag + strlen(flag), 80 - strlen(flag), "=%s", row->words[(int)row->preset]);
    else
        snprintf(flag + strlen(flag), 80 - strlen(flag), "=%.15g", row->preset);
    return flag;
}

/* Each option of the table, by its default: refused by method auto, by a dense method and by a
 * machine exactly where nothing there reads it. What is read has an effect:
 * tests/pipeline/test_options_walk.c */
static void walk(void **state) {
    (void)state;
    const mpk_option *row;
    for (int k = 0; (row = mpk_option_at(k)); k++) {
        char flag[80], told[96];
        mpk_options direct;
        mpk_options_init(&direct);
        direct.method = MPK_METHOD_LDLT;
        const bool by_auto =
            row->methods >> MPK_METHOD_AUTO & 1 &&
            (!strcmp(row->key, "direct") || mpk_option_is_read(row, &direct, NULL, 0));
        const bool of_others = !strcmp(row->key, "seed") || !strncmp(row->key, "device_", 7);
        const bool by_dense = row->methods & MPK_READ_DENSE && !of_others;
        const bool on_blocks = row->methods >> MPK_METHOD_ILDLT & 1;
        flag_of(row, flag);
        snprintf(told, sizeof told, "option %.*s is ", (int)strcspn(flag, "="), flag);
        if (!strcmp(row->key, "method")) continue;
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "-q", flag);
        if ((o.code == 0) != by_auto) fail_msg("auto, %s: %d %s", flag, o.code, o.err);
        if (!by_auto) assert_has(o.err, told);
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "-q", "--dense", "auto", flag);
        if ((o.code == 0) != by_dense) fail_msg("dense, %s: %d %s", flag, o.code, o.err);
        if (!by_dense) assert_has(o.err, told);
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "-q", "--backend", "cpu", flag);
        if (!on_blocks || !strncmp(row->key, "device", 6)) assert_has(o.err, told);
        assert_true(o.code == 0 || o.code == 1);
    }
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--force");
    assert_code(&o, 1);
    assert_has(o.err, "option --force is read where a file is written");
}

/* An array file is solved as a dense matrix: its options count then, or --dense off. */
static void arrays(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", TINY "array.mtx", "--krylov", "sqmr");
    assert_code(&o, 1);
    assert_has(o.err, "option --krylov is not read by the dense solver");
    RUN(&o, NULL, "solve", TINY "array.mtx", "--refine", "3", "--threads", "1");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", TINY "array.mtx", "--krylov", "sqmr", "--dense", "off");
    assert_code(&o, 0);
}

/* What is read is taken: each option by a method that reads it. */
static void is_read(void **state) {
    (void)state;
    static const char *const cases[][10] = {
        {"--method", "ildlt", "--schedule", "jacobi", "--sweeps", "4"},
        {"--method", "ldlt", "--krylov", "gmres", "--restart", "10", "--tolerance", "1e-8"},
        {"--method", "auto", "--refine", "4", "--pivot-threshold", "0.1"},
        {"--no-direct", "--tolerance", "1e-8", "--pivoting", "bk"},
        {"--krylov", "gmres", "--tolerance", "1e-8", "--restart", "10"},
        {"--no-direct", "--krylov", "idr", "--shadow", "2"},
        {"--method", "none", "--matching", "off", "--scaling", "on"},
        {"--dense", "tile", "--pivot-threshold", "0.1", "--condition", "--memory-limit", "9M"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *words[16] = {"solve", TINY "kkt.mtx", "-q"};
        for (int w = 0; w < 10 && cases[k][w]; w++) words[3 + w] = cases[k][w];
        run_words(&o, NULL, words);
        assert_code(&o, 0);
    }
}

/* The text of key in the object `options` of the last run. */
static void assert_option(const char *key, const char *value) {
    char want[128];
    const char *options = strstr(o.out, "\"options\": {"), *end = strchr(options, '}');
    snprintf(want, sizeof want, "\"%s\": %s", key, value ? value : "");
    const char *at = strstr(options, want);
    if (value ? !at || at > end : at && at < end)
        fail_msg("options have %s\"%s\" in\n%s", value ? "no " : "", want, o.out);
}

static void in_force(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 4", "--method", "ilu0", "--json",
        "--max-iterations", "300");
    assert_true(json_valid(o.out));
    assert_has(o.err, "Options       --method ilu0 ");
    assert_null(strstr(o.err, "--block"));
    assert_null(strstr(o.err, "--pivoting"));
    assert_null(strstr(o.err, "--stages"));
    assert_option("method", "\"ilu0\"");
    assert_option("block", NULL);
    assert_option("krylov", "\"sqmr\"");
    assert_option("max_iterations", "300");
    int top = 0, krylovs = 0; /* the iterations at the top are those of the Krylov method */
    assert_int_equal(sscanf(strstr(o.out, "\"iterations\""), "\"iterations\": %d", &top), 1);
    sscanf(strstr(strstr(o.out, "\"krylov\": {"), "\"iterations\""), "\"iterations\": %d",
           &krylovs);
    assert_true(top > 0 && top == krylovs);
    const char *blocks = strstr(o.out, "\"blocks\": {");
    assert_has(blocks, "\"block\": 1");
    assert_has(blocks, "\"level\": 0");
    assert_has(blocks, "\"pivoting\": \"none\"");

    RUN(&o, NULL, "solve", "--generate", "nlpkkt 4", "--method", "jacobi", "--sweeps", "5",
        "--jacobi-epsilon", "0.02", "--json");
    assert_has(o.err, "--sweeps 5 --jacobi-epsilon 0.02 --jacobi-decay 0.95");
    assert_null(strstr(o.err, "--schedule pull"));
    assert_option("sweeps", "5");
    assert_option("jacobi_epsilon", "0.02");
    assert_option("schedule", NULL);
    assert_has(strstr(o.out, "\"blocks\": {"), "\"schedule\": \"jacobi\"");

    RUN(&o, NULL, "solve", "--generate", "nlpkkt 4", "--json", "--threads", "1");
    assert_option("method", "\"ldlt\"");
    assert_option("krylov", "\"none\"");
    assert_option("threads", "1");
    assert_option("pivot_threshold", "0.01");
    assert_option("tolerance", NULL);
    assert_option("level", NULL);
}

/* The options that a report prints, given by hand, come to the same factor and iterations. */
static void by_hand(void **state) {
    (void)state;
    static const char *const runs[][8] = {
        {"--no-direct"},
        {"--method", "jacobi", "--stages", "2"},
        {"--method", "ilu0", "--krylov", "gmres", "--restart", "20"},
        {"--method", "ildlt", "--schedule", "jacobi", "--sweeps", "4", "--grid"},
        {"--method", "ildlt", "--drop-tolerance", "0.00123456789", "--butterfly", "--stages", "3"}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        const char *words[78] = {"solve", "--generate", "nlpkkt 5", "--threads", "1", "--json"};
        int count = 6;
        for (int w = 0; w < 8 && runs[k][w]; w++) words[count++] = runs[k][w];
        run_words(&o, NULL, words);
        char before[256], *options = unbroken(o.err);
        const char *at = strstr(o.out, "\"relative_residual\"");
        snprintf(before, sizeof before, "%.*s", (int)strcspn(at, "{"), at);
        char *line = strstr(options, "Options       ");
        assert_non_null(line);
        line += strlen("Options       ");
        line[strcspn(line, "\n")] = '\0';
        count = 6;
        for (char *word = strtok(line, " "); word && count < 76; word = strtok(NULL, " "))
            words[count++] = word;
        words[count] = NULL;
        assert_true(count > 10);
        run_words(&o, NULL, words);
        assert_has(o.out, before);
        free(options);
    }
}

/* --memory-limit holds for every method: what is predicted, and what is met on the way. */
static void memory_limit(void **state) {
    (void)state;
    static const char *const methods[] = {"auto", "ldlt", "ildlt", "jacobi", "ilu0"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "solve", "--generate", "nlpkkt 8", "--method", methods[k], "--memory-limit",
            "100k", "--json", "-o", "x.mtx");
        assert_code(&o, 6); /* even A is too large */
        assert_has(o.out, "\"status\": \"memory\"");
        assert_has(o.err, "memory_limit allows");
        assert_files(0);
    }
    static const char *const blocks[] = {"ildlt", "jacobi", "ilu0"};
    for (int k = 0; k < 3; k++) {
        const char *words[] = {
            "solve", "--generate", "nlpkkt 8",  "--method", blocks[k],          "--memory-limit",
            "800k",  "--json",     "--threads", "1",        "--max-iterations", "3",
            NULL};
        run_words(&o, NULL, words);
        assert_code(&o, 6); /* A fits, what is made of it does not */
        assert_has(o.err, "bytes more are needed, and that is more than memory_limit allows");
        words[6] = "80M";
        run_words(&o, NULL, words);
        assert_true(o.code != 6);
        assert_has(o.out, "\"peak_bytes\"");
    }
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 4", "--dense", "rook", "--memory-limit", "300k",
        "--json");
    assert_code(&o, 6);
    assert_has(o.err, "memory_limit allows");
    RUN(&o, NULL, "analyse", "--generate", "nlpkkt 8", "--memory-limit", "100k");
    assert_code(&o, 6); /* the ordering alone takes more */
    assert_has(o.err, "the analysis would take");
}

/* What no machine has is refused in no time: nothing of it is allocated, and both numbers are told.
 */
static void too_large(void **state) {
    (void)state;
    static const char *const commands[] = {"solve", "analyse", "inertia", "info"};
    for (int k = 0; k < 4; k++) {
        RUN(&o, NULL, commands[k], "--generate", "nlpkkt 1000", "--json");
        assert_code(&o, 6);
        assert_true(json_valid(o.out));
        assert_has(o.err, " bytes (");
        assert_has(o.err, "that this machine has free");
    }
    RUN(&o, "%%MatrixMarket matrix coordinate real symmetric\n900000 900000 800000000000\n1 1 1\n",
        "solve", "-");
    assert_code(&o, 6);
    assert_has(o.err, "the matrix would take 12800000000000 bytes (1.28e+04 GB): more than the ");
    RUN(&o, NULL, "solve", "--generate", "helmholtz 2d 1200", "--dense", "auto");
    assert_code(&o, 6);
    assert_has(o.err, "this machine has free");
}

/* Rounding is no asymmetry; how much is rounding can be said. */
static void symmetry_tolerance(void **state) {
    (void)state;
    write_text("noise.mtx", "%%MatrixMarket matrix coordinate real general\n"
                            "3 3 5\n1 1 1\n2 1 5.2e-18\n1 2 4.3e-18\n2 2 1\n3 3 2\n");
    RUN(&o, NULL, "solve", "noise.mtx", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", "noise.mtx", "--symmetry-tolerance", "0");
    assert_code(&o, 2);
    assert_has(o.err, "row 2, column 1");
    assert_has(o.err, "(the difference 9e-19 is more than the tolerance, 0 times the rows' largest "
                      "entry 1: option symmetry_tolerance)");
    write_text("far.mtx", "%%MatrixMarket matrix coordinate real general\n"
                          "2 2 4\n1 1 9\n2 1 1\n1 2 2\n2 2 9\n");
    static const char *const commands[] = {"solve", "analyse", "inertia", "info", "stats"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, commands[k], "far.mtx", "--symmetry-tolerance", "0.1");
        assert_code(&o, 2);
        RUN(&o, NULL, commands[k], "far.mtx", "--symmetry-tolerance", "0.2");
        assert_code(&o, 0);
    }
    RUN(&o, NULL, "solve", "far.mtx", "--symmetry-tolerance", "2");
    assert_code(&o, 1);
    unlink("noise.mtx");
    unlink("far.mtx");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(help_is_the_table, empty_folder),
                                       cmocka_unit_test_teardown(not_read, empty_folder),
                                       cmocka_unit_test_teardown(walk, empty_folder),
                                       cmocka_unit_test_teardown(arrays, empty_folder),
                                       cmocka_unit_test_teardown(is_read, empty_folder),
                                       cmocka_unit_test_teardown(in_force, empty_folder),
                                       cmocka_unit_test_teardown(by_hand, empty_folder),
                                       cmocka_unit_test_teardown(memory_limit, empty_folder),
                                       cmocka_unit_test_teardown(too_large, empty_folder),
                                       cmocka_unit_test_teardown(symmetry_tolerance, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
