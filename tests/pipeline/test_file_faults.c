/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that fail: every call of open, read, write, close and rename in turn, with an error, with a
 * signal, with less than was asked for; files that are cut off anywhere, that are folders, full
 * devices, pipes that nobody reads. The status says file, the text names it, what was there before
 * is there afterwards, and nothing else. */
#define _GNU_SOURCE
#include "problem/support.h"
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

/* ---- calls that fail: the library, linked into this program, meets these ones ---- */

typedef enum call { NOTHING, OPEN, READ, WRITE, CLOSE, RENAME, CALLS } call;
static const char *const call_names[] = {"nothing", "open", "read", "write", "close", "rename"};

static struct plan {
    call what;
    int64_t at;    /* the call that fails, counted from 1 */
    int error;     /* errno it fails with; 0: it does less than it was asked to */
    int64_t calls; /* so far */
} plan;

static bool due(call what) {
    return plan.what == what && ++plan.calls == plan.at;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
    va_end(args);
    if (due(OPEN) && plan.error) {
        errno = plan.error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *to, size_t size) {
    if (due(READ)) {
        if (plan.error) {
            errno = plan.error;
            return -1;
        }
        size = size > 1 ? 1 : size;
    }
    return syscall(SYS_read, fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size) {
    if (due(WRITE)) {
        if (plan.error) {
            errno = plan.error;
            return -1;
        }
        size = size > 1 ? 1 : size;
    }
    return syscall(SYS_write, fd, from, size);
}

int close(int fd) {
    const bool failed = due(CLOSE) && plan.error;
    const int code = (int)syscall(SYS_close, fd); /* as the system has it: closed in any case */
    if (failed) errno = plan.error;
    return failed ? -1 : code;
}

int rename(const char *from, const char *to) {
    if (due(RENAME) && plan.error) {
        errno = plan.error;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- what is called ---- */

typedef struct verb {
    const char *name;
    mpk_status (*run)(mpk_context *ctx);
    const char *output; /* in the folder, or NULL */
} verb;

static mpk_status read_matrix(mpk_context *ctx, const char *path) {
    mpk_problem *problem = NULL;
    mpk_problem_view v;
    const mpk_status status = mpk_problem_read(ctx, path, &problem);
    mpk_problem_view_get(problem, &v);
    assert_int_equal(problem != NULL, status == MPK_OK);
    if (status == MPK_OK) assert_int_equal(v.n, 200); /* all of it */
    mpk_problem_destroy(&problem);
    return status;
}

static mpk_status read_plain(mpk_context *ctx) {
    return read_matrix(ctx, in_folder("in.mtx"));
}
static mpk_status read_gz(mpk_context *ctx) {
    return read_matrix(ctx, in_folder("in.mtx.gz"));
}
static mpk_status read_rb(mpk_context *ctx) {
    return read_matrix(ctx, in_folder("in.rb"));
}

static mpk_status read_rhs(mpk_context *ctx) {
    int32_t nrhs = -5;
    void *b = NULL;
    const mpk_status status = mpk_rhs_read(ctx, in_folder("b.mtx"), 200, MPK_D, &nrhs, &b);
    assert_int_equal(b != NULL, status == MPK_OK);
    assert_int_equal(nrhs, b ? 1 : -5);
    mpk_free(ctx, &b);
    return status;
}

static mpk_status write_matrix(mpk_context *ctx, const char *path) {
    mpk_problem *problem = NULL;
    mpk_status status = mpk_problem_generate(ctx, "random 200 0.05 decades=30", 1, &problem);
    if (!mpk_failed(status)) status = mpk_problem_write(ctx, problem, path);
    mpk_problem_destroy(&problem);
    return status;
}

static mpk_status write_plain(mpk_context *ctx) {
    return write_matrix(ctx, in_folder("out.mtx"));
}
static mpk_status write_gz(mpk_context *ctx) {
    return write_matrix(ctx, in_folder("out.rb.gz"));
}

static mpk_status write_rhs(mpk_context *ctx) {
    static double x[20000];
    for (int k = 0; k < 20000; k++) x[k] = 1.0 / (k + 3);
    return mpk_rhs_write(ctx, in_folder("x.mtx"), 20000, MPK_D, 1, x, 20000);
}

static mpk_status run_job(mpk_context *ctx) {
    mpk_report *report = NULL;
    mpk_options o;
    const mpk_job job = {.struct_size = sizeof job,
                         .goal = MPK_GOAL_SOLVE,
                         .matrix = METAPACK_DATA "/tiny/kkt.mtx",
                         .rhs = METAPACK_DATA "/tiny/kkt_b.mtx",
                         .perm = in_folder("perm"),
                         .output = in_folder("x.mtx")};
    mpk_options_init(&o);
    o.threads = 1;
    o.method = MPK_METHOD_LDLT;
    o.ordering = MPK_ORDERING_GIVEN;
    const mpk_status status = mpk_job_run(ctx, &job, &o, &report);
    assert_non_null(report);
    assert_int_equal(mpk_report_run(report)->status, status);
    mpk_report_destroy(&report);
    return status;
}

static mpk_status draw_plot(mpk_context *ctx) {
    mpk_report *report = NULL;
    const mpk_job job = {.struct_size = sizeof job,
                         .matrix = METAPACK_DATA "/tiny/kkt.mtx",
                         .plot = in_folder("p.svg")};
    const mpk_status status = mpk_job_run(ctx, &job, NULL, &report);
    assert_non_null(report);
    mpk_report_destroy(&report);
    return status;
}

/* ---- before and after ---- */

/* Bytes of a file, at most `room`; -1: it is not there. */
static int64_t content(const char *path, char *text, int64_t room) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    const int64_t size = (int64_t)fread(text, 1, (size_t)room, file);
    fclose(file);
    return size;
}

static int count_files(void) {
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static int open_files(void) {
    int count = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The k-th of these calls does this; returns whether there was a k-th. */
static bool attempt(const verb *v, call what, int64_t at, int error, bool is_harmless) {
    static char before[16];
    purse p = {.left = -1};
    mpk_allocator allocator = {purse_alloc, purse_release, &p};
    mpk_context *ctx = NULL;
    const char *text = NULL;
    if (v->output) put(in_folder(v->output), "what was there");
    const int files = count_files(), descriptors = open_files();
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    plan = (struct plan){what, at, error, 0};
    const mpk_status status = v->run(ctx);
    const bool reached = plan.calls >= at;
    plan.what = NOTHING;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!reached || is_harmless) {
        if (status != MPK_OK)
            fail_msg("%s: %s %lld, error %d: %s", v->name, call_names[what], (long long)at, error,
                     text);
    } else {
        if (status != MPK_ERR_FILE)
            fail_msg("%s: %s %lld failed with %d: status %s", v->name, call_names[what],
                     (long long)at, error, mpk_status_name(status));
        assert_true(strstr(text, folder) || strstr(text, METAPACK_DATA)); /* which file */
    }
    if (v->output) {
        const int64_t size = content(in_folder(v->output), before, sizeof before);
        const bool old = size == 14 && !memcmp(before, "what was there", 14);
        assert_int_equal(old, status != MPK_OK); /* the new one whole, or the old one */
    }
    assert_int_equal(count_files(), files);
    assert_int_equal(open_files(), descriptors);
    mpk_context_destroy(&ctx);
    assert_int_equal(p.held, 0);
    return reached;
}

static int64_t sweep(const verb *v, call what, int error, bool is_harmless) {
    int64_t k = 1;
    while (attempt(v, what, k, error, is_harmless)) k++;
    return k - 1;
}

static void test_reading(void **unused) {
    (void)unused;
    static const verb verbs[] = {{"read", read_plain, NULL},
                                 {"read gzip", read_gz, NULL},
                                 {"read Rutherford-Boeing", read_rb, NULL},
                                 {"read a right-hand side", read_rhs, NULL}};
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++) {
        assert_int_equal(sweep(&verbs[k], OPEN, EACCES, false), 1);
        assert_int_equal(sweep(&verbs[k], OPEN, EMFILE, false), 1);
        assert_int_equal(sweep(&verbs[k], OPEN, EINTR, true), 1);
        assert_true(sweep(&verbs[k], READ, EIO, false) >= 2);
        assert_true(sweep(&verbs[k], READ, EINTR, true) >= 2);
        assert_true(sweep(&verbs[k], READ, 0, true) >= 2);
        assert_int_equal(sweep(&verbs[k], CLOSE, EIO, true), 1); /* all was read */
    }
}

static void test_writing(void **unused) {
    (void)unused;
    static const verb verbs[] = {{"write", write_plain, "out.mtx"},
                                 {"write gzip", write_gz, "out.rb.gz"},
                                 {"write a solution", write_rhs, "x.mtx"},
                                 {"plot", draw_plot, "p.svg"}};
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++) {
        assert_true(sweep(&verbs[k], OPEN, EMFILE, false) >= 1);
        assert_true(sweep(&verbs[k], WRITE, ENOSPC, false) >= 1);
        assert_true(sweep(&verbs[k], WRITE, EINTR, true) >= 1);
        assert_true(sweep(&verbs[k], WRITE, 0, true) >= 1);
        assert_int_equal(sweep(&verbs[k], RENAME, EXDEV, false), 1);
    }
    /* where the folder takes no new file the old one is written over, and by a file system that has
     * none without a name, one with another name */
    for (size_t k = 0; k < 3; k++) {
        assert_true(attempt(&verbs[k], OPEN, 1, EACCES, true));
        assert_true(attempt(&verbs[k], OPEN, 1, EOPNOTSUPP, true));
    }
    for (size_t k = 0; k < 3; k++) { /* what close reports of bytes not written is no success */
        assert_int_equal(sweep(&verbs[k], CLOSE, EIO, false), 1);
        assert_int_equal(sweep(&verbs[k], CLOSE, EINTR, true), 1);
    }
}

/* All files of a job, read and written. */
static void test_job(void **unused) {
    (void)unused;
    static const verb job = {"job", run_job, "x.mtx"};
    assert_true(sweep(&job, OPEN, ENOENT, false) >= 4);
    assert_true(sweep(&job, READ, EIO, false) >= 6);
    assert_true(sweep(&job, READ, 0, true) >= 6);
    assert_true(sweep(&job, READ, EINTR, true) >= 6);
    assert_true(sweep(&job, WRITE, EIO, false) >= 1);
    assert_int_equal(sweep(&job, RENAME, EACCES, false), 1);
}

/* ---- files that are cut off ---- */

static void cut_off(const char *name, bool compressed) {
    static char bytes[1 << 16];
    mpk_context *ctx = new_context();
    const int64_t size = content(in_folder(name), bytes, sizeof bytes);
    assert_true(size > 100 && size < (int64_t)sizeof bytes);
    for (int64_t cut = 0; cut < size; cut++) {
        mpk_problem *problem = NULL;
        const char *path = in_folder("cut"), *text = NULL;
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, (size_t)cut, file), cut);
        assert_int_equal(fclose(file), 0);
        const mpk_status status = mpk_problem_read(ctx, path, &problem);
        mpk_last_error(ctx, NULL, NULL, &text);
        if (compressed && status != MPK_ERR_FORMAT)
            fail_msg("%s, first %lld bytes: %s", name, (long long)cut, mpk_status_name(status));
        /* of a plain text the last digits may be missing, and nobody can tell */
        assert_true(status == MPK_ERR_FORMAT || status == MPK_ERR_INPUT || status == MPK_OK);
        assert_int_equal(problem != NULL, status == MPK_OK);
        if (mpk_failed(status)) assert_non_null(strstr(text, path));
        mpk_problem_destroy(&problem);
    }
    unlink(in_folder("cut"));
    mpk_context_destroy(&ctx);
}

