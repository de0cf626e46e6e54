/* SPDX-License-Identifier: BSD-3-Clause */
/* A timer interrupts a thousand times a second, and its handler does not ask for calls to be
 * restarted: reading, writing, waiting for threads and solving come to the same bits without an
 * error. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char folder[] = "/tmp/metapack-signals-XXXXXX";
static char pipe_path[64], file_path[64];

static _Atomic int rings; /* lock-free: of any thread's handler */

static void ring(int number) {
    (void)number;
    rings++;
}

static void set_timer(bool on) {
    const struct sigaction action = {.sa_handler = ring}; /* no SA_RESTART */
    const struct itimerval each = {{0, on ? 1000 : 0}, {0, on ? 1000 : 0}};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &each, NULL), 0);
}

/* ---- what is done with and without the timer ---- */

enum { MOST = 3000 };

typedef struct outcome {
    mpk_status status;
    int32_t n;
    double x[MOST];
} outcome;

static void solve_from(const char *path, mpk_method method, outcome *o) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    mpk_options options;
    double b[MOST];
    memset(o, 0, sizeof *o);
    mpk_options_init(&options);
    options.method = method;
    options.threads = 3;
    o->status = mpk_context_create(NULL, &ctx);
    if (!mpk_failed(o->status)) o->status = mpk_problem_read(ctx, path, &problem);
    mpk_problem_view_get(problem, &a);
    o->n = a.n;
    if (!mpk_failed(o->status) && a.n > MOST) o->status = MPK_ERR_SIZE;
    for (int i = 0; i < MOST; i++) b[i] = i % 7 - 2.5;
    if (!mpk_failed(o->status)) o->status = mpk_analyse(ctx, problem, &options, &an);
    for (int turn = 0; turn < 5 && !mpk_failed(o->status); turn++) {
        mpk_factor_destroy(&fac);
        o->status = mpk_factorize(ctx, an, a.ax, &options, &fac);
        if (!mpk_failed(o->status))
            o->status = mpk_solve(ctx, fac, 1, b, a.n, o->x, a.n, &options, NULL);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_solving(void **unused) {
    (void)unused;
    static outcome want, got;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT};
    for (int k = 0; k < 2; k++) {
        solve_from(file_path, methods[k], &want);
        assert_true(!mpk_failed(want.status));
        assert_true(want.n > 1000);
        const int before = rings;
        set_timer(true);
        for (int turn = 0; turn < 20 && (turn < 2 || rings < before + 50); turn++) {
            solve_from(file_path, methods[k], &got);
            assert_memory_equal(&got, &want, sizeof want);
        }
        set_timer(false);
        assert_true(rings > before);
    }
}

/* ---- a pipe whose other end is slow ---- */

typedef struct other_end {
    pthread_t thread;
    bool writes;
    char *bytes;
    size_t size;
} other_end;

static int open_patiently(const char *path, int flags) {
    int fd;
    while ((fd = open(path, flags)) < 0 && errno == EINTR) {}
    return fd;
}

/* Piece by piece, some signals apart. */
static void *serve(void *arg) {
    other_end *e = arg;
    usleep(20000); /* the library waits for somebody to open the pipe */
    const int fd = open_patiently(pipe_path, e->writes ? O_WRONLY : O_RDONLY);
    for (size_t at = 0;;) {
        const size_t piece = e->size - at < 3000 ? e->size - at : 3000;
        const ssize_t done =
            e->writes ? write(fd, e->bytes + at, piece) : read(fd, e->bytes + at, piece);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0 || (at += (size_t)done) == e->size) {
            if (!e->writes) e->size = at;
            break;
        }
        usleep(300);
    }
    close(fd);
    return NULL;
}

static char *content(const char *path, size_t *size) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    char *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(path, "rb");
    assert_true(bytes && file);
    assert_int_equal(fread(bytes, 1, (size_t)info.st_size, file), info.st_size);
    fclose(file);
    *size = (size_t)info.st_size;
    return bytes;
}

static void test_reading(void **unused) {
    (void)unused;
    static outcome want, got;
    other_end e = {.writes = true};
    solve_from(file_path, MPK_METHOD_LDLT, &want);
    e.bytes = content(file_path, &e.size);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const int before = rings;
    set_timer(true);
    assert_int_equal(pthread_create(&e.thread, NULL, serve, &e), 0);
    solve_from(pipe_path, MPK_METHOD_LDLT, &got);
    assert_int_equal(pthread_join(e.thread, NULL), 0);
    set_timer(false);
    assert_true(rings > before + 5);
    assert_memory_equal(&got, &want, sizeof want);
    unlink(pipe_path);
    free(e.bytes);
}

static void test_writing(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    size_t size;
    char *want = content(file_path, &size);
    other_end e = {.writes = false, .bytes = malloc(2 * size), .size = 2 * size};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_read(ctx, file_path, &problem), MPK_OK);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const int before = rings;
    set_timer(true);
    assert_int_equal(pthread_create(&e.thread, NULL, serve, &e), 0);
    const mpk_status status = mpk_problem_write(ctx, problem, pipe_path);
    assert_int_equal(pthread_join(e.thread, NULL), 0);
    set_timer(false);
    assert_int_equal(status, MPK_OK);
    assert_true(rings > before + 5);
    assert_int_equal(e.size, size);
    assert_memory_equal(e.bytes, want, size);
    unlink(pipe_path);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(want), free(e.bytes);
}

static int enter(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    if (!mkdtemp(folder)) return 1;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe.mtx", folder);
    snprintf(file_path, sizeof file_path, "%s/file.mtx", folder);
    int bad = mpk_context_create(NULL, &ctx) ||
              mpk_problem_generate(ctx, "stokes mac 25", 1, &problem) ||
              mpk_problem_write(ctx, problem, file_path);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return bad;
}

static int leave(void **unused) {
    (void)unused;
    return unlink(file_path) || rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solving),
                                       cmocka_unit_test(test_reading),
                                       cmocka_unit_test(test_writing)};
    return cmocka_run_group_tests(tests, enter, leave);
}
