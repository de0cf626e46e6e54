// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_isai [PART ...]: approximate inverses of the factors of an ILU(0) on a device (docs/isai.md),
// the experiments of Anzt, Chow, Huckle & Dongarra 2016 on generated siblings of their matrices. Parts:
//   blocks   Fig. 4: fused over baseline, block Jacobi patterns of L
//   powers   Fig. 5 and 7: the same for S(|A|^k), both factors; generation over ILU(0) (cuSPARSE's csrilu02)
//   apply    Table II: products beside cuSPARSE's SpSV, whose analysis does not count, and a copy's rate
//   lengths  time a flop of columns of 16 to 2048 entries
// With -DWITH_GINKGO and peer_ginkgo.cu, powers has Ginkgo's kernel beside ours. Without any, all. METAPACK_CUDA_MODULE names the module. Every M is checked: the ways agree bit by bit,
// and (L M - I) vanishes on the pattern, for some columns, before a time is printed. Medians.
#include "../../src/backends/cuda/api.h"
#include "../../src/backends/cuda/isai/isai.h"
#include "siblings.h"

#include <cuda_runtime.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int status_ = (int)(call);                                                           \
        if (status_) {                                                                             \
            fprintf(stderr, "%s: %d (%s)\n", #call, status_,                                       \
                    table ? table->last_error(cuda) : "");                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const mpki_cuda_table *table;
static mpki_cuda *cuda;
static const mpki_cuda_isai_table *isai;
static cudaStream_t stream;

// ---- memory and time ----

template <class X> struct on_device {
    X *p = nullptr;
    int64_t count = 0;
    on_device() = default;
    explicit on_device(int64_t n) : count(n) { TRY(cudaMalloc((void **)&p, (n + 1) * sizeof(X))); }
    explicit on_device(const std::vector<X> &v) : on_device((int64_t)v.size()) {
        TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(X), cudaMemcpyHostToDevice));
    }
    on_device(on_device &&o) noexcept : p(o.p), count(o.count) { o.p = nullptr; }
    on_device &operator=(on_device &&o) noexcept {
        std::swap(p, o.p), std::swap(count, o.count);
        return *this;
    }
    ~on_device() {
        if (p) cudaFree(p);
    }
    std::vector<X> down() const {
        std::vector<X> v((size_t)count);
        TRY(cudaDeviceSynchronize());
        TRY(cudaMemcpy(v.data(), p, v.size() * sizeof(X), cudaMemcpyDeviceToHost));
        return v;
    }
};

// Milliseconds of what f queues in the stream: the median of some runs after one that does not count.
static double timed(const std::function<void()> &f, int runs = 5) {
    cudaEvent_t begin, end;
    std::vector<double> ms;
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    for (int k = -1; k < runs; ++k) {
        float t;
        TRY(cudaEventRecord(begin, stream));
        f();
        TRY(cudaEventRecord(end, stream));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&t, begin, end));
        if (k >= 0) ms.push_back(t);
    }
    cudaEventDestroy(begin), cudaEventDestroy(end);
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
}

// ---- a triangle and its inverse ----

struct sparse {
    int32_t n = 0;
    int64_t nnz = 0;
    on_device<int64_t> ptr, from;
    on_device<int32_t> index;
    on_device<double> val;
    mpki_isai_matrix view() const { return {ptr.p, index.p, val.p}; }
    void room(int32_t rows, int64_t entries, bool map) {
        n = rows, nnz = entries;
        ptr = on_device<int64_t>(rows + 1), index = on_device<int32_t>(entries);
        val = on_device<double>(entries);
        if (map) from = on_device<int64_t>(entries);
    }
};

