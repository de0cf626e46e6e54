/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of vectors, copies, what the host waits for, and graphs of a batch of iterations. */
#include "reduce.cuh"

#include <string.h>

using namespace mpki;

enum { ALIGNMENT = 256 };

static int64_t aligned(int64_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
static int64_t entry(mpk_scalar scalar) {
    return scalar == MPK_S ? 4 : scalar == MPK_Z ? 16 : 8;
}
static const int64_t SHARED = aligned(SUMMING_BLOCKS * MOST_SUMS * sizeof(double)) + ALIGNMENT +
                              aligned(sizeof(mpki_cuda_state)) +
                              aligned(2 * MPKI_CUDA_BASIS * sizeof(double));

static int64_t bytes_of(mpk_scalar scalar, int32_t n, int64_t count) {
    return SHARED + count * aligned(n * entry(scalar));
}

static void release(mpki_cuda *cuda, mpki_cuda_space *s) {
    cudaSetDevice(cuda->device);
    if (s->graph) cudaGraphExecDestroy((cudaGraphExec_t)s->graph);
    if (s->memory) cudaFree(s->memory); /* waits for all that uses it */
    if (s->cycle.g) cudaFree(s->cycle.g);
    s->graph = s->memory = NULL;
    s->cycle = {};
}

static mpk_status ask(mpki_cuda *cuda, void **memory, int64_t bytes) {
    const cudaError_t error = cudaMalloc(memory, (size_t)bytes);
    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, all = 0;
        cudaGetLastError();
        cudaMemGetInfo(&available, &all);
        return refuse(cuda, MPK_ERR_MEMORY,
                      "%.3f GiB of device memory are needed for vectors; %.3f of its %.3f GiB are "
                      "free",
                      (double)bytes * 0x1p-30, (double)available * 0x1p-30, (double)all * 0x1p-30);
    }
    MPKI_TRY(error);
    return MPK_OK;
}

static int make(mpki_cuda *cuda, mpki_cuda_space *s, int64_t count, void *stream, void **v) {
    const int64_t bytes = bytes_of(s->scalar, s->n, count);
    MPKI_TRY(cudaSetDevice(cuda->device));
    s->memory = s->graph = NULL;
    s->cycle = {};
    if (!cuda->vectors_report)
        MPKI_TRY(cudaMallocHost((void **)&cuda->vectors_report, sizeof(mpki_cuda_vectors_report)));
    MPKI_PASS(ask(cuda, &s->memory, bytes));
    s->stream = stream ? stream : (void *)cuda->sparse;
    s->report = (mpki_cuda_vectors_report *)cuda->vectors_report;
    char *at = (char *)s->memory;
    s->partial = (double *)at;
    at += aligned(SUMMING_BLOCKS * MOST_SUMS * sizeof(double));
    s->ticket = (unsigned *)at;
    at += ALIGNMENT;
    s->state = (mpki_cuda_state *)at;
    at += aligned(sizeof(mpki_cuda_state));
    s->h = (double *)at;
    at += aligned(2 * MPKI_CUDA_BASIS * sizeof(double));
    for (int64_t k = 0; k < count; ++k) v[k] = at + k * aligned(s->n * entry(s->scalar));
    const cudaError_t set = cudaMemsetAsync(s->memory, 0, (size_t)SHARED, (cudaStream_t)s->stream);
    if (set) {
        release(cuda, s);
        return fail(cuda, set, "cudaMemsetAsync");
    }
    return MPK_OK;
}

static int copy(mpki_cuda *cuda, mpki_cuda_space *s, const void *from, void *to, int wait) {
    const cudaStream_t stream = (cudaStream_t)s->stream;
    MPKI_TRY(
        cudaMemcpyAsync(to, from, (size_t)(s->n * entry(s->scalar)), cudaMemcpyDefault, stream));
    if (wait) MPKI_TRY(cudaStreamSynchronize(stream));
    return MPK_OK;
}

static int wait(mpki_cuda *cuda, mpki_cuda_space *s) {
    MPKI_TRY(cudaStreamSynchronize((cudaStream_t)s->stream));
    return MPK_OK;
}

/* ---- what the host reads ----------------------------------------------------------------------
 * A kernel writes numbers to page-locked memory, a fence, then the number of the reduction; the
 * host spins on that. It asks the stream only now and then: a failed launch would never write. */

namespace mpki {

host_report next_host_report(mpki_cuda *cuda, mpki_cuda_space *s) {
    return {s->report, ++cuda->vectors_sequence};
}

mpk_status await_report(mpki_cuda *cuda, mpki_cuda_space *s, double sequence) {
    const volatile double *at = &s->report->sequence;
    for (bool over = false;;) {
        for (int k = 0; k < REPORT_SPINS; ++k)
            if (*at == sequence) {
                __atomic_thread_fence(__ATOMIC_ACQUIRE);
                return MPK_OK;
            }
        if (over)
            return refuse(cuda, MPK_ERR_DEVICE, "the device ended a reduction without its result");
        const cudaError_t error = cudaStreamQuery((cudaStream_t)s->stream);
        if (error && error != cudaErrorNotReady) return fail(cuda, error, "a kernel on vectors");
        if (error) cudaGetLastError();
        over = !error;
    }
}

} // namespace mpki

/* ---- batches ---- */

