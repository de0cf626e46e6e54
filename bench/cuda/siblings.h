// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_SIBLINGS_H
#define BENCH_CUDA_SIBLINGS_H
// Generated siblings of the six matrices of Anzt, Chow, Huckle & Dongarra 2016, Table I: of the same kind,
// order and, nearly, number of entries, with a unit diagonal as there. They are not those matrices.
//   ECO  five points on 1000 x 1000, less one row               TMT  the same on 958 x 958, with a flow
//   PARA linear elements on 725 x 725 points, diagonals of cells at random, moved points, a mass; by lines
//   THM  likewise on 1108 x 1108, no mass; by lines within tiles of 32 x 32
//   OFF  linear elements on tetrahedra, 64 x 64 x 64 points, moved; by planes
//   AF3  bilinear elements with 4 unknowns a point, 355 x 355 points; by lines
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct csr {
    int32_t n = 0;
    std::vector<int64_t> ptr;
    std::vector<int32_t> index;
    std::vector<double> val;
};

struct sibling_random { // a linear congruential sequence: the same everywhere
    uint64_t state = 88172645463325252ull;
    double operator()() { // [0, 1)
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (double)(state >> 11) * 0x1p-53;
    }
};

// Element matrices added up: rows of (column, value), put in order at the end.
struct assembly {
    std::vector<std::vector<std::pair<int32_t, double>>> rows;
    explicit assembly(int32_t n) : rows((size_t)n) {}
    void add(int32_t i, int32_t j, double x) {
        for (auto &e : rows[i])
            if (e.first == j) {
                e.second += x;
                return;
            }
        rows[i].push_back({j, x});
    }
    // Row i of the result is row order[i].
    csr finish(const std::vector<int32_t> &order) const {
        csr a;
        std::vector<int32_t> place(order.size());
        for (size_t k = 0; k < order.size(); ++k) place[order[k]] = (int32_t)k;
        std::vector<double> scale(order.size());
        for (size_t i = 0; i < order.size(); ++i)
            for (const auto &e : rows[i])
                if (e.first == (int32_t)i) scale[i] = 1 / std::sqrt(std::fabs(e.second));
        a.n = (int32_t)order.size();
        a.ptr.push_back(0);
        std::vector<std::pair<int32_t, double>> row;
        for (int32_t i : order) {
            row.clear();
            for (const auto &e : rows[i])
                row.push_back({place[e.first], e.second * scale[i] * scale[e.first]});
            std::sort(row.begin(), row.end());
            for (const auto &e : row) a.index.push_back(e.first), a.val.push_back(e.second);
            a.ptr.push_back((int64_t)a.index.size());
        }
        return a;
    }
};

inline csr five_points(int side, double wind, int less) {
    csr a;
    a.n = side * side - less;
    a.ptr.push_back(0);
    for (int32_t i = 0; i < a.n; ++i) {
        const int x = i % side, y = i / side;
        auto put = [&](bool there, int32_t j, double v) {
            if (there && j < a.n) a.index.push_back(j), a.val.push_back(v / 4);
        };
        put(y > 0, i - side, -(1 + wind));
        put(x > 0, i - 1, -(1 + wind));
        put(true, i, 4);
        put(x + 1 < side, i + 1, -(1 - wind));
        put(y + 1 < side, i + side, -(1 - wind));
        a.ptr.push_back((int64_t)a.index.size());
    }
    return a;
}

inline std::vector<int32_t> by_lines(int32_t n) {
    std::vector<int32_t> order((size_t)n);
    for (int32_t i = 0; i < n; ++i) order[i] = i;
    return order;
}

// Linear elements; the boundary's points are held and not among the unknowns.
inline csr triangles(int side, double mass, bool tiled) {
    const int all = side + 2;
    sibling_random random;
    std::vector<double> x((size_t)all * all), y(x.size());
    for (int k = 0; k < all * all; ++k) {
        x[k] = (k % all + 0.5 * (random() - 0.5)) / all;
        y[k] = (k / all + 0.5 * (random() - 0.5)) / all;
    }
    assembly sum(side * side);
    auto unknown = [&](int k) {
        const int c = k % all - 1, r = k / all - 1;
        return c < 0 || r < 0 || c >= side || r >= side ? -1 : r * side + c;
    };
    auto element = [&](int a, int b, int c) {
        const int p[3] = {a, b, c};
        double ex[3], ey[3];
        for (int k = 0; k < 3; ++k) {
            const int q = p[(k + 1) % 3], r = p[(k + 2) % 3];
            ex[k] = x[r] - x[q], ey[k] = y[r] - y[q];
        }
        const double area = std::fabs(ex[0] * ey[1] - ex[1] * ey[0]) / 2 + 1e-3 / all / all;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const int u = unknown(p[i]), v = unknown(p[j]);
                if (u < 0 || v < 0) continue;
                sum.add(u, v,
                        (ex[i] * ex[j] + ey[i] * ey[j]) / (4 * area) +
                            mass * area * (1 + (i == j)) / 12);
            }
    };
    for (int r = 0; r + 1 < all; ++r)
        for (int c = 0; c + 1 < all; ++c) {
            const int a = r * all + c, b = a + 1, d = a + all, e = d + 1;
            if (random() < 0.5)
                element(a, b, d), element(b, e, d);
            else
                element(a, b, e), element(a, e, d);
        }
    std::vector<int32_t> order = by_lines(side * side);
    if (tiled) {
        enum { TILE = 32 };
        order.clear();
        for (int r0 = 0; r0 < side; r0 += TILE)
            for (int c0 = 0; c0 < side; c0 += TILE) {
                for (int r = r0; r < std::min(side, r0 + TILE); ++r)
                    for (int c = c0; c < std::min(side, c0 + TILE); ++c)
                        order.push_back(r * side + c);
            }
    }
    return sum.finish(order);
}

