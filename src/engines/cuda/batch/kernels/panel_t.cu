/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by panels, in both real precisions: the kernel and its launches. */
#include "panel.h"

#if MPKI_PRECISION < 2
#include "panel.cuh"

namespace mpki {

/** LDLT of a matrix per block of W warps. The least number of blocks on a multiprocessor bounds
 *  the registers. Contains the matrix's barrier. */
template <class R, int ROWS, int PIVOTING, int W>
__global__ void __launch_bounds__(32 * W, ROWS == 1 ? 24
                                          : W == 1  ? 16
                                                    : PANEL_BLOCKS) panel_kernel(const part job) {
    MPKI_SMEM;
    typedef panel<R, ROWS, PIVOTING, W> matrix;
    matrix e(job, smem);
    const int n = job.n;
    const long long b = job.matrix(blockIdx.x);
    const view<R> a = view_of<R>(job.a, b);
    e.load(a);
    if (!e.bad()) e.ldlt();
    const bool bad = e.bad(), none = bad || e.broken;
    matrix::sync();
    if (!none) e.store(a);
    int *piv = job.pivots ? job.pivots + b * job.most : NULL;
    if (piv && PIVOTING >= 2)
        for (int k = (int)threadIdx.x; k < n; k += 32 * W) {
            const int p = none ? k : e.perm[k];
            piv[k] = !none && (e.pairs >> k & 1) ? ~p : p;
        }
    if (threadIdx.x == 0)
        job.report(b,
                   bad          ? 3
                   : e.broken   ? 2
                   : e.zero > 0 ? 1
                                : 0,
                   none ? 0 : e.positive, none ? 0 : e.negative, none ? 0 : e.zero);
}

} // namespace mpki

using namespace mpki;

template <int ROWS, int PIVOTING, int W>
static mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    MPKI_LAUNCH((panel_kernel<T, ROWS, PIVOTING, W>), job.count, 32 * W, panel_bytes<T>(job.n),
                stream, job);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <int ROWS> static mpk_status pivoted(mpki_cuda *cuda, const part &job, void *stream) {
    /* shared memory holds so few of these matrices that one warp of each waits too often */
    const int W = sizeof(T) == 8 && ROWS > 1 ? PANEL_WARPS : 1;
    if (job.pivoting == 2) return launch<ROWS, 2, 1>(cuda, job, stream);
    if (job.pivoting == 3) return launch<ROWS, 3, 1>(cuda, job, stream);
    if (job.pivoting == 4 && job.n > 40) return launch<ROWS, 4, W>(cuda, job, stream);
    if (job.pivoting == 4) return launch<ROWS, 4, 1>(cuda, job, stream);
    return launch<ROWS, 0, 1>(cuda, job, stream);
}

mpk_status FN(cuda_panel)(mpki_cuda *cuda, const part &job, void *stream) {
    return job.n <= 32 ? pivoted<1>(cuda, job, stream) : pivoted<2>(cuda, job, stream);
}
#endif
