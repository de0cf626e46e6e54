// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_ISAI_DEVICE_H
#define BENCH_CUDA_ISAI_DEVICE_H
// For bench/cuda/isai.cu: the CUDA module, memory of the device, its time.
#include "../../src/engines/cuda/module/api.h"
#include "../../src/engines/cuda/inverse/kernels/inverse.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
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

static void must(bool good, const char *what) {
    if (good) return;
    printf("WRONG: %s\n", what);
    exit(1);
}

#endif
