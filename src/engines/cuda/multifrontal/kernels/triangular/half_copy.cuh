/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_HALF_COPY_CUH
#define MPKI_CUDA_MULTIFRONTAL_TRIANGULAR_HALF_COPY_CUH
/** L in half the precision: copies of chains of one front, which corrections read in place of the
 *  panels. */
#include "sweep.cuh"

#include <float.h>

namespace mpki {

/** What a sweep reads of such chains: the panels; the panels, rounded as the copies are, and L^-1
 *  makes the copies if there is memory for them; the copies. */
enum { READ_PANEL, MAKE_HALF_COPY, READ_HALF_COPY };

/** The type of half the precision. */
template <class T> struct half_of { typedef T type; };
template <> struct half_of<double> { typedef float type; };
template <> struct half_of<cx<double>> { typedef cx<float> type; };
/** The type of an entry of L as a sweep reads it. */
template <int MODE, class T> struct read_of { typedef T type; };
template <class T> struct read_of<READ_HALF_COPY, T> { typedef typename half_of<T>::type type; };

/** A thread: x in the full precision. */
template <class T, class E> __device__ inline T to_full(E x) {
    if constexpr (scalar_of<T>::complex)
        return {x.x, x.y};
    else
        return x;
}
/** A thread: x rounded to half the precision; what is beyond its range becomes the end of it. */
__device__ inline float to_half(double x) {
    const double most = FLT_MAX;
    return (float)(x > most ? most : x < -most ? -most : x);
}
__device__ inline cx<float> to_half(cx<double> x) {
    return {to_half(x.x), to_half(x.y)};
}

/** A thread: entry x as it was read, rounded as the copies are where they are made, in the full
 *  precision. */
template <int MODE, class T> __device__ inline T as_read(typename read_of<MODE, T>::type x) {
    if constexpr (MODE == MAKE_HALF_COPY)
        return to_full<T>(to_half(x));
    else
        return to_full<T>(x);
}

/** The columns of a strip of a chain of one front, below its square: entry (i, k) lies at a[i + k
 *  ld]. */
template <int MODE, class T> struct lower_strip {
    typedef typename half_of<T>::type half;
    typedef typename read_of<MODE, T>::type entry;
    const entry *a;
    int64_t ld;
    half *copy;
    int64_t copy_ld;
    bool makes;
    __device__ lower_strip(const mpki_cuda_sweep &s, const mpki_cuda_chain &me, const panel<T> &p,
                           int e, int strip)
        : copy(NULL), copy_ld(0), makes(MODE == MAKE_HALF_COPY && s.half_copy) {
        if constexpr (MODE != READ_PANEL) {
            copy = (half *)s.half_copy + me.half_copy + mpki_half_copy_place(p.ld, e, strip);
            copy_ld = mpki_half_copy_leading(p.ld, e, strip);
        }
        if constexpr (MODE == READ_HALF_COPY)
            a = copy, ld = copy_ld;
        else
            a = p.a + (int64_t)strip * STRIP * p.ld, ld = p.ld;
    }
    /** A thread: l[k] := entry i of columns first .. first + COUNT - 1, as many as are below
     *  `count`; 0 if row i is not there. Where copies are made it writes them. Barriers: none. */
    template <int COUNT>
    __device__ void load(int i, bool there, int first, int count, entry (&l)[COUNT]) const {
        const entry *from = a + i + first * ld;
#pragma unroll
        for (int k = 0; k < COUNT; ++k)
            l[k] = there && first + k < count ? from[(int64_t)k * ld] : make<entry>(0);
        if constexpr (MODE == MAKE_HALF_COPY) {
            half *to = copy + i + first * copy_ld;
#pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                const half h = to_half(l[k]);
                if (makes && there && first + k < count) to[(int64_t)k * copy_ld] = h;
                l[k] = to_full<T>(h);
            }
        }
    }
    /** A block: rows i .. i + rows - 1 of columns below `count` are brought to the L2 cache, line
     *  by line. Barriers: none. */
    __device__ void prefetch_rows_of(int i, int rows, int count) const {
        const int EACH = LINE / (int)sizeof(entry), k = (int)threadIdx.x / 4,
                  at = (int)threadIdx.x % 4 * EACH;
        if (k < count && at < rows) prefetch_l2(a + i + at + k * ld);
    }
};

} // namespace mpki
#endif
