/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_cuda_blocks [-t THREADS] [-r REPEATS] [-n] [-l] [-p] [CASE ...]: factorizations on blocks
 * on the device. A case is FILE or "generate SPEC", then " key=value,..."; without cases a short
 * list. Checks the factor against the processor's first (-n: does not). A line a case: the matrix;
 * level sets, frames, blocks, entries kept and dropped; seconds of the first factorization and of
 * those with the same pattern (medians; in all, and of them the engine's), of the processor's
 * (engine); device memory; the difference. -l: what each portion of a level set took, one after the
 * other. -p: how far apart the processor's factors of A and of A with each entry moved by a
 * rounding are. Without a GPU: METAPACK_CUDA_MODULE may name the module that runs the kernels on
 * the host. */
#include "engines/cuda/block_factor/kernels/store.h"
#include "engines/cuda/module/engine.h"
#include "engines/cuda/module/load.h"
#include "engines/cpu/block_factor/block_factor.h"
#include "core/random.h"
#include "core/trace.h"
#include "factor/stages.h"

#include "cases.h"
#include "unpack.h"
#include <complex.h>
#include <math.h>
#include <metapack/metapack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPEATS = 50, SPANS = 1 << 20 };

#define PUBLISHED                                                                                  \
    "strategy=br,ordering=amd,level=0,fill_factor=8,drop_tolerance=1e-4,pivoting=bk,"              \
    "precision=single"

static const char *const usual[] = {
    "generate nlpkkt 40 " PUBLISHED,
    "generate nlpkkt 40 strategy=br,ordering=nd,level=1,drop_tolerance=1e-3,fill_factor=4",
    "generate helmholtz 2d 300 strategy=rb,ordering=amd,level=2",
};

static const char *cpu_name(const mpk_context *ctx) {
    (void)ctx;
    return "cpu";
}

static void fail(const mpk_context *ctx, const char *what) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

/* ---- the check ------------------------------------------------------------------------------- */

static void *fetch(mpk_context *ctx, const void *from, int64_t bytes) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    char *to = malloc(bytes > 0 ? (size_t)bytes : 1);
    for (int64_t k = 0; k < bytes; k += 1 << 30) {
        const int64_t n = bytes - k < 1 << 30 ? bytes - k : 1 << 30;
        if (d->table->copy(d->cuda, to + k, n, (const char *)from + k, n, n, 1, 0, NULL)) exit(1);
    }
    if (d->table->synchronize(d->cuda, NULL)) exit(1);
    return to;
}

/* A packed block of the device as a dense one by rows. */
static void unpack(mpk_scalar scalar, const uint32_t *words, int cols, int rows,
                   double complex *c) {
    for (int k = 0; k < rows * cols; k++) c[k] = 0;
    if (!words) return;
    const uint32_t *mask = words + 1;
    const void *value = words + MPKI_STORE_HEAD(__builtin_popcount(words[0]));
    int64_t v = 0;
    for (int r = 0; r < rows; r++) {
        if (!(words[0] >> r & 1)) continue;
        for (int j = 0; j < cols; j++)
            if (*mask >> j & 1) c[r * cols + j] = number(scalar, value, v++);
        mask++;
    }
}

typedef struct difference {
    double most, norm, d, d_norm;
    int64_t elsewhere, entries;
} difference;

static void compare(int count, const double complex *x, const double complex *y, double *most,
                    double *norm, difference *d) {
    for (int k = 0; k < count; k++) {
        const double e = cabs(x[k] - y[k]);
        if (!(e <= *most)) *most = e;
        if (cabs(x[k]) > *norm) *norm = cabs(x[k]);
        d->elsewhere += (x[k] == 0) != (y[k] == 0);
        d->entries += x[k] != 0;
    }
}

static difference check(mpk_context *ctx, const mpk_factor *cpu, const mpk_factor *gpu) {
    const mpki_stages *s = &cpu->blocks->stages;
    const mpki_ibcsr *x = &s->index;
    const mpki_blocks *b = cpu->blocks->numbers;
    const mpki_cuda_store *g = mpki_cuda_blocks_store(gpu->blocks->numbers);
    const int64_t size = (int64_t)mpk_scalar_size(g->scalar);
    difference d = {0};
    if (x->nblocks != g->nblocks || x->m != g->m ||
        memcmp(x->place, gpu->blocks->stages.index.place, (size_t)x->m * sizeof *x->place)) {
        d.most = INFINITY; /* other frames were rejected */
        return d;
    }
    uint32_t *words = fetch(ctx, g->words, 4 * mpki_cuda_blocks_words(gpu->blocks->numbers));
    int64_t *lower = fetch(ctx, g->lower, 8 * g->nblocks);
    int64_t *upper = fetch(ctx, g->upper, 8 * g->nblocks);
    void *dd = fetch(ctx, g->d, 2 * g->n * size);
    static double complex p[32 * 32], q[32 * 32];
    for (int32_t f = 0; f < x->m; f++) {
        const int w = mpki_frame_rows(s->blocking, f);
        for (int k = 0; k < 2 * w; k++) {
            p[k] = number(g->scalar, b->frame[f].d, k);
            q[k] = number(g->scalar, dd, 2 * (int64_t)s->blocking->bptr[f] + k);
        }
        difference ignored = {0};
        compare(2 * w, p, q, &d.d, &d.d_norm, &ignored);
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            const int64_t block = x->entry[e].block;
            const int rows = mpki_frame_rows(s->blocking, x->entry[e].other);
            for (int half = 0; half <= s->ldu; half++) {
                const int64_t at = half ? upper[block] : lower[block];
                unpack_cpu(half ? &b->upper[block] : &b->lower[block], w, rows, p);
                unpack(g->scalar, at < 0 ? NULL : words + at, w, rows, q);
                compare(rows * w, p, q, &d.most, &d.norm, &d);
            }
        }
    }
    free(words), free(lower), free(upper), free(dd);
    return d;
}

