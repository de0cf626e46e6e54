/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TABLE_CUH
#define MPKI_CUDA_MULTIFRONTAL_TABLE_CUH
/** The functions of one kind of entries (factor_t.cu, solve_t.cu) that multifrontal.cu chooses
 *  from. */
#include "engines/cuda/module/launch.cuh"
#include "multifrontal.h"

/* Blocks of tasks that a multiprocessor holds, by class. */
static const int MPKI_SIDE_BY_SIDE[MPKI_CUDA_CLASSES] = MPKI_CLASS_BLOCKS;

/* Multiprocessors; a host that runs the kernels counts as two. */
static inline int mpki_multiprocessors(const mpki_cuda *cuda) {
    return cuda->sms > 0 ? cuda->sms : 2;
}

static inline int32_t mpki_blocks_of(const mpki_cuda *cuda, int32_t size) {
    return mpki_multiprocessors(cuda) * MPKI_SIDE_BY_SIDE[size];
}

struct mpki_cuda_direct_kind {
    int64_t (*task_bytes)(int32_t nrows, int32_t w, int32_t columns);
    mpk_status (*leaves)(mpki_cuda *, const mpki_cuda_tree *, int32_t, int32_t, int32_t, int64_t);
    mpk_status (*tasks)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_task *, int32_t,
                        int32_t, int64_t, int32_t, int32_t *, bool);
    mpk_status (*assemble)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *, int32_t);
    mpk_status (*block)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *, int32_t);
    mpk_status (*columns)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *);
    mpk_status (*report_to_host)(mpki_cuda *, const mpki_cuda_tree *, int32_t, int32_t, bool,
                                 mpki_cuda_report *, int32_t);
    mpk_status (*get)(mpki_cuda *, const mpki_cuda_tree *, const int32_t *, void *, void *,
                      int32_t *);
    mpk_status (*load)(mpki_cuda *);
};

struct mpki_cuda_solve_kind {
    mpk_status (*take)(mpki_cuda *, int32_t, int32_t, int32_t, const int32_t *, const double *,
                       const void *, int64_t, void *, void *, int64_t, const unsigned long long *,
                       void *, int64_t);
    mpk_status (*give)(mpki_cuda *, int32_t, int32_t, int32_t, const int32_t *, const double *,
                       const void *, void *, int64_t);
    mpk_status (*sweep)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_sweep *, bool);
    mpk_status (*diagonal)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_sweep *, int);
};

extern const mpki_cuda_direct_kind mpki_s_cuda_direct, mpki_d_cuda_direct, mpki_c_cuda_direct,
    mpki_z_cuda_direct;
extern const mpki_cuda_solve_kind mpki_s_cuda_solve, mpki_d_cuda_solve, mpki_c_cuda_solve,
    mpki_z_cuda_solve;

/* What the host reads: made when it is first needed. */
static inline mpk_status mpki_report_memory(mpki_cuda *cuda, mpki_cuda_report **report) {
    mpki_cuda_report *made = NULL;
    if (!cuda->multifrontal_report) {
        MPKI_TRY(cudaMallocHost((void **)&made, sizeof *made));
        made->scaled = made->walked = made->more = 0;
        cuda->multifrontal_report = made;
    }
    *report = (mpki_cuda_report *)cuda->multifrontal_report;
    return MPK_OK;
}

/* The number of the next report, not 0. */
static inline int32_t mpki_next_ticket(mpki_cuda *cuda) {
    cuda->ticket = cuda->ticket == INT32_MAX ? 1 : cuda->ticket + 1;
    return cuda->ticket;
}

/* Returns when `word` of the report is this ticket. It looks at the word for a while, which is sooner
 * than the stream's end by some microseconds, and then waits for that. */
static inline mpk_status mpki_wait_for_report(mpki_cuda *cuda, const int32_t *word,
                                              int32_t ticket) {
    enum { LOOKS = 20000 };
    for (int k = 0; k < LOOKS; ++k)
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == ticket) return MPK_OK;
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

/* Without this a block has 48 kB, of which arrays that a kernel declares take at most 16. */
template <class KERNEL> static mpk_status allow(mpki_cuda *cuda, KERNEL kernel, int64_t bytes) {
    if (bytes > 32 * 1024)
        MPKI_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return MPK_OK;
}

#endif