static void test_cut_off(void **unused) {
    (void)unused;
    cut_off("small.mtx", false);
    cut_off("small.rb", false);
    cut_off("small.mtx.gz", true);
    cut_off("small.mtx.xz", true);
}

/* ---- what is no file ---- */

static void test_no_files(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context();
    mpk_problem *problem = NULL;
    int32_t nrhs;
    void *b = NULL;
    const double x[3] = {1, 2, 3};
    const char *const bad[] = {folder, "/nowhere/at/all.mtx", in_folder("missing.mtx"), ""};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(mpk_problem_read(ctx, bad[k], &problem), MPK_ERR_FILE);
        assert_said(ctx, bad[k]);
        assert_null(problem);
        assert_int_equal(mpk_rhs_read(ctx, bad[k], 3, MPK_D, &nrhs, &b), MPK_ERR_FILE);
        assert_null(b);
    }
    if (geteuid() != 0) { /* root may read everything */
        put(in_folder("secret.mtx"), "%%MatrixMarket matrix array real general\n1 1\n1\n");
        assert_int_equal(chmod(in_folder("secret.mtx"), 0), 0);
        assert_int_equal(mpk_problem_read(ctx, in_folder("secret.mtx"), &problem), MPK_ERR_FILE);
        assert_said(ctx, "secret.mtx");
        unlink(in_folder("secret.mtx"));
    }
    /* reading begins, and then fails by itself */
    assert_int_equal(mpk_problem_read(ctx, "/proc/self/mem", &problem), MPK_ERR_FILE);
    assert_said(ctx, "cannot read");
    assert_int_equal(mpk_rhs_write(ctx, folder, 3, MPK_D, 1, x, 3), MPK_ERR_FILE);
    assert_int_equal(mpk_rhs_write(ctx, "/nowhere/x.mtx", 3, MPK_D, 1, x, 3), MPK_ERR_FILE);
    assert_int_equal(mpk_rhs_write(ctx, "/dev/full", 3, MPK_D, 1, x, 3), MPK_ERR_FILE);
    assert_said(ctx, "/dev/full");
    assert_int_equal(symlink("/dev/full", in_folder("full.mtx.gz")), 0);
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 3", 1, &problem), MPK_OK);
    assert_int_equal(mpk_problem_write(ctx, problem, in_folder("full.mtx.gz")), MPK_ERR_FILE);
    assert_said(ctx, "full.mtx.gz");
    unlink(in_folder("full.mtx.gz"));
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A job whose picture or solution has no room: the files that could be written are whole, and no
 * other is there. */
