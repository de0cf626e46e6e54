/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues the kernels of the multifrontal engine for one kind of entries. */
#include "assemble/large.cuh"
#include "pivot/leaves.cuh"
#include "update/large.cuh"
#include "update/part.cuh"
#include "pivot/queue.cuh"
#include "table.cuh"
#include "report.cuh"
#if MPKI_PRECISION == 1
#include "pivot/tile_128.cuh"
#include "update/emulated.cuh"
#endif

using namespace mpki;

/* Real matrices are symmetric: no kernels are made twice for them. */
static const bool HERMITIAN = scalar_of<T>::complex;

static int64_t task_bytes(int32_t nrows, int32_t w, int32_t columns) {
    if (columns == 0) return task_smem<T>::bytes(nrows, w, nrows, true);
    const int64_t bytes = task_smem<T>::bytes(nrows, w, columns), part = part_smem<T>::bytes();
    return columns < nrows && bytes < part ? part : bytes;
}

static const int MOST_THREADS = sizeof(T) > 8 ? 256 : 512; /* registers */

template <bool H>
static mpk_status leaves_h(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first, int32_t count,
                           int32_t level, int64_t bytes) {
    auto kernel = leaves_kernel<H, T>;
    const int most = mpki_blocks_of(cuda, 0), blocks = (count + 31) / 32;
    MPKI_PASS(allow(cuda, kernel, bytes));
    MPKI_LAUNCH(kernel, blocks < most ? blocks : most, 32, (size_t)bytes, cuda->sparse, *t, first,
                count, level, bytes);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status leaves(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first, int32_t count,
                         int32_t level, int64_t bytes) {
    return t->hermitian ? leaves_h<HERMITIAN>(cuda, t, first, count, level, bytes)
                        : leaves_h<false>(cuda, t, first, count, level, bytes);
}

template <bool H, int THREADS, bool PARTS>
static mpk_status tasks_by(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_task *task,
                           int32_t count, int32_t size, int64_t bytes, int32_t level,
                           int32_t *ticket, bool beside) {
    auto kernel = task_kernel<H, THREADS, PARTS, T>;
    const int most = mpki_blocks_of(cuda, size);
    MPKI_PASS(allow(cuda, kernel, bytes));
    const int blocks = count < most ? count : most;
    if (beside)
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks, THREADS, (size_t)bytes, *t, task, count,
                                  level, bytes, ticket));
    else
        MPKI_LAUNCH(kernel, blocks, THREADS, (size_t)bytes, cuda->sparse, *t, task, count, level,
                    bytes, ticket);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <bool H>
static mpk_status tasks_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_task *task,
                          int32_t count, int32_t size, int64_t bytes, int32_t level,
                          int32_t *ticket, bool beside) {
    switch (size) {
    case 0:
        return tasks_by<H, 32, false>(cuda, t, task, count, size, bytes, level, ticket, beside);
    case 1:
        return tasks_by<H, 128, false>(cuda, t, task, count, size, bytes, level, ticket, beside);
    case 2:
        return tasks_by<H, 256, false>(cuda, t, task, count, size, bytes, level, ticket, beside);
    default:
        return tasks_by<H, MOST_THREADS, true>(cuda, t, task, count, size, bytes, level, ticket,
                                               beside);
    }
}

static mpk_status tasks(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_task *task,
                        int32_t count, int32_t size, int64_t bytes, int32_t level, int32_t *ticket,
                        bool beside) {
    return t->hermitian
               ? tasks_h<HERMITIAN>(cuda, t, task, count, size, bytes, level, ticket, beside)
               : tasks_h<false>(cuda, t, task, count, size, bytes, level, ticket, beside);
}

template <bool H>
static mpk_status assemble_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                             int32_t level) {
    auto kernel = assemble_kernel<H, T>;
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, l->assembly_blocks, 256, 0, *t, *l, level));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status assemble(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                           int32_t level) {
    return t->hermitian ? assemble_h<HERMITIAN>(cuda, t, l, level)
                        : assemble_h<false>(cuda, t, l, level);
}

/* Queue an update (update/large.cuh). what: which columns it takes; beside: it goes to the stream
 * of updates, not to that of the other kernels. */
