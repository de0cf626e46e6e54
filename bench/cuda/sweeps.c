/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_cuda_sweeps [-t THREADS] [-w] [-l] [CASE ...]: triangular solves on the device with factors
 * on blocks that the processor has computed. A case is FILE or "generate SPEC", then "
 * key=value,..."; without cases a short list. Checks every part against the processor's first. One
 * line a case: the factor; megabytes that the sweeps of both directions read, padding included, and
 * entries kept; how long packing takes; microseconds of L, of L^T and of all (medians of 50,
 * vectors in device memory, permutations included), microseconds a level set and GB/s of all; the
 * processor's time for all. -w: also with other numbers of warps at work. -l: what is read level
 * set by level set, and when (timeline.h); twice: each level set and each task of the longest way.
 * Built where cuSPARSE is: a line more with its SpSV on the same factor as a triangle of numbers,
 * in double precision. METAPACK_CUDA_MODULE names the module. */
#include "../../tests/engines/cuda/device_store.h"
#include "engines/cuda/triangular/solve.h"
#include "engines/cuda/triangular/kernels/triangular.h"
#include "engines/cpu/block_factor/sweeps.h"
#include "factor/stages.h"

#include "cases.h"
#include "timeline.h"
#ifdef BENCH_CUSPARSE
#include "spsv.h"
#endif
#include <complex.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>

enum { TURNS = 50, EACH = 4, REPEATS = 25 };

/* the setting that is published for nlpkkt80 */
#define PUBLISHED(size)                                                                            \
    "generate nlpkkt " size " strategy=br,ordering=amd,level=0,fill_factor=8,drop_tolerance=1e-4," \
    "pivoting=bk,precision=single"

static const char *const usual[] = {
    "generate nlpkkt 40 strategy=rbr,ordering=amd,level=1",
    "generate nlpkkt 40 strategy=br,ordering=nd,level=1",
    PUBLISHED("40"),
    "generate lin strategy=rb,ordering=amd,level=0,drop_tolerance=0,fill_factor=0",
    "generate helmholtz 2d 700 strategy=rb,ordering=amd,level=2,drop_tolerance=0,fill_factor=0",
    "generate optimal-control 300 strategy=rbr,ordering=amd,level=1",
};

typedef struct bench {
    mpk_context *ctx;
    const mpki_device *d;
    const mpki_blocks *bf;
    mpki_block_solver *s;
    int32_t n, takes;
    void *b, *x; /* device */
} bench;

static double median(bench *m, mpk_part part) {
    double time[TURNS];
    void *stream = m->d->table->sweeps->stream(m->d->cuda);
    for (int k = -2; k < TURNS; k++) {
        const double start = case_now();
        for (int j = 0; j < EACH; j++)
            if (mpk_failed(mpki_cuda_sweeps_apply(m->s, part, 1, m->b, m->n, m->x, m->n))) exit(1);
        if (mpk_failed(m->d->table->synchronize(m->d->cuda, stream))) exit(1);
        if (k >= 0) time[k] = (case_now() - start) / EACH;
    }
    return 1e6 * case_median(time, TURNS);
}

/* Real and imaginary parts, in any precision. */
static double part_at(mpk_scalar scalar, const void *x, int64_t k) {
    return scalar == MPK_S || scalar == MPK_C ? (double)((const float *)x)[k]
                                              : ((const double *)x)[k];
}

/* Largest distance from the processor's, relative to the largest entry; of all parts. *differ: how
 * many of some more applications of each part gave other bits than the first. */
