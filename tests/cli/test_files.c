/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of all commands: no output takes the place of an input, endings say what is written, what
 * is read-only stays. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "support.h"

#include <pwd.h>

static outcome o;

enum { WORDS = 12 };

/* ---- what is read is not written over -------------------------------------------------------- */

static const char PRECIOUS[] = "%%MatrixMarket matrix coordinate real symmetric\n"
                               "2 2 3\n1 1 2\n2 1 1\n2 2 3\n";

static void assert_kept(const char *path, const char *content) {
    char text[512];
    read_text(path, text, sizeof text);
    assert_string_equal(text, content);
}

/* The file `in` under each of its names as the output of `words`, "@IN" and "@OUT" in them. */
static void never_over(const char *in, const char *ending, const char *const *words) {
    char here[PATH_MAX], names[5][PATH_MAX + 64], stem[64];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(stem, sizeof stem, "%.40s%s", in, ending);
    assert_int_equal(link(in, stem), 0);
    snprintf(names[0], sizeof names[0], "%s", stem); /* a hard link */
    snprintf(names[1], sizeof names[1], "./%s", stem);
    snprintf(names[2], sizeof names[2], "%s/%s", here, stem);
    snprintf(names[3], sizeof names[3], "soft%s", ending);
    snprintf(names[4], sizeof names[4], "softer%s", ending);
    assert_int_equal(symlink(in, names[3]), 0);
    assert_int_equal(symlink(names[3], names[4]), 0);
    for (int k = 0; k < 5; k++) {
        const char *argv[WORDS + 1] = {0};
        for (int w = 0; words[w]; w++)
            argv[w] = !strcmp(words[w], "@IN")    ? in
                      : !strcmp(words[w], "@OUT") ? names[k]
                                                  : words[w];
        run_words(&o, PRECIOUS, argv);
        assert_code(&o, 1);
        assert_has(o.err, "which is read");
        assert_kept(in, PRECIOUS);
        assert_int_equal(strcmp(o.out, ""), 0);
    }
    unlink(stem);
    unlink(names[3]);
    unlink(names[4]);
}

static void inputs_stay(void **state) {
    (void)state;
    static const struct {
        const char *ending, *words[WORDS];
    } cases[] = {
        {".mtx", {"solve", "@IN", "-o", "@OUT"}},
        {".mtx", {"inverse", "@IN", "-o", "@OUT"}},
        {".mtx", {"solve", TINY "swap.mtx", "-b", "@IN", "-o", "@OUT"}},
        {".svg", {"solve", "@IN", "--plot", "@OUT"}},
        {".svg", {"solve", "@IN", "--method", "ildlt", "--trace", "@OUT"}},
        {".json", {"solve", "@IN", "--method", "ildlt", "--trace", "@OUT"}},
        {".mtx",
         {"solve", TINY "kkt.mtx", "--ordering", "given", "--given-perm", "@IN", "-o", "@OUT"}},
        {".mtx", {"solve", "@IN", "--dense", "auto", "-o", "@OUT"}},
        {".mtx", {"solve", "@IN", "--backend", "cpu", "-o", "@OUT"}},
        {".svg", {"analyse", "@IN", "--plot", "@OUT"}},
        {".svg", {"inertia", "@IN", "--plot", "@OUT"}},
        {".svg", {"info", "@IN", "--plot", "@OUT"}},
        {".svg", {"stats", "@IN", "--plot", "@OUT"}},
        {".mtx", {"convert", "@IN", "@OUT"}},
        {".mtx.gz", {"convert", "@IN", "-o", "@OUT"}},
        {".rb", {"convert", "@IN", "@OUT"}},
#ifdef METAPACK_VECTOR
        {".svg", {"accelerators", "@IN", "--plot", "@OUT"}},
        {".svg", {"accelerators", "ldlt", "--cells", "@IN", "--draw", "@OUT"}},
        {".csv", {"vsim", "@IN", "--generate", "lin 3 3 3", "--csv", "@OUT"}},
        {".svg", {"vsim", "kernel", "--matrix", "@IN", "--plot", "@OUT"}},
        {".json", {"vsim", "kernel", "--machine", "@IN", "--trace", "@OUT"}},
#endif
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        write_text("a", PRECIOUS);
        never_over("a", cases[k].ending, cases[k].words);
        unlink("a");
        assert_files(0);
    }
    /* standard input is a file, too; a pipe of that name is none */
    write_text("a.mtx", PRECIOUS);
    assert_int_equal(system(METAPACK_COMMAND " solve - -o a.mtx -q < a.mtx 2> err"), 1 << 8);
    assert_kept("a.mtx", PRECIOUS);
    assert_int_equal(system(METAPACK_COMMAND " info a.mtx >> a.mtx 2> err"), 1 << 8);
    assert_kept("a.mtx", PRECIOUS);
    RUN(&o, PRECIOUS, "solve", "-", "-o", "-", "-q");
    assert_code(&o, 0);
    assert_int_equal(strncmp(o.out, "%%MatrixMarket", 14), 0);
}

