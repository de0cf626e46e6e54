/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_VALUES_CUH
#define MPKI_CUDA_SYSTEMS_VALUES_CUH
/** Values of a system on their way into its home, and its scaling: mpki_equilibrate(). */
#include "common.cuh"

namespace mpki {
namespace systems {

template <class R> struct range;
template <> struct range<float> {
    static constexpr float scale_most = 0x1p60f, least = 0x1p-60f, most = 0x1p100f, lost = 1e13f,
                           halves = 0x1p110f, eps = 0x1p-23f;
    __device__ static float power(float x) {
        return __uint_as_float(__float_as_uint(x) & 0x7f800000u);
    }
};
template <> struct range<double> {
    static constexpr double scale_most = 0x1p500, least = 0x1p-400, most = 0x1p500, lost = 1e28,
                            halves = 0x1p990, eps = 0x1p-52;
    __device__ static double power(double x) {
        return __hiloint2double(__double2hiint(x) & 0x7ff00000, 0);
    }
};

/** Is the diagonal entry x one that a Hermitian matrix may have? By each thread for itself; no
 *  barrier. */
template <class F> __device__ inline bool is_real(F) {
    return true;
}
template <class F> __device__ inline bool is_real(cx<F> x) {
    return x.y == 0;
}
/** Do the sums of both triangles differ by no more than rounding? By each thread for itself; no
 *  barrier. */
template <class T> __device__ inline bool near(T x, T y, double noise) {
    const double a = (double)most_part(x), b = (double)most_part(y);
    return (double)most_part(x - y) <= noise * (a > b ? a : b);
}

/** g.ax := the values of the caller's column. Returns flags, the same to all threads. By all
 *  threads; barriers. */
template <class T> __device__ MPKI_APART int take_values(const at_work<T> &g, strand<T> from) {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan &p = *g.plan;
    bool finite = true, alike = true;
    for (int k = g.t; k < p.nnz; k += g.nt) {
        T x = make<T>(0), y = x;
        if (!p.gather_ptr) {
            x = from[k];
            finite = finite && is_finite(x);
        } else {
            const int begin = p.gather_ptr[k], end = p.gather_ptr[k + 1],
                      mirror = p.gather_mirror[k];
            for (int e = begin; e < end; ++e) {
                const T v = from[p.gather[e]];
                finite = finite && is_finite(v);
                if (e < mirror)
                    x = x + v;
                else
                    y = y + cj(g.hermitian, v);
            }
            finite = finite && is_finite(x) && is_finite(y);
            if (mirror == begin) {
                x = y;
            } else if (mirror < end && !is_zero(x - y)) {
                alike = alike && near(x, y, p.symmetry_noise);
                x = x * (R)0.5 + y * (R)0.5;
            }
        }
        g.ax[k] = x;
    }
    meet(g);
    if (g.hermitian)
        for (int i = g.t; i < p.n; i += g.nt)
            if (p.diagonal[i] >= 0) alike = alike && is_real(g.ax[p.diagonal[i]]);
    int bad[2] = {!finite, !alike};
    over_all(g, bad, largest_of());
    return (bad[0] ? MPKI_FOUND_INPUT : 0) | (bad[1] ? MPKI_FOUND_DIFFER : 0);
}

/** g.w[i] := max_j |s_i a_ij s_j|. Returns whether all are near 1, or 0. By all threads;
 *  barriers. */
template <class T> __device__ bool maxima(const at_work<T> &g) {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan &p = *g.plan;
    const int32_t *const all_from = p.from, *const all_col = p.col; /* in registers */
    const T *const ax = g.ax;
    const R *const scale = g.scale;
    const int ROWS = 4, apart = g.nt / 4; /* rows whose entries are on their way at a time */
    bool even = true;
    for (int base = g.t / 32 * 8; base < p.n; base += ROWS * apart) {
        row_lanes row[ROWS];
        R si[ROWS], most[ROWS];
        int rounds = 0;
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            row[u] = row_of(p, g.t, base + u * apart);
            const int own = (row[u].end - row[u].begin + 3) / 4;
            si[u] = row[u].i < p.n ? scale[row[u].i] : 0, most[u] = 0;
            rounds = own > rounds ? own : rounds;
        }
        for (int q = 0; q < rounds; ++q) {
            int from[ROWS], col[ROWS];
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const int k = row[u].begin + 4 * q;
                from[u] = k < row[u].end ? all_from[k] : 0;
                col[u] = k < row[u].end ? all_col[k] : -1;
            }
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                if (col[u] < 0) continue;
                const R a = modulus(ax[from[u] < 0 ? ~from[u] : from[u]]) * (si[u] * scale[col[u]]);
                most[u] = a > most[u] ? a : most[u];
            }
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            for (int o = 1; o < 4; o *= 2) most[u] = largest_of()(most[u], shfl_xor(most[u], o));
            if (row[u].first) g.w[row[u].i] = most[u];
            even = even && most[u] <= (R)0x1p16 && (most[u] >= (R)0x1p-16 || most[u] == 0);
        }
    }
    return for_all(g, even);
}

/** g.scale and g.norm of g.ax. *norm_inf := |A|. Returns whether scales are well inside the range,
 *  the same to all threads. By all threads; barriers. */
template <class T>
__device__ MPKI_APART bool find_scale(const at_work<T> &g, typename scalar_of<T>::real *norm_inf) {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan &p = *g.plan;
    const int sweeps = p.matched ? 1 : 4, more = 12; /* MPKI_MORE_SWEEPS */
    bool good = true;
    R largest = 0;
    for (int i = g.t; i < p.n; i += g.nt) g.scale[i] = p.matched ? (R)p.matched[i] : (R)1;
    meet(g);
    for (int sweep = 0; sweep < sweeps + more; ++sweep) {
        const bool even = maxima(g);
        if (sweep >= sweeps && even) break;
        meet(g);
        for (int i = g.t; i < p.n; i += g.nt)
            if (g.w[i] > 0) g.scale[i] = g.scale[i] / sqrt(g.w[i]);
        meet(g);
        if (sweep + 1 >= sweeps && even) break;
    }
    meet(g);
    for (int i = g.t; i < p.n; i += g.nt) { /* to powers of two: no rounding */
        const R power = range<R>::power(g.scale[i] * (R)1.4142135623730951);
        good = good && power < range<R>::scale_most && power > 1 / range<R>::scale_most;
        g.scale[i] = power;
    }
    for (int base = g.t / 32 * 8; base < p.n; base += g.nt / 4) {
        const row_lanes row = row_of(p, g.t, base);
        R sum = 0;
        for (int k = row.begin; k < row.end; k += 4) {
            const int from = p.from[k];
            sum += modulus(g.ax[from < 0 ? ~from : from]);
        }
        for (int o = 1; o < 4; o *= 2) sum += shfl_xor(sum, o);
        good = good && sum < range<R>::most;
        largest = sum > largest ? sum : largest;
        if (row.first) g.norm[row.i] = sum;
    }
    R most[2] = {largest, good ? (R)0 : (R)1};
    over_all(g, most, largest_of());
    *norm_inf = most[0];
    return most[1] == 0;
}

} // namespace systems
} // namespace mpki

#endif