template <bool H>
static mpk_status outer_h(mpki_cuda *cuda, const mpki_cuda_large *l, int what, bool beside) {
#if MPKI_PRECISION == 1
    auto kernel = outer_mma_kernel;
    int threads = MMA_THREADS;
    size_t bytes = (size_t)MMA_STAGES * MMA_STAGE * sizeof(double);
#else
    auto kernel = outer_kernel<H, T>;
    const int threads = 256;
    const size_t bytes = 0;
#endif
#if MPKI_PRECISION == 1
    if (l->emulated && what != OUTER_COLUMNS)
        kernel = outer_emulated_kernel, threads = EMULATED_THREADS,
        bytes = SLICE_STAGES * SLICE_STAGE;
#endif
    MPKI_PASS(allow(cuda, kernel, (int64_t)bytes));
    const int share = what == OUTER_COLUMNS ? 1 : what == OUTER_REST ? l->share_rest : l->share;
    const int blocks = l->outer_blocks / share + l->count;
    if (beside)
        MPKI_LAUNCH(kernel, blocks, threads, bytes, cuda->update, *l, what, share);
    else
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks, threads, bytes, *l, what, share));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* The stream of the other kernels waits for the update beside it of the block of columns before
 * this one. */
static mpk_status wait_for_update(mpki_cuda *cuda, const mpki_cuda_large *l) {
    if (l->ahead && l->turn > 0)
        MPKI_TRY(
            cudaStreamWaitEvent(cuda->sparse, cuda->update_done[(l->turn - 1) % MPKI_RING], 0));
    return MPK_OK;
}

/* What updates by emulated doubles read: of the block of columns, before the first of its updates. */
static mpk_status slices(mpki_cuda *cuda, const mpki_cuda_large *l, int what) {
#if MPKI_PRECISION == 1
    if (l->emulated)
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, slices_kernel, l->rows_blocks * SLICES_SHARES,
                                  SLICES_THREADS, 0, *l, what));
#else
    (void)cuda, (void)l, (void)what;
#endif
    return MPK_OK;
}

/* What a block of columns does to the rest of its front: at once to the columns that come next, to
 * the others while those are at work. */
template <bool H> static mpk_status outer_ahead(mpki_cuda *cuda, const mpki_cuda_large *l) {
    const int slot = l->turn % MPKI_RING;
    MPKI_PASS(slices(cuda, l, OUTER_NEXT));
    MPKI_TRY(cudaEventRecord(cuda->panel_done[slot], cuda->sparse));
    MPKI_PASS(wait_for_update(cuda, l));
    MPKI_PASS(outer_h<H>(cuda, l, OUTER_NEXT, false));
    MPKI_TRY(cudaStreamWaitEvent(cuda->update, cuda->panel_done[slot], 0));
    MPKI_PASS(outer_h<H>(cuda, l, OUTER_REST, true));
    MPKI_TRY(cudaEventRecord(cuda->update_done[slot], cuda->update));
    return MPK_OK;
}

#if MPKI_PRECISION == 1
/* A block of columns in tiles of 128, as many columns as `tiles` tiles of 32 have. */
static mpk_status block_128(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                            int32_t tiles) {
    const int32_t each = MPKI_FRONT_TILE_128 / MPKI_FRONT_TILE,
                  count_128 = (tiles + each - 1) / each;
    const int64_t tile = (int64_t)tile_bytes<T>(cuda), rows = (int64_t)sizeof(smem_128);
    const int64_t inner = MMA_STAGES * MMA_STAGE * (int64_t)sizeof(double);
    const bool more = l->tiles == MPKI_TILES_128_THEN_32; /* a tile of 32 follows */
    MPKI_PASS(allow(cuda, tile_128_kernel, tile));
    MPKI_PASS(allow(cuda, rows_128_kernel, rows));
    MPKI_PASS(allow(cuda, inner_128_kernel, inner));
    for (int32_t k = 0; k < count_128; ++k) {
        const bool last = k == count_128 - 1 && !more;
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, tile_128_kernel, l->count, TILE_THREADS, (size_t)tile, *t,
                                  *l, k == 0 ? BLOCK_BEGINS : BLOCK_GOES_ON));
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, rows_128_kernel,
                                  l->rows_blocks * (MPKI_FRONT_ROWS / ROWS_128), 256, (size_t)rows,
                                  *t, *l));
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, finish_128_kernel, l->rows_blocks * FINISH_SHARES,
                                  FINISH_THREADS, 0, *t, *l, last, l->ahead && last));
        if (!last)
            MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, inner_128_kernel,
                                      l->rows_blocks * INNER_HALVES_128 * INNER_PIECES_128,
                                      MMA_THREADS, (size_t)inner, *l));
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}
#endif

