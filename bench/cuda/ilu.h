// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_ILU_H
#define BENCH_CUDA_ILU_H
// ILU(0) of a generated matrix, by the processor: its triangles for experiments with their inverses.
#include "siblings.h"

// a := its ILU(0), by rows, L's unit diagonal left out.
inline void ilu0(csr &a) {
    std::vector<int64_t> place((size_t)a.n, -1), at((size_t)a.n);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = e;
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int32_t k = a.index[e];
            if (k == i) at[i] = e;
            if (k >= i) continue;
            a.val[e] /= a.val[at[k]];
            for (int64_t q = at[k] + 1; q < a.ptr[k + 1]; ++q)
                if (place[a.index[q]] >= 0) a.val[place[a.index[q]]] -= a.val[e] * a.val[q];
        }
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) place[a.index[e]] = -1;
    }
}

// L with its unit diagonal, or U, of what ilu0 has made, by columns.
inline csr triangle_of(const csr &a, bool upper) {
    csr t;
    t.n = a.n;
    t.ptr.push_back(0);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e)
            if (upper ? a.index[e] >= i : a.index[e] < i)
                t.index.push_back(a.index[e]), t.val.push_back(a.val[e]);
        if (!upper) t.index.push_back(i), t.val.push_back(1);
        t.ptr.push_back((int64_t)t.index.size());
    }
    return turned(t);
}
#endif
