// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_ISAI_GINKGO_H
#define BENCH_CUDA_ISAI_GINKGO_H
// For bench/cuda/isai.cu: Ginkgo's kernel (peer_ginkgo.cu) for columns of a pattern of ours.
#include "isai_inverse.h"

void ginkgo_inverse(bool upper, int n, const int *m_ptr, const int *m_index, const double *m_val,
                    const int *i_ptr, const int *i_index, double *i_val, int *excess,
                    int *excess_entries, cudaStream_t stream); // peer_ginkgo.cu

// A strict triangle by columns with its diagonal, in Ginkgo's types. lower: rows below, the diagonal comes first.
struct with_diagonal {
    std::vector<int> ptr{0}, index;
    std::vector<double> val;
    with_diagonal(const sparse &a, const std::vector<double> &diagonal, bool lower) {
        const std::vector<int64_t> p = a.ptr.down();
        const std::vector<int32_t> c = a.index.down();
        const std::vector<double> v = a.val.down();
        for (int32_t j = 0; j < a.n; ++j) {
            auto own = [&] { index.push_back(j), val.push_back(diagonal[j]); };
            if (lower) own();
            for (int64_t e = p[j]; e < p[j + 1]; ++e) index.push_back(c[e]), val.push_back(v[e]);
            if (!lower) own();
            ptr.push_back((int)index.size());
        }
    }
};

// Columns of M as rows of the inverse of the triangle's transpose: Ginkgo works by rows. Milliseconds.
static double ginkgo(const triangle &t, const inverse &i) {
    std::vector<double> d = t.dinv.down();
    for (double &x : d) x = 1 / x;
    const with_diagonal a(t.columns, d, !t.upper), m(i.m, d, !t.upper);
    on_device<int> ap(a.ptr), ai(a.index), mp(m.ptr), mi(m.index), excess(t.rows.n + 1),
        entries(t.rows.n + 1);
    on_device<double> av(a.val), mv((int64_t)m.val.size());
    const double ms = timed([&] {
        ginkgo_inverse(!t.upper, t.rows.n, ap.p, ai.p, av.p, mp.p, mi.p, mv.p, excess.p, entries.p,
                       stream);
    });
    TRY(cudaGetLastError());
    const std::vector<double> theirs = mv.down(), ours = i.m.val.down();
    double worst = 0, size = 0;
    for (int32_t j = 0, at = 0; j < t.rows.n; ++j)
        for (int e = m.ptr[j] + !t.upper; e < m.ptr[j + 1] - t.upper; ++e, ++at) {
            worst = std::max(worst, std::fabs(theirs[e] - ours[at]));
            size = std::max(size, std::fabs(ours[at]));
        }
    must(worst <= 1e-10 * size, "Ginkgo's columns and ours differ");
    return ms;
}

#endif
