/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks: the module's table for them. */
#include "launches.cuh"
#include "tasks.cuh"

#include <new>

using namespace mpki;

static const mpki_sweeps_launches *const kinds[] = {
    &mpki_s_sweeps_launches, &mpki_d_sweeps_launches, &mpki_c_sweeps_launches,
    &mpki_z_sweeps_launches};

/** The frame whose list has entry e, by bisection. By each thread for itself; no barrier. */
static __device__ int32_t list_of(const mpki_cuda_store &s, int64_t e) {
    int32_t low = 0, high = s.m;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (s.ptr[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/** The order in which the blocks of each frame's row of L (its column, backward) fall due, by
 *  the slots of the frames across: an entry's place is the number of those before it. A thread
 *  takes an entry; no barrier. */
static __global__ void order_kernel(const mpki_cuda_store s, const int32_t *ahead,
                                    const int32_t *back, int32_t *order) {
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= s.ptr[s.m]) return;
    const int32_t f = list_of(s, e);
    const bool half = e > s.diagonal[f];
    const int32_t *const slot = half ? back : ahead, own = slot[s.other[e]];
    if (e == s.diagonal[f]) return;
    const int64_t begin = half ? s.diagonal[f] + 1 : s.ptr[f];
    const int64_t end = half ? s.ptr[f + 1] : s.diagonal[f];
    int32_t before = 0;
#pragma unroll 4
    for (int64_t k = begin; k < end; ++k) {
        const int32_t key = slot[s.other[k]];
        before += half ? key > own : key < own;
    }
    order[begin + before] = (int32_t)(e - begin);
}

static int order(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (p->store->m == 0) return MPK_OK;
    MPKI_LAUNCH(order_kernel, (p->entries + 127) / 128, 128, 0, cuda->sparse, *p->store, p->slot[0],
                p->slot[1], p->order);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int pack(mpki_cuda *cuda, const mpki_cuda_packing *p, int pass) {
    return kinds[p->store->scalar]->pack(cuda, p, pass);
}

static int pivots(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    return kinds[p->store->scalar]->pivots(cuda, p);
}

static int segments(mpki_cuda *cuda, const mpki_cuda_packing *p) {
    MPKI_LAUNCH(segments_kernel, 1, SCAN, 0, cuda->sparse, *p);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int64_t chunks_of(int64_t tasks) {
    return tasks > 0 ? (tasks + CHUNK - 1) / CHUNK : 1;
}

static int64_t digits(int64_t segments) {
    return DIGITS * chunks_of(segments);
}

/* Passes of the sort: digits of the largest turn. */
static int passes(const mpki_cuda_packing *p) {
    int count = 1;
    while (2 * (2 * (int64_t)p->levels + 1) >> 8 * count) ++count;
    return count;
}

static int tasks(mpki_cuda *cuda, const mpki_cuda_packing *p, int64_t segments) {
    const int64_t units = (int64_t)p->units[0] + p->units[1], chunks = chunks_of(segments);
    const int32_t *from = NULL;
    if (units == 0) return MPK_OK;
    MPKI_LAUNCH(count_tasks_kernel, (units + 127) / 128, 128, 0, cuda->sparse, *p);
    MPKI_LAUNCH(tasks_of_units_kernel, 1, SCAN, 0, cuda->sparse, *p);
    MPKI_LAUNCH(list_tasks_kernel, (units + 127) / 128, 128, 0, cuda->sparse, *p);
    for (int k = 0; k < passes(p); ++k) {
        MPKI_LAUNCH(digits_kernel, chunks, 32, 0, cuda->sparse, *p, from, 8 * k);
        MPKI_LAUNCH(sum_digits_kernel, 1, SCAN, 0, cuda->sparse, *p, chunks);
        MPKI_LAUNCH(sort_kernel, chunks, 32, 0, cuda->sparse, *p, from, p->sorted[k % 2], 8 * k);
        from = p->sorted[k % 2];
    }
    MPKI_LAUNCH(sizes_kernel, 1, SCAN, 0, cuda->sparse, *p, from);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int tickets(mpki_cuda *cuda, const mpki_cuda_packing *p, int64_t tasks,
                   mpki_sweeps_task *to) {
    const int32_t *const sorted = p->sorted[(passes(p) - 1) % 2];
    if (tasks == 0) return MPK_OK;
    MPKI_LAUNCH(places_kernel, (tasks + 127) / 128, 128, 0, cuda->sparse, *p, sorted, to);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** The maps between positions, slots and the caller's rows, and scales by slot. A thread takes a
 *  row of a frame; no barrier. */
static __global__ void maps_kernel(const mpki_sweeps_maps m) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t f = at / MPKI_STORE_ROWS;
    const int32_t k = (int32_t)(at % MPKI_STORE_ROWS);
    if (f >= m.m || k >= m.bptr[f + 1] - m.bptr[f]) return;
    const int32_t position = m.bptr[f] + k, column = m.perm[position];
    const int32_t slot = m.slot[0][f] + k, back = m.slot[1][f] + k;
    const int32_t row = m.row_of ? m.row_of[column] : column;
    m.position[0][slot] = position, m.position[1][back] = position;
    m.row[slot] = row;
    m.ahead[back] = slot;
    m.slot_at[0][position] = slot, m.slot_at[1][column] = back;
    m.scale[0][slot] = m.rows ? m.rows[row] : m.columns[row];
    m.scale[1][column] = m.columns[column];
}

static int maps(mpki_cuda *cuda, const mpki_sweeps_maps *m) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (m->m == 0) return MPK_OK;
    const int64_t threads = (int64_t)m->m * MPKI_STORE_ROWS;
    MPKI_LAUNCH(maps_kernel, (threads + 127) / 128, 128, 0, cuda->sparse, *m);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int warps(mpki_cuda *cuda, mpk_scalar scalar, int32_t nrhs, int32_t *count) {
    return kinds[scalar]->warps(cuda, nrhs, count);
}

static int run(mpki_cuda *cuda, const mpki_sweeps_run *r) {
    return kinds[r->scalar]->run(cuda, r);
}

static int in(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[m->stored]->in(cuda, m);
}

static int out(mpki_cuda *cuda, const mpki_sweeps_move *m) {
    return kinds[m->stored]->out(cuda, m);
}

static int scale(mpki_cuda *cuda, const mpki_sweeps_move *m, const void *diagonal,
                 const int8_t *partner) {
    return kinds[m->pivots]->scale(cuda, m, diagonal, partner);
}

static int set(mpki_cuda *cuda, void *p, int byte, int64_t bytes) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (bytes > 0) MPKI_TRY(cudaMemsetAsync(p, byte, (size_t)bytes, cuda->sparse));
    return MPK_OK;
}

static int wait(mpki_cuda *cuda, mpk_scalar scalar, void *p, int64_t entries) {
    return kinds[scalar]->wait(cuda, p, entries);
}

static int border(mpki_cuda *cuda, const mpki_sweeps_border *b) {
    return kinds[b->scalar]->border(cuda, b);
}

static void *stream(mpki_cuda *cuda) {
    return (void *)cuda->sparse;
}

/* ---- a stopwatch ---- */

static int captured(mpki_cuda *cuda) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(cuda->sparse, &status)) {
        cudaGetLastError();
        return 1;
    }
    return status != cudaStreamCaptureStatusNone;
}

struct mpki_sweeps_clock {
    cudaEvent_t event[2];
};

static void clock_free(mpki_cuda *cuda, mpki_sweeps_clock *clock) {
    if (!clock) return;
    cudaSetDevice(cuda->device);
    for (int k = 0; k < 2; ++k)
        if (clock->event[k]) cudaEventDestroy(clock->event[k]);
    delete clock;
}

static int clock_make(mpki_cuda *cuda, mpki_sweeps_clock **clock) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    *clock = new (std::nothrow) mpki_sweeps_clock();
    if (!*clock) return refuse(cuda, MPK_ERR_MEMORY, "out of host memory");
    for (int k = 0; k < 2; ++k) {
        const cudaError_t error = cudaEventCreateWithFlags(&(*clock)->event[k], 0);
        if (!error) continue;
        clock_free(cuda, *clock);
        *clock = NULL;
        return fail(cuda, error, "cudaEventCreateWithFlags");
    }
    return MPK_OK;
}

static int clock_start(mpki_cuda *cuda, mpki_sweeps_clock *clock) {
    MPKI_TRY(cudaEventRecord(clock->event[0], cuda->sparse));
    return MPK_OK;
}

static int clock_stop(mpki_cuda *cuda, mpki_sweeps_clock *clock) {
    MPKI_TRY(cudaEventRecord(clock->event[1], cuda->sparse));
    return MPK_OK;
}

static int clock_read(mpki_cuda *cuda, mpki_sweeps_clock *clock, double *seconds) {
    float ms = 0;
    *seconds = -1;
    const cudaError_t error = cudaEventQuery(clock->event[1]);
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return MPK_OK;
    }
    MPKI_TRY(error);
    MPKI_TRY(cudaEventElapsedTime(&ms, clock->event[0], clock->event[1]));
    *seconds = 1e-3 * ms;
    return MPK_OK;
}

extern "C" const mpki_cuda_sweeps_table mpki_cuda_sweeps_functions = {
    order,    pack,       segments,   tasks,       tickets,    digits,     pivots, maps,
    warps,    run,        in,         out,         scale,      set,        wait,   stream,
    captured, clock_make, clock_free, clock_start, clock_stop, clock_read, border};
