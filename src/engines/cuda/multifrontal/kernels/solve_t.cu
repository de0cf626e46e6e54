/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues the kernels of solves with a direct factor, for one kind of entries. */
#include "triangular/solve.cuh"
#include "table.cuh"

using namespace mpki;

static mpk_status take(mpki_cuda *cuda, int32_t n, int32_t nrhs, int32_t columns,
                       const int32_t *perm, const double *scale, const void *b, int64_t ldb,
                       void *y, void *unset, int64_t bytes, const unsigned long long *wanted,
                       void *zero, int64_t zeros) {
    auto kernel = take_kernel<T>;
    const int sheets = (columns + nrhs - 1) / nrhs;
    MPKI_TRY(MPKI_LAUNCH_NEXT(cuda, kernel, (n + 255) / 256 * sheets, 256, 0, n, nrhs, columns,
                              perm, scale, (const T *)b, ldb, (T *)y, (unsigned long long *)unset,
                              bytes / 8, wanted, (unsigned long long *)zero, zeros / 8));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status give(mpki_cuda *cuda, int32_t n, int32_t nrhs, int32_t columns,
                       const int32_t *perm, const double *scale, const void *y, void *x,
                       int64_t ldx) {
    auto kernel = give_kernel<T>;
    MPKI_LAUNCH(kernel, (n + 255) / 256, 256, 0, cuda->sparse, n, nrhs, columns, perm, scale,
                (const T *)y, (T *)x, ldx);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <int MODE, bool H, bool SMALL, int NR>
static mpk_status sweep_nr(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s,
                           bool back) {
    const int64_t entries = strip_smem<NR, T>::entries(), bytes = entries * (int64_t)sizeof(T);
    auto kernel = back ? backward_kernel < MODE, H, SMALL && NR == 1, NR,
         T >           : forward_kernel<MODE, SMALL, NR, T>;
    MPKI_PASS(allow(cuda, kernel, bytes));
    if (back && s->again)
        MPKI_TRY(cudaMemsetAsync(s->ticket, 0xff, (size_t)s->unset, cuda->sparse));
    MPKI_TRY(MPKI_LAUNCH_NEXT(
        cuda, kernel, (back ? s->ups : s->downs) * (list_is_spread<NR, T>(*s) ? 1 : s->sheets),
        SWEEP_THREADS, (size_t)bytes, *t, *s, (int)(entries / NR)));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* of complex doubles four at most: sums are in registers */
template <bool H>
static mpk_status sweep_h(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s,
                          bool back) {
    switch (s->nrhs) {
    case 1:
        if constexpr (sizeof(R) == sizeof(double)) {
            if (s->rounds && s->half_copied)
                return sweep_nr<READ_HALF_COPY, H, false, 1>(cuda, t, s, back);
            if (s->rounds) return sweep_nr<MAKE_HALF_COPY, H, false, 1>(cuda, t, s, back);
        }
        return s->small ? sweep_nr<READ_PANEL, H, true, 1>(cuda, t, s, back)
                        : sweep_nr<READ_PANEL, H, false, 1>(cuda, t, s, back);
    case 2:
        return sweep_nr<READ_PANEL, H, true, 2>(cuda, t, s, back);
    case 4:
        return sweep_nr<READ_PANEL, H, true, 4>(cuda, t, s, back);
    default:
        return sweep_nr<READ_PANEL, H, true, (sizeof(T) > 8 ? 4 : 8)>(cuda, t, s, back);
    }
}

static mpk_status sweep(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s,
                        bool back) {
    return t->hermitian ? sweep_h<scalar_of<T>::complex>(cuda, t, s, back)
                        : sweep_h<false>(cuda, t, s, back);
}

static mpk_status diagonal_part(mpki_cuda *cuda, const mpki_cuda_tree *t, const mpki_cuda_sweep *s,
                                int absolutely) {
    const int blocks = t->fronts / 8 + 1 < 4096 ? t->fronts / 8 + 1 : 4096;
    auto plain = diagonal_kernel<false, T>;
    auto hermitian = diagonal_kernel<true, T>;
    if (t->hermitian)
        MPKI_LAUNCH(hermitian, blocks, 256, 0, cuda->sparse, *t, *s, absolutely);
    else
        MPKI_LAUNCH(plain, blocks, 256, 0, cuda->sparse, *t, *s, absolutely);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

#ifdef MPKI_SWEEP_STAMPS
/* `count` of those of a direction to host memory (bench/cuda/stamps.h). */
extern "C" __attribute__((visibility("default"))) int FN(cuda_sweep_stamps)(int64_t *out, int back,
                                                                            int count);
extern "C" int FN(cuda_sweep_stamps)(int64_t *out, int back, int count) {
    const size_t each = SWEEP_STAMPS * sizeof(int64_t);
    return count > STAMPED_PIECES ||
           cudaMemcpyFromSymbol(out, sweep_stamps, (size_t)count * each,
                                (size_t)back * STAMPED_PIECES * each) != cudaSuccess;
}
#endif

extern const mpki_cuda_solve_kind FN(cuda_solve) = {take, give, sweep, diagonal_part};
