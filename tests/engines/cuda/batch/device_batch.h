/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_BATCH_H
#define TESTS_DEVICE_BATCH_H
/** mpk_batch_* with arguments in host memory, carried out in device memory: copied there and back.
 *  The names of the library are then those of this header. By turns pivots and results lie in host
 *  and in device memory. */
#include "../device_there.h"

#include <cmocka.h>
#include <metapack/batch.h>

static inline mpk_batch batch_of(int64_t count, int n, mpk_pivoting pivoting) {
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = count, batch.n = n, batch.pivoting = pivoting;
    return batch;
}

/* A call failed as it is to, and says so with a word. */
static inline void refused(mpk_context *ctx, mpk_status got, mpk_status expected,
                           const char *word) {
    const char *text = NULL;
    assert_int_equal(got, expected);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), expected);
    if (!strstr(text, word)) fail_msg("%s: %s", word, text);
}

static const mpki_device *device_open(mpk_context *ctx) {
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    assert_non_null(d);
    return d;
}

static void *device_up(const mpki_device *d, const void *host, int64_t bytes) {
    void *p = NULL;
    assert_int_equal(d->table->alloc(d->cuda, bytes > 0 ? bytes : 8, &p), 0);
    assert_int_equal(d->table->copy(d->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    return p;
}

static void device_down(const mpki_device *d, void *p, void *host, int64_t bytes) {
    if (host)
        assert_int_equal(d->table->copy(d->cuda, host, bytes, p, bytes, bytes, 1, 0, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    d->table->release(d->cuda, p);
}

/* An operand on its way. */
typedef struct device_array {
    mpk_batch_array there;
    char *host; /* what is copied: from the first entry to behind the last */
    int64_t bytes;
    void *data, *list;
} device_array;

static device_array array_up(const mpki_device *d, const mpk_batch *batch, const mpk_batch_array *x,
                             int64_t cols) {
    const int64_t size = (int64_t)mpk_scalar_size(batch->scalar), count = batch->count;
    device_array a = {.there = *x, .host = x->data};
    const int64_t each = x->ld * cols * size;
    a.there.memory = MPK_DEVICE;
    if (x->layout == MPK_BATCH_STRIDED)
        a.bytes = count ? (count - 1) * x->stride * size + each : 0;
    else if (x->layout == MPK_BATCH_INTERLEAVED)
        a.bytes = count ? (count - 1) / x->width * x->stride * size + each * x->width : 0;
    if (x->layout != MPK_BATCH_POINTERS) {
        a.data = a.there.data = device_up(d, a.host, x->data ? a.bytes : 0);
        if (!x->data) a.bytes = 0;
        return a;
    }
    char *const *p = x->data, *last = count ? p[0] : NULL;
    a.host = last;
    for (int64_t b = 0; b < count; b++) {
        if (p[b] < a.host) a.host = p[b];
        if (p[b] > last) last = p[b];
    }
    a.bytes = count ? last - a.host + each : 0;
    a.data = device_up(d, a.host, a.bytes);
    char **list = malloc((size_t)(count + 1) * sizeof *list);
    for (int64_t b = 0; b < count; b++) list[b] = (char *)a.data + (p[b] - a.host);
    a.list = a.there.data = device_up(d, list, count * (int64_t)sizeof *list);
    free(list);
    return a;
}

static void array_down(const mpki_device *d, device_array *a) {
    device_down(d, a->data, a->bytes ? a->host : NULL, a->bytes);
    if (a->list) device_down(d, a->list, NULL, 0);
}

/* Pivots and results in the device's memory, too. */
typedef struct device_lists {
    int32_t *pivots, *outcome, *inertia;
    int64_t pivots_bytes, count;
    mpk_batch_results there;
} device_lists;

static int device_turn; /* 0: lists in host memory, 1: in the device's, 2: asynchronously */

static device_lists lists_up(const mpki_device *d, mpk_batch *batch, int lists,
                             const int32_t *pivots, const mpk_batch_results *results) {
    device_lists l = {.count = batch->count};
    l.pivots_bytes = batch->count * batch->n * lists * 4;
    if (results) l.there = *results;
    l.pivots = (int32_t *)(uintptr_t)pivots;
    if (device_turn == 0) return l;
    batch->pivots_memory = batch->results_memory = MPK_DEVICE;
    batch->asynchronous = device_turn == 2;
    if (pivots) l.pivots = device_up(d, pivots, l.pivots_bytes);
    if (l.there.outcome) l.there.outcome = device_up(d, l.there.outcome, 4 * batch->count);
    if (l.there.inertia) l.there.inertia = device_up(d, l.there.inertia, 12 * batch->count);
    return l;
}

static mpk_status lists_down(const mpki_device *d, device_lists *l, const int32_t *pivots,
                             const mpk_batch_results *results, mpk_status status) {
    if (device_turn > 0) {
        if (pivots) device_down(d, l->pivots, (void *)(uintptr_t)pivots, l->pivots_bytes);
        if (l->there.outcome) device_down(d, l->there.outcome, results->outcome, 4 * l->count);
        if (l->there.inertia) device_down(d, l->there.inertia, results->inertia, 12 * l->count);
        if (device_turn == 2 && results && results->outcome) { /* the status it would have had */
            assert_int_equal(status, MPK_OK);
            for (int64_t b = 0; b < l->count; b++) {
                if (results->outcome[b] > MPK_BATCH_SINGULAR) return MPK_PARTIAL;
                if (results->outcome[b] == MPK_BATCH_SINGULAR) status = MPK_SINGULAR;
            }
        }
    }
    return status;
}

static void next_turn(const mpk_batch_results *results) {
    device_turn = (device_turn + 1) % 3;
    if (device_turn == 2 && !(results && results->outcome)) device_turn = 0;
}

/* Half of the cases have kernels of the library's choice, half those in shared memory, which else
 * serve what no others do: both of them odd orders, even ones, and those that fill a warp's tile,
 * with each method and pivoting. */
static mpk_batch_kernels device_kernels(const mpk_batch *batch, mpk_batch_method method) {
    const int n = batch->n;
    return (n + n / 8 + (int)method + (int)batch->pivoting + (int)batch->scalar) % 2
               ? MPK_BATCH_KERNELS_AUTO
               : MPK_BATCH_KERNELS_SHARED;
}

typedef mpk_status (*device_verb)(mpk_context *, const mpk_batch *, const mpk_batch_array *,
                                  int32_t *, const mpk_batch_results *);

static mpk_status device_factor(device_verb verb, mpk_batch_method method, mpk_context *ctx,
                                const mpk_batch *given, const mpk_batch_array *a, int32_t *pivots,
                                const mpk_batch_results *results) {
    const mpki_device *d = device_open(ctx);
    mpk_batch batch = *given;
    next_turn(results);
    batch.kernels = device_kernels(&batch, method);
    device_array x = array_up(d, &batch, a, batch.n);
    device_lists l = lists_up(d, &batch, method == MPK_BATCH_LDU ? 2 : 1, pivots, results);
    mpk_status status = verb(ctx, &batch, &x.there, l.pivots, results ? &l.there : NULL);
    status = lists_down(d, &l, pivots, results, status);
    array_down(d, &x);
    return status;
}

static inline mpk_status device_llt(mpk_context *ctx, const mpk_batch *batch,
                                    const mpk_batch_array *a, int32_t *pivots,
                                    const mpk_batch_results *results) {
    return device_factor(mpk_batch_llt, MPK_BATCH_LLT, ctx, batch, a, pivots, results);
}
static inline mpk_status device_ldlt(mpk_context *ctx, const mpk_batch *batch,
                                     const mpk_batch_array *a, int32_t *pivots,
                                     const mpk_batch_results *results) {
    return device_factor(mpk_batch_ldlt, MPK_BATCH_LDLT, ctx, batch, a, pivots, results);
}
static inline mpk_status device_ldu(mpk_context *ctx, const mpk_batch *batch,
                                    const mpk_batch_array *a, int32_t *pivots,
                                    const mpk_batch_results *results) {
    return device_factor(mpk_batch_ldu, MPK_BATCH_LDU, ctx, batch, a, pivots, results);
}

static inline mpk_status device_solve(mpk_context *ctx, const mpk_batch *given,
                                      mpk_batch_method method, const mpk_batch_array *a,
                                      const int32_t *pivots, int32_t nrhs, const mpk_batch_array *b,
                                      const mpk_batch_results *results) {
    const mpki_device *d = device_open(ctx);
    mpk_batch batch = *given;
    next_turn(results);
    device_array x = array_up(d, &batch, a, batch.n), y = array_up(d, &batch, b, nrhs);
    mpk_batch_results asked = {results ? results->outcome : NULL, NULL};
    device_lists l = lists_up(d, &batch, method == MPK_BATCH_LDU ? 2 : 1, pivots, &asked);
    mpk_status status =
        mpk_batch_solve(ctx, &batch, method, &x.there, l.pivots, nrhs, &y.there, &l.there);
    status = lists_down(d, &l, pivots, &asked, status);
    array_down(d, &x), array_down(d, &y);
    return status;
}

static inline mpk_status device_gemm(mpk_context *ctx, const mpk_batch *given,
                                     const mpk_batch_product *product, const mpk_batch_array *a,
                                     const mpk_batch_array *d, const mpk_batch_array *b,
                                     const mpk_batch_array *c) {
    const mpki_device *device = device_open(ctx);
    mpk_batch batch = *given;
    batch.asynchronous = ++device_turn % 2;
    device_array w = array_up(device, &batch, a, product->k), z = {0};
    device_array x = array_up(device, &batch, b, product->transpose_b ? product->k : product->n);
    device_array y = array_up(device, &batch, c, product->n);
    if (d) z = array_up(device, &batch, d, product->k);
    mpk_status status =
        mpk_batch_gemm(ctx, &batch, product, &w.there, d ? &z.there : NULL, &x.there, &y.there);
    array_down(device, &w), array_down(device, &x), array_down(device, &y);
    if (d) array_down(device, &z);
    return status;
}

#define mpk_batch_llt device_llt
#define mpk_batch_ldlt device_ldlt
#define mpk_batch_ldu device_ldu
#define mpk_batch_solve device_solve
#define mpk_batch_gemm device_gemm

#endif