struct turner { // work space of a transpose
    on_device<int64_t> next, other_from, sums;
    on_device<int32_t> other, longs;
    turner(int32_t n, int64_t nnz)
        : next(n + 1), other_from(nnz), sums(mpki_isai_sums(n)), other(nnz), longs(n + 1) {}
    void operator()(const sparse &a, sparse &t) {
        const mpki_isai_turning w = {a.n,      a.nnz,  a.ptr.p, a.index.p,    t.ptr.p, t.index.p,
                                     t.from.p, next.p, other.p, other_from.p, longs.p, sums.p};
        TRY(isai->turn(cuda, &w));
    }
};

struct triangle {
    bool upper = false, unit = false;
    sparse rows, columns; // strict
    on_device<double> dinv;
};

struct inverse {
    sparse m, rows; // by columns; by rows
    on_device<int32_t> list, bad;
    mpki_isai_inversion v{};
    int64_t longest = 0;
    on_device<int32_t> sizes, rows_of; // of the baseline
    on_device<double> systems, solutions;
};

static void classify(inverse &i) {
    const int32_t n = i.m.n;
    on_device<int64_t> count(MPK_ISAI_CLASSES + 1), next(MPK_ISAI_CLASSES);
    mpki_isai_classes c{};
    c.n = n, c.ptr = i.m.ptr.p, c.count = count.p, c.next = next.p;
    TRY(isai->classes(cuda, &c));
    const std::vector<int64_t> told = count.down();
    for (int k = 0; k + 1 < MPK_ISAI_CLASSES; ++k) c.first[k + 1] = c.first[k] + told[k];
    for (int k = 0; k < MPK_ISAI_CLASSES; ++k) i.v.count[k] = told[k];
    i.longest = told[MPK_ISAI_CLASSES];
    if (!i.list.p) i.list = on_device<int32_t>(n);
    c.list = i.list.p;
    TRY(isai->classes(cuda, &c));
}

static void prepare(const triangle &t, inverse &i) {
    i.bad = on_device<int32_t>(std::vector<int32_t>{t.rows.n});
    classify(i);
    i.v.scalar = MPK_D, i.v.n = t.rows.n, i.v.upper = t.upper;
    i.v.rows = t.rows.view(), i.v.columns = t.columns.view(),
    i.v.dinv = t.unit ? nullptr : t.dinv.p;
    i.v.longest = i.longest;
    i.v.m = i.m.view(), i.v.list = i.list.p, i.v.bad = i.bad.p;
    i.v.portion = std::min<int32_t>(t.rows.n, 1 << 17);
}

static void baseline_room(inverse &i) {
    i.sizes = on_device<int32_t>(i.v.portion), i.rows_of = on_device<int32_t>(32 * i.v.portion);
    i.systems = on_device<double>(1024 * (int64_t)i.v.portion);
    i.solutions = on_device<double>(32 * (int64_t)i.v.portion);
    i.v.sizes = i.sizes.p, i.v.rows_of = i.rows_of.p;
    i.v.systems = i.systems.p, i.v.solutions = i.solutions.p;
}

static double invert(inverse &i, mpki_isai_way way) {
    i.v.way = way;
    return timed([&] { TRY(isai->invert(cuda, &i.v)); });
}

// (T M - I) on the pattern, in some columns, relative to what was added up.
static double check(const triangle &t, const inverse &i) {
    const std::vector<int64_t> ap = t.rows.ptr.down(), mp = i.m.ptr.down();
    const std::vector<int32_t> ai = t.rows.index.down(), mi = i.m.index.down();
    const std::vector<double> ax = t.rows.val.down(), mx = i.m.val.down(), d = t.dinv.down();
    const int32_t n = t.rows.n;
    std::vector<double> x((size_t)n, 0.0);
    double worst = 0;
    for (int32_t j = 0; j < n; j += 1 + n / 300) {
        x[j] = d[j];
        for (int64_t e = mp[j]; e < mp[j + 1]; ++e) x[mi[e]] = mx[e];
        for (int64_t e = mp[j]; e < mp[j + 1]; ++e) {
            const int32_t r = mi[e];
            double sum = x[r] / d[r], size = std::fabs(sum);
            for (int64_t k = ap[r]; k < ap[r + 1]; ++k)
                sum += ax[k] * x[ai[k]], size += std::fabs(ax[k] * x[ai[k]]);
            worst = std::max(worst, std::fabs(sum) / (size + 1e-300));
        }
        x[j] = 0;
        for (int64_t e = mp[j]; e < mp[j + 1]; ++e) x[mi[e]] = 0;
    }
    return worst;
}

