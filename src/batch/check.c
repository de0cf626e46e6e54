/* SPDX-License-Identifier: BSD-3-Clause */
/* A batch as its caller describes it: what it is unless told otherwise, and all that can be judged
 * before a matrix is touched. */
#include "../core/sizes.h"
#include "../engines/cpu/batch/batch.h"

#include <math.h>
#include <string.h>

void mpk_batch_init(mpk_batch *batch) {
    if (!batch) return;
    memset(batch, 0, sizeof *batch);
    batch->struct_size = sizeof *batch;
    batch->scalar = MPK_D;
    batch->zero_tolerance = -1;
}

static mpk_status bad(mpk_context *ctx, int64_t index, const char *text) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", index, "%s", text);
}

mpk_status mpki_batch_check_shape(mpk_context *ctx, const mpk_batch *given, mpk_batch *full) {
    mpk_batch_init(full);
    if (!given || given->struct_size < sizeof given->struct_size)
        return bad(ctx, -1, "the batch is NULL, or mpk_batch_init() was not called");
    size_t size = given->struct_size < sizeof *full ? given->struct_size : sizeof *full;
    memcpy(full, given, size);
    full->struct_size = sizeof *full;
    if ((unsigned)full->scalar > MPK_Z) return bad(ctx, -1, "no such scalar type");
    if (full->symmetry != MPK_SYMMETRIC && full->symmetry != MPK_HERMITIAN)
        return bad(ctx, -1, "no such symmetry");
    if (full->scalar <= MPK_D) full->symmetry = MPK_SYMMETRIC;
    if ((unsigned)full->pivoting > MPK_PIVOTING_COMPLETE) return bad(ctx, -1, "no such pivoting");
    if (full->count < 0) return bad(ctx, full->count, "the count is negative");
    if (full->n < 0) return bad(ctx, full->n, "the order n is negative");
    if (full->count > INT64_MAX >> 20)
        return mpki_error(ctx, MPK_ERR_SIZE, "batch", full->count,
                          "%lld matrices: that is more than any memory has",
                          (long long)full->count);
    if ((unsigned)full->pivots_memory > MPK_DEVICE || (unsigned)full->results_memory > MPK_DEVICE)
        return bad(ctx, -1, "no such memory");
    if (full->asynchronous != 0 && full->asynchronous != 1)
        return bad(ctx, full->asynchronous, "asynchronous is neither 0 nor 1");
    if ((unsigned)full->kernels > MPK_BATCH_KERNELS_SHARED) return bad(ctx, -1, "no such kernels");
    if (full->threads < 0 || full->threads > MPKI_THREADS_MOST)
        return bad(ctx, full->threads, "the number of threads is negative, or above 1024");
    if (isnan(full->zero_tolerance) || full->zero_tolerance > 1)
        return bad(ctx, -1, "the zero tolerance must be at most 1");
    if (full->n > MPK_BATCH_MAX_N)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "batch", full->n,
                          "order %d: batches are for orders up to %d", full->n, MPK_BATCH_MAX_N);
    for (int64_t b = 0; full->sizes && b < full->count; b++)
        if (full->sizes[b] < 0 || full->sizes[b] > full->n)
            return bad(ctx, b, "a size is negative or above n");
    return MPK_OK;
}

/* A multiple of which an entry's address must be: kernels of a device read complex entries
 * whole. */
static uintptr_t entry_alignment(const mpk_batch *batch, mpk_memory memory) {
    const uintptr_t real = batch->scalar == MPK_S || batch->scalar == MPK_C ? 4 : 8;
    return memory == MPK_DEVICE && batch->scalar >= MPK_C ? 2 * real : real;
}

static mpk_status misaligned(mpk_context *ctx, int64_t index, const char *name, uintptr_t unit) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", index,
                      "%s: an address is no multiple of %d bytes, as its entries need", name,
                      (int)unit);
}

static mpk_status too_large(mpk_context *ctx, const char *name, const mpk_batch_array *x) {
    return mpki_error(
        ctx, MPK_ERR_SIZE, "batch", x->stride,
        "%s: matrices with ld = %d, stride = %lld and width = %d do not fit any memory", name,
        x->ld, (long long)x->stride, x->width);
}

