/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_EMITTED_CUH
#define MPKI_CUDA_BATCH_EMITTED_CUH
/** What surrounds a kernel that borgc made: a file of cmake/cuda-kernels.cmake includes this, then
 *  borgc's output as a device function, and launches the kernel below with it. borgc's kernels take
 *  strided matrices of one order, numbered from 0. Here each thread gets a base address of its own,
 *  chosen so that its matrix lies where the stride says; so pointers, and matrices sorted by order,
 *  cost nothing more. Groups are numbered within a block; their infos stay in shared memory and are
 *  written when the block is done. */
#include "launch.cuh"
#include "product.cuh"

/* lanes: threads of a group, as the text has them: fewer than were asked for where work-items
 * are */
#define B_KERNEL(threads, lanes)                                                                   \
    enum { b_threads = threads, b_lanes = lanes };                                                 \
    static __device__ __forceinline__ void

namespace mpki {

/** A block of groups of LANES threads, a matrix each; PACK groups form a pack. */
template <int THREADS, int LANES, int PACK> struct emitted_block {
    static const int GROUPS = THREADS / LANES;
    long long first; /* place of the block's first group */
    int local;       /* this thread's group; beyond the last one: the last */
    int groups;      /* groups that there are in this block */
    int threads;     /* threads of the packs that there are */

    /** The block's groups among `count`. By each thread for itself; no barrier. */
    __device__ emitted_block(long long count) {
        first = (long long)blockIdx.x * GROUPS;
        groups = count - first < GROUPS ? (int)(count - first) : GROUPS;
        threads = (groups + PACK - 1) / PACK * PACK * LANES;
        local = (int)threadIdx.x / LANES;
        if (local >= groups) local = groups - 1;
    }
    /** The address of the block's first matrix, if this thread's `matrix` were to follow it by
     *  the stride. By each thread for itself; no barrier. */
    template <class T> __device__ T *base(const mpki_cuda_operand &x, long long matrix) const {
        T *p = x.layout == 1 ? ((T *const *)x.data)[matrix] : (T *)x.data + matrix * x.stride;
        return in_global(p - local * x.stride);
    }
    /** Writes the outcomes of the block's groups; a matrix without factors gets a valid
     *  permutation. By all threads of a block; contains block barriers. */
    template <int LISTS>
    __device__ void report_outcomes(const part &job, const int *outcomes) const {
        __syncthreads();
        const int g = (int)threadIdx.x;
        const bool mine = g < groups;
        if (mine)
            job.report(job.matrix(first + g), outcomes[4 * g], outcomes[4 * g + 1],
                       outcomes[4 * g + 2], outcomes[4 * g + 3]);
        /* the divisions below are a tenth of a small matrix's instructions */
        if (LISTS == 0 || !__syncthreads_or(mine && outcomes[4 * g] > 1)) return;
        const int each = (LISTS > 0 ? LISTS : 1) * job.n;
        for (int k = (int)threadIdx.x; k < groups * each; k += threads) {
            if (outcomes[4 * (k / each)] <= 1) continue;
            int *piv = job.pivots + job.matrix(first + k / each) * job.most * LISTS;
            piv[k % each] = k % each % job.n;
        }
    }
};

/** Runs borgc's function BODY::run() on a matrix per group, then report_outcomes(). BLOCKS:
 *  least number of blocks on a multiprocessor; STAGED: the matrices of a warp lie one after the
 *  other and go through shared memory, by all threads of the warp. Block barriers at the end. */
template <class BODY, int THREADS, int LANES, int PACK, int LISTS, int BLOCKS, bool STAGED = false>
__global__ void __launch_bounds__(THREADS, BLOCKS) emitted_kernel(const part job) {
    typedef emitted_block<THREADS, LANES, PACK> block;
    __shared__ __align__(16) int outcomes[4 * block::GROUPS];
    const block at(job.count);
    /* borgc's code ends these threads as well; but here they must not wait at our barrier for the
     * rest of a warp whose exchanges wait for them */
    if (!STAGED && (int)threadIdx.x >= at.threads) return;
    const T tolerance = job.tolerance < 0 ? 4 * job.n * epsilon<T>() : (T)job.tolerance;
    const long long b = job.matrix(at.first + at.local);
    int *piv = LISTS > 0 ? job.pivots + (b * job.most - at.local * job.n) * LISTS : NULL;
    BODY::run(at.template base<T>(job.a, b), job.a.ld, job.a.stride, piv, outcomes, tolerance,
              job.n, -at.first, job.count - at.first);
    at.template report_outcomes<LISTS>(job, outcomes);
}

template <class BODY, int THREADS, int LANES, int PACK, int LISTS, int BLOCKS, bool STAGED = false>
mpk_status launch_emitted(mpki_cuda *cuda, const part &job, void *stream) {
    const int groups = THREADS / LANES;
    MPKI_TRY(MPKI_LAUNCH_SHORT(cuda,
                               (emitted_kernel<BODY, THREADS, LANES, PACK, LISTS, BLOCKS, STAGED>),
                               (job.count + groups - 1) / groups, THREADS, stream, job));
    return MPK_OK;
}

/** C := C - A B by borgc's function, a matrix per group. No barrier. */
template <class BODY, int THREADS, int LANES, int PACK, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) emitted_product_kernel(const product_part job) {
    const emitted_block<THREADS, LANES, PACK> at(job.count);
    if ((int)threadIdx.x >= at.threads) return;
    const long long b = at.first + at.local;
    BODY::run(at.template base<T>(job.c, b), job.c.ld, job.c.stride, at.template base<T>(job.a, b),
              job.a.ld, job.a.stride, at.template base<T>(job.b, b), job.b.ld, job.b.stride,
              -at.first, job.count - at.first);
}

template <class BODY, int THREADS, int LANES, int PACK, int BLOCKS>
mpk_status launch_emitted_product(mpki_cuda *cuda, const product_part &job, void *stream) {
    const int groups = THREADS / LANES;
    MPKI_TRY(MPKI_LAUNCH_SHORT(cuda, (emitted_product_kernel<BODY, THREADS, LANES, PACK, BLOCKS>),
                               (job.count + groups - 1) / groups, THREADS, stream, job));
    return MPK_OK;
}

} // namespace mpki

#endif