/* The same of two of the processor's factors. */
static difference check_cpu(const mpk_factor *one, const mpk_factor *other) {
    const mpki_stages *s = &one->blocks->stages;
    const mpki_ibcsr *x = &s->index, *y = &other->blocks->stages.index;
    const mpki_blocks *b = one->blocks->numbers, *c = other->blocks->numbers;
    difference d = {0};
    if (x->nblocks != y->nblocks || x->m != y->m ||
        memcmp(x->place, y->place, (size_t)x->m * sizeof *x->place)) {
        d.most = INFINITY;
        return d;
    }
    static double complex p[32 * 32], q[32 * 32];
    for (int32_t f = 0; f < x->m; f++) {
        const int w = mpki_frame_rows(s->blocking, f);
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            const int64_t block = x->entry[e].block;
            const int rows = mpki_frame_rows(s->blocking, x->entry[e].other);
            for (int half = 0; half <= s->ldu; half++) {
                unpack_cpu(half ? &b->upper[block] : &b->lower[block], w, rows, p);
                unpack_cpu(half ? &c->upper[block] : &c->lower[block], w, rows, q);
                compare(rows * w, p, q, &d.most, &d.norm, &d);
            }
        }
    }
    return d;
}

/* ---- a case ---------------------------------------------------------------------------------- */

typedef struct bench {
    mpk_context *ctx;
    mpki_engine cpu, gpu;
    mpki_block_engine cpu_blocks;
    int threads, repeats;
    bool check, portions, perturb;
} bench;

static void print_portions(const bench *m) {
    const mpki_trace *trace = mpki_trace_of(m->ctx);
    const int64_t count = trace->count < trace->room ? trace->count : trace->room;
    for (int64_t k = 0; k < count; k++) {
        const mpki_span *s = &trace->span[k];
        if (s->lane == MPKI_LANE_CALLER)
            printf("    %-16s %5d %10.3f ms\n", s->name, s->number, 1e3 * (s->end_s - s->begin_s));
    }
}

/* A's entries times 1 + 2^-52 or 1 - 2^-53, by signs that look random. */
static void perturbed(bench *m, const mpk_analysis *an, const mpk_problem_view *a,
                      const mpk_options *o, const mpk_factor *cpu) {
    mpk_factor *fac = NULL;
    double *ax = malloc((size_t)a->nnz * sizeof *ax);
    if (!ax || a->scalar != MPK_D) exit(1);
    for (int64_t k = 0; k < a->nnz; k++)
        ax[k] = nextafter(((const double *)a->ax)[k],
                          mpki_random_sign32((uint32_t)k) > 0 ? INFINITY : -INFINITY);
    mpki_engine_use(m->ctx, &m->cpu);
    if (mpk_failed(mpk_factorize(m->ctx, an, ax, o, &fac))) fail(m->ctx, "A, moved by roundings");
    const difference d = check_cpu(cpu, fac);
    printf("  the processor's, of A moved by a rounding: L %.2g, %lld of %lld entries elsewhere; "
           "largest "
           "entry of L %.2g\n",
           d.norm > 0 ? d.most / d.norm : d.most, (long long)d.elsewhere, (long long)d.entries,
           d.norm);
    mpk_factor_destroy(&fac);
    free(ax);
    mpki_engine_use(m->ctx, &m->gpu);
}

static double seconds(const mpk_factor *fac) {
    mpk_block_info info;
    mpk_factor_block_info_get(fac, &info);
    return info.time_numeric_s;
}

