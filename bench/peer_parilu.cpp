/* SPDX-License-Identifier: BSD-3-Clause */
/* parilu FILE.mtx LEVEL SWEEPS JACOBI: the fixed-point ILU of Chow & Patel 2015 as ViennaCL has it
 * (Debian: libviennacl-dev), on the pattern of A with a level of fill, under BiCGStab to 1e-6 in at
 * most 1000 iterations; b = A times ones. Triangular solves by JACOBI sweeps, which is ViennaCL's
 * only way. One line of JSON; the residual is computed anew. */
#include "peer_rows.h"

#include <cstdio>
#include <cstdlib>

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/ilu.hpp>
#include <viennacl/vector.hpp>

/* Zeros where a level of fill up to `level` allows entries: row by row, by the rule of sums. */
static bool fill(const rows &a, int level, size_t most, rows &out) {
    std::vector<std::vector<std::pair<int, int>>> upper(a.size()); /* column, level */
    size_t count = 0;
    out = a;
    for (size_t i = 0; i < a.size(); i++) {
        std::map<int, int> lev;
        for (auto &e : a[i]) lev[e.first] = 0;
        for (auto k = lev.begin(); k != lev.end() && k->first < (int)i; ++k)
            for (auto &e : upper[(size_t)k->first]) {
                const int l = k->second + e.second + 1;
                if (l > level) continue;
                auto at = lev.find(e.first);
                if (at == lev.end())
                    lev[e.first] = l;
                else if (l < at->second)
                    at->second = l;
            }
        for (auto &e : lev) {
            out[i].insert({e.first, 0.0});
            if (e.first > (int)i) upper[i].push_back(e);
        }
        if ((count += lev.size()) > most) return false;
    }
    return true;
}

static void upload(const rows &a, viennacl::compressed_matrix<double> &to) {
    std::vector<unsigned> ptr(1, 0), col;
    std::vector<double> val;
    for (auto &row : a) {
        for (auto &e : row) col.push_back((unsigned)e.first), val.push_back(e.second);
        ptr.push_back((unsigned)col.size());
    }
    to.set(ptr.data(), col.data(), val.data(), a.size(), a.size(), val.size());
}

int main(int argc, char **argv) {
    enum { MOST = 60000000, ITERATIONS = 1000 };
    rows a, filled;
    if (argc != 5) {
        std::fprintf(stderr, "usage: parilu FILE.mtx LEVEL SWEEPS JACOBI\n");
        return 2;
    }
    if (!read_rows(argv[1], a)) {
        std::fprintf(stderr, "parilu: %s is no matrix that this can read\n", argv[1]);
        return 1;
    }
    if (zero_on_diagonal(a)) {
        std::fprintf(stderr, "parilu: a zero on the diagonal\n");
        return 1;
    }
    if (!fill(a, std::atoi(argv[2]), MOST, filled)) {
        std::fprintf(stderr, "parilu: more fill than %d entries\n", (int)MOST);
        return 1;
    }
    const size_t n = a.size();
    viennacl::compressed_matrix<double> matrix, pattern;
    upload(a, matrix), upload(filled, pattern);
    std::vector<double> b = multiply(a, std::vector<double>(n, 1.0)), x(n);
    viennacl::vector<double> rhs(n), solution(n);
    viennacl::copy(b, rhs);
    double start = seconds();
    viennacl::linalg::chow_patel_tag how((size_t)std::atoi(argv[3]), (size_t)std::atoi(argv[4]));
    viennacl::linalg::chow_patel_ilu_precond<viennacl::compressed_matrix<double>> m(pattern, how);
    const double made = seconds() - start;
    viennacl::linalg::bicgstab_tag tag(1e-6, ITERATIONS);
    start = seconds();
    solution = viennacl::linalg::solve(matrix, rhs, tag, m);
    const double solved = seconds() - start;
    viennacl::copy(solution, x);
    std::printf(
        "{\"n\": %zu, \"iterations\": %u, \"relative_residual\": %.3g, \"factorize_s\": %.4f, "
        "\"solve_s\": %.4f, \"entries\": %zu}\n",
        n, tag.iters(), relative_residual(a, b, x), made, solved, pattern.nnz());
    return 0;
}
