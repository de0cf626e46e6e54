/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU in registers, of one kind of entries: the launches, for each order the narrowest kernel. */
#include "registers.h"

#include "registers_ldu.cuh"

using namespace mpki;

namespace {

template <int N, int PIVOTING> mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    typedef rows_ldu<T, N> matrix;
    const int each = (int)TILE_BLOCK / matrix::L;
    return launch_rows(cuda, rows_ldu_kernel<T, N, PIVOTING, rows_blocks<T, N>()>, job, each,
                       each * matrix::bytes(PIVOTING == 4), stream);
}

template <int N> mpki_emitted of_order(int pivoting) {
    if (pivoting == 2) return launch<N, 2>;
    return pivoting > 2 ? launch<N, 4> : launch<N, 0>;
}

} // namespace

mpki_emitted FN(cuda_registers_ldu)(int pivoting, int n) {
    return MPKI_ROWS_OF_ORDER(of_order, n, pivoting);
}