static void test_full_device(void **unused) {
    (void)unused;
    mpk_context *ctx = new_context();
    for (int k = 0; k < 2; k++) {
        mpk_report *report = NULL;
        const mpk_job job = {.struct_size = sizeof job,
                             .goal = MPK_GOAL_SOLVE,
                             .matrix = METAPACK_DATA "/tiny/kkt.mtx",
                             .output = k ? in_folder("x.mtx") : "/dev/full",
                             .plot = k ? "/dev/full" : in_folder("p.svg")};
        unlink(in_folder("x.mtx")), unlink(in_folder("p.svg"));
        assert_int_equal(mpk_job_run(ctx, &job, NULL, &report), MPK_ERR_FILE);
        assert_said(ctx, "/dev/full");
        assert_non_null(strstr(mpk_report_json(report), "/dev/full"));
        assert_int_equal(access(in_folder("x.mtx"), F_OK) == 0, k == 1);
        assert_int_not_equal(access(in_folder("p.svg"), F_OK), 0);
        mpk_report_destroy(&report);
        unlink(in_folder("x.mtx"));
    }
    mpk_context_destroy(&ctx);
}

/* Standard output that nobody reads any more, standard input that is closed. */
static void test_closed_pipe(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        int ends[2], code;
        assert_int_equal(pipe(ends), 0);
        close(ends[0]); /* nobody will read */
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            mpk_context *ctx = NULL;
            mpk_problem *problem = NULL;
            signal(SIGPIPE, SIG_IGN); /* the program's choice; the library leaves signals alone */
            if (mpk_failed(mpk_context_create(NULL, &ctx))) _exit(10);
            if (kind == 2) {
                close(STDIN_FILENO);
                _exit(mpk_problem_read(ctx, "-", &problem) == MPK_ERR_FILE ? 0 : 11);
            }
            dup2(ends[1], STDOUT_FILENO);
            close(ends[1]);
            if (mpk_failed(mpk_problem_generate(ctx, "random 300 0.1", 1, &problem))) _exit(12);
            static const double x[9] = {1};
            const mpk_status status = kind ? mpk_rhs_write(ctx, "-", 9, MPK_D, 1, x, 9)
                                           : mpk_problem_write(ctx, problem, "-");
            const char *text;
            mpk_last_error(ctx, NULL, NULL, &text);
            _exit(status == MPK_ERR_FILE && strstr(text, "standard output") ? 0 : 13);
        }
        close(ends[1]);
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
    }
}