inline csr tetrahedra(int side) {
    const int all = side + 2;
    sibling_random random;
    std::vector<double> at((size_t)all * all * all * 3);
    for (size_t k = 0; k < at.size() / 3; ++k) {
        const int c[3] = {(int)(k % all), (int)(k / all % all), (int)(k / all / all)};
        for (int d = 0; d < 3; ++d) at[3 * k + d] = c[d] + 0.3 * (random() - 0.5);
    }
    assembly sum(side * side * side);
    auto unknown = [&](int k) {
        const int c = k % all - 1, r = k / all % all - 1, p = k / all / all - 1;
        const bool in = c >= 0 && r >= 0 && p >= 0 && c < side && r < side && p < side;
        return in ? (p * side + r) * side + c : -1;
    };
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int step[3] = {1, all, all * all};
    for (int p = 0; p + 1 < all; ++p)
        for (int r = 0; r + 1 < all; ++r)
            for (int c = 0; c + 1 < all; ++c)
                for (const auto &path : paths) { // Kuhn's six tetrahedra of a cell
                    int v[4] = {(p * all + r) * all + c, 0, 0, 0};
                    for (int k = 0; k < 3; ++k) v[k + 1] = v[k] + step[path[k]];
                    double e[3][3], g[4][3];
                    for (int k = 0; k < 3; ++k)
                        for (int d = 0; d < 3; ++d)
                            e[k][d] = at[3 * v[k + 1] + d] - at[3 * v[0] + d];
                    auto cross = [](const double *a, const double *b, double *to) {
                        for (int d = 0; d < 3; ++d)
                            to[d] =
                                a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
                    };
                    cross(e[1], e[2], g[1]), cross(e[2], e[0], g[2]), cross(e[0], e[1], g[3]);
                    const double det = e[0][0] * g[1][0] + e[0][1] * g[1][1] + e[0][2] * g[1][2];
                    for (int d = 0; d < 3; ++d) g[0][d] = -g[1][d] - g[2][d] - g[3][d];
                    for (int i = 0; i < 4; ++i)
                        for (int j = 0; j < 4; ++j) {
                            const int a = unknown(v[i]), b = unknown(v[j]);
                            double s = 0;
                            for (int d = 0; d < 3; ++d) s += g[i][d] * g[j][d];
                            if (a >= 0 && b >= 0)
                                sum.add(a, b,
                                        s / (6 * std::fabs(det)) +
                                            1e-3 * std::fabs(det) * (1 + (i == j)) / 120);
                        }
                }
    return sum.finish(by_lines(side * side * side));
}

inline csr shell(int side) {
    enum { DOF = 4 };
    sibling_random random;
    assembly sum(DOF * side * side);
    for (int r = -1; r < side; ++r)
        for (int c = -1; c < side; ++c) {
            double b[DOF][DOF] = {}, q[DOF][DOF];
            for (auto &row : q)
                for (double &x : row) x = random() - 0.5;
            for (int i = 0; i < DOF; ++i)
                for (int j = 0; j < DOF; ++j) {
                    for (int k = 0; k < DOF; ++k) b[i][j] += q[i][k] * q[j][k];
                    b[i][j] += i == j ? 0.5 : 0;
                }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) {
                    const int ri = r + i / 2, ci = c + i % 2, rj = r + j / 2, cj = c + j % 2;
                    if (ri < 0 || ci < 0 || rj < 0 || cj < 0) continue;
                    if (ri >= side || ci >= side || rj >= side || cj >= side) continue;
                    const double s = i == j ? 4 : i + j == 3 ? -2 : -1; // six times Laplace's
                    for (int k = 0; k < DOF; ++k)
                        for (int l = 0; l < DOF; ++l)
                            sum.add(DOF * (ri * side + ci) + k, DOF * (rj * side + cj) + l,
                                    s * b[k][l]);
                }
        }
    return sum.finish(by_lines(DOF * side * side));
}

// scale: of the sides, 1: those of the paper's matrices.
inline csr sibling(const std::string &name, double scale) {
    auto side = [&](int whole) { return std::max(4, (int)std::lround(whole * scale)); };
    if (name == "ECO") return five_points(side(1000), 0, 1);
    if (name == "TMT") return five_points(side(958), 0.05, 0);
    if (name == "PARA") return triangles(side(725), 1e3, false);
    if (name == "THM") return triangles(side(1108), 0, true);
    if (name == "OFF") return tetrahedra(side(64));
    return shell(side(355));
}

// Columns of a matrix by rows.
inline csr turned(const csr &a) {
    csr t;
    t.n = a.n;
    t.ptr.assign((size_t)a.n + 1, 0);
    t.index.resize(a.index.size()), t.val.resize(a.val.size());
    for (int32_t j : a.index) ++t.ptr[j + 1];
    for (int32_t j = 0; j < a.n; ++j) t.ptr[j + 1] += t.ptr[j];
    std::vector<int64_t> next(t.ptr.begin(), t.ptr.end() - 1);
    for (int32_t i = 0; i < a.n; ++i)
        for (int64_t e = a.ptr[i]; e < a.ptr[i + 1]; ++e) {
            const int64_t to = next[a.index[e]]++;
            t.index[to] = i, t.val[to] = a.val[e];
        }
    return t;
}

#endif
