/* SPDX-License-Identifier: BSD-3-Clause */
/* parilut FILE.mtx FILL CYCLES: ParILUT (Anzt, Chow & Dongarra 2018, SIAM J. Sci. Comput. 40(4),
 * C503, doi:10.1137/16M1079506), written from the paper, since no package of the distribution has
 * it. It starts from the pattern of A. Each of CYCLES cycles adds all places of L U that are not in
 * the factors yet, with the residual of A - L U as their values; does a fixed-point sweep; drops the
 * smallest entries, of L and of U, until each has FILL times the entries that the half of A has; and
 * does another sweep. A sweep computes all entries from those before it, as many threads would.
 * Triangular solves are exact, unlike those of peer_parilu.cpp. BiCGStab to 1e-6 in at most 1000
 * iterations, b = A times ones; one line of JSON, the residual is computed anew. */
#include "peer_rows.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

typedef std::vector<std::pair<int, double>> row;

struct factors {
    std::vector<row> l, u; /* rows by column: L without its unit diagonal, U with its own */
};

static double dot(const row &a, const row &b, int below) {
    double sum = 0;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i].first >= below || b[j].first >= below) break;
        if (a[i].first == b[j].first)
            sum += a[i++].second * b[j++].second;
        else if (a[i].first < b[j].first)
            i++;
        else
            j++;
    }
    return sum;
}

static std::vector<row> transposed(const std::vector<row> &a) {
    std::vector<row> t(a.size());
    for (size_t i = 0; i < a.size(); i++)
        for (auto &e : a[i]) t[(size_t)e.first].push_back({(int)i, e.second});
    return t;
}

static double entry(const std::map<int, double> &a, int j) {
    const auto at = a.find(j);
    return at == a.end() ? 0 : at->second;
}

/* All entries by the fixed-point formulas, from the entries before. */
static void sweep(const rows &a, factors &f) {
    const std::vector<row> columns = transposed(f.u);
    factors next = f;
    for (size_t i = 0; i < a.size(); i++) {
        for (auto &e : next.l[i]) {
            const row &column = columns[(size_t)e.first];
            e.second = (entry(a[i], e.first) - dot(f.l[i], column, e.first)) / column.back().second;
        }
        for (auto &e : next.u[i])
            e.second = entry(a[i], e.first) - dot(f.l[i], columns[(size_t)e.first], (int)i);
    }
    f = next;
}

/* Add what L U has beyond the factors' places. */
static void add_candidates(const rows &a, factors &f) {
    const size_t n = a.size();
    std::vector<double> sum(n, 0);
    std::vector<int> seen(n, -1);
    factors next = f;
    for (size_t i = 0; i < n; i++) {
        std::vector<int> fresh;
        const auto touch = [&](int j, double v) {
            if (seen[(size_t)j] != (int)i)
                seen[(size_t)j] = (int)i, sum[(size_t)j] = 0, fresh.push_back(j);
            sum[(size_t)j] += v;
        };
        for (auto &e : a[i]) touch(e.first, e.second);
        for (auto &e : f.u[i]) touch(e.first, -e.second);
        for (auto &k : f.l[i])
            for (auto &e : f.u[(size_t)k.first]) touch(e.first, -k.second * e.second);
        const auto has = [](const row &r, int j) {
            const auto at = std::lower_bound(r.begin(), r.end(), std::make_pair(j, -HUGE_VAL));
            return at != r.end() && at->first == j;
        };
        for (int j : fresh) {
            const double r = sum[(size_t)j];
            if (r == 0 || has(j < (int)i ? f.l[i] : f.u[i], j)) continue;
            if (j < (int)i)
                next.l[i].push_back({j, r / f.u[(size_t)j][0].second});
            else
                next.u[i].push_back({j, r});
        }
        std::sort(next.l[i].begin(), next.l[i].end());
        std::sort(next.u[i].begin(), next.u[i].end());
    }
    f = next;
}

/* Keep the `most` largest entries, and the diagonal. */
static void drop(std::vector<row> &half, bool upper, size_t most) {
    std::vector<double> moduli;
    for (size_t i = 0; i < half.size(); i++)
        for (auto &e : half[i])
            if (!upper || e.first != (int)i) moduli.push_back(std::fabs(e.second));
    if (moduli.size() <= most) return;
    std::nth_element(moduli.begin(), moduli.end() - (long)most, moduli.end());
    const double least = most ? *(moduli.end() - (long)most) : HUGE_VAL;
    for (size_t i = 0; i < half.size(); i++)
        half[i].erase(std::remove_if(half[i].begin(), half[i].end(),
                                     [&](const std::pair<int, double> &e) {
                                         return !(upper && e.first == (int)i) &&
                                                !(std::fabs(e.second) >= least);
                                     }),
                      half[i].end());
}

