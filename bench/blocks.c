/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels on small blocks, one core: each is checked against plain loops, then timed on blocks
 * that stay in the second-level cache (GFLOP/s) and, for the products with vectors, on blocks that
 * come from memory (GB/s of stored bytes). One program for each precision. Patterns differ from
 * block to block, so that no branch predictor learns them.
 *
 *  bench_blocks_d [KERNEL ...]      METAPACK_CPU=generic|avx2 for narrower vectors */
#include "engines/cpu/isa/cpu.h"
#include "core/random.h"
#include <metapack/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { SETS = 24 }; /* different blocks in a round */

static const FN(block_kernels) * kern;
static uint64_t state = 7;
static double uniform(void) {
    return mpki_random_signed(&state);
}
static T entry(void) {
    R re = (R)uniform();
    return t_make(re, MPKI_COMPLEX ? (R)uniform() : 0);
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void *memory(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) exit(1);
    memset(p, 0, (bytes + 63) / 64 * 64);
    return p;
}
static void *big(size_t bytes) {
    size_t page = (size_t)2 << 20, all = (bytes + page - 1) / page * page;
    void *p = aligned_alloc(page, all);
    if (!p) exit(1);
    madvise(p, all, MADV_HUGEPAGE);
    memset(p, 0, all);
    return p;
}
static T *work_block(int rows, int cols) {
    return memory((size_t)rows * (size_t)mpki_block_ld(cols, sizeof(T)) * sizeof(T));
}
static T *filled(int rows, int cols, double fill, int by_rows) {
    T *c = work_block(rows, cols);
    int ld = mpki_block_ld(cols, sizeof(T));
    for (int r = 0; r < rows; r++) {
        int row = (uniform() + 1) / 2 < fill;
        for (int k = 0; k < cols; k++)
            if (by_rows ? row : (uniform() + 1) / 2 < fill) c[r * ld + k] = entry();
    }
    return c;
}
static mpki_block stored(int rows, int cols, double fill, int format, T **dense) {
    mpki_block b = {.rows = (uint8_t)rows, .cols = (uint8_t)cols, .format = (uint8_t)format};
    int ld = mpki_block_ld(cols, sizeof(T));
    *dense = filled(rows, cols, fill, format == MPKI_ROWS);
    b.data = memory(kern->bytes(rows, cols, *dense, ld, format));
    kern->pack(rows, cols, *dense, ld, &b);
    return b;
}

static const char *format_name(int format) {
    static const char *const names[] = {"empty", "dense", "bitmap", "rows"};
    return names[format];
}
static void row(const char *kernel, const char *shape, int format, double fill, double seconds,
                double flops, double bytes) {
    printf("%-9s %c %-7s %-11s %-6s %3.0f %%  %9.1f ns %7.2f GFLOP/s %7.2f GB/s\n", kernel,
           "sdcz"[MPKI_PRECISION], kern -> isa, shape, format_name(format), 100 * fill,
           1e9 * seconds, 1e-9 * flops / seconds, 1e-9 * bytes / seconds);
}
static void near(const char *what, T got, double complex want, double terms) {
    double complex x = (double)t_re(got) + I * (double)t_im(got);
    if (!(cabs(x - want) <= 16 * (terms + 4) * (double)R_EPS)) {
        printf("%s is WRONG\n", what);
        exit(1);
    }
}
static double complex wide(T x) {
    return (double)t_re(x) + I * (double)t_im(x);
}

/* seconds of one call: the best of 30 rounds of about 1 ms */
#define TIME(seconds, count, call)                                                                 \
    do {                                                                                           \
        double best_ = 1e9;                                                                        \
        int64_t rounds_ = 1;                                                                       \
        for (int try_ = 0; try_ < 30; try_++) {                                                    \
            double start_ = now();                                                                 \
            for (int64_t r_ = 0; r_ < rounds_; r_++)                                               \
                for (int s = 0; s < (count); s++) call;                                            \
            double spent_ = now() - start_;                                                        \
            if (spent_ < 8e-4) {                                                                   \
                rounds_ =                                                                          \
                    spent_ > 0 ? (int64_t)((double)rounds_ * 1e-3 / spent_) + 1 : 2 * rounds_;     \
                try_--;                                                                            \
                continue;                                                                          \
            }                                                                                      \
            spent_ /= (double)rounds_ * (count);                                                   \
            best_ = spent_ < best_ ? spent_ : best_;                                               \
        }                                                                                          \
        seconds = best_;                                                                           \
    } while (0)

