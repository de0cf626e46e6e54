/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches LDLT by panels, in both real precisions. */
#include "panel.h"

#if MPKI_PRECISION < 2
#include "panel.cuh"

using namespace mpki;

template <int ROWS, int PIVOTING>
static mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    MPKI_LAUNCH((panel_kernel<T, ROWS, PIVOTING>), job.count, 32, panel_bytes<T>(job.n), stream,
                job);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <int ROWS> static mpk_status pivoted(mpki_cuda *cuda, const part &job, void *stream) {
    if (job.pivoting == 2) return launch<ROWS, 2>(cuda, job, stream);
    if (job.pivoting == 3) return launch<ROWS, 3>(cuda, job, stream);
    if (job.pivoting == 4) return launch<ROWS, 4>(cuda, job, stream);
    return launch<ROWS, 0>(cuda, job, stream);
}

mpk_status FN(cuda_panel)(mpki_cuda *cuda, const part &job, void *stream) {
    return job.n <= 32 ? pivoted<1>(cuda, job, stream) : pivoted<2>(cuda, job, stream);
}
#endif