static int set_state(mpki_cuda *cuda, mpki_cuda_space *s, const mpki_cuda_state *state) {
    MPKI_TRY(cudaMemcpyAsync(s->state, state, sizeof *state, cudaMemcpyHostToDevice,
                             (cudaStream_t)s->stream));
    return MPK_OK;
}

/** Clears the event and the count of the batch before, and reads the target. By one thread; no
 *  barrier. */
static __global__ void begin_kernel(mpki_cuda_state *s, const mpki_cuda_vectors_report *from) {
    if (threadIdx.x) return;
    s->end = MPKI_CUDA_GO;
    s->steps = 0;
    s->target = *(const volatile double *)&from->target;
}

static void aim(mpki_cuda *cuda, mpki_cuda_space *s, double target) {
    s->report->target = target;
    s->report->next = ++cuda->vectors_sequence;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int begin(mpki_cuda *cuda, mpki_cuda_space *s) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(begin_kernel, 1, 32, 0, s->stream, s->state, s->report);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int end(mpki_cuda *cuda, mpki_cuda_space *s, mpki_cuda_state *state) {
    MPKI_PASS(await_report(cuda, s, s->report->next));
    *state = s->report->state;
    return MPK_OK;
}

/* ---- times: marks 0, 1 around the product of one iteration, 2, 3 around the preconditioner --- */

static int mark(mpki_cuda *cuda, mpki_cuda_space *s, int k) {
    cudaEvent_t *at = (cudaEvent_t *)&cuda->vectors_marks[k];
    if (!*at) MPKI_TRY(cudaEventCreateWithFlags(at, cudaEventDefault));
    MPKI_TRY(cudaEventRecord(*at, (cudaStream_t)s->stream));
    return MPK_OK;
}

static int between(mpki_cuda *cuda, int k, double *time_s) {
    float ms = 0;
    MPKI_TRY(cudaEventElapsedTime(&ms, (cudaEvent_t)cuda->vectors_marks[k],
                                  (cudaEvent_t)cuda->vectors_marks[k + 1]));
    *time_s = ms * 1e-3;
    return MPK_OK;
}

static int capture(mpki_cuda *cuda, mpki_cuda_space *s) {
    MPKI_TRY(cudaStreamBeginCapture((cudaStream_t)s->stream, cudaStreamCaptureModeThreadLocal));
    return MPK_OK;
}

static int captured(mpki_cuda *cuda, mpki_cuda_space *s, int keep) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    const cudaError_t error = cudaStreamEndCapture((cudaStream_t)s->stream, &graph);
    if (!error && graph && keep && cudaGraphInstantiate(&ready, graph, 0)) ready = NULL;
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    s->graph = ready;
    (void)cuda;
    return ready ? MPK_OK : MPK_ERR_UNSUPPORTED;
}

static int replay(mpki_cuda *cuda, mpki_cuda_space *s) {
    MPKI_TRY(cudaGraphLaunch((cudaGraphExec_t)s->graph, (cudaStream_t)s->stream));
    return MPK_OK;
}

/* ---- cycles ---- */

static int64_t cycle_bytes(const mpki_cuda_space *s, int32_t m) {
    const int64_t k = m,
                  group = s->scalar >= MPK_C ? MOST_SUMS / 2 : (int)MOST_SUMS; /* arnoldi.cuh */
    const int64_t whole = vector_blocks(s->n), blocks = whole < CYCLE_BLOCKS ? whole : CYCLE_BLOCKS;
    const int64_t sums = blocks * ((k + group - 1) / group * MOST_SUMS + 1);
    return (2 * (k + 1) * (k + 1) + 3 * k + 2 * (k + 1) + sums) * (int64_t)sizeof(double);
}

static int cycle(mpki_cuda *cuda, mpki_cuda_space *s, int32_t m) {
    const int64_t k = m;
    void *memory = NULL;
    if (s->cycle.m == m) return MPK_OK;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_PASS(ask(cuda, &memory, cycle_bytes(s, m)));
    if (s->cycle.g) cudaFree(s->cycle.g);
    double *at = (double *)memory;
    s->cycle.m = m;
    s->cycle.g = at, at += 2 * (k + 1);
    s->cycle.h = at, at += 2 * k * (k + 1);
    s->cycle.sine = at, at += 2 * k;
    s->cycle.cosine = at, at += k;
    s->cycle.c = at, at += 2 * (k + 1);
    s->cycle.partial = at;
    return MPK_OK;
}

static int columns(mpki_cuda *cuda, mpki_cuda_space *s, int32_t count, double *out) {
    const int64_t numbers = (int64_t)(s->cycle.m + 1) * (count + 1);
    const cudaStream_t stream = (cudaStream_t)s->stream;
    MPKI_TRY(cudaMemcpyAsync(out, s->cycle.g, (size_t)(2 * numbers) * sizeof(double),
                             cudaMemcpyDeviceToHost, stream));
    MPKI_TRY(cudaStreamSynchronize(stream));
    return MPK_OK;
}

extern "C" const mpki_cuda_vectors_table mpki_cuda_vectors_functions = {
    bytes_of,
    make,
    release,
    copy,
    wait,
    set_state,
    aim,
    begin,
    end,
    mark,
    between,
    capture,
    captured,
    replay,
    cycle_bytes,
    cycle,
    columns,
    {&mpki_s_cuda_vectors, &mpki_d_cuda_vectors, &mpki_c_cuda_vectors, &mpki_z_cuda_vectors}};