static const double per_product = MPKI_COMPLEX ? 8 : 2; /* flops of a multiply-add */

/* ---- in cache ---- */

static void downdate(int rows, int depth, int cols, double fill, int format) {
    mpki_block a[SETS];
    T *dense[SETS], *w = filled(depth, cols, 1, 0), *c = work_block(rows, cols);
    int ld = mpki_block_ld(cols, sizeof(T)), lda = mpki_block_ld(depth, sizeof(T));
    double nnz = 0, seconds, bytes = 0;
    for (int s = 0; s < SETS; s++) {
        a[s] = stored(rows, depth, fill, format, &dense[s]);
        nnz += (double)a[s].nnz / SETS;
        bytes += (double)kern->bytes(rows, depth, dense[s], lda, format) / SETS;
    }
    kern->downdate(&a[0], w, ld, cols, c, ld);
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < cols; j++) {
            double complex want = 0;
            for (int k = 0; k < depth; k++)
                want -= wide(dense[0][r * lda + k]) * wide(w[k * ld + j]);
            near("downdate", c[r * ld + j], want, depth);
        }
    for (int k = 0; k < depth * ld; k++) w[k] *= (R)1e-3; /* sums stay in range */
    TIME(seconds, SETS, kern->downdate(&a[s], w, ld, cols, c, ld));
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%dx%d", rows, depth, cols);
    row("downdate", shape, format, fill, seconds, nnz * cols * per_product, bytes);
    for (int s = 0; s < SETS; s++) free(a[s].data), free(dense[s]);
    free(w), free(c);
}

static void right(int rows, int cols, double fill, int format) {
    mpki_block b[SETS];
    T *dense[SETS], *w = work_block(cols, rows), *d = memory(2 * (size_t)cols * sizeof(T));
    int ld = mpki_block_ld(rows, sizeof(T)), ldb = mpki_block_ld(cols, sizeof(T));
    double nnz = 0, seconds, bytes = 0;
    for (int k = 0; k < cols; k++) d[2 * k] = entry();
    for (int k = 0; k + 1 < cols; k += 5) d[2 * k + 1] = entry();
    for (int s = 0; s < SETS; s++) {
        b[s] = stored(rows, cols, fill, format, &dense[s]);
        nnz += (double)b[s].nnz / SETS;
        bytes += (double)kern->bytes(rows, cols, dense[s], ldb, format) / SETS;
    }
    kern->right(&b[0], d, 0, w, ld);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) {
            double complex want = wide(d[2 * k]) * wide(dense[0][r * ldb + k]);
            if (k > 0) want += wide(d[2 * k - 1]) * wide(dense[0][r * ldb + k - 1]);
            if (k + 1 < cols) want += wide(d[2 * k + 1]) * wide(dense[0][r * ldb + k + 1]);
            near("right", w[k * ld + r], want, 4);
        }
    TIME(seconds, SETS, kern->right(&b[s], d, 0, w, ld));
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%d", rows, cols);
    row("right", shape, format, fill, seconds, nnz * per_product / 2, bytes);
    for (int s = 0; s < SETS; s++) free(b[s].data), free(dense[s]);
    free(w), free(d);
}

