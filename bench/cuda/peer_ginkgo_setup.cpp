// SPDX-License-Identifier: BSD-3-Clause
// bench_cuda_ginkgo_setup [NAME ...]: the whole set-up of ISAI(1..4) of L and U of ILU(0) of siblings.h's matrices, by
// Ginkgo's preconditioner::UpperIsai and LowerIsai and by mpk_isai_create, both on the device, the triangle already there and
// M there at the end. Ginkgo works by rows: it has the transpose, the same arrays. Both patterns are powers of the triangle's.
// Milliseconds by the processor's clock, the device idle before and after: medians of TURNS (5) after one that does not count, in turns;
// Ginkgo with its two allocators, cudaMalloc and cudaMallocAsync. M of both must have the same pattern, and values that agree to 1e-10
// of the largest, else nothing is printed. Also how many columns have more than the 32 entries that Ginkgo solves directly.
#include "ilu.h"

#include <ginkgo/core/base/executor.hpp>
#include <ginkgo/core/base/memory.hpp>
#include <ginkgo/core/matrix/csr.hpp>
#include <ginkgo/core/preconditioner/isai.hpp>
#include <metapack/metapack.h>

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

using matrix = gko::matrix::Csr<double, gko::int32>;

static double now_ms() {
    return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
                     .count();
}

static double timed(const std::function<void()> &f) {
    cudaDeviceSynchronize();
    const double start = now_ms();
    f();
    if (cudaDeviceSynchronize()) {
        printf("the device failed\n");
        exit(1);
    }
    return now_ms() - start;
}

template <class X> struct on_device {
    X *p = nullptr;
    explicit on_device(const std::vector<X> &v) {
        if (cudaMalloc((void **)&p, (v.size() + 1) * sizeof(X)) ||
            cudaMemcpy(p, v.data(), v.size() * sizeof(X), cudaMemcpyHostToDevice))
            exit(1);
    }
    on_device(const on_device &) = delete;
    ~on_device() { cudaFree(p); }
};

template <class X> static std::vector<X> down(const X *from, size_t count) {
    std::vector<X> v(count);
    if (cudaMemcpy(v.data(), from, count * sizeof(X), cudaMemcpyDeviceToHost)) exit(1);
    return v;
}

// M by columns.
struct result {
    std::vector<int64_t> ptr;
    std::vector<int32_t> index;
    std::vector<double> val;
};

static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

struct ginkgo {
    std::shared_ptr<gko::CudaExecutor> exec;
    std::shared_ptr<matrix> t; // the transpose of the triangle
    ginkgo(bool async, const csr &l) {
        std::shared_ptr<gko::CudaAllocatorBase> memory;
        if (async)
            memory = std::make_shared<gko::CudaAsyncAllocator>(nullptr);
        else
            memory = std::make_shared<gko::CudaAllocator>();
        exec = gko::CudaExecutor::create(0, gko::OmpExecutor::create(), memory);
        const std::vector<int32_t> ptr(l.ptr.begin(), l.ptr.end());
        gko::array<double> val(exec, l.val.size());
        gko::array<int32_t> index(exec, l.index.size()), rows(exec, ptr.size());
        cudaMemcpy(val.get_data(), l.val.data(), 8 * l.val.size(), cudaMemcpyHostToDevice);
        cudaMemcpy(index.get_data(), l.index.data(), 4 * l.index.size(), cudaMemcpyHostToDevice);
        cudaMemcpy(rows.get_data(), ptr.data(), 4 * ptr.size(), cudaMemcpyHostToDevice);
        const auto n = (gko::size_type)l.n;
        t = gko::share(matrix::create(exec, gko::dim<2>(n, n), std::move(val), std::move(index),
                                      std::move(rows), std::make_shared<matrix::classical>()));
    }
    template <gko::preconditioner::isai_type type> double set_up(int power, result *m) {
        using isai = gko::preconditioner::Isai<type, double, gko::int32>;
        const auto factory = isai::build().with_sparsity_power(power).on(exec);
        std::unique_ptr<isai> made;
        const double ms = timed([&] { made = factory->generate(t); });
        if (m) {
            const auto a = made->get_approximate_inverse();
            const size_t n = a->get_size()[0], count = a->get_num_stored_elements();
            const std::vector<int32_t> ptr = down(a->get_const_row_ptrs(), n + 1);
            m->ptr.assign(ptr.begin(), ptr.end());
            m->index = down(a->get_const_col_idxs(), count);
            m->val = down(a->get_const_values(), count);
        }
        return ms;
    }
    double operator()(bool lower, int power, result *m) { // of the transpose
        return lower ? set_up<gko::preconditioner::isai_type::lower>(power, m)
                     : set_up<gko::preconditioner::isai_type::upper>(power, m);
    }
};

