/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT in registers with pivots of order 1 and 2, of one kind of entries: the
 * launches, for each order the narrowest kernel. */
#include "registers.h"

#include "registers_indefinite.cuh"

using namespace mpki;

namespace {

/* As rows_blocks(): two rows at once want more registers. */
template <int N> constexpr int blocks() {
    const int bytes = N * (int)sizeof(T);
    return bytes > 256 ? 2 : bytes > 128 ? 3 : 5;
}

template <int N, bool H, int PIVOTING>
mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    typedef rows_indefinite<T, N, H> matrix;
    const int each = (int)TILE_BLOCK / matrix::L;
    return launch_rows(cuda, rows_indefinite_kernel<T, N, H, PIVOTING, blocks<N>()>, job, each,
                       each * matrix::bytes(), stream);
}

template <int N, bool H> mpki_emitted of_kind(int pivoting) {
    if (pivoting == 1) return launch<N, H, 1>;
    return pivoting == 2 ? launch<N, H, 2> : launch<N, H, 4>;
}

template <int N> mpki_emitted of_order(int pivoting, int hermitian) {
    if (scalar_of<T>::complex && hermitian) return of_kind<N, scalar_of<T>::complex>(pivoting);
    return of_kind<N, false>(pivoting);
}

} // namespace

mpki_emitted FN(cuda_registers_indefinite)(int pivoting, int hermitian, int n) {
    return MPKI_ROWS_OF_ORDER(of_order, n, pivoting, hermitian);
}