static factors parilut(const rows &a, double fill, int cycles) {
    factors f;
    f.l.resize(a.size()), f.u.resize(a.size());
    size_t nl = 0, nu = 0;
    for (size_t i = 0; i < a.size(); i++)
        for (auto &e : a[i]) {
            if (e.first < (int)i)
                f.l[i].push_back({e.first, e.second / a[(size_t)e.first].at(e.first)}), nl++;
            else
                f.u[i].push_back(e), nu += e.first > (int)i;
        }
    for (int k = 0; k < cycles; k++) {
        add_candidates(a, f);
        sweep(a, f);
        drop(f.l, false, (size_t)(fill * (double)nl));
        drop(f.u, true, (size_t)(fill * (double)nu));
        sweep(a, f);
    }
    return f;
}

static std::vector<double> solve(const factors &f, std::vector<double> x) {
    for (size_t i = 0; i < x.size(); i++)
        for (auto &e : f.l[i]) x[i] -= e.second * x[(size_t)e.first];
    for (size_t i = x.size(); i-- > 0;) {
        for (auto &e : f.u[i])
            if (e.first != (int)i) x[i] -= e.second * x[(size_t)e.first];
        x[i] /= f.u[i][0].second;
    }
    return x;
}

static double product(const std::vector<double> &x, const std::vector<double> &y) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); i++) sum += x[i] * y[i];
    return sum;
}

/* van der Vorst 1992, preconditioned from the right; returns iterations. */
static int bicgstab(const rows &a, const factors &f, const std::vector<double> &b, int most,
                    std::vector<double> &x) {
    const size_t n = b.size();
    std::vector<double> r = b, first = b, p(n, 0), v(n, 0);
    double rho = 1, alpha = 1, omega = 1;
    const double wanted = 1e-6 * std::sqrt(product(b, b));
    x.assign(n, 0);
    for (int it = 1; it <= most; it++) {
        const double now = product(first, r), beta = now / rho * (alpha / omega);
        for (size_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
        const std::vector<double> y = solve(f, p);
        v = multiply(a, y);
        alpha = now / product(first, v);
        for (size_t i = 0; i < n; i++) r[i] -= alpha * v[i];
        const std::vector<double> z = solve(f, r), t = multiply(a, z);
        omega = product(t, r) / product(t, t);
        for (size_t i = 0; i < n; i++) x[i] += alpha * y[i] + omega * z[i], r[i] -= omega * t[i];
        rho = now;
        const double norm = std::sqrt(product(r, r));
        if (norm <= wanted || !std::isfinite(norm)) return it;
    }
    return most;
}

int main(int argc, char **argv) {
    enum { ITERATIONS = 1000 };
    rows a;
    if (argc != 4) {
        std::fprintf(stderr, "usage: parilut FILE.mtx FILL CYCLES\n");
        return 2;
    }
    if (!read_rows(argv[1], a)) {
        std::fprintf(stderr, "parilut: %s is no matrix that this can read\n", argv[1]);
        return 1;
    }
    if (zero_on_diagonal(a)) {
        std::fprintf(stderr, "parilut: a zero on the diagonal\n");
        return 1;
    }
    const std::vector<double> b = multiply(a, std::vector<double>(a.size(), 1.0));
    std::vector<double> x;
    double start = seconds();
    const factors f = parilut(a, std::atof(argv[2]), std::atoi(argv[3]));
    const double made = seconds() - start;
    start = seconds();
    const int iterations = bicgstab(a, f, b, ITERATIONS, x);
    const double solved = seconds() - start;
    size_t entries = 0;
    for (size_t i = 0; i < a.size(); i++) entries += f.l[i].size() + f.u[i].size();
    std::printf(
        "{\"n\": %zu, \"iterations\": %d, \"relative_residual\": %.3g, \"factorize_s\": %.4f, "
        "\"solve_s\": %.4f, \"entries\": %zu}\n",
        a.size(), iterations, relative_residual(a, b, x), made, solved, entries);
    return 0;
}
