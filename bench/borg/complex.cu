/* SPDX-License-Identifier: BSD-3-Clause */
/* Times one of borgc's complex factorizations, KERNEL_FILE, on a GPU: R, ORDER, THREADS, GROUPS as
 * borgc says at the kernel ("borg-launch"), LISTS of pivots, 0: none. Of 20 000 random matrices,
 * 2 n added to the diagonal of half of them (without pivots: of all): nanoseconds of a matrix, the
 * least of nine launches. Failures: exit 1. */
#include KERNEL_FILE
#include <cstdio>
#include <cstdlib>
#include <vector>

static void need(cudaError_t e) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(e));
    std::exit(1);
}

int main() {
    const long long count = 20000, size = (long long)ORDER * ORDER;
    std::vector<R> host(2 * count * size);
    unsigned state = 7;
    for (long long e = 0; e < 2 * count * size; e++) {
        state = state * 1664525u + 1013904223u;
        host[e] = (R)((state >> 8) / 8388608.0 - 1);
        const long long entry = e / 2, matrix = entry / size;
        if (entry % size % (ORDER + 1) == 0)
            host[e] = e % 2 ? (R)0 : matrix % 2 || !LISTS ? host[e] + 2 * ORDER : host[e];
    }
    R *a, *fresh;
    int *piv, *info;
    const size_t bytes = host.size() * sizeof(R);
    need(cudaMalloc(&a, bytes)), need(cudaMalloc(&fresh, bytes));
    need(cudaMalloc(&piv, count * ORDER * 2 * sizeof(int)));
    need(cudaMalloc(&info, count * 4 * sizeof(int)));
    need(cudaMemcpy(fresh, host.data(), bytes, cudaMemcpyHostToDevice));
    cudaEvent_t from, to;
    need(cudaEventCreate(&from)), need(cudaEventCreate(&to));
    float best = 1e30f;
    for (int turn = 0; turn < 9; turn++) {
        const unsigned blocks = (unsigned)((count + GROUPS - 1) / GROUPS);
        need(cudaMemcpy(a, fresh, bytes, cudaMemcpyDeviceToDevice));
        need(cudaEventRecord(from));
        k<<<blocks, THREADS>>>(a, ORDER, size,
#if LISTS
                               piv,
#endif
                               info, (R)1e-6, 0, count);
        need(cudaEventRecord(to)), need(cudaEventSynchronize(to));
        need(cudaGetLastError());
        float ms;
        need(cudaEventElapsedTime(&ms, from, to));
        best = ms < best ? ms : best;
    }
    std::vector<int> outcome(4 * count);
    need(cudaMemcpy(outcome.data(), info, count * 4 * sizeof(int), cudaMemcpyDeviceToHost));
    long long bad = 0;
    for (long long m = 0; m < count; m++) bad += outcome[4 * m] != 0;
    std::printf("%.2f ns, %lld failed\n", 1e6 * best / (double)count, bad);
    return bad > count / 100;
}