static void must(bool good, const char *what) {
    if (good) return;
    printf("WRONG: %s\n", what);
    exit(1);
}

// ---- ILU(0) of cuSPARSE ----

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

// Steps of a solve with L in which rows wait for others.
static int levels(const csr &a) {
    std::vector<int> level((size_t)a.n, 0);
    int most = 0;
    for (int32_t i = 0; i < a.n; ++i) {
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1] && a.index[e] < i; ++e)
            level[i] = std::max(level[i], level[a.index[e]] + 1);
        most = std::max(most, level[i]);
    }
    return most + 1;
}

// ---- patterns ----

struct power {
    double ms = 0;
    bool far = false; // some columns met more rows than the quick kernel takes
};

static power pattern(const sparse *graph, int32_t n, int keep, int k, int block, sparse &m) {
    on_device<mpki_isai_notes> told(1), fresh(1);
    on_device<int64_t> ptr(n + 1), sums(mpki_isai_sums(n));
    on_device<int32_t> mid(n), far(n);
    mpki_isai_notes notes{};
    mpki_isai_powers p{};
    p.n = n, p.keep = keep, p.power = k, p.block = block;
    p.entries = graph ? graph->nnz : 0;
    p.ptr = graph ? graph->ptr.p : nullptr, p.index = graph ? graph->index.p : nullptr;
    p.told = told.p, p.mid = mid.p, p.far = far.p, p.to_ptr = ptr.p;
    notes.first_over = n;
    TRY(cudaMemcpy(fresh.p, &notes, sizeof notes, cudaMemcpyHostToDevice));
    power made;
    if (graph) p.found_each = mpki_isai_found_each(n, p.entries, k, 0);
    if (getenv("TWICE")) p.found_each = 0; // both passes search
    on_device<int32_t> found((int64_t)n * p.found_each);
    p.found = found.p;
    made.ms = timed(
        [&] {
            TRY(isai->clone(cuda, told.p, fresh.p, sizeof notes));
            TRY(isai->powers(cuda, &p));
            TRY(isai->sum(cuda, n, ptr.p, sums.p));
        },
        1);
    made.far = told.down()[0].far > 0;
    int64_t entries = 0;
    TRY(cudaMemcpy(&entries, ptr.p + n, sizeof entries, cudaMemcpyDeviceToHost));
    m.room(n, entries, false);
    p.to_index = m.index.p;
    made.ms += timed([&] { TRY(isai->powers(cuda, &p)); }, 1);
    TRY(cudaMemcpy(m.ptr.p, ptr.p, (n + 1) * sizeof(int64_t), cudaMemcpyDeviceToDevice));
    return made;
}

static std::vector<double> values(const inverse &i) {
    return i.m.val.down();
}

// Milliseconds of the three ways; < 0: not run.
struct ways {
    double streamed = -1, held = -1, baseline = -1;
};

static ways all_ways(const triangle &t, inverse &i, bool compare) {
    ways w;
    w.streamed = invert(i, MPKI_ISAI_STREAMED);
    must(i.bad.down()[0] == t.rows.n, "a column is not finite");
    const double error = check(t, i);
    must(error < 1e-12, "(L M - I) on the pattern");
    if (!compare) return w;
    const std::vector<double> first = values(i);
    w.held = invert(i, MPKI_ISAI_HELD);
    must(!memcmp(first.data(), values(i).data(), first.size() * 8), "bits of the held kernels");
    if (i.longest > 32) return w;
    baseline_room(i);
    w.baseline = invert(i, MPKI_ISAI_BASELINE);
    must(!memcmp(first.data(), values(i).data(), first.size() * 8), "bits of the baseline");
    return w;
}

