/* SPDX-License-Identifier: BSD-3-Clause */
/* --fast-rcp on a device: zeros, infinities, NaN, the ends of the range and random numbers of all
 * exponents against 1/x. SOURCE: what borgc makes of a kernel `r` that takes double *a, float *b
 * and replaces each by rcp() of it; THREADS, GROUPS as in launch.cu, SIZE its WG_SIZE. Prints the
 * worst error in ulp and what is wrong with special values; ends with 1 where it is beyond 2 ulp or
 * they are. */
#include SOURCE
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

template <typename T> struct limits;
template <> struct limits<double> {
    static constexpr double least = 0x1p-1022, most = 0x1.fffffffffffffp1023, ulp = 0x1p-52;
    static constexpr const char *name = "double";
};
template <> struct limits<float> {
    static constexpr double least = 0x1p-126, most = 0x1.fffffep127, ulp = 0x1p-23;
    static constexpr const char *name = "float";
};

static unsigned long long state = 1;
static unsigned long long bits() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 32) << 32 | (state * 2862933555777941757ull + 3037000493ull) >> 32;
}

template <typename T> static void fill(std::vector<T> &x) {
    const T special[] = {T(0), T(-0.0), T(INFINITY), T(-INFINITY), T(NAN), T(1), T(3), T(limits<T>::most),
                         T(-limits<T>::most), T(limits<T>::least), T(1 - limits<T>::ulp), T(1 + limits<T>::ulp)};
    for (size_t i = 0; i < x.size(); ++i) {
        unsigned long long b = bits();
        memcpy(&x[i], &b, sizeof(T));
        if (i % 4 == 1) x[i] = T(1 + (double)(b >> 12) * 0x1p-52);
        if (i % 64 < sizeof special / sizeof *special) x[i] = special[i % 64];
    }
}

/* Numbers below the normal ones may count as zero, given or returned. */
template <typename T> static int compare(const std::vector<T> &x, const std::vector<T> &y) {
    double worst = 0;
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const T exact = T(1) / x[i];
        const bool tiny = std::fabs((double)x[i]) < limits<T>::least && x[i] != T(0);
        if (tiny) continue;
        bool good;
        if (std::isnan((double)exact)) {
            good = std::isnan((double)y[i]);
        } else if (x[i] == T(0) || std::isinf((double)x[i])) {
            good = y[i] == exact && std::signbit(y[i]) == std::signbit(exact);
        } else if (std::fabs((double)exact) < limits<T>::least) {
            good = std::fabs((double)y[i]) <= limits<T>::least;
        } else {
            const double ulp = std::ldexp(limits<T>::ulp, std::ilogb(exact)), error = std::fabs((double)y[i] - (double)exact) / ulp;
            worst = error > worst ? error : worst;
            good = error <= 2;
        }
        if (!good && ++wrong <= 5) printf("  1/%a: %a, not %a\n", (double)x[i], (double)y[i], (double)exact);
    }
    printf("fast rcp, %s: %zu values, %d wrong, at most %.3f ulp\n", limits<T>::name, x.size(), wrong, worst);
    return wrong;
}

int main() {
    const size_t count = 1 << 20;
    std::vector<double> a(count), ra(count);
    std::vector<float> b(count), rb(count);
    double *da;
    float *db;
    fill(a);
    fill(b);
    if (cudaMalloc(&da, count * 8) || cudaMalloc(&db, count * 4)) return 3;
    cudaMemcpy(da, a.data(), count * 8, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), count * 4, cudaMemcpyHostToDevice);
    int64_t first = 0, last = (int64_t)(count / SIZE);
    void *args[] = {&da, &db, &first, &last};
    const unsigned blocks = (unsigned)((last + GROUPS - 1) / GROUPS);
    if (cudaLaunchKernel((const void *)r, dim3(blocks), dim3(THREADS), args, 0, 0) || cudaDeviceSynchronize()) {
        printf("fast rcp: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 3;
    }
    cudaMemcpy(ra.data(), da, count * 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(rb.data(), db, count * 4, cudaMemcpyDeviceToHost);
    const int wrong = compare(a, ra) + compare(b, rb);
    return wrong ? 1 : 0;
}