static void run(bench *m, const char *text) {
    mpk_context *ctx = m->ctx;
    mpk_problem *problem = NULL;
    mpk_options o;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *cpu = NULL, *gpu = NULL;
    mpk_block_info info;
    double whole[MOST_REPEATS], numeric[MOST_REPEATS], cpu_s = NAN;
    if (mpk_failed(case_parse(ctx, text, &problem, &o))) fail(ctx, text);
    o.threads = m->threads;
    mpk_problem_view_get(problem, &a);
    if (mpk_failed(mpk_analyse(ctx, problem, &o, &an))) fail(ctx, text);
    mpki_engine_use(ctx, &m->gpu);
    double start = mpki_now_s();
    if (mpk_failed(mpk_factorize(ctx, an, a.ax, &o, &gpu))) fail(ctx, text);
    const double first = mpki_now_s() - start, first_numeric = seconds(gpu);
    difference d = {0};
    if (m->check) {
        mpki_engine_use(ctx, &m->cpu);
        if (mpk_failed(mpk_factorize(ctx, an, a.ax, &o, &cpu))) fail(ctx, text);
        cpu_s = seconds(cpu);
        d = check(ctx, cpu, gpu);
    }
    for (int k = 0; k < m->repeats; k++) {
        start = mpki_now_s();
        if (mpk_failed(mpk_refactorize(ctx, a.ax, &o, gpu))) fail(ctx, text);
        whole[k] = mpki_now_s() - start;
        numeric[k] = seconds(gpu);
    }
    mpk_factor_block_info_get(gpu, &info);
    printf("%s\n  n %d, nnz %lld; %d level sets, %d frames, %lld blocks, %d stages; kept %lld, "
           "dropped "
           "%lld, flops %.3g\n",
           text, a.n, (long long)a.nnz, info.levels, info.block_rows, (long long)info.blocks,
           info.stages, (long long)info.kept, (long long)info.dropped, info.flops);
    printf("  first %.4f s (engine %.4f), again %.4f s (engine %.4f), processor's engine %.4f s; "
           "%.1f MB\n",
           first, first_numeric, case_median(whole, m->repeats), case_median(numeric, m->repeats),
           cpu_s, 1e-6 * (double)info.bytes);
    if (m->check) {
        mpk_block_info other;
        mpk_factor_block_info_get(cpu, &other);
        printf(
            "  beside the processor's: L %.2g, D %.2g, %lld of %lld entries elsewhere; kept %+lld, "
            "dropped %+lld, perturbed %+lld\n",
            d.norm > 0 ? d.most / d.norm : d.most, d.d_norm > 0 ? d.d / d.d_norm : d.d,
            (long long)d.elsewhere, (long long)d.entries, (long long)(info.kept - other.kept),
            (long long)(info.dropped - other.dropped),
            (long long)(info.perturbed - other.perturbed));
        if (m->perturb) perturbed(m, an, &a, &o, cpu);
    }
    if (m->portions) {
        if (mpk_failed(mpki_trace_start(ctx, SPANS))) fail(ctx, text);
        if (mpk_failed(mpk_refactorize(ctx, a.ax, &o, gpu))) fail(ctx, text);
        print_portions(m);
        mpki_trace_stop(ctx);
    }
    fflush(stdout);
    mpki_engine_use(ctx, NULL);
    mpk_factor_destroy(&cpu);
    mpk_factor_destroy(&gpu);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

int main(int argc, char **argv) {
    bench m = {.repeats = 5, .check = true};
    int cases = 0;
    if (mpk_failed(mpk_context_create(NULL, &m.ctx))) return 1;
    const mpki_engine *e = mpki_cuda_engine(m.ctx, 0);
    if (!e) fail(m.ctx, "device");
    m.cpu_blocks = mpki_cpu_blocks;
    m.cpu_blocks.finish = mpki_block_finish_as_blocks;
    m.cpu = (mpki_engine){.name = cpu_name,
                          .memory = MPK_HOST,
                          .direct = &mpki_cpu_direct,
                          .blocks = &m.cpu_blocks,
                          .vectors = &mpki_cpu_vectors};
    m.gpu = *e;
    if (!m.gpu.vectors) m.gpu.vectors = &mpki_cpu_vectors;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "-t") && k + 1 < argc)
            m.threads = atoi(argv[++k]);
        else if (!strcmp(argv[k], "-r") && k + 1 < argc)
            m.repeats = atoi(argv[++k]);
        else if (!strcmp(argv[k], "-n"))
            m.check = false;
        else if (!strcmp(argv[k], "-l"))
            m.portions = true;
        else if (!strcmp(argv[k], "-p"))
            m.perturb = true;
        else
            argv[1 + cases++] = argv[k];
        if (m.repeats < 1 || m.repeats > MOST_REPEATS) m.repeats = 5;
    }
    printf("%s\n", m.gpu.name(m.ctx));
    for (int k = 0; k < cases; k++) run(&m, argv[1 + k]);
    for (size_t k = 0; cases == 0 && k < sizeof usual / sizeof *usual; k++) run(&m, usual[k]);
    mpk_context_destroy(&m.ctx);
    return 0;
}
