/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT and LDLT in registers, of one kind of entries: the launches, for each order the narrowest
 * kernel. */
#include "registers.h"

#include "registers_symmetric.cuh"

using namespace mpki;

namespace {

template <int N, int METHOD, bool COMPLETE, bool H>
mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    typedef rows_symmetric<T, N, METHOD, H> matrix;
    const int each = (int)TILE_BLOCK / matrix::L;
    return launch_rows(cuda, rows_symmetric_kernel<T, N, METHOD, COMPLETE, H, rows_blocks<T, N>()>,
                       job, each, each * matrix::bytes(COMPLETE), stream);
}

template <int N, bool H> mpki_emitted of_kind(int method, int pivoting) {
    if (method == 1) return launch<N, 1, false, H>;
    return pivoting == 4 ? launch<N, 0, true, H> : launch<N, 0, false, H>;
}

template <int N> mpki_emitted of_order(int method, int pivoting, int hermitian) {
    if (scalar_of<T>::complex && hermitian)
        return of_kind<N, scalar_of<T>::complex>(method, pivoting);
    return of_kind<N, false>(method, pivoting);
}

} // namespace

mpki_emitted FN(cuda_registers_symmetric)(int method, int pivoting, int hermitian, int n) {
    return MPKI_ROWS_OF_ORDER(of_order, n, method, pivoting, hermitian);
}
