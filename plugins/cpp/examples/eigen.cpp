// SPDX-License-Identifier: BSD-3-Clause
/// A saddle point problem of Eigen's matrices, [H B^T; B 0], by METAPACK and by Eigen's SparseLU.
///     c++ -O2 eigen.cpp -o eigen $(pkg-config --cflags --libs metapack eigen3) && ./eigen 60
#include <Eigen/SparseLU>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <metapack/eigen.hpp>

typedef Eigen::SparseMatrix<double> Matrix;

/// H is the Laplacian on a grid of k x k x k points; each constraint couples three of them.
static Matrix saddle(int k) {
    const int n = k * k * k, m = n / 4;
    std::vector<Eigen::Triplet<double>> entries; // the lower triangle
    for (int i = 0; i < n; ++i) {
        entries.emplace_back(i, i, 6.0);
        if (i % k > 0) entries.emplace_back(i, i - 1, -1.0);
        if (i / k % k > 0) entries.emplace_back(i, i - k, -1.0);
        if (i / (k * k) > 0) entries.emplace_back(i, i - k * k, -1.0);
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < 3; ++j) entries.emplace_back(n + i, 4 * i + j, 1.0 - 0.5 * j);
    Matrix a(n + m, n + m);
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
}

template <class Solver>
static double timed(Solver &solver, const Matrix &a, const Eigen::VectorXd &b, Eigen::VectorXd &x) {
    const std::clock_t start = std::clock();
    solver.compute(a);
    x = solver.solve(b);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; // of all threads
}

int main(int argc, char **argv) {
    const Matrix lower = saddle(argc > 1 ? std::atoi(argv[1]) : 12);
    const Matrix whole = lower.selfadjointView<Eigen::Lower>();
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(lower.rows(), -1, 1);
    Eigen::VectorXd x, y;

    metapack::LDLT<Matrix> ldlt; // reads the lower triangle
    const double ours = timed(ldlt, lower, b, x);
    Eigen::SparseLU<Matrix> lu;
    const double eigen = timed(lu, whole, b, y);

    const double error = (whole * x - b).norm() / b.norm(), apart = (x - y).norm() / y.norm();
    std::printf("n = %d, %d negative eigenvalues, residual %.1e, %.1e from SparseLU's x\n",
                static_cast<int>(lower.rows()), static_cast<int>(ldlt.inertia().negative), error,
                apart);
    std::printf("METAPACK %.3f s, Eigen::SparseLU %.3f s of CPU\n", ours, eigen);
    return ldlt.info() != Eigen::Success || !(error < 1e-12) || !(apart < 1e-8);
}