/* ---- the folder ---- */

static int enter(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL, *small = NULL;
    double b[200];
    char command[256];
    if (!mkdtemp(folder) || mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    for (int i = 0; i < 200; i++) b[i] = i + 0.5;
    int bad = mpk_problem_generate(ctx, "random 200 0.05 decades=30", 1, &problem) ||
              mpk_problem_generate(ctx, "helmholtz 2d 4 0.3", 1, &small) ||
              mpk_problem_write(ctx, problem, in_folder("in.mtx")) ||
              mpk_problem_write(ctx, problem, in_folder("in.mtx.gz")) ||
              mpk_problem_write(ctx, problem, in_folder("in.rb")) ||
              mpk_problem_write(ctx, small, in_folder("small.mtx")) ||
              mpk_problem_write(ctx, small, in_folder("small.mtx.gz")) ||
              mpk_problem_write(ctx, small, in_folder("small.rb")) ||
              mpk_rhs_write(ctx, in_folder("b.mtx"), 200, MPK_D, 1, b, 200);
    put(in_folder("perm"), "5 4 3 2 1\n");
    snprintf(command, sizeof command, "xz -k %s", in_folder("small.mtx"));
    bad = bad || system(command);
    mpk_problem_destroy(&problem);
    mpk_problem_destroy(&small);
    mpk_context_destroy(&ctx);
    return bad;
}

static int leave(void **unused) {
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),    cmocka_unit_test(test_writing),
        cmocka_unit_test(test_job),        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_no_files),   cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_closed_pipe)};
    return cmocka_run_group_tests(tests, enter, leave);
}