mpk_status mpki_batch_check_array(mpk_context *ctx, const mpk_batch *batch, const char *name,
                                  const mpk_batch_array *x, int64_t rows, int64_t cols) {
    const bool empty = batch->count == 0 || rows == 0 || cols == 0;
    if (!x) return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1, "%s is NULL", name);
    if ((unsigned)x->memory > MPK_DEVICE || (unsigned)x->layout > MPK_BATCH_INTERLEAVED)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1, "%s: no such layout or memory", name);
    if (x->ld < rows || x->ld < 1)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", x->ld,
                          "%s: the leading dimension is smaller than its rows", name);
    if (x->layout == MPK_BATCH_INTERLEAVED && x->width < 1)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", x->width,
                          "%s: the width of a group is not positive", name);
    if (empty) return MPK_OK;
    if (!x->data) return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", -1, "%s has no data", name);
    const int64_t width = x->layout == MPK_BATCH_INTERLEAVED ? x->width : 1;
    const bool pointers = x->layout == MPK_BATCH_POINTERS;
    const uintptr_t entry = entry_alignment(batch, x->memory),
                    unit = pointers ? sizeof(void *) : entry;
    if ((uintptr_t)x->data % unit != 0) return misaligned(ctx, -1, name, unit);
    if (pointers) {
        for (int64_t b = 0; x->memory == MPK_HOST && b < batch->count; b++) {
            const void *matrix = ((void *const *)x->data)[b];
            if (!matrix)
                return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", b, "%s: a pointer is NULL", name);
            if ((uintptr_t)matrix % entry != 0) return misaligned(ctx, b, name, entry);
        }
        if (!mpki_fits(x->ld, cols, mpk_scalar_size(batch->scalar))) return too_large(ctx, name, x);
    } else if (!mpki_fits(x->ld * cols, width, mpk_scalar_size(batch->scalar)) ||
               (batch->count > width && !mpki_fits((batch->count + width - 1) / width, x->stride,
                                                   mpk_scalar_size(batch->scalar)))) {
        return too_large(ctx, name, x);
    } else if (batch->count > width && x->stride / width < (int64_t)x->ld * cols) {
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "batch", x->stride,
                          "%s: the stride is smaller than a matrix: they would overlap", name);
    }
    return MPK_OK;
}

mpk_status mpki_batch_check_memory(mpk_context *ctx, const mpki_batch_job *job) {
    const mpk_batch *batch = &job->batch;
    const mpk_batch_array *arrays[] = {job->a, job->b, job->c, job->d};
    const mpk_memory memory = job->a->memory;
    for (int k = 1; k < 4; k++)
        if (arrays[k] && arrays[k]->memory != memory)
            return bad(ctx, -1, "some arrays lie in host memory, others in device memory");
    const bool results = job->results.outcome || job->results.inertia;
    const void *lists[] = {job->pivots, job->results.outcome, job->results.inertia};
    for (int k = 0; k < 3; k++)
        if ((uintptr_t)lists[k] % sizeof(int32_t) != 0)
            return misaligned(ctx, -1, k == 0 ? "pivots" : "results", sizeof(int32_t));
    if (batch->kernels != MPK_BATCH_KERNELS_AUTO && (memory == MPK_HOST || job->b || job->product))
        return bad(ctx, -1, "only factorizations in device memory have a choice of kernels");
    if (memory == MPK_HOST) {
        if ((job->pivots && batch->pivots_memory == MPK_DEVICE) ||
            (results && batch->results_memory == MPK_DEVICE))
            return bad(ctx, -1, "pivots or results in device memory, of matrices in host memory");
        if (batch->asynchronous) return bad(ctx, -1, "only calls of a device are asynchronous");
        return MPK_OK;
    }
    if (batch->asynchronous && ((job->pivots && batch->pivots_memory == MPK_HOST) ||
                                (results && batch->results_memory == MPK_HOST)))
        return bad(ctx, -1,
                   "an asynchronous call leaves pivots and results in device memory alone");
    return MPK_OK;
}

/* A permutation of 0 .. n-1; negative entries are marks, in pairs. */
static bool is_pivots(const int32_t *piv, int n, bool pairs) {
    uint64_t seen = 0;
    for (int k = 0; k < n; k++) {
        if (piv[k] < 0) {
            if (!pairs || k + 1 >= n || piv[k + 1] >= 0) return false;
            for (int i = k; i < k + 2; i++) {
                if (~piv[i] >= n || seen >> ~piv[i] & 1) return false;
                seen |= (uint64_t)1 << ~piv[i];
            }
            k++;
            continue;
        }
        if (piv[k] >= n || seen >> piv[k] & 1) return false;
        seen |= (uint64_t)1 << piv[k];
    }
    return true;
}

mpk_status mpki_batch_check_pivots(mpk_context *ctx, const mpk_batch *batch, bool both, bool pairs,
                                   const int32_t *pivots) {
    if (batch->pivots_memory == MPK_DEVICE) return MPK_OK; /* the device checks them */
    for (int64_t b = 0; b < batch->count; b++) {
        const int n = batch->sizes ? batch->sizes[b] : batch->n;
        const int32_t *p = pivots + b * batch->n * (both ? 2 : 1);
        if (!is_pivots(p, n, pairs) || (both && !is_pivots(p + batch->n, n, false)))
            return bad(ctx, b, "the pivots of a matrix are not a permutation with 2x2 marks");
    }
    return MPK_OK;
}