static double check(bench *m, int threads, double *cpu_s, int *differ) {
    const mpk_scalar scalar = m->bf->stages->scalar;
    const size_t size = mpk_scalar_size(scalar), bytes = (size_t)m->n * size;
    const int64_t reals = m->n * (scalar >= MPK_C ? 2 : 1);
    mpki_block_solver *s = NULL;
    int32_t takes;
    double worst = 0;
    char *b = malloc(bytes), *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes);
    *differ = 0;
    if (!b || !x || !y || !z ||
        mpk_failed(mpki_block_solver_make(m->ctx, m->bf, threads, 1, &s, &takes)))
        exit(1);
    for (int64_t k = 0; k < reals; k++) {
        if (scalar == MPK_S || scalar == MPK_C)
            ((float *)b)[k] = (float)sin((double)k + 1);
        else
            ((double *)b)[k] = sin((double)k + 1);
    }
    for (int part = MPK_PART_ALL; part <= MPK_PART_ABS; part++) {
        double most = 0, apart = 0;
        if (part == MPK_PART_ABS && m->bf->stages->ldu) continue;
        mpki_block_apply(s, (mpk_part)part, 1, b, m->n, x, m->n);
        if (mpk_failed(mpki_cuda_sweeps_apply(m->s, (mpk_part)part, 1, b, m->n, y, m->n))) exit(1);
        for (int64_t k = 0; k < reals; k++) {
            const double v = part_at(scalar, x, k), d = fabs(v - part_at(scalar, y, k));
            if (!(d <= apart)) apart = d;
            if (fabs(v) > most) most = fabs(v);
        }
        if (!(apart / most <= worst)) worst = apart / most;
        for (int k = 0; k < REPEATS; k++) {
            if (mpk_failed(mpki_cuda_sweeps_apply(m->s, (mpk_part)part, 1, b, m->n, z, m->n)))
                exit(1);
            *differ += memcmp(y, z, bytes) != 0;
        }
        if (apart / most > 1e-10)
            printf("part %d: %.1e apart, the largest %.1e\n", part, apart / most, most);
    }
    *cpu_s = 1e300;
    for (int k = 0; k < 5; k++) {
        const double start = case_now();
        mpki_block_apply(s, MPK_PART_ALL, 1, b, m->n, x, m->n);
        if (case_now() - start < *cpu_s) *cpu_s = case_now() - start;
    }
    if (mpk_failed(m->d->table->copy(m->d->cuda, m->b, (int64_t)bytes, b, (int64_t)bytes,
                                     (int64_t)bytes, 1, 1, NULL)) ||
        mpk_failed(m->d->table->synchronize(m->d->cuda, NULL)))
        exit(1);
    mpki_block_solver_free(m->ctx, &s);
    free(b), free(x), free(y), free(z);
    return worst;
}

#ifdef BENCH_CUSPARSE
/* all_us: of ours, D and permutations included */
static void spsv(const mpki_blocks *bf, double all_us) {
    enum { MOST = 200 * 1000 * 1000 };
    spsv_triangle t;
    double l[2], lt[2], error[2];
    if (bf->scalar >= MPK_C || bf->stages->ldu) return;
    if (spsv_make(bf, MOST, &t)) {
        spsv_solve(&t, 0, l, &error[0]), spsv_solve(&t, 1, lt, &error[1]);
        printf("  cuSPARSE SpSV: %.2f M entries; analysis %.2f + %.2f ms; L %.1f us, LT %.1f us, "
               "residuals %.0e, %.0e: %.2f "
               "of ours\n",
               1e-6 * (double)t.nnz, l[0], lt[0], 1e3 * l[1], 1e3 * lt[1], error[0], error[1],
               1e3 * (l[1] + lt[1]) / all_us);
    }
    spsv_free(&t);
}
#endif