static void solve(int rows, int w) {
    T *c[SETS], *m = filled(w, w, 1, 0), *work = work_block(rows, w), *old = work_block(rows, w);
    T *dinv = memory(2 * (size_t)w * sizeof(T));
    R norm2[MPKI_BLOCK_MAX] = {0};
    int ld = mpki_block_ld(w, sizeof(T));
    double seconds;
    for (int s = 0; s < SETS; s++) c[s] = filled(rows, w, 1, 0);
    for (int k = 0; k < w; k++) dinv[2 * k] = t_make(1, 0);
    memcpy(old, c[0], (size_t)(rows * ld) * sizeof(T));
    kern->solve(rows, w, c[0], ld, m, ld, dinv, 0, work, norm2);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < w; k++) {
            double complex want = 0;
            for (int j = 0; j < w; j++) want += wide(old[r * ld + j]) * wide(m[k * ld + j]);
            near("solve", c[0][r * ld + k], want, w);
        }
    for (int k = 0; k < w * ld; k++) m[k] = 0; /* repeated solves in place must not overflow */
    for (int k = 0; k < w; k++) m[k * ld + (k * 7 + 3) % w] = t_make(1, 0);
    TIME(seconds, SETS, kern->solve(rows, w, c[s], ld, m, ld, dinv, 0, work, norm2));
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%d", rows, w);
    row("solve", shape, MPKI_DENSE, 1, seconds, (double)rows * w * w * per_product, 0);
    for (int s = 0; s < SETS; s++) free(c[s]);
    free(m), free(work), free(old), free(dinv);
}

static void factor(int w, int type, int pivoting) {
    static const char *const names[] = {"none", "static", "bk", "rook", "complete"};
    T *a[SETS], *c = work_block(w, w), *m = work_block(w, w), *n = work_block(w, w);
    T *d = memory(4 * (size_t)w * sizeof(T)), *work = work_block(4 * w, w);
    int ld = mpki_block_ld(w, sizeof(T)), definite = type == MPK_TYPE_LLT || pivoting == 0;
    FN(pivot_report) report;
    double seconds, copy;
    for (int s = 0; s < SETS; s++) {
        a[s] = filled(w, w, 1, 0);
        for (int i = 0; i < w; i++) {
            for (int j = 0; j < i && type != MPK_TYPE_LDU; j++) a[s][j * ld + i] = a[s][i * ld + j];
            if (definite) a[s][i * ld + i] = t_make((R)w, 0);
        }
    }
    memcpy(c, a[0], (size_t)(w * ld) * sizeof(T));
    kern->factor(w, c, ld, type, pivoting, NULL, 0, NULL, 0, m, n, d, d + 2 * w, work, &report);
    for (int i = 0; i < w; i++) /* M C N^T = D, where it is smallest: checked in tests/kernels */
        for (int k = 0; k < w; k++)
            if (m[i * ld + k] != m[i * ld + k]) near("factor", m[i * ld + k], 0, 0);
    TIME(seconds, SETS,
         (memcpy(c, a[s], (size_t)(w * ld) * sizeof(T)),
          kern->factor(w, c, ld, type, pivoting, NULL, 0, NULL, 0, m, n, d, d + 2 * w, work,
                       &report)));
    TIME(copy, SETS, memcpy(c, a[s], (size_t)(w * ld) * sizeof(T)));
    char shape[40];
    snprintf(shape, sizeof shape, "%d %s", w, names[pivoting]);
    /* w^3/3 for L, as much for its inverse; twice for LDU */
    double flops = (double)w * w * w / 3 * per_product * (type == MPK_TYPE_LDU ? 2 : 1);
    row(type == MPK_TYPE_LDU   ? "ldu"
        : type == MPK_TYPE_LLT ? "llt"
                               : "ldlt",
        shape, MPKI_DENSE, 1, seconds - copy, flops, 0);
    for (int s = 0; s < SETS; s++) free(a[s]);
    free(c), free(m), free(n), free(d), free(work);
}

