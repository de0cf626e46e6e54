/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MIRROR_CUH
#define MPKI_CUDA_MIRROR_CUH
/** Values of A in both triangles by rows, from those of its lower triangle by columns. Row i begins
 *  with the lower triangle's row i, whose entries are looked for in their columns, and ends with that
 *  triangle's column i. */
#include "../../../core/scaled.h"
#include "reduce.cuh"

#include <float.h>

namespace mpki {

enum { MIRROR_LANES = 8 }; /* of a row */

/** Where row i stands in column j: ap[j] <= k < ap[j + 1] with ai[k] = i, which is there. */
__device__ inline int64_t find_row(const int64_t *__restrict__ ap, const int32_t *__restrict__ ai,
                                   int32_t j, int32_t i) {
    int64_t low = ap[j], high = ap[j + 1] - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (ai[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <class E>
__global__ void __launch_bounds__(VECTOR_THREADS)
    mirror_kernel(int32_t n, const int64_t *__restrict__ ptr, const int32_t *__restrict__ col,
                  const int64_t *__restrict__ ap, const int32_t *__restrict__ ai, int hermitian,
                  const E *__restrict__ ax, E *__restrict__ val) {
    const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t row = thread / MIRROR_LANES;
    if (row >= n) return;
    const int32_t i = (int32_t)row;
    const int64_t end = ptr[i + 1], mirrored = end - (ap[i + 1] - ap[i]);
    for (int64_t e = ptr[i] + thread % MIRROR_LANES; e < end; e += MIRROR_LANES) {
        const int32_t j = col[e];
        const E v = ax[e < mirrored ? find_row(ap, ai, j, i) : ap[i] + (e - mirrored)];
        val[e] = hermitian && j > i ? conj(v) : v;
    }
}

/* ---- what is computed with its rows; real entries ---------------------------------------------- */

/** Sums of moduli, added up in the order of the lower triangle's columns (problem/product_t.c). */
template <class E> struct row_sums_pass : pass<0, 1> {
    typedef double item;
    const int64_t *ptr, *ap;
    const E *val;
    double *sums;
    __device__ item load(int64_t i) const {
        const int64_t end = ptr[i + 1], mirrored = end - (ap[i + 1] - ap[i]);
        double before = 0, after = 0;
        for (int64_t e = ptr[i]; e < mirrored; ++e) before += (double)abs1(val[e]);
        for (int64_t e = mirrored; e < end; ++e) after += (double)abs1(val[e]);
        return before + after;
    }
    template <class N> __device__ void use(int64_t i, item v, const N &, double *) const {
        sums[i] = v;
    }
};

/** Largest scaled entries of rows, as analysis/match/equilibrate.c finds them. */
template <class E> struct maxima_pass : pass<1, 1> {
    typedef double item;
    const int64_t *ptr;
    const int32_t *col;
    const E *val;
    const double *scale;
    double *largest;
    teller tell;
    __device__ item load(int64_t i) const {
        const double s = scale[i];
        double most = 0;
        for (int64_t e = ptr[i]; e < ptr[i + 1]; ++e) {
            const double size = (double)abs1(val[e]);
            if (!(size > 0)) continue;
            const double a = mpki_scaled(size, s, scale[col[e]]);
            const double clamped = a < DBL_MIN ? DBL_MIN : a > DBL_MAX ? DBL_MAX : a;
            if (clamped > most) most = clamped;
        }
        return most;
    }
    template <class N> __device__ void use(int64_t i, item v, const N &, double (&sums)[1]) const {
        largest[i] = v;
        sums[0] += !mpki_even(v);
    }
    __device__ void end(const double (&sums)[1]) const { tell(sums); }
};

struct rescale_pass : pass<0, 1> {
    typedef double item;
    const double *largest;
    double *scale;
    __device__ item load(int64_t i) const { return largest[i]; }
    template <class N> __device__ void use(int64_t i, item most, const N &, double *) const {
        if (most > 0) scale[i] = mpki_rescaled(scale[i], most);
    }
};

} // namespace mpki

#endif
