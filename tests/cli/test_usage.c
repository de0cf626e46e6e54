/* SPDX-License-Identifier: BSD-3-Clause */
/* Help, wrong use, ways to write options. */
#include "../sanitized.h"
#include "support.h"

static outcome o;

static void help_and_version(void **state) {
    (void)state;
    RUN(&o, NULL, "--help");
    assert_code(&o, 0);
    assert_has(o.out, "solve");
    assert_string_equal(o.err, "");
    RUN(&o, NULL, "--version");
    assert_code(&o, 0);
    assert_has(o.out, mpk_version());
    static const char *const commands[] = {
        "solve", "analyse",      "inertia",    "info",    "generate", "stats",  "convert",
        "schur", "accelerators", "synthesize", "inverse", "doctor",   "systems"};
    for (int k = 0; k < 8; k++) {
        static char first[sizeof o.out];
        RUN(&o, NULL, commands[k], "--help");
        assert_code(&o, 0);
        assert_has(o.out, "--json");
        snprintf(first, sizeof first, "%s", o.out);
        RUN(&o, NULL, "help", commands[k]);
        assert_memory_equal(o.out, first, strlen(first));
        for (const char *line = o.out; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 100);
    }
    RUN(&o, NULL, "analyze", "-h");
    assert_code(&o, 0);
    assert_has(o.out, "metapack analyse A");
}

/* solve --help begins with what is common and names the rest; --help=all explains all of it, help
 * report the words of a report; each way to ask for the version tells it. */
static void help_in_groups(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--help");
    assert_code(&o, 0);
    assert_has(o.out, "Common:");
    assert_has(o.out, "\n  -o, --output X ");
    assert_has(o.out, "Accuracy:");
    assert_has(o.out, "--static-shift"); /* by name alone */
    assert_null(strstr(o.out, "replace failed pivots"));
    int lines = 0;
    for (const char *p = o.out; (p = strchr(p, '\n')); p++) lines++;
    assert_true(lines < 60);
    RUN(&o, NULL, "solve", "--help=all");
    assert_has(o.out, "Methods on blocks");
    assert_has(o.out, "replace failed pivots");
    RUN(&o, NULL, "help", "solve", "all");
    assert_has(o.out, "replace failed pivots");
    RUN(&o, NULL, "solve", "--help=some");
    assert_code(&o, 1);
    RUN(&o, NULL, "help", "report");
    assert_code(&o, 0);
    static const char *const words[] = {"growth", "stage", "certified", "delayed"};
    for (int k = 0; k < 4; k++) assert_has(o.out, words[k]);
    static const char *const ways[][2] = {
        {"-V"}, {"version"}, {"--version"}, {"solve", "--version"}, {"inertia", "-V"}};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, ways[k][0], ways[k][1]);
        assert_code(&o, 0);
        assert_has(o.out, mpk_version());
    }
    RUN(&o, NULL, "--json");
    assert_code(&o, 1);
    assert_true(json_valid(o.out));
    RUN(&o, NULL, "--json", "info", TINY "kkt.mtx", "-q");
    assert_code(&o, 0);
    assert_true(json_valid(o.out));
}

/* generate --help has every family that the library knows. */
static void help_lists_the_families(void **state) {
    (void)state;
    RUN(&o, NULL, "generate", "--help");
    for (const char *line = mpk_generators(); *line;) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " "), line);
        assert_has(o.out, name);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Each option that --help lists is in the manual page and in the completion. */
static void options_are_documented(void **state) {
    (void)state;
    static char page[1 << 16], completion[1 << 16], zsh[1 << 17], fish[1 << 16];
    static const char *const commands[] = {
        "solve", "analyse",      "inertia",    "info",    "generate", "stats",  "convert",
        "schur", "accelerators", "synthesize", "inverse", "doctor",   "systems"};
    read_text(METAPACK_DATA "/../completions/metapack.bash", completion, sizeof completion);
    read_text(METAPACK_DATA "/../completions/metapack.zsh", zsh, sizeof zsh);
    read_text(METAPACK_DATA "/../completions/metapack.fish", fish, sizeof fish);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        char path[512];
        int options = 0;
        snprintf(path, sizeof path, METAPACK_DATA "/../man/metapack-%s.1", commands[c]);
        read_text(path, page, sizeof page);
        RUN(&o, NULL, commands[c], "--help=all");
        for (const char *p = o.out; (p = strstr(p, " --")); p++) {
            char name[64], flag[80];
            snprintf(name, sizeof name, "%.*s", (int)strspn(p + 3, "abcdefghijklmnopqrstuvwxyz-"),
                     p + 3);
            snprintf(flag, sizeof flag, "Fl -%s", name);
            assert_has(page, flag);
            snprintf(flag, sizeof flag, "--%s", name);
            assert_has(completion, flag);
            assert_has(zsh, flag);
            snprintf(flag, sizeof flag, " -l %s", name);
            assert_has(fish, flag);
            options++;
        }
        assert_true(options >= 5);
    }
}