#ifdef WITH_GINKGO
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

static void part_blocks(const char *name, ilu &f) {
    for (int block : {1, 2, 4, 8, 12, 16, 20, 24, 28, 32}) {
        inverse i;
        pattern(nullptr, f.n, MPKI_ISAI_BELOW, 1, block, i.m);
        prepare(f.l, i);
        const ways w = all_ways(f.l, i, true);
        printf("blocks %s %d entries %lld streamed %.3f held %.3f baseline %.3f ms, baseline / "
               "fused %.1f (held %.1f)\n",
               name, block, (long long)(i.m.nnz + f.n), w.streamed, w.held, w.baseline,
               w.baseline / w.streamed, w.baseline / w.held);
        fflush(stdout);
    }
}

// ISAI(k) of one factor: pattern, values, rows. Returns milliseconds of all.
struct made {
    double pattern_ms, values_ms, rows_ms, baseline_ms, held_ms, ginkgo_ms;
    int64_t entries, longest;
    bool far;
};

static made make(const sparse &graph, const triangle &t, int k, inverse &i, bool compare) {
    made r{};
    turner turn(t.rows.n, 1);
    if (k == 1) { // the factor's own pattern, by columns
        i.m.room(t.rows.n, t.rows.nnz, true);
        turn = turner(t.rows.n, t.rows.nnz);
        r.pattern_ms = timed([&] { turn(t.rows, i.m); });
    } else {
        const power p =
            pattern(&graph, t.rows.n, t.upper ? MPKI_ISAI_ABOVE : MPKI_ISAI_BELOW, k, 0, i.m);
        r.pattern_ms = p.ms, r.far = p.far;
        if (p.far) return r;
        turn = turner(t.rows.n, i.m.nnz);
    }
    r.pattern_ms += timed([&] { classify(i); });
    prepare(t, i);
    const ways w = all_ways(t, i, compare);
    r.values_ms = w.streamed, r.held_ms = w.held, r.baseline_ms = w.baseline;
#ifdef WITH_GINKGO
    if (compare && i.longest <= 32) r.ginkgo_ms = ginkgo(t, i);
#endif
    i.rows.room(t.rows.n, i.m.nnz, true);
    if (k == 1) { // rows are where the factor's are
        TRY(isai->clone(cuda, i.rows.ptr.p, t.rows.ptr.p, 8 * ((int64_t)t.rows.n + 1)));
        TRY(isai->clone(cuda, i.rows.index.p, t.rows.index.p, 4 * t.rows.nnz));
        r.rows_ms = timed([&] { TRY(isai->reverse(cuda, i.m.nnz, i.m.from.p, i.rows.from.p)); });
    } else {
        r.rows_ms = timed([&] { turn(i.m, i.rows); });
    }
    r.rows_ms += timed(
        [&] { TRY(isai->move(cuda, MPK_D, i.m.nnz, i.rows.from.p, i.m.val.p, i.rows.val.p)); });
    r.entries = i.m.nnz + t.rows.n, r.longest = i.longest;
    return r;
}

