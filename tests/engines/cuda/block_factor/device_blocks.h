/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_BLOCKS_H
#define TESTS_DEVICE_BLOCKS_H
/** A factor on blocks of the device brought to the host, and compared with the processor's: entry
 *  by entry, and by all that is counted. */
#include "engines/cuda/block_factor/kernels/store.h"
#include "engines/cuda/module/engine.h"
#include "engines/cpu/block_factor/block_factor.h"
#include "../device_there.h"
#include "factor/stages.h"

#include "factor/runs.h"

/** The processor's engine, whose factors stay on blocks; the device's, with the processor's
 *  vectors. */
static mpki_block_engine device_cpu_blocks;
static mpki_engine device_cpu, device_gpu;

static const char *device_cpu_name(const mpk_context *ctx) {
    (void)ctx;
    return "cpu";
}

static int device_setup(void **state) {
    (void)state;
    device_cpu_blocks = mpki_cpu_blocks;
    device_cpu_blocks.finish = mpki_block_finish_as_blocks;
    device_cpu = (mpki_engine){.name = device_cpu_name,
                               .memory = MPK_HOST,
                               .direct = &mpki_cpu_direct,
                               .blocks = &device_cpu_blocks,
                               .vectors = &mpki_cpu_vectors};
    return 0;
}

static const mpki_engine *device_engine_of(mpk_context *ctx) {
    const mpki_engine *e = mpki_cuda_engine(ctx, 0);
    if (!e) return NULL;
    device_gpu = *e;
    device_gpu.vectors = &mpki_cpu_vectors;
    return &device_gpu;
}

/** A problem of the generators. */
static inline mpk_problem *generated(mpk_context *ctx, const char *spec) {
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &p), MPK_OK);
    return p;
}

/** Factored and solved with on the processor, and on the device; statuses are the same. */
static inline void device_both(mpk_context *ctx, const char *spec, const mpk_options *o, run r[2]) {
    for (int device = 0; device < 2; device++) {
        mpki_engine_use(ctx, device ? device_engine_of(ctx) : &device_cpu);
        r[device] = go(ctx, spec, o);
    }
    mpki_engine_use(ctx, NULL);
    if (r[0].status != r[1].status)
        fail_msg("%s: status %d, on the device %d", spec, r[0].status, r[1].status);
}