/* --version names the CUDA module that a device would be reached by; no banner names a method. */
static void version_and_banner(void **state) {
    (void)state;
    RUN(&o, NULL, "--version");
    assert_code(&o, 0);
    const char *const before = getenv("METAPACK_CUDA_MODULE");
    if (!before) {
        write_text("module.so", "x");
        setenv("METAPACK_CUDA_MODULE", "module.so", 1);
        RUN(&o, NULL, "--version");
        assert_has(o.out, "\nCUDA module module.so\n");
        setenv("METAPACK_CUDA_MODULE", "none.so", 1);
        RUN(&o, NULL, "--version");
        assert_null(strstr(o.out, "CUDA"));
        unsetenv("METAPACK_CUDA_MODULE");
        unlink("module.so");
    }
    RUN(&o, NULL, "--help");
    assert_null(strstr(o.out, "directly"));
}

/* Cross references of the manual pages: by section, then by name. */
static void references_in_order(void **state) {
    (void)state;
    static char page[1 << 16];
    static const char *const pages[] = {"metapack.1",           "metapack-solve.1",
                                        "metapack-analyse.1",   "metapack-inertia.1",
                                        "metapack-info.1",      "metapack-generate.1",
                                        "metapack-inverse.1",   "metapack-doctor.1",
                                        "metapack-stats.1",     "metapack-convert.1",
                                        "metapack-bench.1",     "metapack-devices.1",
                                        "metapack.3",           "metapack-ipopt-env.1",
                                        "metapack-petsc-env.1", "metapack-accelerators.1",
                                        "metapack-synthesize.1"};
    for (size_t k = 0; k < sizeof pages / sizeof *pages; k++) {
        char path[512], last[80] = "";
        snprintf(path, sizeof path, METAPACK_DATA "/../man/%s", pages[k]);
        read_text(path, page, sizeof page);
        const char *p = strstr(page, ".Sh SEE ALSO");
        assert_non_null(p);
        while ((p = strstr(p, "\n.Xr "))) {
            char name[64], section[8], key[80];
            assert_int_equal(sscanf(p, "\n.Xr %63s %7s", name, section), 2);
            snprintf(key, sizeof key, "%s %s", section, name);
            if (strcmp(last, key) >= 0) fail_msg("%s: %s after %s", pages[k], key, last);
            snprintf(last, sizeof last, "%s", key);
            p++;
        }
    }
}

/* GPUs, or the reason why there are none: on standard error, with the exit code for devices. */
static void devices(void **state) {
    (void)state;
    setenv("METAPACK_CUDA_MODULE", "no-module.so", 1);
    RUN(&o, NULL, "devices");
    assert_code(&o, 7);
    assert_string_equal(o.out, "");
    assert_true(strstr(o.err, "no CUDA backend") || strstr(o.err, "without CUDA"));
    RUN(&o, NULL, "devices", "--json");
    assert_code(&o, 7);
    assert_has(o.out, "\"status\"");
    RUN(&o, NULL, "devices", "all");
    assert_code(&o, 1);
    RUN(&o, NULL, "analyse", "--generate", "nlpkkt 3", "--device", "cuda");
    assert_code(&o, 7);
    assert_true(strstr(o.err, "no CUDA backend") || strstr(o.err, "without CUDA"));
    RUN(&o, NULL, "analyse", "--generate", "nlpkkt 3", "--device", "auto", "--json");
    assert_code(&o, 0);
    assert_has(o.err, "Place         cpu-");
    assert_has(o.out, "\"backend\": \"cpu-");
    unsetenv("METAPACK_CUDA_MODULE");
#ifdef METAPACK_CUDA_HOST
    setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
    RUN(&o, NULL, "devices");
    assert_code(&o, 0);
    assert_has(o.out, "cuda:0  host, one thread; 4.0 of 4.0 GiB free");
    RUN(&o, NULL, "devices", "--json");
    assert_code(&o, 0);
    assert_has(o.out, "{\"devices\": [{\"device\": \"cuda:0\", \"name\": \"host\"");
#if !TEST_SANITIZED /* the module is not instrumented */
    /* the ladder of auto, all of it there; one iteration is too few for its first step */
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 3", "--method", "auto", "--no-direct", "--device",
        "cuda", "--tolerance", "1e-12", "--max-iterations", "1", "--json");
    assert_has(o.out, "\"backend\": \"cuda: host\"");
    assert_has(o.out, "\"method\": \"ildlt\"");
    const char *tries = strstr(o.out, "\"attempts\"");
    assert_non_null(tries);
    assert_non_null(strstr(strstr(tries, "\"drop_tolerance\"") + 1, "\"drop_tolerance\""));
    RUN(&o, NULL, "solve", "--generate", "nlpkkt 3", "--method", "auto", "--device", "cuda");
    assert_code(&o, 0);
    assert_has(o.err, "LDL^T, cuda: host");
