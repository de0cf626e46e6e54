/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_ROWS_H
#define PEER_ROWS_H
/* What the fixed-point peers share: a matrix by sorted rows, read from a file, and products. */
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

typedef std::vector<std::map<int, double>> rows;

/* Matrix Market, real, general or symmetric. The diagonal is there afterwards, if only as zeros. */
static inline bool read_rows(const char *path, rows &a) {
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line)) return false;
    const bool symmetric = line.find("symmetric") != std::string::npos;
    while (std::getline(in, line) && line[0] == '%') {}
    long n = 0, m = 0, nnz = 0;
    if (!(std::istringstream(line) >> n >> m >> nnz) || n != m || n < 1) return false;
    a.assign((size_t)n, {});
    for (long k = 0; k < nnz; k++) {
        int i, j;
        double v;
        if (!(in >> i >> j >> v) || i < 1 || j < 1 || i > n || j > n) return false;
        a[(size_t)i - 1][j - 1] += v;
        if (symmetric && i != j) a[(size_t)j - 1][i - 1] += v;
    }
    for (long i = 0; i < n; i++) a[(size_t)i][(int)i] += 0; /* the methods want a diagonal */
    return true;
}

/* Both methods divide by it. */
static inline bool zero_on_diagonal(const rows &a) {
    for (size_t i = 0; i < a.size(); i++)
        if (a[i].at((int)i) == 0) return true;
    return false;
}

static inline std::vector<double> multiply(const rows &a, const std::vector<double> &x) {
    std::vector<double> y(a.size(), 0);
    for (size_t i = 0; i < a.size(); i++)
        for (auto &e : a[i]) y[i] += e.second * x[(size_t)e.first];
    return y;
}

/* ||b - A x|| / ||b||; what is not finite is 1e300. */
static inline double relative_residual(const rows &a, const std::vector<double> &b,
                                       const std::vector<double> &x) {
    const std::vector<double> ax = multiply(a, x);
    double rr = 0, bb = 0;
    for (size_t i = 0; i < a.size(); i++) rr += (b[i] - ax[i]) * (b[i] - ax[i]), bb += b[i] * b[i];
    const double relative = std::sqrt(rr / bb);
    return std::isfinite(relative) ? relative : 1e300;
}

static inline double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

#endif