static void outputs_are_several(void **state) {
    (void)state;
    assert_int_equal(symlink("x.svg", "y.svg"), 0);
    static const char *const names[][2] = {{"x.svg", "x.svg"},
                                           {"x.svg", "./x.svg"},
                                           {"x.svg", "y.svg"},
                                           {"-", "-"},
                                           {"-", "/dev/stdout"}};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "solve", TINY "kkt.mtx", "--method", "ildlt", "--plot", names[k][0],
            "--trace", names[k][1]);
        assert_code(&o, 1);
        assert_has(o.err, "are one file");
        assert_string_equal(o.out, "");
    }
    unlink("y.svg");
    assert_files(0);
    RUN(&o, NULL, "solve", "-", "--ordering", "given", "--given-perm", "-");
    assert_code(&o, 1);
    assert_has(o.err, "standard input cannot be both");
}

/* ---- endings --------------------------------------------------------------------------------- */

static void begins(const char *path, const char *bytes, size_t count) {
    static char text[1 << 18];
    read_text(path, text, sizeof text);
    if (memcmp(text, bytes, count)) fail_msg("%s begins otherwise", path);
}

/* Pictures of other kinds. */
static void pictures(void) {
    static const struct {
        const char *words[8];
    } cases[] = {
        {{"solve", TINY "kkt.mtx", "--krylov", "gmres", "--plot"}},
        {{"info", TINY "kkt.mtx", "--plot"}},
        {{"stats", TINY "kkt.mtx", "--plot"}},
        {{"solve", TINY "kkt.mtx", "--method", "ildlt", "--trace"}},
#ifdef METAPACK_VECTOR
        {{"accelerators", "ldlt", "--draw"}},
#endif
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int pdf = 0; pdf < 2; pdf++) {
            const char *words[WORDS] = {0}, *name = pdf ? "p.PDF" : "p.png";
            int count = 0;
            for (; cases[k].words[count]; count++) words[count] = cases[k].words[count];
            words[count] = name;
            run_words(&o, NULL, words);
            assert_code(&o, 0);
            begins(name, pdf ? "%PDF-1.4\n" : "\x89PNG\r\n\x1a\n", 8);
            unlink(name);
        }
}