/** Bytes of the device's memory, to be freed. */
static void *device_fetch(mpk_context *ctx, const void *from, int64_t bytes) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    void *to = malloc(bytes > 0 ? (size_t)bytes : 1);
    assert_int_equal(d->table->copy(d->cuda, to, bytes, from, bytes, bytes, 1, 0, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    return to;
}

/** A packed block as a dense one by rows, rows x cols; returns how many entries it has. */
static int device_unpack(mpk_context *ctx, const mpki_cuda_store *s, int64_t at, int rows, int cols,
                         double complex *c) {
    const size_t size = mpk_scalar_size(s->scalar);
    for (int k = 0; k < rows * cols; k++) c[k] = 0;
    if (at < 0) return 0;
    assert_int_equal(at % 4, 0);
    uint32_t *row_mask = device_fetch(ctx, s->words + at, 4);
    const int held = __builtin_popcount(*row_mask);
    assert_true(held > 0);
    if (rows < 32) assert_int_equal(*row_mask >> rows, 0);
    uint32_t *mask = device_fetch(ctx, s->words + at + 1, 4 * held);
    int count = 0, v = 0;
    for (int k = 0; k < held; k++) {
        count += __builtin_popcount(mask[k]);
        assert_true(mask[k] != 0);
        if (cols < 32) assert_int_equal(mask[k] >> cols, 0);
    }
    void *value = device_fetch(ctx, s->words + at + MPKI_STORE_HEAD(held), count * (int64_t)size);
    for (int r = 0, k = 0; r < rows; r++) {
        if (!(*row_mask >> r & 1)) continue;
        for (int j = 0; j < cols; j++)
            if (mask[k] >> j & 1) c[r * cols + j] = scalar_load(s->scalar, value, v++);
        k++;
    }
    free(row_mask), free(mask), free(value);
    return count;
}

/** The processor's. */
static void cpu_unpack(const mpki_block *b, int rows, int cols, double complex *c) {
    for (int k = 0; k < rows * cols; k++) c[k] = 0;
    if (b->format == MPKI_EMPTY) return;
    const uint32_t *mask = b->data;
    const int words = (rows + 31) / 32, wide = (cols + 31) / 32;
    int held = 0;
    for (int r = 0; r < rows; r++)
        held += b->format == MPKI_DENSE || (mask[r / 32] >> (r % 32) & 1);
    const char *value = (const char *)b->data + mpki_block_mask_bytes(b->format, rows, cols, held);
    const uint32_t *bits = mask + words;
    int v = 0;
    for (int r = 0; r < rows; r++) {
        if (b->format != MPKI_DENSE && !(mask[r / 32] >> (r % 32) & 1)) continue;
        for (int j = 0; j < cols; j++)
            if (b->format != MPKI_BITMAP || (bits[j / 32] >> (j % 32) & 1))
                c[r * cols + j] = scalar_load((mpk_scalar)b->scalar, value, v++);
        if (b->format == MPKI_BITMAP) bits += wide;
    }
}

/** Largest difference of two factors, relative to the largest entry; different counts: infinity. */
typedef struct difference {
    double entries, pivots;
    int64_t elsewhere; /* entries that one has and the other has not */
} difference;

static void compare_arrays(int count, const double complex *x, const double complex *y,
                           double *most, double *norm, int64_t *elsewhere) {
    for (int k = 0; k < count; k++) {
        const double d = cabs(x[k] - y[k]);
        if (!(d <= *most)) *most = d;
        if (cabs(x[k]) > *norm) *norm = cabs(x[k]);
        if (elsewhere) *elsewhere += (x[k] == 0) != (y[k] == 0);
    }
}

static inline difference compare_factors(mpk_context *ctx, const mpk_factor *cpu,
                                         const mpk_factor *gpu) {
    const mpki_stages *s = &cpu->blocks->stages, *t = &gpu->blocks->stages;
    const mpki_blocks *b = cpu->blocks->numbers;
    const mpki_cuda_store *g = mpki_cuda_blocks_store(gpu->blocks->numbers);
    const mpki_ibcsr *x = &s->index;
    difference d = {0};
    double norm = 0, pivots = 0, inverses = 0;
    assert_int_equal(x->nblocks, t->index.nblocks);
    assert_int_equal(x->m, t->index.m);
    assert_int_equal(g->n, s->blocking->n);
    assert_int_equal(g->levels, s->levels.count);
    if (x->m == 0) return d;
    assert_memory_equal(x->place, t->index.place, (size_t)x->m * sizeof *x->place);
    int64_t *lower = device_fetch(ctx, g->lower, g->nblocks * 8);
    int64_t *upper = device_fetch(ctx, g->upper, g->nblocks * 8);
    int64_t *pivot = device_fetch(ctx, g->pivot, g->m * (int64_t)8);
    int64_t *pivot_n = device_fetch(ctx, g->pivot_n, g->m * (int64_t)8);
    const int64_t size = (int64_t)mpk_scalar_size(g->scalar);
    void *dd = device_fetch(ctx, g->d, 2 * g->n * size);
    void *dinv = device_fetch(ctx, g->dinv, 2 * g->n * size);
    double complex p[32 * 32], q[32 * 32];
    for (int32_t f = 0; f < x->m; f++) {
        const int w = mpki_frame_rows(s->blocking, f);
        const int32_t p0 = s->blocking->bptr[f];
        double complex pd[64], qd[64], pe[64], qe[64];
        for (int k = 0; k < 2 * w; k++) {
            pd[k] = scalar_load(g->scalar, b->frame[f].d, k);
            qd[k] = scalar_load(g->scalar, dd, 2 * p0 + k);
            pe[k] = scalar_load(g->scalar, b->frame[f].dinv, k);
            qe[k] = scalar_load(g->scalar, dinv, 2 * p0 + k);
        }
        for (int half = 0; half < 2; half++) {
            cpu_unpack(half ? &b->frame[f].n : &b->frame[f].m, w, w, p);
            device_unpack(ctx, g, half ? pivot_n[f] : pivot[f], w, w, q);
            compare_arrays(w * w, p, q, &d.entries, &norm, NULL);
        }
        double least = 0, most = 0;
        compare_arrays(2 * w, pd, qd, &d.pivots, &pivots, NULL);
        compare_arrays(2 * w, pe, qe, &least, &most, NULL);
        if (most > 0 && !(least / most <= inverses)) inverses = least / most;
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            const int64_t block = x->entry[e].block;
            const int rows = mpki_frame_rows(s->blocking, x->entry[e].other);
            for (int half = 0; half <= s->ldu; half++) {
                cpu_unpack(half ? &b->upper[block] : &b->lower[block], rows, w, p);
                device_unpack(ctx, g, half ? upper[block] : lower[block], rows, w, q);
                compare_arrays(rows * w, p, q, &d.entries, &norm, &d.elsewhere);
            }
        }
    }
    free(lower), free(upper), free(pivot), free(pivot_n), free(dd), free(dinv);
    if (norm > 0) d.entries /= norm;
    if (!(inverses <= d.entries)) d.entries = inverses;
    if (pivots > 0) d.pivots /= pivots;
    return d;
}

#endif
