/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches the kernels of a factorization on blocks, for one kind of entries. */
#include "engines/cuda/module/launch.cuh"
#include "border.cuh"
#include "launch.cuh"
#include "store.cuh"
#include "whole.cuh"

using namespace mpki;

template <class KERNEL> static mpk_status allow(mpki_cuda *cuda, KERNEL kernel, size_t bytes) {
    if (bytes > 48 * 1024)
        MPKI_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return MPK_OK;
}

/* Kernels of a portion follow each other closely; what a launch says is asked for after the
 * portion. */
#define NEXT(kernel, blocks, threads, bytes, ...)                                                  \
    (void)MPKI_LAUNCH_NEXT(cuda, kernel, (int)(blocks), threads, bytes, __VA_ARGS__)

static int64_t parts(int64_t count, int64_t each) {
    return (count + each - 1) / each;
}

int64_t FN(cuda_blocks_stride)(const mpki_cuda_stage *b) {
    return pivot_stride(*b);
}

mpk_status FN(cuda_blocks_place)(mpki_cuda *cuda, const mpki_cuda_stage *b) {
    if (b->n == 0) return MPK_OK;
    MPKI_LAUNCH(slot_kernel<T>, parts(b->n, WHOLE_WARPS), 32 * WHOLE_WARPS, 0, b->stream, *b, b->a);
    if (b->at.ptr)
        MPKI_LAUNCH(slot_kernel<T>, parts(b->n, WHOLE_WARPS), 32 * WHOLE_WARPS, 0, b->stream, *b,
                    b->at);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* Threads of a kernel of one block that walks over `count` things. */
static int walkers(int64_t count) {
    const int64_t threads = parts(count, 128) * 32; /* four things a thread */
    return threads < 32 ? 32 : threads > ONE_BLOCK ? ONE_BLOCK : (int)threads;
}

/* Work blocks of portion k := A, and those of the ones that are loaded with it. */
static mpk_status load(mpki_cuda *cuda, const mpki_cuda_stage &b, int32_t k) {
    const cudaStream_t stream = (cudaStream_t)b.stream;
    const mpki_cuda_portion &po = b.portion[k];
    if (!po.loads) return MPK_OK;
    const mpki_cuda_portion &last = b.portion[k + po.loads - 1];
    const int64_t entries = last.work + last.entries - po.work;
    const size_t bytes = (size_t)entries * sizeof(T);
    MPKI_TRY(cudaMemsetAsync((T *)b.work + po.work, 0, bytes, stream));
    if (b.ldu) MPKI_TRY(cudaMemsetAsync((T *)b.work_u + po.work, 0, bytes, stream));
    NEXT(load_kernel<T>, last.end - po.first, 32 * LOAD_WARPS, 0, b, po);
    return MPK_OK;
}

/* Work blocks, as they are now, to b.to; and, where these are there, pivots. */
static void store(mpki_cuda *cuda, const mpki_cuda_stage &b, const mpki_cuda_portion &po,
                  bool with_pivots) {
    const int threads = 32 * STORE_WARPS;
    const int64_t all = po.end_item - po.first_item + po.end - po.first;
    const int64_t each = parts(all, STORE_WARPS);
    NEXT(drop_kernel<T>, each, threads, 0, b, po);
    NEXT(place_kernel<T>, 1, walkers(all), 0, b, po);
    NEXT(pack_kernel<T>, each, threads, 0, b, po, (int)with_pivots);
}

/* A launch of few frames or blocks takes all warps of a thread block for each: then there are
 * others for all multiprocessors, and the longest list of updates is not one warp's. Where each has
 * a multiprocessor to itself it takes all of the shared memory there, twice as many warps. */
template <int SPLIT> static size_t pivot_bytes_of(const mpki_cuda_stage &b) {
    const int warps = together<SPLIT>::warps;
    return warps * gather_memory<T>::bytes(b.largest) +
           (SPLIT == 1 ? warps : 1) * pivot_bytes<T>(b.largest);
}
template <int SPLIT> static size_t block_bytes_of(const mpki_cuda_stage &b) {
    return together<SPLIT>::warps * gather_memory<T>::bytes(b.largest);
}

template <int SPLIT>
static void pivots(mpki_cuda *cuda, const mpki_cuda_stage &b, const mpki_cuda_portion &po) {
    const int warps = together<SPLIT>::warps;
    const int64_t frames = po.end - po.first;
    NEXT((pivot_kernel<SPLIT, T>), SPLIT == 1 ? parts(frames, warps) : frames, 32 * warps,
         pivot_bytes_of<SPLIT>(b), b, po);
}
template <int SPLIT>
static void blocks(mpki_cuda *cuda, const mpki_cuda_stage &b, const mpki_cuda_portion &po) {
    const int warps = together<SPLIT>::warps;
    const int64_t items = po.end_item - po.first_item;
    NEXT((block_kernel<SPLIT, T>), SPLIT == 1 ? parts(items, warps) : items, 32 * warps,
         block_bytes_of<SPLIT>(b), b, po);
}

/* May a thread block have that much shared memory, beside what block_kernel() declares? */
static bool fits(const mpki_cuda *cuda, size_t bytes) {
    return bytes + MANY_WARPS * 33 * sizeof(double) <= cuda->shared_max;
}

template <int SPLIT>
static void pull(mpki_cuda *cuda, const mpki_cuda_stage &b, const mpki_cuda_portion &po) {
    const int warps = together<SPLIT>::warps;
    const int64_t items = po.end_item - po.first_item;
    NEXT((pull_kernel<SPLIT, T>), SPLIT == 1 ? parts(items, warps) : items, 32 * warps,
         block_bytes_of<SPLIT>(b), b, po);
}

/* Pivots, then what is below them, in the work blocks. Of few frames the updates of all blocks come
 * first: else most multiprocessors would wait for one frame's. */
static void compute(mpki_cuda *cuda, const mpki_cuda_stage &job, const mpki_cuda_portion &po) {
    const int64_t items = po.end_item - po.first_item, frames = po.end - po.first;
    const int64_t sms = cuda->sms > 0 ? cuda->sms : 1;
    mpki_cuda_stage b = job;
    b.pulled = !b.sweep && !b.relaxed && frames < FEW_FRAMES * sms;
    if (b.pulled) {
        if (items <= sms && fits(cuda, block_bytes_of<MANY_WARPS>(b)))
            pull<MANY_WARPS>(cuda, b, po);
        else if (items < FEW_BLOCKS * sms)
            pull<WARPS>(cuda, b, po);
        else
            pull<1>(cuda, b, po);
        pivots<1>(cuda, b, po);
    } else if (frames <= sms && fits(cuda, pivot_bytes_of<MANY_WARPS>(b))) {
        pivots<MANY_WARPS>(cuda, b, po);
    } else if (frames < FEW_FRAMES * sms) {
        pivots<WARPS>(cuda, b, po);
    } else {
        pivots<1>(cuda, b, po);
    }
    if (items <= sms && fits(cuda, block_bytes_of<MANY_WARPS>(b)))
        blocks<MANY_WARPS>(cuda, b, po);
    else if (items < FEW_BLOCKS * sms)
        blocks<WARPS>(cuda, b, po);
    else
        blocks<1>(cuda, b, po);
}

template <int SPLIT> static mpk_status allow_split(mpki_cuda *cuda, const mpki_cuda_stage &b) {
    MPKI_PASS(allow(cuda, pivot_kernel<SPLIT, T>, pivot_bytes_of<SPLIT>(b)));
    MPKI_PASS(allow(cuda, pull_kernel<SPLIT, T>, block_bytes_of<SPLIT>(b)));
    return allow(cuda, block_kernel<SPLIT, T>, block_bytes_of<SPLIT>(b));
}

/* Frames of the dense pivot: to S. */
static void to_border(mpki_cuda *cuda, const mpki_cuda_stage &b, const mpki_cuda_portion &po) {
    MPKI_LAUNCH(border_kernel<T>, po.end_item - po.first_item, 32 * WARPS, block_bytes_of<WARPS>(b),
                b.stream, b, po);
    MPKI_LAUNCH(border_frame_kernel<T>, po.end - po.first, 32, 0, b.stream, b, po);
    store(cuda, b, po, true);
}

mpk_status FN(cuda_blocks_run)(mpki_cuda *cuda, const mpki_cuda_stage *job, int32_t begin,
                               int32_t end) {
    const mpki_cuda_stage &b = *job;
    MPKI_PASS(allow_split<1>(cuda, b));
    MPKI_PASS(allow_split<WARPS>(cuda, b));
    if (fits(cuda, pivot_bytes_of<MANY_WARPS>(b))) MPKI_PASS(allow_split<MANY_WARPS>(cuda, b));
    for (int32_t k = begin; k < end; ++k) {
        const mpki_cuda_portion &po = b.portion[k];
        const int64_t items = po.end_item - po.first_item;
        const int64_t frames = parts(po.end - po.first, STORE_WARPS);
        MPKI_PASS(load(cuda, b, k));
        if (po.border) {
            MPKI_PASS(allow(cuda, border_kernel<T>, block_bytes_of<WARPS>(b)));
            to_border(cuda, b, po);
            MPKI_TRY(cudaGetLastError());
            continue;
        }
        compute(cuda, b, po);
        if (b.sweep != 1) {
            NEXT(judge_kernel<T>, frames, 32 * STORE_WARPS, 0, b, po);
            if (!b.complete && !b.unlimited) {
                NEXT(count_kernel<T>, parts(items, STORE_WARPS), 32 * STORE_WARPS, 0, b, po);
                if (b.first_come)
                    NEXT(take_kernel<T>, parts(items, 32 * STORE_WARPS), 32 * STORE_WARPS, 0, b,
                         po);
                else
                    NEXT(grant_kernel<T>, 1, walkers(items), 0, b, po);
            }
        }
        store(cuda, b, po, true);
        MPKI_TRY(cudaGetLastError());
    }
    return MPK_OK;
}

mpk_status FN(cuda_blocks_start)(mpki_cuda *cuda, const mpki_cuda_stage *job) {
    const mpki_cuda_stage &b = *job;
    for (int32_t k = 0; k < b.portions; ++k) {
        const mpki_cuda_portion &po = b.portion[k];
        MPKI_PASS(load(cuda, b, k));
        MPKI_LAUNCH(relative_kernel<T>, cuda->sms > 0 ? 4 * cuda->sms : 4, 32 * WHOLE_WARPS, 0,
                    b.stream, b, po);
        store(cuda, b, po, false);
    }
    if (b.n > 0)
        MPKI_LAUNCH(size_kernel<T>, parts(b.n, 32 * WHOLE_WARPS), 32 * WHOLE_WARPS, 0, b.stream, b);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

mpk_status FN(cuda_blocks_norm)(mpki_cuda *cuda, const mpki_cuda_stage *job, double *norm) {
    const mpki_cuda_stage &b = *job;
    const cudaStream_t stream = (cudaStream_t)b.stream;
    /* in the work space of the notes, which is not in use yet */
    unsigned long long *const to = (unsigned long long *)b.where;
    MPKI_TRY(cudaMemsetAsync(to, 0, sizeof *to, stream));
    MPKI_TRY(cudaMemsetAsync(b.frame_norm, 0, (size_t)b.m * sizeof *b.frame_norm, stream));
    if (b.n > 0)
        MPKI_LAUNCH(norm_kernel<T>, parts(b.n, 32 * WHOLE_WARPS), 32 * WHOLE_WARPS, 0, stream, b,
                    to);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(norm, to, sizeof *norm, cudaMemcpyDeviceToHost, stream));
    MPKI_TRY(cudaStreamSynchronize(stream));
    return MPK_OK;
}

static const int64_t SUM_BYTES = SUM_BLOCKS * (int64_t)sizeof(partial);

int64_t FN(cuda_blocks_sum_bytes)(void) {
    return SUM_BYTES;
}

mpk_status FN(cuda_blocks_sum)(mpki_cuda *cuda, const mpki_cuda_stage *job, mpki_cuda_held *held,
                               mpki_cuda_pivots_of *pivots) {
    const mpki_cuda_stage &b = *job;
    const cudaStream_t stream = (cudaStream_t)b.stream;
    partial sums[SUM_BLOCKS], all;
    const int64_t wish = parts(b.m, SUM_THREADS);
    const int blocks = wish < 1 ? 1 : wish > SUM_BLOCKS ? SUM_BLOCKS : (int)wish;
    MPKI_LAUNCH(sum_kernel<T>, blocks, SUM_THREADS, 0, stream, b, (partial *)b.where);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(sums, b.where, (size_t)blocks * sizeof *sums, cudaMemcpyDeviceToHost,
                             stream));
    MPKI_TRY(cudaStreamSynchronize(stream));
    all = sums[0];
    for (int k = 1; k < blocks; ++k) all.add(sums[k]);
    *held = all.held, *pivots = all.pivots;
    return MPK_OK;
}

mpk_status FN(cuda_blocks_invert)(mpki_cuda *cuda, int32_t n, const void *l, void *v) {
    const cudaStream_t stream = cuda->sparse;
    const int64_t tiles = parts(n, TILE);
    const size_t tile = TILE * TILE_LD * sizeof(T);
    if (n == 0) return MPK_OK;
    MPKI_LAUNCH(invert_kernel<T>, tiles, 32 * INVERT_WARPS, 2 * tile, stream, n, (const T *)l,
                (T *)v);
    MPKI_LAUNCH(mirror_kernel<T>, tiles * tiles, 32 * INVERT_WARPS, tile, stream, n, (T *)v);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}
