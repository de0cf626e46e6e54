/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CLI_SUPPORT_H
#define TEST_CLI_SUPPORT_H
/** Run the built command as a shell would and keep what it said. */
#include "report/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TINY METAPACK_DATA "/tiny/"

static uid_t run_as;                               /* 0: who runs the test */
static char folder[] = "/tmp/metapack-cli-XXXXXX"; /* the working folder of all runs */

typedef struct outcome {
    int code; /* exit code, or -signal */
    char out[1 << 16], err[1 << 16];
} outcome;

static inline void read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(text, 1, size - 1, file);
    text[got] = '\0';
    fclose(file);
}

static inline void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text) {
    write_bytes(path, text, strlen(text));
}

static inline pid_t start(const char *const *words, const char *input) {
    const char *argv[80] = {METAPACK_COMMAND};
    int argc = 1;
    for (; *words; words++) argv[argc++] = *words;
    assert_true(argc < 80);
    write_text("stdin", input ? input : "");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("stdin", "r", stdin) || !freopen("stdout", "w", stdout) ||
            !freopen("stderr", "w", stderr))
            _exit(99);
        alarm(200); /* nothing may hang */
        if (run_as && setuid(run_as)) _exit(97);
        execv(METAPACK_COMMAND, (char **)argv);
        _exit(98);
    }
    return child;
}

static inline void finish(pid_t child, outcome *o) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    o->code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    read_text("stdout", o->out, sizeof o->out);
    read_text("stderr", o->err, sizeof o->err);
    unlink("stdin");
    unlink("stdout");
    unlink("stderr");
}

/* Run with words, NULL at the end, and `input` on standard input. */
static inline void run_words(outcome *o, const char *input, const char *const *words) {
    finish(start(words, input), o);
}

#define RUN(o, input, ...) run_words((o), (input), (const char *const[]){__VA_ARGS__, NULL})

static inline void assert_code(const outcome *o, int code) {
    if (o->code != code)
        fail_msg("exit code %d, not %d; it said\n%s%s", o->code, code, o->out, o->err);
}

/* The text has `what`, perhaps broken over two lines of a report. */
static inline void assert_has(const char *text, const char *what) {
    char *whole = unbroken(text);
    if (!strstr(whole, what)) fail_msg("no \"%s\" in\n%s", what, text);
    free(whole);
}

/* Exactly these files lie in the folder ("a b c", sorted by the caller's order of asking). */
static inline void assert_files(int count) {
    DIR *dir = opendir(".");
    int found = 0;
    char names[4096] = "";
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || !strcmp(entry->d_name, "..")))
            continue;
        found++;
        strncat(strncat(names, " ", sizeof names - strlen(names) - 1), entry->d_name,
                sizeof names - strlen(names) - 1);
    }
    closedir(dir);
    if (found != count) fail_msg("%d files, not %d:%s", found, count, names);
}

/* Not of any other folder: a group of tests without enter_folder would clear its own. */
static inline void remove_all(void) {
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_string_equal(here, folder);
    DIR *dir = opendir(".");
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' || (entry->d_name[1] && entry->d_name[1] != '.'))
            unlink(entry->d_name);
    closedir(dir);
}

static inline int enter_folder(void **state) {
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static inline int leave_folder(void **state) {
    (void)state;
    remove_all();
    return chdir("/") || rmdir(folder);
}

static inline int empty_folder(void **state) {
    (void)state;
    remove_all();
    return 0;
}

#endif