static void must(mpk_context *ctx, mpk_status status, const char *what) {
    const char *text = "";
    if (!mpk_failed(status)) return;
    mpk_last_error(ctx, NULL, NULL, &text);
    printf("%s: %s\n", what, text);
    exit(1);
}

struct ours {
    mpk_context *ctx;
    const on_device<int64_t> ptr;
    const on_device<int32_t> index;
    const on_device<double> val;
    int32_t n;
    ours(mpk_context *context, const csr &l)
        : ctx(context), ptr(l.ptr), index(l.index), val(l.val), n(l.n) {}
    double operator()(bool upper, int power, result *m, mpk_isai_info *info) {
        mpk_isai_options o;
        mpk_isai *made = NULL;
        mpk_isai_options_init(&o);
        o.kind = upper ? MPK_ISAI_UPPER : MPK_ISAI_LOWER, o.power = power, o.memory = MPK_DEVICE;
        const double ms = timed([&] {
            must(ctx, mpk_isai_create(ctx, MPK_D, n, ptr.p, index.p, val.p, &o, &made), "create");
        });
        mpk_isai_info_get(made, info);
        if (m) {
            m->ptr.resize((size_t)n + 1);
            m->index.resize((size_t)info->entries), m->val.resize((size_t)info->entries);
            must(ctx, mpk_isai_get(ctx, made, m->ptr.data(), m->index.data(), m->val.data()),
                 "get");
        }
        mpk_isai_destroy(&made);
        return ms;
    }
};

static bool equal(const result &a, const result &b) {
    double worst = 0, size = 0;
    if (a.ptr != b.ptr || a.index != b.index) return printf("WRONG: other patterns\n"), false;
    for (size_t k = 0; k < a.val.size(); ++k) {
        worst = std::max(worst, std::fabs(a.val[k] - b.val[k]));
        size = std::max(size, std::fabs(b.val[k]));
    }
    if (worst <= 1e-10 * size) return true;
    return printf("WRONG: values differ by %g of %g\n", worst, size), false;
}

static bool compare(mpk_context *ctx, const char *name, const csr &t, bool upper, int power,
                    int turns) {
    ginkgo plain(false, t), async(true, t);
    ours we(ctx, t);
    std::vector<double> a, b, c;
    mpk_isai_info info;
    result theirs, mine;
    for (int k = -1; k < turns; ++k) {
        const double x = plain(upper, power, k < 0 ? &theirs : nullptr);
        const double y = async(upper, power, nullptr);
        const double z = we(upper, power, k < 0 ? &mine : nullptr, &info);
        if (k < 0 && !equal(theirs, mine)) return false;
        if (k >= 0) a.push_back(x), b.push_back(y), c.push_back(z);
    }
    int64_t longer = 0;
    for (int k = 6; k < MPK_ISAI_CLASSES; ++k) longer += info.columns[k];
    printf("setup %s %c ISAI(%d) entries %lld longest %d, columns over 32 %lld | Ginkgo %.2f ms, "
           "cudaMallocAsync %.2f ms | ours %.2f ms | %.1f x\n",
           name, upper ? 'U' : 'L', power, (long long)info.entries, (int)info.longest,
           (long long)longer, median(a), median(b), median(c),
           std::min(median(a), median(b)) / median(c));
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    mpk_context *ctx = NULL;
    const double scale = getenv("SCALE") ? atof(getenv("SCALE")) : 1;
    const int turns = getenv("TURNS") ? atoi(getenv("TURNS")) : 5;
    const char *powers = getenv("POWERS") ? getenv("POWERS") : "1234";
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.empty()) names = {"ECO", "TMT", "PARA", "THM", "OFF", "AF3"};
    if (mpk_context_create(NULL, &ctx)) return 1;
    for (const std::string &name : names) {
        csr a = sibling(name, scale);
        ilu0(a);
        for (int upper = 0; upper < 2; ++upper) {
            const csr t = triangle_of(a, upper);
            for (const char *p = powers; *p; ++p)
                if (!compare(ctx, name.c_str(), t, upper, *p - '0', turns)) return 1;
        }
    }
    mpk_context_destroy(&ctx);
    return 0;
}