static mpk_status measure(bench *m, const char *title, int threads, int more, int line) {
    static const char *const kinds[] = {"s", "d", "c", "z"};
    const mpki_stages *stages = m->bf->stages;
    const int64_t bytes = m->n * (int64_t)mpk_scalar_size(stages->scalar);
    device_store store;
    double cpu_s = 0;
    int differ;
    device_store_make(m->d, m->bf, &store);
    if (store.failed) return MPK_ERR_MEMORY;
    double pack_s = case_now();
    mpk_status status = mpki_cuda_sweeps_make(m->ctx, stages, &store.store, 1, &m->s, &m->takes);
    pack_s = case_now() - pack_s;
    if (mpk_failed(status)) goto done;
    if (mpk_failed(m->d->table->alloc(m->d->cuda, bytes, &m->b)) ||
        mpk_failed(m->d->table->alloc(m->d->cuda, bytes, &m->x)))
        exit(1);
    const double worst = check(m, threads, &cpu_s, &differ);
    const mpki_cuda_sweeps_numbers told = mpki_cuda_sweeps_told(m->s);
    const double levels = stages->levels.count, l = median(m, MPK_PART_L),
                 lt = median(m, MPK_PART_LT), all = median(m, MPK_PART_ALL);
    printf(
        "%s: n %d, %d frames, %.0f levels, %.2f M entries, %s, %d repeats differ, apart %.1e%s\n",
        title, m->n, stages->index.m, levels, 1e-6 * (double)stages->info.kept,
        kinds[m->bf->scalar], differ, worst,
        worst <= (mpk_scalar_size(m->bf->scalar) / (m->bf->scalar >= MPK_C ? 2 : 1) == 8 ? 1e-10
                                                                                         : 1e-3)
            ? ""
            : " WRONG");
    printf(
        "  packets %.1f MB of %.1f MB, store %.1f MB, %lld tasks, %lld parts, %d warps, packed in "
        "%.2f ms\n",
        1e-6 * (double)told.packets, 1e-6 * (double)told.bytes, 4e-6 * (double)store.used,
        (long long)told.tasks, (long long)told.parts, told.warps, 1e3 * pack_s);
    printf("  L %.1f us, LT %.1f us, all %.1f us: %.3f us a level, %.0f GB/s; processor %.0f us\n",
           l, lt, all, all / (2 * levels), 1e-3 * (double)told.packets / all, 1e6 * cpu_s);
    if (line)
        show_timeline(m->d, &told, m->n, mpk_scalar_size(m->bf->scalar), stages->levels.count,
                      line > 1);
#ifdef BENCH_CUSPARSE
    spsv(m->bf, all);
#endif
    for (int32_t warps = 66; more && warps <= 4224; warps *= 2) {
        const int32_t used = mpki_cuda_sweeps_warps(m->s, warps);
        printf("  %d warps: all %.1f us\n", used, median(m, MPK_PART_ALL));
        if (used < warps) break;
    }
    fflush(stdout);
done:
    m->d->table->release(m->d->cuda, m->b);
    m->d->table->release(m->d->cuda, m->x);
    m->b = m->x = NULL;
    mpki_cuda_sweeps_free(m->ctx, &m->s);
    device_store_free(&store);
    return status;
}

/* The processor's engine, whose factors stay in blocks. */
static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "bench";
}

static mpk_status one(mpk_context *ctx, const char *title, int threads, int more, int line) {
    static mpki_block_engine blocks;
    static const mpki_engine engine = {.name = name,
                                       .memory = MPK_HOST,
                                       .direct = &mpki_cpu_direct,
                                       .blocks = &blocks,
                                       .vectors = &mpki_cpu_vectors};
    bench m = {.ctx = ctx};
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpk_status status = case_parse(ctx, title, &problem, &o);
    o.threads = threads;
    blocks = mpki_cpu_blocks;
    blocks.finish = mpki_block_finish_as_blocks;
    mpki_engine_use(ctx, &engine);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, &o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (!mpk_failed(status)) {
        m.bf = fac->blocks->numbers, m.n = an->n, m.d = mpki_cuda_keep(ctx, 0);
        if (!m.d)
            status = MPK_ERR_DEVICE;
        else if (m.bf->border)
            printf("%s: ends in a dense pivot, which is not in a store\n", title);
        else
            status = measure(&m, title, threads, more, line);
    }
    if (mpk_failed(status)) {
        const char *why = "";
        mpk_last_error(ctx, NULL, NULL, &why);
        fprintf(stderr, "%s: %s: %s\n", title, mpk_status_text(status), why);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    return status;
}

int main(int argc, char **argv) {
    int threads = 2, more = 0, line = 0, k = 1, failed = 0;
    mpk_context *ctx = NULL;
    for (; k < argc && argv[k][0] == '-'; k++) {
        if (!strcmp(argv[k], "-w"))
            more = 1;
        else if (!strcmp(argv[k], "-l"))
            line++;
        else if (!strcmp(argv[k], "-t") && k + 1 < argc)
            threads = atoi(argv[++k]);
        else
            threads = 0;
    }
    if (threads < 1) {
        fprintf(stderr, "usage: %s [-t THREADS] [-w] [-l] [CASE ...]\n", argv[0]);
        return 1;
    }
    if (mpk_failed(mpk_context_create(NULL, &ctx))) return 1;
    const int count = argc > k ? argc - k : (int)(sizeof usual / sizeof *usual);
    for (int j = 0; j < count; j++)
        failed |= mpk_failed(one(ctx, argc > k ? argv[k + j] : usual[j], threads, more, line));
    mpk_context_destroy(&ctx);
    return failed ? 2 : 0;
}