static void part_powers(const char *name, const sparse &graph, ilu &f) {
    for (int k = 1; k <= 4; ++k) {
        made r[2];
        for (int side = 0; side < 2; ++side) {
            inverse i;
            r[side] = make(graph, side ? f.u : f.l, k, i, true);
        }
        if (r[0].far || r[1].far) {
            printf("powers %s ISAI(%d): columns that reach more than 700 rows\n", name, k);
            continue;
        }
        const double values = r[0].values_ms + r[1].values_ms;
        const double all = values + r[0].pattern_ms + r[1].pattern_ms + r[0].rows_ms + r[1].rows_ms;
        const bool based = r[0].baseline_ms > 0 && r[1].baseline_ms > 0;
        const double base = based ? r[0].baseline_ms + r[1].baseline_ms : 0;
        printf("powers %s ISAI(%d) entries %lld longest %lld pattern %.3f values %.3f (held %.3f) "
               "rows %.3f ms; "
               "baseline / fused %.1f; of ILU(0) %.2f + %.2f ms: values %.1f %%, all %.1f %% of "
               "the factorization, %.1f %% with its analysis\n",
               name, k, (long long)(r[0].entries + r[1].entries),
               (long long)std::max(r[0].longest, r[1].longest), r[0].pattern_ms + r[1].pattern_ms,
               values, r[0].held_ms + r[1].held_ms, r[0].rows_ms + r[1].rows_ms,
               based ? base / values : 0.0, f.analysis_ms, f.factor_ms, 100 * values / f.factor_ms,
               100 * all / f.factor_ms, 100 * all / (f.factor_ms + f.analysis_ms));
        if (r[0].ginkgo_ms > 0 && r[1].ginkgo_ms > 0)
            printf("ginkgo %s ISAI(%d) %.3f ms, ours %.3f ms: %.1f x\n", name, k,
                   r[0].ginkgo_ms + r[1].ginkgo_ms, values,
                   (r[0].ginkgo_ms + r[1].ginkgo_ms) / values);
        fflush(stdout);
    }
}

// ---- applications ----

static double spsv(ilu &f, bool upper, double *b, double *x, double *analysis_ms) {
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vb, vx;
    cusparseSpSVDescr_t about;
    size_t bytes = 0;
    const double one = 1;
    const cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
    const cusparseDiagType_t unit = upper ? CUSPARSE_DIAG_TYPE_NON_UNIT : CUSPARSE_DIAG_TYPE_UNIT;
    TRY(cusparseCreateCsr(&a, f.n, f.n, f.index.count, f.ptr.p, f.index.p, f.val.p,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          CUDA_R_64F));
    TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, (void *)&fill, sizeof fill));
    TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, (void *)&unit, sizeof unit));
    TRY(cusparseCreateDnVec(&vb, f.n, b, CUDA_R_64F));
    TRY(cusparseCreateDnVec(&vx, f.n, x, CUDA_R_64F));
    TRY(cusparseSpSV_createDescr(&about));
    const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    TRY(cusparseSpSV_bufferSize(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                CUSPARSE_SPSV_ALG_DEFAULT, about, &bytes));
    on_device<char> room((int64_t)bytes);
    *analysis_ms = timed(
        [&] {
            TRY(cusparseSpSV_analysis(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                      CUSPARSE_SPSV_ALG_DEFAULT, about, room.p));
        },
        1);
    const double ms = timed(
        [&] {
            TRY(cusparseSpSV_solve(f.handle, op, &one, a, vb, vx, CUDA_R_64F,
                                   CUSPARSE_SPSV_ALG_DEFAULT, about));
        },
        5);
    TRY(cudaDeviceSynchronize());
    cusparseSpSV_destroyDescr(about);
    cusparseDestroyDnVec(vb), cusparseDestroyDnVec(vx);
    cusparseDestroySpMat(a);
    return ms;
}

static double product(const triangle &t, const inverse &i, const float *single, double *b,
                      double *x, int lanes = 0) {
    mpki_isai_times p{};
    p.scalar = MPK_D, p.n = t.rows.n, p.entries = i.rows.nnz;
    p.ptr = i.rows.ptr.p, p.index = i.rows.index.p, p.val = i.rows.val.p;
    if (single) p.val = single, p.single = 1;
    p.diagonal = t.upper ? t.dinv.p : nullptr;
    p.lanes = lanes;
    p.x = b, p.y = x, p.nrhs = 1, p.ldx = p.ldy = p.ldb = t.rows.n;
    return timed([&] { TRY(isai->multiply(cuda, &p)); }, 11);
}

