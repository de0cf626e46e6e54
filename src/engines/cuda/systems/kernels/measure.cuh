/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_MEASURE_CUH
#define MPKI_CUDA_SYSTEMS_MEASURE_CUH
/** Residuals in about twice the precision, and what they tell of a solution: as mpki_measure(). */
#include "values.cuh"

namespace mpki {
namespace systems {

/** How good a solution is. */
template <class R> struct quality {
    bool known; /* else numbers are near the ends of the range, and another has to judge */
    R omega, normwise, growth;
};

/** r := b - A x, g.w := |A| |x| + |b|; b[i] is b_of(i). By all threads; no barrier. */
template <class T, class B>
__device__ void residual(const at_work<T> &g, const T *x, T *r, B b_of) {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan &p = *g.plan;
    for (int base = g.t / 32 * 8; base < p.n; base += g.nt / 4) {
        const row_lanes row = row_of(p, g.t, base);
        T sum = row.first ? b_of(row.i) : make<T>(0), low = make<T>(0);
        R w = modulus(sum);
        for (int k = row.begin; k < row.end; k += 4) {
            const int from = p.from[k];
            const T a = from < 0 ? conj(g.ax[~from]) : g.ax[from], xj = x[p.col[k]];
            take_product(a, xj, sum, low);
            w += modulus(a) * modulus(xj);
        }
        join_sums(sum, low);
        for (int o = 1; o < 4; o *= 2) w += shfl_xor(w, o);
        if (row.first) r[row.i] = sum + low, g.w[row.i] = w;
    }
}

/** Residual of x in g.r, and what it tells; the same to all threads. By all threads; barriers. */
template <class T>
__device__ MPKI_APART quality<typename scalar_of<T>::real> measure(const at_work<T> &g, const T *x,
                                                                   strand<T> b) {
    typedef typename scalar_of<T>::real R;
    const mpki_cuda_systems_plan &p = *g.plan;
    const R tiny = (R)(1000.0 * p.n * (double)range<R>::eps / 2);
    R xs = 0, bs = 0, rs = 0, norm_inf = 0, omega1 = 0, omega2 = 0;
    bool known = true;
    meet(g);
    residual(g, x, g.r, [&](int i) { return b[i]; });
    meet(g);
    for (int i = g.t; i < p.n; i += g.nt) {
        const R mx = modulus(x[i]), mb = modulus(b[i]), mr = modulus(g.r[i]), an = g.norm[i];
        known = known && is_finite(mx) && is_finite(mb) && is_finite(mr);
        xs = mx > xs ? mx : xs, bs = mb > bs ? mb : bs, rs = mr > rs ? mr : rs;
        norm_inf = an > norm_inf ? an : norm_inf;
    }
    R most[4] = {xs, bs, rs, norm_inf};
    over_all(g, most, largest_of());
    xs = most[0], bs = most[1], rs = most[2], norm_inf = most[3];
    known = known && xs < range<R>::halves;
    for (int i = g.t; i < p.n; i += g.nt) {
        const R ri = modulus(g.r[i]), bi = modulus(b[i]), wi = g.w[i], of_x = g.norm[i] * xs;
        const R all = of_x + bi;
        known = known && (all == 0 || (all > range<R>::least && all < range<R>::most));
        known = known && (all > 0 || xs == 0 || g.norm[i] == 0);
        if (!(ri > 0)) continue;
        if (wi > tiny * all) {
            const R q = ri / wi;
            omega1 = q > omega1 ? q : omega1;
        } else {
            const R q = ri / (wi - bi + of_x);
            omega2 = q > omega2 ? q : omega2;
        }
    }
    R worst[3] = {omega1, omega2, known ? (R)0 : (R)1};
    over_all(g, worst, largest_of());
    omega1 = worst[0], omega2 = worst[1], known = worst[2] == 0;
    const R of_all = norm_inf * xs;
    quality<R> q;
    q.growth = !(xs > 0) ? (R)0 : bs > 0 ? of_all / bs : (R)INFINITY;
    q.normwise = rs > 0 ? rs / (of_all + bs) : (R)0;
    q.omega = omega1 + omega2;
    q.known = known && (q.growth < range<R>::lost || bs == 0);
    return q;
}

} // namespace systems
} // namespace mpki

#endif