static void drop_and_store(int rows, int cols, double fill) {
    T *c[SETS], *back = work_block(rows, cols);
    R zero[MPKI_BLOCK_MAX], half[MPKI_BLOCK_MAX];
    int ld = mpki_block_ld(cols, sizeof(T));
    mpki_block b[SETS];
    double seconds, nnz = 0, bytes = (double)(rows * ld) * sizeof(T), copy;
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%d", rows, cols);
    for (int k = 0; k < MPKI_BLOCK_MAX; k++) zero[k] = 0, half[k] = (R)1e-3;
    for (int s = 0; s < SETS; s++) {
        c[s] = filled(rows, cols, fill, 0);
        size_t size = kern->bytes(rows, cols, c[s], ld, MPKI_BITMAP);
        b[s] = (mpki_block){.data = memory(size), .format = MPKI_BITMAP};
        kern->pack(rows, cols, c[s], ld, &b[s]);
        nnz += (double)b[s].nnz / SETS;
    }
    volatile int64_t sink = 0;
    TIME(seconds, SETS, sink += kern->drop(rows, cols, c[s], ld, zero, -1, 1));
    row("count", shape, MPKI_BITMAP, fill, seconds, 0, bytes);
    TIME(copy, SETS, memcpy(back, c[s], (size_t)(rows * ld) * sizeof(T)));
    TIME(seconds, SETS,
         (memcpy(back, c[s], (size_t)(rows * ld) * sizeof(T)),
          sink += kern->drop(rows, cols, back, ld, half, (int64_t)(nnz * 0.6), 0)));
    row("drop", shape, MPKI_BITMAP, fill, seconds - copy, 0, bytes);
    size_t size;
    TIME(seconds, SETS, sink += kern->smallest(rows, cols, c[s], ld, &size));
    row("smallest", shape, MPKI_BITMAP, fill, seconds, 0, bytes);
    TIME(seconds, SETS, kern->pack(rows, cols, c[s], ld, &b[s]));
    row("pack", shape, MPKI_BITMAP, fill, seconds, 0, bytes);
    TIME(seconds, SETS, kern->unpack(&b[s], back, ld));
    row("unpack", shape, MPKI_BITMAP, fill, seconds, 0, bytes);
    for (int s = 0; s < SETS; s++) free(c[s]), free(b[s].data);
    free(back);
}

/* ---- from memory ---- */

/* what memory gives to one core at this time: sums of 96 MiB */
static void reading(void) {
    size_t n = (size_t)12 << 20;
    double *x = big(n * sizeof *x), best = 1e9;
    volatile double sink = 0;
    for (int try = 0; try < 15; try++) {
        double start = now(), sum[32] = {0};
        for (size_t i = 0; i < n; i += 32)
            for (int k = 0; k < 32; k++) sum[k] += x[i + (size_t)k];
        double spent = now() - start;
        for (int k = 0; k < 32; k++) sink += sum[k];
        best = spent < best ? spent : best;
    }
    row("reading", "96 MiB", MPKI_DENSE, 1, best, (double)n, (double)n * sizeof *x);
    free(x);
}

static void apply(int rows, int cols, double fill, int format, int nrhs, int transposed,
                  size_t total) {
    T *dense, *x = memory((size_t)(cols * nrhs) * 64 * sizeof(T));
    T *y = memory((size_t)(rows * nrhs) * 64 * sizeof(T));
    int ld = mpki_block_ld(cols, sizeof(T));
    mpki_block first = stored(rows, cols, fill, format, &dense);
    for (int i = 0; i < cols * nrhs; i++) x[i] = entry();
    for (int i = 0; i < rows * nrhs; i++) y[i] = t_make(0, 0);
    if (transposed) { /* y, all ones, goes in and x comes out of zero */
        for (int i = 0; i < rows * nrhs; i++) y[i] = entry();
        for (int i = 0; i < cols * nrhs; i++) x[i] = t_make(0, 0);
        kern->apply_t(&first, y, nrhs, 0, x);
    } else
        kern->apply(&first, x, nrhs, y);
    for (int i = 0; i < (transposed ? cols : rows) * nrhs; i++) {
        double complex want = 0;
        for (int k = 0; k < (transposed ? rows : cols); k++)
            want -= transposed ? wide(dense[k * ld + i / nrhs]) * wide(y[k * nrhs + i % nrhs])
                               : wide(dense[i / nrhs * ld + k]) * wide(x[k * nrhs + i % nrhs]);
        near("apply", transposed ? x[i] : y[i], want, transposed ? rows : cols);
    }
    /* copies of 16 patterns, one after the other */
    size_t bytes[16], sum = 0;
    mpki_block kinds[16];
    for (int k = 0; k < 16; k++) {
        T *c;
        kinds[k] = stored(rows, cols, fill, format, &c);
        bytes[k] = (kern->bytes(rows, cols, c, ld, format) + 15) / 16 * 16;
        sum += bytes[k];
        free(c);
    }
    int count = (int)(total / sum + 1) * 16;
    char *arena = big((size_t)count / 16 * sum + 64);
    mpki_block *b = memory((size_t)count * sizeof *b);
    double nnz = 0, all = 0, best = 0;
    int many = 64,
        group = total > 1 ? (int)((double)(count) * (1 << 20) / (double)total) + 1 : count;
    for (int k = 0; k < count; k++) {
        b[k] = kinds[k % 16];
        b[k].data = memcpy(arena, kinds[k % 16].data, bytes[k % 16]);
        arena += bytes[k % 16], all += (double)bytes[k % 16], nnz += b[k].nnz;
    }
    arena -= (size_t)all;
    double *least = memory((size_t)count * sizeof *least);
    for (int try = 0; try < (total > 1 ? 15 : 2000); try++)
        for (int g = 0; g < count; g += group) { /* the best of each mebibyte */
            int end = g + group < count ? g + group : count;
            double start = now();
            for (int k = g; k < end; k++)
                if (transposed)
                    kern->apply_t(&b[k], y + k % many * rows * nrhs, nrhs, 0,
                                  x + k * 5 % many * cols * nrhs);
                else
                    kern->apply(&b[k], x + k % many * cols * nrhs, nrhs,
                                y + k * 5 % many * rows * nrhs);
            double spent = now() - start;
            if (try == 0 || spent < least[g]) least[g] = spent;
            memset(transposed ? x : y, 0,
                   (size_t)((transposed ? cols : rows) * nrhs * many) * sizeof(T));
        }
    for (int g = 0; g < count; g += group) best += least[g];
    free(least);
    char shape[40], kernel[16];
    snprintf(shape, sizeof shape, "%dx%dx%d", rows, cols, nrhs);
    snprintf(kernel, sizeof kernel, "apply%s%s", transposed ? "_t" : "", total > 1 ? "" : "*");
    row(kernel, shape, format, fill, best / count, nnz / count * nrhs * per_product, all / count);
    for (int k = 0; k < 16; k++) free(kinds[k].data);
    free(arena), free(b), free(first.data), free(dense), free(x), free(y);
}