static double copy_rate() { // GB/s, both directions counted
    const int64_t bytes = 1 << 29;
    on_device<char> a(bytes), b(bytes);
    TRY(cudaMemsetAsync(a.p, 1, bytes, stream));
    const double ms =
        timed([&] { TRY(cudaMemcpyAsync(b.p, a.p, bytes, cudaMemcpyDeviceToDevice, stream)); }, 11);
    return 2e-6 * bytes / ms;
}

// The processor's product, for some rows.
static double product_error(const triangle &t, const inverse &i, const std::vector<double> &b,
                            const std::vector<double> &x) {
    const std::vector<int64_t> p = i.rows.ptr.down();
    const std::vector<int32_t> c = i.rows.index.down();
    const std::vector<double> v = i.rows.val.down(), d = t.dinv.down();
    double worst = 0;
    for (int32_t r = 0; r < t.rows.n; r += 97) {
        double sum = d[r] * b[r], size = std::fabs(sum);
        for (int64_t e = p[r]; e < p[r + 1]; ++e)
            sum += v[e] * b[c[e]], size += std::fabs(v[e] * b[c[e]]);
        worst = std::max(worst, std::fabs(sum - x[r]) / (size + 1e-300));
    }
    return worst;
}

static void part_apply(const char *name, const sparse &graph, ilu &f, double rate) {
    std::vector<double> ones((size_t)f.n);
    for (int32_t k = 0; k < f.n; ++k) ones[k] = 1 + 0.5 * std::sin(k);
    on_device<double> b(ones), x((int64_t)f.n), y((int64_t)f.n);
    double analysis[2];
    const double solve_l = spsv(f, false, b.p, y.p, &analysis[0]);
    const double solve_u = spsv(f, true, y.p, x.p, &analysis[1]);
    for (int k = 1; k <= 3; ++k) {
        double ms = 0, bytes = 0, single_ms = 0, single_bytes = 0;
        bool far = false;
        for (int side = 0; side < 2 && !far; ++side) {
            const triangle &t = side ? f.u : f.l;
            inverse i;
            far = make(graph, t, k, i, false).far;
            if (far) break;
            ms += product(t, i, nullptr, b.p, x.p);
            must(product_error(t, i, ones, x.down()) < 1e-13, "a product");
            if (getenv("LANES"))
                for (int lanes = 1; lanes <= 32; lanes *= 2)
                    printf("lanes %s ISAI(%d) side %d mean %.1f lanes %d: %.4f ms\n", name, k, side,
                           (double)i.rows.nnz / f.n, lanes,
                           product(t, i, nullptr, b.p, x.p, lanes));
            on_device<float> single(i.rows.nnz);
            on_device<int32_t> bad(std::vector<int32_t>{0});
            TRY(isai->narrow(cuda, MPK_D, i.rows.nnz, i.rows.val.p, single.p, bad.p));
            single_ms += product(t, i, single.p, b.p, x.p);
            const double vectors = 8.0 * f.n * (side ? 4 : 3); // ptr, x, y, and of U the diagonal
            bytes += 12.0 * i.rows.nnz + vectors, single_bytes += 8.0 * i.rows.nnz + vectors;
        }
        if (far) continue;
        printf("apply %s ISAI(%d) SpSV %.3f + %.3f ms (analysis %.1f + %.1f), products %.4f ms = "
               "%.0f GB/s = %.0f %% of a copy, "
               "%.1f x; single %.4f ms = %.0f %% of a copy\n",
               name, k, solve_l, solve_u, analysis[0], analysis[1], ms, 1e-6 * bytes / ms,
               1e-4 * bytes / ms / rate, (solve_l + solve_u) / ms, single_ms,
               1e-4 * single_bytes / single_ms / rate);
        fflush(stdout);
    }
}

// ---- lengths ----