/* Each output by each ending: compressed where it says so, and told in the report. */
static void endings(void **state) {
    (void)state;
    static const struct {
        const char *first[8], *ending, *plain;
    } cases[] = {
        {{"solve", TINY "kkt.mtx", "-o"}, ".mtx", "%%MatrixMarket"},
        {{"solve", TINY "array.mtx", "-o"}, ".mtx", "%%MatrixMarket"},
        {{"convert", TINY "kkt.mtx", "-o"}, ".mtx", "%%MatrixMarket"},
        {{"generate", "nlpkkt", "3", "-o"}, ".mtx", "%%MatrixMarket"},
        {{"convert", TINY "kkt.mtx"}, ".rb", ""},
        {{"solve", TINY "kkt.mtx", "--plot"}, ".svg", "<svg"},
        {{"analyse", TINY "kkt.mtx", "--plot"}, ".svg", "<svg"},
        {{"inertia", TINY "kkt.mtx", "--plot"}, ".svg", "<svg"},
        {{"inverse", TINY "kkt.mtx", "-o"}, ".mtx", "%%MatrixMarket matrix array"},
        {{"inverse", TINY "kkt.mtx", "--pattern", "-o"}, ".mtx", "%%MatrixMarket matrix coord"},
        {{"info", TINY "kkt.mtx", "--plot"}, ".svg", "<svg"},
        {{"stats", TINY "kkt.mtx", "--plot"}, ".svg", "<svg"},
        {{"solve", TINY "kkt.mtx", "--method", "ildlt", "--trace"}, ".svg", "<svg"},
        {{"solve", TINY "kkt.mtx", "--method", "ildlt", "--trace"}, ".json", "{"},
#ifdef METAPACK_VECTOR
        {{"accelerators", "ldlt", "--plot"}, ".svg", "<svg"},
        {{"accelerators", "ldlt", "--draw"}, ".svg", "<svg"},
        {{"vsim", METAPACK_VECTOR "/kernels/spmv.vrptx", "--generate", "lin 3 3 3", "--csv"},
         ".csv",
         ""},
#endif
    };
    static const struct {
        const char *ending, *magic;
        size_t count;
    } packings[] = {{"", "", 0},
                    {".gz", "\x1f\x8b", 2},
                    {".XZ",
                     "\xfd"
                     "7zXZ",
                     5}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int p = 0; p < 3; p++) {
            if (test_sanitizer_skips((int)k + p, 3)) continue;
            char name[64], line[96];
            const char *words[WORDS] = {0};
            int count = 0;
            snprintf(name, sizeof name, "out%s%s", cases[k].ending, packings[p].ending);
            for (; cases[k].first[count]; count++) words[count] = cases[k].first[count];
            words[count] = name;
            run_words(&o, NULL, words);
            assert_code(&o, 0);
            snprintf(line, sizeof line, "Written       %s\n", name);
            if (!strstr(o.out, line) && !strstr(o.err, line))
                fail_msg("no \"%s\" in %s%s", line, o.out, o.err);
            if (p)
                begins(name, packings[p].magic, packings[p].count);
            else
                begins(name, cases[k].plain, strlen(cases[k].plain));
            assert_files(1);
            unlink(name);
            snprintf(name, sizeof name, "out%s.dat%s", cases[k].ending, packings[p].ending);
            run_words(&o, NULL, words);
            assert_code(&o, 1);
            assert_has(o.err, "the name says no format");
            assert_has(o.err, cases[k].ending); /* what it could be */
            assert_files(0);
        }
    static const char *const wrong[] = {"x.eps", "x.png.gz", "x.mtx", "x.svgz", "x.svg.bz2"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "analyse", TINY "kkt.mtx", "--plot", wrong[k]);
        assert_code(&o, 1);
    }
    pictures();
    /* what is written compressed is read */
    RUN(&o, NULL, "generate", "nlpkkt", "4", "-o", "k.mtx.xz", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "convert", "k.mtx.xz", "k.rb.xz", "-q");
    assert_code(&o, 0);
    RUN(&o, NULL, "convert", "k.rb.xz", "-", "-q");
    static char text[sizeof o.out];
    snprintf(text, sizeof text, "%s", o.out);
    RUN(&o, NULL, "generate", "nlpkkt", "4");
    assert_string_equal(o.out, text);
}

