/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivoting, a matrix in each thread: the launches, for each order. */
#include "each.h"

#if MPKI_PRECISION < 2
#include "each.cuh"

#include <metapack/batch.h>

using namespace mpki;

template <int N, int PIVOTING>
static mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    MPKI_TRY(MPKI_LAUNCH_SHORT(cuda, (each_kernel<T, N, PIVOTING>), (job.count + 31) / 32, 32,
                               stream, job));
    return MPK_OK;
}

/* Those of orders from N on. */
template <int N> struct from {
    static mpki_emitted find(int pivoting, int n) {
        if (n == N) return pivoting == MPK_PIVOTING_PARTIAL ? launch<N, 2> : launch<N, 4>;
        return from<N + 1>::find(pivoting, n);
    }
};
template <> struct from<EACH_MOST + 1> {
    static mpki_emitted find(int, int) { return NULL; }
};

mpki_emitted FN(cuda_each)(int method, int pivoting, int n) {
    if (method != MPK_BATCH_LDLT || pivoting < MPK_PIVOTING_PARTIAL || n < 2) return NULL;
    return from<2>::find(pivoting, n);
}
#endif
