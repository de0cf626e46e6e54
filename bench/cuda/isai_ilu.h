// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_ISAI_ILU_H
#define BENCH_CUDA_ISAI_ILU_H
// For bench/cuda/isai.cu: ILU(0) of cuSPARSE, and its triangles.
#include "isai_inverse.h"
#include "siblings.h"

#include <cusparse.h>

struct ilu {
    cusparseHandle_t handle{};
    int32_t n = 0;
    on_device<int> ptr, index;
    on_device<double> val;
    double analysis_ms = 0, factor_ms = 0;
    triangle l, u;
};

static void strict(const csr &a, const std::vector<double> &val, bool upper, triangle &t,
                   turner &turn) {
    std::vector<int64_t> ptr{0};
    std::vector<int32_t> index;
    std::vector<double> x, d((size_t)a.n, 1.0);
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            if (a.index[e] == i && upper) d[i] = 1 / val[e];
            if (upper ? a.index[e] > i : a.index[e] < i)
                index.push_back(a.index[e]), x.push_back(val[e]);
        }
        ptr.push_back((int64_t)index.size());
    }
    t.upper = upper, t.unit = !upper;
    t.rows.n = a.n, t.rows.nnz = (int64_t)index.size();
    t.rows.ptr = on_device<int64_t>(ptr), t.rows.index = on_device<int32_t>(index);
    t.rows.val = on_device<double>(x), t.dinv = on_device<double>(d);
    t.columns.room(a.n, t.rows.nnz, true);
    turn(t.rows, t.columns);
    TRY(isai->move(cuda, MPK_D, t.rows.nnz, t.columns.from.p, t.rows.val.p, t.columns.val.p));
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void factorize(const csr &a, ilu &f) {
    cusparseMatDescr_t about;
    csrilu02Info_t info;
    int bytes = 0;
    f.n = a.n;
    f.ptr = on_device<int>(std::vector<int>(a.ptr.begin(), a.ptr.end()));
    f.index = on_device<int>(std::vector<int>(a.index.begin(), a.index.end()));
    f.val = on_device<double>(a.val);
    const on_device<double> values(a.val);
    const int n = a.n, nnz = (int)a.val.size();
    TRY(cusparseCreate(&f.handle));
    TRY(cusparseSetStream(f.handle, stream));
    TRY(cusparseCreateMatDescr(&about));
    TRY(cusparseCreateCsrilu02Info(&info));
    TRY(cusparseDcsrilu02_bufferSize(f.handle, n, nnz, about, f.val.p, f.ptr.p, f.index.p, info,
                                     &bytes));
    on_device<char> room(bytes);
    f.analysis_ms = timed(
        [&] {
            TRY(cusparseDcsrilu02_analysis(f.handle, n, nnz, about, f.val.p, f.ptr.p, f.index.p,
                                           info, CUSPARSE_SOLVE_POLICY_USE_LEVEL, room.p));
        },
        3);
    f.factor_ms = timed(
        [&] {
            TRY(cudaMemcpyAsync(f.val.p, values.p, sizeof(double) * nnz, cudaMemcpyDeviceToDevice,
                                stream));
            TRY(cusparseDcsrilu02(f.handle, n, nnz, about, f.val.p, f.ptr.p, f.index.p, info,
                                  CUSPARSE_SOLVE_POLICY_USE_LEVEL, room.p));
        },
        3);
    int zero = -1;
    cusparseXcsrilu02_zeroPivot(f.handle, info, &zero);
    must(zero < 0, "a pivot of ILU(0) is zero");
    cusparseDestroyCsrilu02Info(info);
    cusparseDestroyMatDescr(about);
    const std::vector<double> val = f.val.down();
    for (double x : val) must(std::isfinite(x), "ILU(0) is not finite");
    turner turn(n, nnz);
    strict(a, val, false, f.l, turn);
    strict(a, val, true, f.u, turn);
}

#endif