static void multiply(int w, int nrhs, int transposed) {
    int ld = mpki_block_ld(w, sizeof(T)), count = (int)(((size_t)96 << 20) / sizeof(T)) / (w * ld);
    T *m = big((size_t)count * (size_t)(w * ld) * sizeof(T)), *x = filled(w, nrhs, 1, 0);
    T *y = memory((size_t)(w * nrhs) * sizeof(T));
    double best = 0;
    for (int k = 0; k < w * ld; k++) m[k] = k % ld < w ? entry() : t_make(0, 0);
    for (int k = 1; k < count; k++)
        memcpy(m + (size_t)k * (size_t)(w * ld), m, (size_t)(w * ld) * sizeof(T));
    for (int i = 0; i < w * nrhs; i++) x[i] = entry();
    int group = (1 << 20) / (int)sizeof(T) / (w * ld) + 1;
    double *least = memory((size_t)count * sizeof *least);
    for (int try = 0; try < 15; try++)
        for (int g = 0; g < count; g += group) { /* the best of each mebibyte */
            int end = g + group < count ? g + group : count;
            double start = now();
            for (int k = g; k < end; k++)
                (transposed
                     ? kern->multiply_t(w, m + (size_t)k * (size_t)(w * ld), ld, x, nrhs, 0, y)
                     : kern->multiply(w, m + (size_t)k * (size_t)(w * ld), ld, x, nrhs, y));
            double spent = now() - start;
            if (try == 0 || spent < least[g]) least[g] = spent;
        }
    for (int g = 0; g < count; g += group) best += least[g];
    free(least);
    for (int i = 0; i < w * nrhs; i++) {
        double complex want = 0;
        for (int k = 0; k < w; k++)
            want += wide(transposed ? m[k * ld + i / nrhs] : m[i / nrhs * ld + k]) *
                    wide(x[k * nrhs + i % nrhs]);
        near("multiply", y[i], want, w);
    }
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%d", w, nrhs);
    row(transposed ? "multiply_t" : "multiply", shape, MPKI_DENSE, 1, best / count,
        (double)w * w * nrhs * per_product, (double)(w * ld) * sizeof(T));
    free(m), free(x), free(y);
}

static int wanted(int argc, char **argv, const char *kernel) {
    if (argc < 2) return 1;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], kernel)) return 1;
    return 0;
}

