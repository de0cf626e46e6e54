/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine's table: which kind of entries; what does not depend on that. */
#include "pivot/large_front.cuh"
#include "table.cuh"

using namespace mpki;

static const mpki_cuda_direct_kind *const kinds[] = {&mpki_s_cuda_direct, &mpki_d_cuda_direct,
                                                     &mpki_c_cuda_direct, &mpki_z_cuda_direct};
static const mpki_cuda_solve_kind *const solves[] = {&mpki_s_cuda_solve, &mpki_d_cuda_solve,
                                                     &mpki_c_cuda_solve, &mpki_z_cuda_solve};

/* Shared memory of a block, by class. */
static const int64_t SMEM[MPKI_CUDA_CLASSES] = MPKI_CLASS_SMEM;

static int64_t task_bytes(mpk_scalar scalar, int32_t nrows, int32_t w, int32_t columns) {
    return kinds[scalar]->task_bytes(nrows, w, columns);
}

static int64_t class_bytes(mpki_cuda *cuda, int32_t size) {
    const int64_t most = cuda->shared_max ? (int64_t)cuda->shared_max : 227 << 10;
    /* the kernels have up to 1.5 kB of their own, and 1 kB is reserved */
    return SMEM[size] < most - 2048 ? SMEM[size] : most - 2048;
}

static int32_t class_blocks(mpki_cuda *cuda, int32_t size) {
    return mpki_blocks_of(cuda, size);
}

static int copy(mpki_cuda *cuda, void *to, const void *from, int64_t bytes, int to_device) {
    if (bytes <= 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemcpyAsync(to, from, (size_t)bytes,
                             to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                             cuda->sparse));
    return MPK_OK;
}

static int clear(mpki_cuda *cuda, void *to, int64_t bytes) {
    if (bytes <= 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(to, 0, (size_t)bytes, cuda->sparse));
    return MPK_OK;
}

static int wait(mpki_cuda *cuda) {
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

/** A thread for each position: to[k] := scale[perm[k]]. Barriers: none. */
static __global__ void scale_kernel(int n, const int32_t *perm, const double *scale, double *to) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n) to[k] = scale[perm[k]];
}

static int scale(mpki_cuda *cuda, int32_t n, const int32_t *perm, const double *scale_,
                 double *by_position) {
    if (n == 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(scale_kernel, (n + 255) / 256, 256, 0, cuda->sparse, n, perm, scale_, by_position);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/** All threads of a grid. Barriers: none. */
static __global__ void begin_kernel(const mpki_cuda_beginning what) {
    begin_share(what, (int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(gridDim.x * blockDim.x));
}

static int begin(mpki_cuda *cuda, const mpki_cuda_beginning *what) {
    const int most = what->fronts > what->tickets ? what->fronts : what->tickets;
    const int blocks = most / 256 + 1;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(begin_kernel, blocks < 1024 ? blocks : 1024, 256, 0, cuda->sparse, *what);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int leaves(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first, int32_t count,
                  int32_t level) {
    if (count == 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->leaves(cuda, t, first, count, level, class_bytes(cuda, 0));
}

static int tasks(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_task *task,
                 int32_t count, int32_t size, int32_t level, int32_t *ticket, int beside) {
    if (count == 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->tasks(cuda, t, task, count, size, class_bytes(cuda, size), level,
                                   ticket, beside != 0);
}

/** A thread for each of fronts first .. last - 1: a state MPKI_CUDA_STOPPED becomes
 *  MPKI_CUDA_WAITING. Barriers: none. */
static __global__ void unmark_kernel(mpki_cuda_front_state *state, int first, int last) {
    const int k = first + (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < last && state[k].done < MPKI_CUDA_WAITING) state[k].done = MPKI_CUDA_WAITING;
}

static int unmark(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first, int32_t last) {
    if (last <= first) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(unmark_kernel, (last - first + 255) / 256, 256, 0, cuda->sparse, t->state, first,
                last);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int assemble(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                    int32_t level) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->assemble(cuda, t, l, level);
}

static int block(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l,
                 int32_t tiles) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->block(cuda, t, l, tiles);
}

static int columns(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->columns(cuda, t, l);
}

static int finish(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_large *l) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(finish_kernel, (l->count + 127) / 128, 128, 0, cuda->sparse, *t, *l);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int report_to_host(mpki_cuda *cuda, const mpki_cuda_tree *t, int32_t first, int32_t last,
                          int sums, const mpki_cuda_report **report) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    mpki_cuda_report *to = NULL;
    MPKI_PASS(mpki_report_memory(cuda, &to));
    const int32_t ticket = mpki_next_ticket(cuda);
    MPKI_PASS(kinds[t->scalar]->report_to_host(cuda, t, first, last, sums != 0, to, ticket));
    MPKI_PASS(mpki_wait_for_report(cuda, &to->walked, ticket));
    *report = to;
    return MPK_OK;
}

static int get(mpki_cuda *cuda, const mpki_cuda_tree *t, const int32_t *at, void *d, void *dinv,
               int32_t *id) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[t->scalar]->get(cuda, t, at, d, dinv, id);
}

static int take(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, int32_t nrhs, int32_t columns,
                const int32_t *perm, const double *scale_, const void *b, int64_t ldb, void *y,
                void *unset, int64_t bytes, const unsigned long long *wanted, void *zero,
                int64_t zeros) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return solves[scalar]->take(cuda, n, nrhs, columns, perm, scale_, b, ldb, y, unset, bytes,
                                wanted, zero, zeros);
}

static int give(mpki_cuda *cuda, mpk_scalar scalar, int32_t n, int32_t nrhs, int32_t columns,
                const int32_t *perm, const double *scale_, const void *y, void *x, int64_t ldx) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return solves[scalar]->give(cuda, n, nrhs, columns, perm, scale_, y, x, ldx);
}

static int sweep(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s, bool back) {
    if ((back ? s->ups : s->downs) == 0) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    return solves[t->scalar]->sweep(cuda, t, s, back);
}

static int forward(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s) {
    return sweep(cuda, t, s, false);
}

static int backward(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s) {
    return sweep(cuda, t, s, true);
}

static int diagonal_(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s,
                     int absolutely) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return solves[t->scalar]->diagonal(cuda, t, s, absolutely);
}

static int load(mpki_cuda *cuda, mpk_scalar scalar) {
    mpki_cuda_report *report = NULL;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_PASS(mpki_report_memory(cuda, &report));
    MPKI_TRY(MPKI_LOAD(scale_kernel));
    MPKI_TRY(MPKI_LOAD(begin_kernel));
    MPKI_TRY(MPKI_LOAD(finish_kernel));
    return kinds[scalar]->load(cuda);
}

static int doubles_slower(mpki_cuda *cuda) {
    int ratio = 0;
    const cudaError_t e =
        cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, cuda->device);
    return e ? 0 : ratio;
}

extern "C" const mpki_cuda_direct_table mpki_cuda_direct_functions;
const mpki_cuda_direct_table mpki_cuda_direct_functions = {
    task_bytes,
    class_bytes,
    class_blocks,
    copy,
    clear,
    wait,
    scale,
    begin,
    leaves,
    tasks,
    unmark,
    assemble,
    block,
    columns,
    finish,
    report_to_host,
    get,
    take,
    give,
    forward,
    backward,
    diagonal_,
    {&mpki_s_cuda_refine, &mpki_d_cuda_refine, &mpki_c_cuda_refine, &mpki_z_cuda_refine},
    {&mpki_s_cuda_values, &mpki_d_cuda_values, &mpki_c_cuda_values, &mpki_z_cuda_values},
    load,
    doubles_slower};
