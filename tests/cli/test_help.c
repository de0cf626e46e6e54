/* SPDX-License-Identifier: BSD-3-Clause */
/* metapack help TOPIC: each topic leads to a page, on a terminal to the manual; others are refused. */
#define _GNU_SOURCE /* posix_openpt */
#include "support.h"

#include <stdlib.h>

static outcome o;

/* A program `man` in the folder that tells what it was asked for, and nothing else in PATH. */
static void stand_in_for_man(int code) {
    char text[128];
    snprintf(text, sizeof text, "#!/bin/sh\necho \"PAGE $1\"\nexit %d\n", code);
    write_text("man", text);
    assert_int_equal(chmod("man", 0755), 0);
    setenv("PATH", folder, 1);
}

/* Run with a terminal as standard output; what arrived there. */
static void run_on_terminal(const char *topic, char *text, size_t size) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(slave, STDOUT_FILENO);
        close(slave);
        close(master);
        alarm(60);
        execl(METAPACK_COMMAND, METAPACK_COMMAND, "help", topic, (char *)NULL);
        _exit(98);
    }
    close(slave);
    size_t got = 0;
    for (ssize_t more; (more = read(master, text + got, size - 1 - got)) > 0;) got += (size_t)more;
    text[got] = '\0';
    close(master);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void commands_on_a_terminal(void **state) {
    (void)state;
    static char text[1 << 16];
    stand_in_for_man(0);
    run_on_terminal("inertia", text, sizeof text);
    assert_has(text, "/metapack-inertia.1");
    assert_null(strstr(text, "--json"));
    run_on_terminal("analyze", text, sizeof text);
    assert_has(text, "/metapack-analyse.1");
    /* a man that fails, or none: the options */
    stand_in_for_man(3);
    run_on_terminal("inertia", text, sizeof text);
    assert_has(text, "--json");
    setenv("PATH", "/nowhere", 1);
    run_on_terminal("inertia", text, sizeof text);
    assert_has(text, "--json");
    /* no pager, either: the page */
    run_on_terminal("ipopt", text, sizeof text);
    assert_has(text, "# METAPACK under Ipopt");
}

/* Not on a terminal the options, without man. */
static void commands_in_a_pipe(void **state) {
    (void)state;
    stand_in_for_man(0);
    RUN(&o, NULL, "help", "solve");
    assert_code(&o, 0);
    assert_has(o.out, "Common:");
    assert_null(strstr(o.out, "PAGE"));
}

/* Each name that `help topics` prints is a topic, named once, and in the list for people. */
static void every_topic_is_there(void **state) {
    (void)state;
    static char all[sizeof o.out], people[sizeof o.out];
    stand_in_for_man(0);
    RUN(&o, NULL, "help");
    assert_code(&o, 0);
    snprintf(people, sizeof people, "%s", o.out);
    RUN(&o, NULL, "help", "topics");
    assert_code(&o, 0);
    snprintf(all, sizeof all, "%s", o.out);
    int count = 0, commands = 0;
    char *rest = all;
    for (char *topic; (topic = strtok_r(rest, "\n", &rest)); count++) {
        char again[96];
        assert_has(people, topic);
        if (!strcmp(topic, "report")) commands = count;
        RUN(&o, NULL, "help", topic);
        if (o.code) fail_msg("help %s: %s", topic, o.err);
        snprintf(again, sizeof again, "\n%s\n", topic);
        assert_null(*rest ? strstr(rest - 1, again) : NULL);
    }
    assert_true(count > 40 && commands > 10);
    for (const char *topic = all; commands-- > 0; topic += strlen(topic) + 1) {
        char page[96]; /* strtok_r left the names, each with its end */
        snprintf(page, sizeof page, "metapack-%.60s", topic);
        RUN(&o, NULL, "help", page);
        assert_code(&o, 0);
        assert_has(o.out, page);
    }
    static const char *const some[] = {"guide", "reference", "design", "help", "report"};
    for (int k = 0; k < 5; k++) {
        RUN(&o, NULL, "help", some[k]);
        assert_code(&o, 0);
        assert_true(strlen(o.out) > 100);
    }
}

static void pages(void **state) {
    (void)state;
    static const struct {
        const char *topic, *said;
    } want[] = {{"ipopt", "# METAPACK under Ipopt"},
                {"guide/accelerators", "# "},
                {"options", "# Options"},
                {"borgc", "/borgc.1"},
                {"metapack", "/metapack.1"},
                {"metapack.3", "/metapack.3"},
                {"metapack(3)", "/metapack.3"},
                {"metapack-solve", "/metapack-solve.1"},
                {"pymetapack", "/pymetapack.3"},
                {"metapack_batch", "/metapack_batch.3"},
                {"mpk_batch_ldlt", "/metapack_batch.3"},
                {"mpk_solve", "/metapack_solve.3"},
                {"mpk_options", "/metapack_options.3"},
                {"mpk_context", "/metapack_types.3"},
                {"MPK_SINGULAR", "/metapack_status.3"},
                {"MPK_HERMITIAN", "/metapack_types.3"}};
    stand_in_for_man(0);
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        RUN(&o, NULL, "help", want[k].topic);
        if (o.code || !strstr(o.out, want[k].said))
            fail_msg("help %s: no %s in %s%s", want[k].topic, want[k].said, o.out, o.err);
    }
    setenv("PATH", "/nowhere", 1);
    RUN(&o, NULL, "help", "pymetapack");
    assert_code(&o, 1);
    assert_has(o.err, "no program man to show");
}

static void unknown_topics(void **state) {
    (void)state;
    static const struct {
        const char *topic, *said;
    } want[] = {{"sovle", "did you mean 'solve'?"},
                {"ipop", "did you mean 'ipopt'?"},
                {"troubleshoting", "did you mean 'troubleshooting'?"},
                {"mpk_solv", "did you mean 'mpk_solve'?"},
                {"mpk_batch_ldtl", "did you mean 'mpk_batch_ldlt'?"},
                {"metapack_bach", "did you mean 'metapack_batch'?"},
                {"guid", "did you mean 'guide'?"},
                {"design/blockin", "did you mean 'blocking'?"},
                {"metapack.4", "unknown topic 'metapack.4'"},
                {"", "unknown topic ''; metapack help lists them"},
                {"../README", "unknown topic '../README'"},
                {"guide/../../README", "unknown topic"},
                {"/etc/passwd", "unknown topic"},
                {"guide/", "unknown topic"},
                {".", "unknown topic"},
                {"(3)", "unknown topic"},
                {"something else altogether", "metapack help lists them"}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        RUN(&o, NULL, "help", want[k].topic);
        assert_code(&o, 1);
        assert_string_equal(o.out, "");
        if (!strstr(o.err, want[k].said))
            fail_msg("help %s: no %s in %s", want[k].topic, want[k].said, o.err);
    }
}

static char *path;

static int keep_path(void **state) {
    path = strdup(getenv("PATH"));
    return enter_folder(state) || !path;
}

static int put_path_back(void **state) {
    setenv("PATH", path, 1);
    return empty_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(commands_on_a_terminal, put_path_back),
        cmocka_unit_test_teardown(commands_in_a_pipe, put_path_back),
        cmocka_unit_test_teardown(every_topic_is_there, put_path_back),
        cmocka_unit_test_teardown(pages, put_path_back),
        cmocka_unit_test_teardown(unknown_topics, put_path_back),
    };
    return cmocka_run_group_tests(tests, keep_path, leave_folder);
}
