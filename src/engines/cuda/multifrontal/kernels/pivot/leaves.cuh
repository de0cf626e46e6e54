/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_PIVOT_LEAVES_CUH
#define MPKI_CUDA_MULTIFRONTAL_PIVOT_LEAVES_CUH
/** Fronts of one column without children, of which there may be very many: one thread eliminates
 *  each, or finds that its column is zero. If its pivot does not pass, the whole warp does that
 *  front in the way of small_front.cuh. */
#include "engines/cuda/module/launch.cuh"
#include "small_front.cuh"

namespace mpki {

/** A thread: front s: l = a / d on its column, and the contribution -l d l^H, if the pivot passes; D
 *  and all of them are 0 if the column is zero. x [work] its column: every 32nd entry, since the
 *  lanes of a warp share memory. Returns false if the pivot fails; nothing was written then. Called
 *  by leaves_kernel(). Barriers: none. */
template <bool H, class T> __device__ bool leaf_front(const mpki_cuda_tree &t, int s, T *x) {
    typedef typename scalar_of<T>::real R;
    const int MOST = MPKI_FRONT_LEAF_ROWS + 1;
    const mpki_cuda_node node = t.node[s];
    const pivot_rules<R> rules(t);
    const int m = node.rows, ld = leading(m + 1), ldc = contribution_leading(m, 0);
    for (int i = 0; i <= m; ++i) x[32 * i] = make<T>(0);
    if (node.scatter_end - node.scatter > MOST) return false;
    {
        T value[MOST];
        int row[MOST];
#pragma unroll
        for (int k = 0; k < MOST; ++k) { /* all of them under way at once */
            row[k] = -1;
            if (node.scatter + k < node.scatter_end) {
                const entry_of_a<T> a(t, node, node.scatter + k);
                row[k] = a.row, value[k] = a.value;
            }
        }
#pragma unroll
        for (int k = 0; k < MOST; ++k)
            if (row[k] >= 0) x[32 * row[k]] = value[k];
    }
    const T own = x[0], d = diagonal<H>(own);
    bool good = is_finite(abs1(own)) && abs1(own) > rules.least();
    bool zero = abs1(own) <= rules.small; /* so is the whole column */
    const T di = zero ? make<T>(0) : inverse(good ? d : make<T>(1));
    for (int i = 1; i <= m; ++i) {
        good = good && abs1(x[32 * i] * di) <= 1 / rules.u;
        zero = zero && abs1(x[32 * i]) <= rules.small;
    }
    if (!good && !zero) return false;
    const panel<T> out(t.arena + node.panel, 1, ld);
    T *C = (T *)t.contribution + node.contribution;
    out.a[0] = zero ? make<T>(0) : own, out.id[0] = node.first;
    out.d[0] = zero ? make<T>(0) : d, out.dinv[0] = di, out.d[1] = out.dinv[1] = make<T>(0);
    for (int i = 1; i <= m; ++i) {
        const T l = x[32 * i] * di;
        out.a[i] = l;
        for (int j = 1; j <= i; ++j) {
            T c = make<T>(0);
            nfma(c, l, cj<H>(x[32 * j]));
            C[i - 1 + (j - 1) * ldc] = c;
        }
    }
    task_done(t, s, t.arena + node.panel, 1, 1, ld);
    return true;
}

/** A warp for each 32 of fronts first .. first + count - 1. level: of the step; if one below it has
 *  stopped, nothing is done. A leaf for which there is no memory is marked as stopped. Barriers: it
 *  meets the warp, which is the block. */
template <bool H, class T>
__global__ void __launch_bounds__(32)
    leaves_kernel(mpki_cuda_tree t, int first, int count, int level, int64_t smem_bytes) {
    MPKI_SMEM;
    const int lane = (int)threadIdx.x;
    next_may_come(); /* tasks of the step, which wait for leaves one by one */
    if (t.flags->stuck > level + 1) return;
    for (int k = (int)blockIdx.x * 32; k < count; k += (int)gridDim.x * 32) {
        const bool mine = k + lane < count && t.state[first + k + lane].done != MPKI_CUDA_DONE;
        const bool good = !mine || leaf_front<H, T>(t, first + k + lane, (T *)smem + lane);
        unsigned failed = __ballot_sync(0xffffffffu, !good);
        __syncwarp();
        for (int z = 0; z < 32; ++z) {
            const int s = first + k + z;
            if (!(failed >> z & 1)) continue;
            if (!task_front<H, false, T>(t, smem, smem_bytes, s, s, false, level) && lane == 0)
                *(volatile int32_t *)&t.state[s].done = MPKI_CUDA_STOPPED;
            __syncthreads();
        }
    }
}

} // namespace mpki
#endif
