/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT in registers with pivots of order 2 that are searched for, of one kind of entries: the
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

template <int N, bool H, bool COMPLETE>
mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    typedef rows_indefinite<T, N, H, COMPLETE> matrix;
    const int each = (int)TILE_BLOCK / matrix::L;
    return launch_rows(cuda, rows_indefinite_kernel<T, N, H, COMPLETE, blocks<N>()>, job,
                       each, each * matrix::bytes(), stream);
}

template <int N> mpki_emitted of_order(int pivoting, int hermitian) {
    const bool c = scalar_of<T>::complex; /* H, where it makes a difference */
    if (pivoting == 2) return c && hermitian ? launch<N, c, false> : launch<N, false, false>;
    return c && hermitian ? launch<N, c, true> : launch<N, false, true>;
}

} // namespace

mpki_emitted FN(cuda_registers_indefinite)(int pivoting, int hermitian, int n) {
    return MPKI_ROWS_OF_ORDER(of_order, n, pivoting, hermitian);
}
