/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_PIVOTS_CUH
#define MPKI_CUDA_DENSE_PIVOTS_CUH
/** Permutation and kinds of pivots packed into one array of integers, and unpacked. */
namespace mpki {

/** pivots[k] := perm[k], or ~perm[k] in pairs; upper: positions and indices counted from the
 *  end. kind NULL: perm is LAPACK's ipiv, 1-based and negative in pairs. A thread takes a pivot;
 *  no barrier. */
__global__ static void pivots_out_kernel(int n, int upper, const int *perm, const int *kind,
                                         int *pivots) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    if (!kind) {
        const int v = perm[k] < 0 ? -perm[k] : perm[k], w = upper ? n + 1 - v : v;
        pivots[upper ? n - 1 - k : k] = perm[k] < 0 ? -w : w;
        return;
    }
    const int p = upper ? n - 1 - perm[k] : perm[k];
    pivots[upper ? n - 1 - k : k] = kind[k] ? ~p : p;
}

/** perm and kind from pivots; within a run of pairs positions are first and second in turn. One
 *  block; block barriers. */
__global__ static void pivots_in_kernel(int n, int upper, const int *pivots, int *perm, int *kind) {
    __shared__ int carry; /* parity of the length of the run that ends before this stretch */
    __shared__ int last[1024];
    if (threadIdx.x == 0) carry = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        const int k = base + threadIdx.x;
        const int v = k < n ? pivots[upper ? n - 1 - k : k] : 0;
        /* the last position <= k in the stretch that is in no pair, or -1 */
        last[threadIdx.x] = v >= 0 ? (int)threadIdx.x : -1;
        __syncthreads();
        for (unsigned o = 1; o < blockDim.x; o *= 2) {
            const int left = threadIdx.x >= o ? last[threadIdx.x - o] : -1;
            __syncthreads();
            if (last[threadIdx.x] < left) last[threadIdx.x] = left;
            __syncthreads();
        }
        const int stop = last[threadIdx.x];
        const int before = stop < 0 ? (int)threadIdx.x + carry : (int)threadIdx.x - stop - 1;
        if (k < n) {
            const int p = v >= 0 ? v : ~v;
            perm[k] = upper ? n - 1 - p : p;
            kind[k] = v >= 0 ? 0 : before % 2 == 0 ? 1 : 2;
        }
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) carry = v >= 0 ? 0 : (before + 1) % 2;
        __syncthreads();
    }
}

} // namespace mpki
#endif
