/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU in registers, of one kind of entries: the launches, for each order the narrowest kernel. */
#include "registers.h"

#include "registers_alone.cuh"
#include "registers_grid.cuh"

using namespace mpki;

namespace {

template <int N, int PIVOTING> mpk_status launch(mpki_cuda *cuda, const part &job, void *stream) {
    typedef rows_shape<T, N, PIVOTING> shape;
    typedef rows_ldu<T, N, shape::COLUMNS> matrix;
    const int each = (int)TILE_BLOCK / matrix::L;
    return launch_rows(cuda, rows_ldu_kernel<T, N, PIVOTING, shape::COLUMNS, shape::BLOCKS>, job,
                       each, each * matrix::bytes(), stream);
}

template <int N> mpki_emitted of_order(int pivoting) {
    if (pivoting == 2) return launch<N, 2>;
    return pivoting > 2 ? launch<N, 4> : launch<N, 0>;
}

template <int N, int PIVOTING> mpk_status grid(mpki_cuda *cuda, const part &job, void *stream) {
    typedef grid_ldu<T, N> matrix;
    const int each = (int)TILE_BLOCK / 32;
    return launch_rows(cuda, grid_ldu_kernel<T, N, PIVOTING, grid_blocks<T, N>()>, job, each,
                       each * matrix::bytes(), stream);
}

template <int N> mpki_emitted of_grid(int pivoting) {
    return pivoting == 2 ? grid<N, 2> : grid<N, 0>;
}

template <int N, int PIVOTING> mpk_status alone(mpki_cuda *cuda, const part &job, void *stream) {
    MPKI_TRY(MPKI_LAUNCH_SHORT(cuda, (alone_ldu_kernel<T, N, PIVOTING, alone_blocks<T>()>),
                               (job.count + TILE_BLOCK - 1) / TILE_BLOCK, TILE_BLOCK, stream, job));
    return MPK_OK;
}

template <int N> mpki_emitted of_few(int pivoting) {
    if (pivoting == 2) return alone<N, 2>;
    return pivoting > 2 ? alone<N, 4> : alone<N, 0>;
}

} // namespace

mpki_emitted FN(cuda_registers_ldu)(int pivoting, int n) {
#if defined(MPKI_REGISTERS) && !MPKI_REGISTERS
    return (void)pivoting, (void)n, (mpki_emitted)NULL;
#else
    mpki_emitted (*const few[])(int) = {of_few<1>, of_few<2>, of_few<3>, of_few<4>};
    if constexpr (on_grid<T>(2, 20))
        if (on_grid<T>(pivoting, n)) return n <= 20 ? of_grid<20>(pivoting) : of_grid<24>(pivoting);
    return n <= ALONE ? few[n - 1](pivoting)
           : n <= 8   ? of_order<8>(pivoting)
           : n <= 12  ? of_order<12>(pivoting)
           : n <= 16  ? of_order<16>(pivoting)
           : n <= 24  ? of_order<24>(pivoting)
           : n <= 32  ? of_order<32>(pivoting)
                      : NULL;
#endif
}
