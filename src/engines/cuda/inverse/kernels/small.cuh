/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_SMALL_CUH
#define MPKI_CUDA_INVERSE_SMALL_CUH
/** Columns of an approximate inverse that is not triangular: small dense systems A(J, J) m = e_j by
 *  LU with partial pivoting, or by Cholesky's method, in one kernel. Up to 32 entries: a warp a
 *  column, the system in shared memory; more: a block a column, the system in a slot of device
 *  memory, which caches hold. Operations and their order are those of
 *  engines/cpu/inverse/small_t.c. */
#include "fused.cuh"

namespace mpki {

enum { SMALL_WARPS = 2, SMALL_BLOCK = 256 };

/** Those who work on a column: a warp, or a block. */
template <bool WARP_ALONE> struct team {
    enum { SIZE = WARP_ALONE ? 32 : SMALL_BLOCK };
    int at;
    /** The caller's number in it. By each thread for itself; no barrier. */
    __device__ team() : at((int)(threadIdx.x % SIZE)) {}
    /** The team's barrier: __syncwarp() or a block barrier. By all of the team. */
    __device__ void meet() const {
        if (WARP_ALONE)
            __syncwarp();
        else
            __syncthreads();
    }
    /** The largest `size` of the team and its place; of equal ones the first; NaN counts as the
     *  largest. By all of the team; block barriers where it is a block. */
    template <class R> __device__ void largest(R &size, int64_t &place) const {
        __shared__ R sizes[SMALL_BLOCK / 32];
        __shared__ int64_t places[SMALL_BLOCK / 32];
        for (int o = 16; o; o /= 2) {
            const R other = __shfl_xor_sync(0xffffffffu, size, o);
            const int64_t there = (int64_t)__shfl_xor_sync(0xffffffffu, (long long)place, o);
            better(size, place, other, there);
        }
        if (WARP_ALONE) return;
        __syncthreads();
        if (threadIdx.x % 32 == 0) sizes[threadIdx.x / 32] = size, places[threadIdx.x / 32] = place;
        __syncthreads();
        size = sizes[0], place = places[0];
        for (int w = 1; w < SMALL_BLOCK / 32; ++w) better(size, place, sizes[w], places[w]);
    }
    /** (size, place) := the larger one of it and (other, there). By each thread for itself; no
     *  barrier. */
    template <class R>
    __device__ static void better(R &size, int64_t &place, R other, int64_t there) {
        const bool nan = other != other, had = size != size;
        if (had || (!nan && (other < size || (other == size && there >= place)))) return;
        size = other, place = there;
    }
};

/** Row k of J, where j stands at place `at` between the pattern's rows. By each thread for
 *  itself; no barrier. */
__device__ inline int32_t row_of(const int32_t *rows, int64_t at, int32_t j, int64_t k) {
    return k < at ? rows[k] : k == at ? j : rows[k - 1];
}

/** a := A(J, J) by columns, w x w. By all of the team; contains its barrier. */
template <class T, class TEAM>
__device__ inline void gather_system(const mpki_isai_dense &d, const TEAM &t, const int32_t *rows,
                                     int64_t at, int32_t j, int64_t w, T *a) {
    const T *const val = (const T *)d.a.val;
    for (int64_t k = t.at; k < w * w; k += TEAM::SIZE) a[k] = make<T>(0);
    t.meet();
    for (int64_t k = t.at; k < w; k += TEAM::SIZE) {
        const int32_t col = row_of(rows, at, j, k);
        int64_t p = 0; /* both lists ascend */
        for (int64_t e = d.a.ptr[col]; e < d.a.ptr[col + 1] && p < w; ++e) {
            const int32_t i = d.a.index[e];
            while (p < w && row_of(rows, at, j, p) < i) ++p;
            if (p < w && row_of(rows, at, j, p) == i) a[k * w + p] = val[e];
        }
    }
    t.meet();
}

/** The unit roundoff of a real type, times two. */
template <class T> struct rounding;
template <> struct rounding<float> {
    __device__ static float unit() { return 1.1920928955078125e-7f; }
};
template <> struct rounding<double> {
    __device__ static double unit() { return 2.220446049250313e-16; }
};

/** a x = e_at by LU with partial pivoting; false: singular. a: destroyed. By all of the team;
 *  contains its barrier. */
template <class T, class TEAM>
__device__ inline bool solve_general(const TEAM &t, int64_t w, int64_t at, T *a, T *x) {
    typedef typename scalar_of<T>::real R;
    for (int64_t i = t.at; i < w; i += TEAM::SIZE) x[i] = make<T>(i == at);
    for (int64_t k = 0; k < w; ++k) {
        T *const col = a + k * w;
        R size = -1, pivot_size = -1;
        int64_t anywhere = w, pivot = w;
        t.meet();
        for (int64_t i = t.at; i < w; i += TEAM::SIZE) {
            const R s = abs1(col[i]);
            team<true>::better(size, anywhere, s, i);
            if (i >= k) team<true>::better(pivot_size, pivot, s, i);
        }
        t.largest(size, anywhere);
        t.largest(pivot_size, pivot);
        if (!(pivot_size > rounding<R>::unit() * size) || !is_finite(size)) return false;
        t.meet();
        if (pivot != k) {
            for (int64_t q = t.at; q < w; q += TEAM::SIZE) {
                const T swap = a[q * w + k];
                a[q * w + k] = a[q * w + pivot], a[q * w + pivot] = swap;
            }
            if (t.at == 0) {
                const T swap = x[k];
                x[k] = x[pivot], x[pivot] = swap;
            }
        }
        t.meet();
        const T inverse = invert(col[k]);
        for (int64_t i = k + 1 + t.at; i < w; i += TEAM::SIZE) {
            const T l = mul_rn(col[i], inverse);
            col[i] = l;
            x[i] = subtract(x[i], l, x[k]);
            for (int64_t q = k + 1; q < w; ++q) {
                const T u = a[q * w + k];
                if (!is_zero(u)) a[q * w + i] = subtract(a[q * w + i], l, u);
            }
        }
    }
    for (int64_t k = w - 1; k >= 0; --k) {
        t.meet();
        const T known = mul_rn(x[k], invert(a[k * w + k]));
        t.meet();
        if (t.at == 0) x[k] = known;
        for (int64_t i = t.at; i < k; i += TEAM::SIZE) x[i] = subtract(x[i], a[k * w + i], known);
    }
    t.meet();
    return true;
}

/** a = C C^H, x := C^-H e_last; false: not positive definite. By all of the team; contains its
 *  barrier. */
template <class T, class TEAM>
__device__ inline bool solve_definite(const TEAM &t, int64_t w, T *a, T *x) {
    typedef typename scalar_of<T>::real R;
    for (int64_t k = 0; k < w; ++k) {
        T *const col = a + k * w;
        R d = re(col[k]);
        const R was = d;
        t.meet();
        for (int64_t q = 0; q < k; ++q) {
            const T u = a[q * w + k];
            d = sub_rn(d, square(u));
        }
        for (int64_t i = k + 1 + t.at; i < w; i += TEAM::SIZE) {
            T c = col[i];
            for (int64_t q = 0; q < k; ++q) c = subtract(c, a[q * w + i], conj(a[q * w + k]));
            col[i] = c;
        }
        if (!(d > rounding<R>::unit() * was) || !is_finite(d)) return false;
        d = root_rn(d);
        t.meet();
        if (t.at == 0) col[k] = make<T>((double)d);
        for (int64_t i = k + 1 + t.at; i < w; i += TEAM::SIZE) col[i] = quotient(col[i], d);
        t.meet();
    }
    for (int64_t i = t.at; i < w; i += TEAM::SIZE) x[i] = make<T>(i == w - 1);
    for (int64_t k = w - 1; k >= 0; --k) {
        t.meet();
        const T known = quotient(x[k], re(a[k * w + k]));
        t.meet();
        if (t.at == 0) x[k] = known;
        for (int64_t i = t.at; i < k; i += TEAM::SIZE)
            x[i] = subtract(x[i], conj(a[i * w + k]), known);
    }
    t.meet();
    return true;
}

/** Column j of M by a dense solve; it is noted if it failed or is not finite. a, x: memory of
 *  the team. By all of the team; contains its barrier. */
template <class T, class TEAM>
__device__ inline void solve_column(const mpki_isai_dense &d, const TEAM &t, int32_t j, T *a,
                                    T *x) {
    const int64_t begin = d.m.ptr[j], w = d.m.ptr[j + 1] - begin + 1;
    const int32_t *const rows = d.m.index + begin;
    const int64_t at = lower_bound(rows, 0, w - 1, j);
    gather_system(d, t, rows, at, j, w, a);
    const T own = a[at * w + at];
    const bool good = d.definite ? solve_definite(t, w, a, x) : solve_general(t, w, at, a, x);
    t.meet();
    unsigned char failed = !good;
    if (!good) {
        for (int64_t k = t.at; k < w; k += TEAM::SIZE) {
            x[k] = make<T>(0);
            if (k != at) continue;
            if (is_zero(own))
                x[k] = make<T>(1);
            else if (d.definite)
                x[k] =
                    make<T>((double)div_rn((typename scalar_of<T>::real)1, root_rn(modulus(own))));
            else
                x[k] = invert(own);
        }
        t.meet();
    }
    for (int64_t k = 0; k < w; ++k)
        if (!is_finite(x[k])) failed = 2;
    if (t.at == 0) {
        d.failed[j] = failed;
        ((T *)d.diagonal)[j] = x[at];
    }
    for (int64_t k = t.at; k < w - 1; k += TEAM::SIZE)
        ((T *)d.m.val)[begin + k] = x[k < at ? k : k + 1];
    t.meet();
}

/** solve_column() for the columns `list`, of up to 32 entries. A warp takes a column;
 *  __syncwarp(). */
template <class T>
__global__ void __launch_bounds__(32 * SMALL_WARPS)
    small_kernel(const mpki_isai_dense d, const int32_t *list, int64_t count) {
    __shared__ T systems[SMALL_WARPS][32 * 32];
    __shared__ T solutions[SMALL_WARPS][32];
    const int warp = (int)(threadIdx.x / 32);
    const int64_t k = (int64_t)blockIdx.x * SMALL_WARPS + warp;
    if (k >= count) return;
    const team<true> t;
    solve_column(d, t, list[k], systems[warp], solutions[warp]);
}

/** solve_column() for longer columns. d.slots blocks take columns in turns; block barriers. */
template <class T>
__global__ void __launch_bounds__(SMALL_BLOCK)
    large_kernel(const mpki_isai_dense d, const int32_t *list, int64_t count) {
    const team<false> t;
    T *const a = (T *)d.work + (int64_t)blockIdx.x * d.longest * (d.longest + 1);
    for (int64_t k = blockIdx.x; k < count; k += d.slots)
        solve_column(d, t, list[k], a, a + d.longest * d.longest);
}

} // namespace mpki

#endif