/* A generator that reads a file: names of every kind, its own file, standard input, no system. */
static void published(void **state) {
    (void)state;
    static const char *const list[] = {"a b,c.mtx", "a\"b.mtx", "x=y.mtx", "two\nlines.mtx",
                                       "k.rb.gz"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "generate", "lp-kkt", "20", "30", "-o", list[k]);
        assert_code(&o, 0);
        RUN(&o, NULL, "generate", "lp-published", list[k], "scaling=2", "-o", "p.mtx");
        assert_code(&o, 0);
        RUN(&o, NULL, "generate", "lp-published", "decades=2", list[k], "-o", list[k]);
        assert_code(&o, 1);
        assert_has(o.err, "is not to be written over");
        RUN(&o, NULL, "solve", "p.mtx", "-q");
        assert_code(&o, 0);
        unlink(list[k]), unlink("p.mtx");
    }
    RUN(&o, NULL, "generate", "lp-kkt", "20", "30");
    static char text[sizeof o.out];
    snprintf(text, sizeof text, "%s", o.out);
    RUN(&o, text, "generate", "lp-published", "-");
    assert_code(&o, 0);
    assert_has(o.out, "%%MatrixMarket");
    RUN(&o, NULL, "generate", "lp-published", METAPACK_DATA "/acopf/case14_ieee_it13.mtx.xz", "-o",
        "p.mtx");
    assert_code(&o, 2);
    assert_has(o.err, "this is no system [D A'; A -delta I]");
    RUN(&o, NULL, "generate", "lp-kkt 20 30", "-o", "k.mtx"); /* a specification in one word */
    assert_code(&o, 0);
    RUN(&o, NULL, "convert", "--generate", "lp-published k.mtx", "./k.mtx");
    assert_code(&o, 1);
    assert_has(o.err, "is not to be written over");
    RUN(&o, NULL, "solve", "--generate", "lp-published decades=2 file=k.mtx", "-o", "k.mtx");
    assert_code(&o, 1);
    assert_has(o.err, "is not to be written over");
    unlink("k.mtx");
    RUN(&o, NULL, "generate", "lp-published", "none.mtx");
    assert_code(&o, 2);
    RUN(&o, NULL, "generate", "lp-published");
    assert_code(&o, 1);
    assert_has(o.err, "file is missing");
}

/* Names of every kind. */
static void names(void **state) {
    (void)state;
    static const char *const list[] = {"mit Leerzeichen.mtx", "Größe.mtx",      "./-q.mtx",
                                       "a'b\"c.mtx",          "two\nlines.mtx", "%s%n.mtx"};
    char longest[NAME_MAX + 1];
    for (int k = 0; k < 7; k++) {
        memset(longest, 'n', NAME_MAX);
        strcpy(longest + NAME_MAX - 4, ".mtx");
        const char *name = k < 6 ? list[k] : longest;
        RUN(&o, NULL, "generate", "nlpkkt", "2", "-o", name);
        assert_code(&o, 0);
        RUN(&o, NULL, "solve", name, "--json");
        assert_code(&o, 0);
        assert_true(json_valid(o.out));
        RUN(&o, NULL, "solve", name, "-o", name);
        assert_code(&o, 1);
        assert_files(1);
        unlink(name);
    }
    RUN(&o, NULL, "generate", "nlpkkt", "2", "-o-q.mtx");
    assert_code(&o, 0);
    assert_int_equal(access("-q.mtx", F_OK), 0);
    RUN(&o, NULL, "info", "--", "-q.mtx");
    assert_code(&o, 0);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-qo", "x.mtx"); /* letters together */
    assert_code(&o, 0);
    assert_string_equal(o.err, "");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "");
    assert_code(&o, 1);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "new/");
    assert_code(&o, 2);
    assert_has(o.err, "new/");
}

/* ---- who may write what ---------------------------------------------------------------------- */

/* Run as somebody who is not the superuser; false where that cannot be. */
static bool as_nobody(void) {
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid()) return true;
    if (!nobody) return false;
    run_as = nobody->pw_uid;
    RUN(&o, NULL, "--version");
    return o.code == 0;
}

static void permissions(void **state) {
    (void)state;
    if (!as_nobody()) {
        run_as = 0;
        skip(); /* the command lies where only the superuser goes */
    }
    write_text("there.mtx", "old");
    write_text("fixed.mtx", "old");
    assert_int_equal(chmod("there.mtx", 0666), 0);
    assert_int_equal(chmod("fixed.mtx", 0444), 0);
    assert_int_equal(chmod(".", 0555), 0);
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "there.mtx", "-q");
    assert_code(&o, 0);
    begins("there.mtx", "%%MatrixMarket", 14); /* over it, since the folder takes no new file */
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "new.mtx", "-q");
    assert_code(&o, 2);
    assert_has(o.err, "cannot be written to");
    RUN(&o, NULL, "solve", TINY "kkt.mtx", "-o", "fixed.mtx", "-q");
    assert_code(&o, 2);
    assert_has(o.err, "read-only");
    assert_int_equal(chmod(".", 0777), 0);
    run_as = 0; /* nor by the superuser, nor where the folder would take a new one */
    static const char *const words[][4] = {{"solve", TINY "kkt.mtx", "-o", "fixed.mtx"},
                                           {"convert", TINY "kkt.mtx", "-o", "fixed.mtx"},
                                           {"info", TINY "kkt.mtx", "--plot", "fixed.svg"},
                                           {"stats", TINY "kkt.mtx", "--plot", "fixed.svg"}};
    assert_int_equal(link("fixed.mtx", "fixed.svg"), 0);
    for (int k = 0; k < 4; k++) {
        RUN(&o, NULL, words[k][0], words[k][1], words[k][2], words[k][3], "--json");
        assert_code(&o, 2);
        assert_has(o.err, "read-only");
        assert_true(json_valid(o.out));
        assert_kept("fixed.mtx", "old");
    }
}