/* A block of columns as pieces of a queue. Where the device cannot hold all blocks at once, and
 * on a host, where blocks come one after the other, each front has one. */
template <bool H>
static mpk_status queue_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                          bool begins) {
    auto kernel = queue_kernel<H, T>;
    const size_t bytes = sizeof(queue_space<T>);
    const int most = cuda->sms / l->count, pieces = (l->rows_blocks + l->inner_blocks) / l->count;
    /* more than any block has: a tile takes or rejects a column at least, or is done once more the
     * other way */
    const int each = most < pieces ? most : pieces, tiles = 4 * MPKI_FRONT_QUEUED;
    MPKI_PASS(allow(cuda, kernel, (int64_t)bytes));
    if (each > 1) {
        const cudaError_t e = MPKI_LAUNCH_TOGETHER(cuda, kernel, l->count * each, LARGE_THREADS,
                                                   bytes, *t, *l, begins, tiles);
        if (e != cudaErrorCooperativeLaunchTooLarge && e != cudaErrorNotSupported) {
            MPKI_TRY(e);
            return MPK_OK;
        }
        (void)cudaGetLastError();
    }
    MPKI_LAUNCH(kernel, l->count, LARGE_THREADS, bytes, cuda->sparse, *t, *l, begins, tiles);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <bool H>
static mpk_status block_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                          int32_t tiles) {
    auto tile = tile_kernel<H, T>;
    auto rows = rows_kernel<H, T>;
    auto inner = inner_kernel<H, T>;
    const int64_t bytes = (int64_t)sizeof(inner_space<T>);
    MPKI_PASS(allow(cuda, inner, bytes));
    /* one warp does most of it: where there are many, small blocks, all of them at once */
    const int threads = l->count > MPKI_TILE_BLOCKS * mpki_multiprocessors(cuda) ? 64 : 256;
    if (tiles == 0) {
        MPKI_PASS(wait_for_update(cuda, l));
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, tile, l->count, threads, 0, *t, *l, BLOCK_DONE));
        MPKI_TRY(cudaGetLastError());
        return MPK_OK;
    }
    int32_t count_32 = tiles;
    block_place where = BLOCK_BEGINS;
#if MPKI_PRECISION == 1
    if (l->tiles && large_shared(cuda)) {
        MPKI_PASS(block_128(cuda, t, l, tiles));
        count_32 = l->tiles == MPKI_TILES_128_THEN_32, where = BLOCK_GOES_ON;
    }
#endif
    if (l->queued && count_32 > 0) {
        MPKI_PASS(queue_h<H>(cuda, t, l, where == BLOCK_BEGINS));
        count_32 = 0;
    }
    for (int32_t k = 0; k < count_32; ++k) {
        const int closes = l->ahead && k == count_32 - 1;
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, tile, l->count, threads, 0, *t, *l,
                                  k == 0 ? where : BLOCK_GOES_ON));
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, rows, l->rows_blocks, MPKI_FRONT_ROWS, 0, *t, *l));
        MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, inner, l->inner_blocks, LARGE_THREADS, (size_t)bytes, *t,
                                  *l, closes));
    }
    MPKI_TRY(cudaGetLastError());
    if (l->ahead) return outer_ahead<H>(cuda, l);
    MPKI_PASS(slices(cuda, l, OUTER_ALL));
    return outer_h<H>(cuda, l, OUTER_ALL, false);
}

static mpk_status block(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                        int32_t tiles) {
    return t->hermitian ? block_h<HERMITIAN>(cuda, t, l, tiles) : block_h<false>(cuda, t, l, tiles);
}

template <bool H>
static mpk_status columns_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l) {
    auto kernel = columns_kernel<H, T>;
    MPKI_LAUNCH(kernel, l->count, 512, 0, cuda->sparse, *t, *l);
    MPKI_TRY(cudaGetLastError());
    return outer_h<H>(cuda, l, OUTER_COLUMNS, false);
}

static mpk_status columns(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l) {
    return t->hermitian ? columns_h<HERMITIAN>(cuda, t, l) : columns_h<false>(cuda, t, l);
}