// A band: all columns but the last have `width` entries.
static void part_lengths(int width) {
    const int32_t n =
        std::max<int32_t>(4 * width, (1 << 23) / (width * (width < 256 ? 1 : width / 128)));
    std::vector<int64_t> ptr{0};
    std::vector<int32_t> index;
    std::vector<double> val;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = std::max(0, i - width + 1); j < i; ++j)
            index.push_back(j), val.push_back(std::sin(i + 3.0 * j) / width);
        ptr.push_back((int64_t)index.size());
    }
    triangle t;
    t.rows.n = n, t.rows.nnz = (int64_t)index.size();
    t.rows.ptr = on_device<int64_t>(ptr), t.rows.index = on_device<int32_t>(index);
    t.rows.val = on_device<double>(val);
    t.dinv = on_device<double>(std::vector<double>((size_t)n, 0.75));
    turner turn(n, t.rows.nnz);
    t.columns.room(n, t.rows.nnz, true);
    turn(t.rows, t.columns);
    TRY(isai->move(cuda, MPK_D, t.rows.nnz, t.columns.from.p, t.rows.val.p, t.columns.val.p));
    inverse i;
    i.m.room(n, t.rows.nnz, true);
    turn(t.rows, i.m);
    prepare(t, i);
    const ways w = all_ways(t, i, width <= 32);
    const double flops = (double)n * width * width; // a product and a difference each
    printf("lengths %d n %d streamed %.3f ms %.4f ns a flop, held %.3f ms, baseline %.3f ms\n",
           width, n, w.streamed, 1e6 * w.streamed / flops, w.held, w.baseline);
    fflush(stdout);
}

// ---- all ----

static bool wanted(int argc, char **argv, const char *part) {
    bool any = false;
    for (int k = 1; k < argc; ++k) {
        if (!strcmp(argv[k], part)) return true;
        any = any || strchr("bpal", argv[k][0]);
    }
    return !any;
}

int main(int argc, char **argv) {
    const char *name = getenv("METAPACK_CUDA_MODULE");
    void *module = dlopen(name ? name : "libmetapack_cuda.so", RTLD_NOW);
    if (!module) return fprintf(stderr, "%s\n", dlerror()), 1;
    table = ((mpki_cuda_module_fn)dlsym(module, "mpki_cuda_module"))();
    char text[256];
    if (table->version != MPKI_CUDA_VERSION || table->open(0, &cuda, text, sizeof text))
        return fprintf(stderr, "%s\n", text), 1;
    TRY(table->describe(cuda, text, sizeof text, NULL, NULL));
    isai = table->isai;
    stream = (cudaStream_t)isai->stream(cuda);
    const double rate = copy_rate();
    printf("%s; a copy: %.0f GB/s\n", text, rate);
    if (wanted(argc, argv, "lengths"))
        for (int width : {8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 1100})
            part_lengths(width);
    for (const char *which : {"ECO", "TMT", "PARA", "THM", "OFF", "AF3"}) {
        if (!wanted(argc, argv, "powers") && !wanted(argc, argv, "apply") &&
            !wanted(argc, argv, "blocks"))
            break;
        if (getenv("ONLY") && !strstr(getenv("ONLY"), which)) continue;
        const csr a = sibling(which, getenv("SCALE") ? atof(getenv("SCALE")) : 1.0);
        ilu f;
        factorize(a, f);
        printf("matrix %s n %d entries %lld levels %d, ILU(0): analysis %.2f, factor %.2f ms\n",
               which, a.n, (long long)a.val.size(), levels(a), f.analysis_ms, f.factor_ms);
        sparse graph; // by rows: of a symmetric pattern
        graph.n = a.n, graph.nnz = (int64_t)a.index.size();
        graph.ptr = on_device<int64_t>(a.ptr), graph.index = on_device<int32_t>(a.index);
        if (wanted(argc, argv, "powers")) part_powers(which, graph, f);
        if (wanted(argc, argv, "apply")) part_apply(which, graph, f, rate);
        if (wanted(argc, argv, "blocks")) part_blocks(which, f);
        cusparseDestroy(f.handle);
    }
    table->close(cuda);
    return 0;
}