int main(int argc, char **argv) {
    static const double fills[] = {0.05, 0.1, 0.2, 0.4, 0.6};
    kern = FN(cpu_block_kernels)();
    if (wanted(argc, argv, "downdate")) {
        static const int shape[][3] = {{4, 4, 4},    {8, 8, 8},       {16, 16, 16},
                                       {24, 24, 24}, {32, 32, 32},    {31, 29, 30},
                                       {64, 64, 64}, {128, 128, 128}, {100, 32, 8}};
        for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
            downdate(shape[s][0], shape[s][1], shape[s][2], 1, MPKI_DENSE);
        downdate(32, 32, 32, 0.5, MPKI_ROWS);
        for (int f = 0; f < 5; f++) downdate(32, 32, 32, fills[f], MPKI_BITMAP);
        for (int f = 0; f < 5; f++) downdate(64, 64, 64, fills[f], MPKI_BITMAP);
        downdate(16, 16, 16, 0.2, MPKI_BITMAP);
        downdate(128, 128, 128, 0.1, MPKI_BITMAP);
    }
    if (wanted(argc, argv, "right")) {
        for (int n = 4; n <= 128; n *= 2) right(n, n, 1, MPKI_DENSE);
        for (int f = 1; f < 5; f++) right(32, 32, fills[f], MPKI_BITMAP);
        right(32, 32, 0.5, MPKI_ROWS);
    }
    if (wanted(argc, argv, "solve"))
        for (int n = 4; n <= 128; n *= 2) solve(n, n);
    if (wanted(argc, argv, "factor")) {
        static const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
        for (int s = 0; s < 8; s++)
            for (int pivoting = 0; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
                if (pivoting != MPK_PIVOTING_STATIC) factor(sizes[s], MPK_TYPE_LDLT, pivoting);
        for (int s = 2; s < 8; s++) {
            factor(sizes[s], MPK_TYPE_LLT, 0);
            for (int pivoting = MPK_PIVOTING_PARTIAL; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++)
                factor(sizes[s], MPK_TYPE_LDU, pivoting);
        }
    }
    if (wanted(argc, argv, "store"))
        for (int n = 8; n <= 128; n *= 4)
            for (int f = 1; f < 5; f += 2) drop_and_store(n, n, fills[f]);
    if (wanted(argc, argv, "apply") || wanted(argc, argv, "multiply")) reading();
    for (int t = 0; t < 2; t++) {
        if (!wanted(argc, argv, t ? "apply_t" : "apply")) continue;
        size_t far = (size_t)96 << 20;
        for (int n = 4; n <= 128; n *= 2) apply(n, n, 1, MPKI_DENSE, 1, t, far);
        apply(29, 31, 1, MPKI_DENSE, 1, t, far);
        apply(100, 6, 1, MPKI_DENSE, 1, t, far);
        apply(32, 32, 0.5, MPKI_ROWS, 1, t, far);
        for (int f = 0; f < 5; f++) apply(32, 32, fills[f], MPKI_BITMAP, 1, t, far);
        for (int f = 0; f < 5; f++) apply(64, 64, fills[f], MPKI_BITMAP, 1, t, far);
        apply(16, 16, 0.2, MPKI_BITMAP, 1, t, far);
        apply(128, 128, 0.1, MPKI_BITMAP, 1, t, far);
        for (int f = 0; f < 5; f += 2) apply(32, 32, fills[f], MPKI_BITMAP, 1, t, 1);
        apply(32, 32, 1, MPKI_DENSE, 1, t, 1);
        for (int nrhs = 2; nrhs <= 16; nrhs *= 2) {
            apply(32, 32, 1, MPKI_DENSE, nrhs, t, far);
            apply(32, 32, 0.2, MPKI_BITMAP, nrhs, t, far);
        }
        apply(32, 32, 1, MPKI_DENSE, 5, t, far);
    }
    for (int t = 0; t < 2; t++) {
        if (!wanted(argc, argv, t ? "multiply_t" : "multiply")) continue;
        for (int n = 4; n <= 128; n *= 2) multiply(n, 1, t);
        multiply(29, 1, t);
        for (int nrhs = 2; nrhs <= 16; nrhs *= 2) multiply(32, nrhs, t);
    }
    return 0;
}