/* Of many blocks each ends with atomics of its own: no more of them than are at work at once. */
static mpk_status report_to_host(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first,
                                 int32_t last, bool sums, mpki_cuda_report *report,
                                 int32_t ticket) {
    auto kernel = report_kernel<T>;
    const int most = MPKI_REPORT_BLOCKS * mpki_multiprocessors(cuda);
    const int blocks = (sums ? last : last - first) / (REPORT_THREADS / 32) + 1;
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, blocks < most ? blocks : most, REPORT_THREADS, 0, *t,
                              first, last, sums, report, ticket));
    return MPK_OK;
}

/** A warp for each front: D, D^-1 and positions of its pivots go to place at[f] and on. Barriers:
 *  none. */
static __global__ void get_kernel(mpki_cuda_tree t, const int32_t *at, T *d, T *dinv, int32_t *id) {
    const int lane = (int)threadIdx.x & 31, step = (int)(gridDim.x * blockDim.x / 32);
    for (int f = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; f < t.fronts; f += step) {
        const mpki_cuda_front_state state = t.state[f];
        const panel<T> x(state.a, state.w, state.ld);
        const int64_t to = at[f];
        for (int k = lane; k < 2 * state.nelim; k += 32)
            d[2 * to + k] = x.d[k], dinv[2 * to + k] = x.dinv[k];
        for (int k = lane; k < state.nelim; k += 32) id[to + k] = x.id[k];
    }
}

static mpk_status get(mpki_cuda *cuda, const mpki_cuda_tree *t, const int32_t *at, void *d,
                      void *dinv, int32_t *id) {
    const int blocks = t->fronts / 8 + 1;
    MPKI_LAUNCH(get_kernel, blocks < 4096 ? blocks : 4096, 256, 0, cuda->sparse, *t, at, (T *)d,
                (T *)dinv, id);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* For both kinds of complex matrices: which one there will be is not known. */
template <bool H> static mpk_status load_h(mpki_cuda *cuda) {
    MPKI_TRY(MPKI_LOAD((leaves_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((task_kernel<H, 32, false, T>)));
    MPKI_TRY(MPKI_LOAD((task_kernel<H, 128, false, T>)));
    MPKI_TRY(MPKI_LOAD((task_kernel<H, 256, false, T>)));
    MPKI_TRY(MPKI_LOAD((task_kernel<H, MOST_THREADS, true, T>)));
    MPKI_TRY(MPKI_LOAD((assemble_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((tile_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((rows_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((inner_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((queue_kernel<H, T>)));
    MPKI_TRY(MPKI_LOAD((columns_kernel<H, T>)));
#if MPKI_PRECISION == 1
    MPKI_TRY(MPKI_LOAD(outer_mma_kernel));
    MPKI_TRY(MPKI_LOAD(slices_kernel));
    MPKI_TRY(MPKI_LOAD(outer_emulated_kernel));
    MPKI_TRY(MPKI_LOAD(tile_128_kernel));
    MPKI_TRY(MPKI_LOAD(rows_128_kernel));
    MPKI_TRY(MPKI_LOAD(finish_128_kernel));
    MPKI_TRY(MPKI_LOAD(inner_128_kernel));
#else
    MPKI_TRY(MPKI_LOAD((outer_kernel<H, T>)));
#endif
    return MPK_OK;
}

static mpk_status load(mpki_cuda *cuda) {
    if (HERMITIAN) MPKI_PASS(load_h<HERMITIAN>(cuda));
    MPKI_TRY(MPKI_LOAD(report_kernel<T>));
    return load_h<false>(cuda);
}

#if defined(MPKI_STAMPS) && MPKI_PRECISION == 1
/* For bench/cuda/stamps.h: STAMPS numbers of each of the first `fronts` fronts. */
extern "C" __attribute__((visibility("default"))) int mpki_cuda_stamps(int64_t *to, int fronts);
extern "C" int mpki_cuda_stamps(int64_t *to, int fronts) {
    if (fronts > STAMPED_FRONTS) fronts = STAMPED_FRONTS;
    return (int)cudaMemcpyFromSymbol(to, stamps, (size_t)fronts * STAMPS * sizeof *to);
}
#endif

extern const mpki_cuda_direct_kind FN(cuda_direct) = {
    task_bytes, leaves, tasks, assemble, block, columns, report_to_host, get, load};