#endif
    unsetenv("METAPACK_CUDA_MODULE");
#endif
}

/* Wrong use: exit code 1, what is wrong, and nothing on standard output. */
static void wrong_use(void **state) {
    (void)state;
    static const struct {
        const char *words[8], *said;
    } cases[] = {
        {{NULL}, "no command"},
        {{"slove", "x"}, "did you mean 'solve'?"},
        {{"help", "anlyse"}, "did you mean 'analyse'?"},
        {{"qqqqqqqq"}, "unknown command 'qqqqqqqq'"},
        {{TINY "kkt.mtx"}, "did you mean: metapack solve"},
        {{"solve"}, "no matrix"},
        {{"solve", "a", "b"}, "-b B gives the right-hand side"},
        {{"solve", "a", "--treads", "2"}, "did you mean --threads?"},
        {{"solve", "a", "--order", "amd"}, "did you mean --ordering?"},
        {{"solve", "a", "--xyzzy"}, "unknown option --xyzzy"},
        {{"solve", "a", "-x"}, "unknown option -x"},
        {{"info", "a", "--threads", "2"}, "--threads does not belong to 'info'"},
        {{"solve", "a", "--threads"}, "--threads needs a value"},
        {{"solve", "a", "-b"}, "--rhs needs a value"},
        {{"solve", "a", "--rhs="}, "--rhs needs a value"},
        {{"solve", "a", "--json=1"}, "--json takes no value"},
        {{"solve", "a", "-q1"}, "-q takes no value"},
        {{"solve", "a", "--threads", "two"}, "expected an integer"},
        {{"solve", "a", "--threads=-1"}, "expected an integer"},
        {{"solve", "a", "--pivot-threshold", "0.6"}, "expected a number"},
        {{"solve", "a", "--pivot-threshold", "nan"}, "expected a number"},
        {{"solve", "a", "--ordering", "best"}, "auto | amd | metis"},
        {{"solve", "a", "--matching=perhaps"}, "on | auto"},
        {{"solve", "a", "--memory-limit", "8Q"}, "expected bytes"},
        {{"solve", "a", "--memory-limit", "G"}, "expected bytes"},
        {{"solve", "a", "--ordering", "given"}, "needs --given-perm"},
        {{"solve", "a", "--given-perm", "p"}, "is for --ordering given"},
        {{"solve", "a", "--given-blocks", "p"}, "is for --ordering given or natural"},
        {{"solve", "a", "--given-pivots", "p"}, "is for --ordering given or natural"},
        {{"solve", "a", "--generate", "nlpkkt 3"}, "both a file"},
        {{"solve", "-", "-b", "-"}, "standard input cannot be both"},
        {{"solve", "a", "-o", "-", "--json"}, "standard output cannot take both"},
        {{"solve", "--generate", "nlpkt 3"}, "nlpkkt"},
        {{"solve", "--generate", "nlpkkt"}, "N"},
        {{"generate"}, "no family"},
        {{"generate", "nlpkkt", "-3"}, "-3"},
        {{"convert", TINY "kkt.mtx"}, "no target"},
        {{"stats"}, "no matrix"},
        {{"stats", "a", "--strategy", "br,best"}, "auto | br | rb | rbr"},
        {{"stats", "a", "--ordering", "amd,"}, "auto | amd"},
        {{"stats", "a", "--ordering", "given"}, "no order from a file"},
        {{"stats", "a", "--block", "16,129"}, "expected an integer"},
        {{"stats", "a", "--levels", "3:1"}, "as in 0:5"},
        {{"stats", "a", "--levels", "0,all"}, "as in 0:5"},
        {{"stats", "a", "--levels", "0:100"}, "at most 64"},
        {{"stats", "a", "--scalar", "yes"}, "on | off"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        run_words(&o, NULL, cases[k].words);
        assert_code(&o, 1);
        assert_has(o.err, cases[k].said);
        if (!strstr(o.err, "--json")) assert_string_equal(o.out, "");
    }
    assert_files(0);
}

/* With --json a failure is an object, too, wherever the option stands. */
static void failures_as_json(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", "--treads", "2", "--json");
    assert_code(&o, 1);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"argument\"");
    assert_has(o.out, "\"message\": \"unknown option --treads; did you mean --threads?\"");
    RUN(&o, NULL, "slove", "--json");
    assert_code(&o, 1);
    assert_true(json_valid(o.out));
    RUN(&o, NULL, "info", "--json", "none.mtx");
    assert_code(&o, 2);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"file\"");
    assert_has(o.out, "none.mtx");
}

