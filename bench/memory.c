/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that was predicted beside memory that was taken, of one matrix: bench/memory.py runs it.
 *   memory FILE|SPEC [THREADS]        one line: name=value ..., bytes
 * What is taken is read from the context, which counts all that METAPACK allocates itself, and from
 * the system (resident pages, which count what METIS and SCOTCH allocate as well). */
#include "problem/generate/generate.h"
#include "problem/problem.h"

#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double status_kb(const char *key) {
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) kb = strtod(line + strlen(key), NULL);
    if (f) fclose(f);
    return kb;
}

/* From here on VmHWM is the most since now. */
static double reset(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f || fputs("5", f) < 0 || fclose(f)) {
        fprintf(stderr, "memory: /proc/self/clear_refs cannot be written\n");
        exit(1);
    }
    return status_kb("VmRSS:");
}

static double grown(double before_kb) {
    return 1024 * (status_kb("VmHWM:") - before_kb);
}

static void need(mpk_context *ctx, mpk_status status) {
    const char *text;
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "memory: %s\n", text);
    exit(1);
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_analysis_info predicted;
    mpk_factor_info found;
    mpk_options o;
    int64_t before, peak, least = 0;
    if (argc < 2) return fprintf(stderr, "memory FILE|SPEC [THREADS]\n"), 1;
    const bool file = !access(argv[1], R_OK);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.threads = argc > 2 ? atoi(argv[2]) : 1;
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;

    double rss = reset();
    need(ctx, file ? mpk_problem_read(ctx, argv[1], &problem)
                   : mpk_problem_generate(ctx, argv[1], 1, &problem));
    const double read_rss = grown(rss);
    mpk_memory_usage(ctx, NULL, &peak);
    mpk_problem_view_get(problem, &a);
    const double entries = file ? mpki_assemble_bytes(0, (double)a.nnz, a.scalar, true)
                                : mpki_assemble_bytes(a.n, (double)a.nnz, a.scalar, true);
    printf("n=%d nnz=%lld made_said=%.0f made_counted=%lld made_resident=%.0f", a.n,
           (long long)a.nnz, entries, (long long)peak, read_rss);

    /* the least that an analysis says to need: the number with which it refuses a limit of 1
     * byte */
    o.memory_limit = 1;
    if (mpk_analyse(ctx, problem, &o, &an) != MPK_ERR_MEMORY) return 1;
    mpk_last_error(ctx, NULL, &least, NULL);
    o.memory_limit = 0;
    rss = reset();
    mpk_memory_usage(ctx, &before, NULL);
    mpk_memory_reset_peak(ctx);
    need(ctx, mpk_analyse(ctx, problem, &o, &an));
    const double analysis_rss = grown(rss);
    mpk_memory_usage(ctx, NULL, &peak);
    mpk_analysis_info_get(an, &predicted);
    printf(" ordering=%s analysis_said=%lld analysis_counted=%lld analysis_resident=%.0f",
           mpk_ordering_name(predicted.ordering), (long long)least, (long long)(peak - before),
           analysis_rss);

    rss = reset();
    need(ctx, mpk_factorize(ctx, an, NULL, &o, &fac));
    const double factor_rss = grown(rss);
    mpk_factor_info_get(fac, &found);
    printf(" peak_said=%lld peak_counted=%lld peak_resident=%.0f factor_said=%lld "
           "factor_counted=%lld delayed=%lld stages=%d zero=%lld\n",
           (long long)predicted.peak_bytes, (long long)found.peak_bytes, factor_rss,
           (long long)predicted.factor_bytes, (long long)found.bytes, (long long)found.rejected,
           found.stages, (long long)found.inertia.zero);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return 0;
}