/* Nothing is left of a file whose writing is killed. */
static void killed_while_writing(void **state) {
    (void)state;
    static const char *const words[] = {"generate", "random", "2500", "0.5", "-o", "k.mtx", NULL};
    const int nameless = open(".", O_WRONLY | O_TMPFILE, 0600);
    if (nameless < 0) skip(); /* a file system without files that have no name */
    close(nameless);
    static const int numbers[] = {SIGKILL, SIGTERM};
    for (int k = 0; k < 2; k++) {
        const pid_t child = start(words, NULL);
        usleep(300000);
        kill(child, numbers[k]);
        finish(child, &o);
        assert_true(o.code == 0 || o.code == -SIGKILL || o.code == 143);
        if (o.code) assert_files(0);
        unlink("k.mtx");
    }
}

/* A stream that is closed: what was meant for it does not end in a file. */
static void closed_streams(void **state) {
    (void)state;
    assert_int_equal(system(METAPACK_COMMAND " info " TINY "kkt.mtx >&- 2> err"), 2 << 8);
    assert_int_equal(system(METAPACK_COMMAND " solve " TINY "kkt.mtx -o x.mtx >&- 2>&- <&-"), 0);
    begins("x.mtx", "%%MatrixMarket matrix array real general\n5 1\n", 45);
    static const char *const full[] = {"info " TINY "kkt.mtx",
                                       "stats " TINY "kkt.mtx",
                                       "analyse " TINY "kkt.mtx --json",
                                       "--help",
                                       "solve --help",
                                       "--version",
                                       "generate nlpkkt 2"};
    for (int k = 0; k < 7; k++) {
        char line[PATH_MAX + 256];
        snprintf(line, sizeof line, "%s %s > /dev/full 2> err", METAPACK_COMMAND, full[k]);
        assert_int_equal(system(line), 2 << 8);
    }
}

/* What is large is told and asked for before it is made. */
static void large_files(void **state) {
    (void)state;
    RUN(&o, NULL, "generate", "random", "200000", "-o", "r.mtx", "--json");
    assert_code(&o, 2);
    assert_true(json_valid(o.out) || !*o.out);
    assert_has(o.err, " GB");
    assert_has(o.err, "--force writes it");
    RUN(&o, NULL, "convert", "--generate", "nlpkkt 200", "r.rb.gz");
    assert_code(&o, 2);
    assert_has(o.err, "before compression; --force");
    RUN(&o, NULL, "generate", "nlpkkt", "200"); /* standard output takes no less room */
    assert_code(&o, 2);
    assert_string_equal(o.out, "");
    RUN(&o, NULL, "generate", "nlpkkt", "3", "-o", "k.mtx", "--force", "-q");
    assert_code(&o, 0);
    assert_files(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(inputs_stay, empty_folder),
        cmocka_unit_test_teardown(outputs_are_several, empty_folder),
        cmocka_unit_test_teardown(endings, empty_folder),
        cmocka_unit_test_teardown(published, empty_folder),
        cmocka_unit_test_teardown(names, empty_folder),
        cmocka_unit_test_teardown(permissions, empty_folder),
        cmocka_unit_test_teardown(killed_while_writing, empty_folder),
        cmocka_unit_test_teardown(closed_streams, empty_folder),
        cmocka_unit_test_teardown(large_files, empty_folder)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