#if defined(__aarch64__)
#define LEVEL1 "neon"
#define LEVEL2 "sve256"
#else
#define LEVEL1 "avx2"
#define LEVEL2 "avx512"
#endif

/* METAPACK_CPU that is no word, or more than there is, ends what would compute; help is given. */
static void wrong_environment(void **state) {
    (void)state;
    setenv("METAPACK_CPU", "bogus", 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--json");
    assert_code(&o, 1);
    assert_has(o.err, "METAPACK_CPU in the environment: expected generic | " LEVEL1 " | " LEVEL2);
    assert_true(json_valid(o.out));
    assert_has(o.out, "\"status\": \"argument\"");
    RUN(&o, NULL, "stats", TINY "kkt.mtx");
    assert_code(&o, 1);
    RUN(&o, NULL, "solve", "--help");
    assert_code(&o, 0);
    RUN(&o, NULL, "--version");
    assert_code(&o, 0);
    setenv("METAPACK_CPU", LEVEL2, 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--json");
    if (o.code == 1)
        assert_has(o.err, "this processor has no ");
    else
        assert_has(o.out, "\"backend\": \"cpu-" LEVEL2 "\"");
    setenv("METAPACK_CPU", "generic", 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--json");
    if (o.code == 1)
        assert_has(o.err, "this library was built without it (METAPACK_ISAS)");
    else
        assert_has(o.out, "\"backend\": \"cpu-generic\"");
    unsetenv("METAPACK_CPU");
}

/* All ways to give a value; "--" ends the options. */
static void ways_to_write_options(void **state) {
    (void)state;
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-b" TINY "kkt_b.mtx", "--threads=1", "--refine", "2",
        "--deterministic", "--condition=on", "--seed=-5", "--memory-limit", "1GiB", "--json", "-q");
    assert_code(&o, 0);
    assert_has(o.out, "\"threads\": 1");
    assert_has(o.out, "\"condition\": ");
    assert_string_equal(o.err, "");
    write_text("--json", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 -2\n");
    RUN(&o, NULL, "inertia", "--", "--json");
    assert_code(&o, 0);
    assert_string_equal(o.out, "0 1 0\n");
    assert_has(o.err, "0 positive, 1 negative, 0 zero");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "--rhs", TINY "kkt_b.mtx", "--output=x.mtx", "-q");
    assert_code(&o, 0);
    assert_int_equal(access("x.mtx", F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(help_and_version, empty_folder),
        cmocka_unit_test_teardown(help_in_groups, empty_folder),
        cmocka_unit_test_teardown(help_lists_the_families, empty_folder),
        cmocka_unit_test_teardown(options_are_documented, empty_folder),
        cmocka_unit_test_teardown(version_and_banner, empty_folder),
        cmocka_unit_test(references_in_order),
        cmocka_unit_test_teardown(devices, empty_folder),
        cmocka_unit_test_teardown(wrong_use, empty_folder),
        cmocka_unit_test_teardown(failures_as_json, empty_folder),
        cmocka_unit_test_teardown(wrong_environment, empty_folder),
        cmocka_unit_test_teardown(ways_to_write_options, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
