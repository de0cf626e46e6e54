/* SPDX-License-Identifier: BSD-3-Clause */
/* What it takes to load an analysis and a factor, beside making them: bench/results/saving.md.
 *   saving FILE|SPEC ...     a line for each matrix: name, entries, seconds, bytes; one thread
 * Times are the least of several, in turn; files lie in TMPDIR, or /tmp, and in the page cache. */
#include <metapack/metapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double bytes_of(const char *path) {
    struct stat info;
    return stat(path, &info) ? 0 : (double)info.st_size;
}

typedef struct times {
    double analyse, load, factorize, load_factor, analysis_bytes, factor_bytes;
} times;

static void least(double *best, double seconds) {
    if (seconds < *best) *best = seconds;
}

/* Once each. */
static mpk_status turn(mpk_context *ctx, const mpk_problem *p, const mpk_options *o,
                       const char *path, times *t) {
    mpk_analysis *an = NULL, *back = NULL;
    mpk_factor *fac = NULL, *again = NULL;
    double start = now_s();
    mpk_status status = mpk_analyse(ctx, p, o, &an);
    least(&t->analyse, now_s() - start);
    if (!mpk_failed(status)) status = mpk_analysis_save(ctx, an, path);
    t->analysis_bytes = bytes_of(path);
    start = now_s();
    if (!mpk_failed(status)) status = mpk_analysis_load(ctx, p, path, &back);
    least(&t->load, now_s() - start);
    start = now_s();
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    least(&t->factorize, now_s() - start);
    if (!mpk_failed(status)) status = mpk_factor_save(ctx, fac, path);
    t->factor_bytes = bytes_of(path);
    start = now_s();
    if (!mpk_failed(status)) status = mpk_factor_load(ctx, back, path, &again);
    least(&t->load_factor, now_s() - start);
    mpk_factor_destroy(&fac);
    mpk_factor_destroy(&again);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&back);
    return status;
}

static void measure(const char *name, const char *path) {
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_problem_view a;
    mpk_options o;
    const char *text = "";
    times t = {INFINITY, INFINITY, INFINITY, INFINITY, 0, 0};
    if (mpk_failed(mpk_context_create(NULL, &ctx))) exit(1);
    mpk_options_init(&o);
    o.threads = 1;
    o.method = MPK_METHOD_LDLT;
    const int is_file = !access(name, R_OK);
    mpk_status status =
        is_file ? mpk_problem_read(ctx, name, &p) : mpk_problem_generate(ctx, name, 1, &p);
    const double start = now_s();
    for (int k = 0; !mpk_failed(status) && (k < 3 || (k < 40 && now_s() - start < 0.4)); k++)
        status = turn(ctx, p, &o, path, &t);
    if (mpk_failed(status)) {
        mpk_last_error(ctx, NULL, NULL, &text);
        printf("%s failed: %s\n", name, text);
    } else {
        mpk_problem_view_get(p, &a);
        printf("%s nnz %lld analyse %.3e load %.3e ratio %.3f factorize %.3e load %.3e ratio %.3f "
               "bytes %.3e %.3e\n",
               name, (long long)a.nnz, t.analyse, t.load, t.load / t.analyse, t.factorize,
               t.load_factor, t.load_factor / t.factorize, t.analysis_bytes, t.factor_bytes);
    }
    fflush(stdout);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

int main(int argc, char **argv) {
    char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/metapack-saving-%ld", folder ? folder : "/tmp", (long)getpid());
    for (int k = 1; k < argc; k++) measure(argv[k], path);
    unlink(path);
    return 0;
}
