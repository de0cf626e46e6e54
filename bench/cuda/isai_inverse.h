// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_ISAI_INVERSE_H
#define BENCH_CUDA_ISAI_INVERSE_H
// For bench/cuda/isai.cu: a triangle on the device, patterns, its approximate inverse in three ways, checked.
#include "isai_device.h"

#include <cmath>
#include <cstring>

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
    p.notes = told.p, p.mid = mid.p, p.far = far.p, p.to_ptr = ptr.p;
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

#endif
