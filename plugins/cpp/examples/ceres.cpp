// SPDX-License-Identifier: BSD-3-Clause
/// A chain of poses from noisy distances and a few anchors, as a ceres::Problem: by Ceres's own
/// minimizer, and by METAPACK's on the same problem; then the variances of the positions.
///     c++ -O2 ceres.cpp -o ceres $(pkg-config --cflags --libs metapack) -lceres -lglog && ./ceres 2000
/// (with Eigen's include folder: $(pkg-config --cflags eigen3))
#include <ceres/ceres.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <metapack/ceres.hpp>

struct Step { // between neighbours: both coordinates of the difference
    double dx, dy;
    template <class T> bool operator()(const T *a, const T *b, T *r) const {
        r[0] = (b[0] - a[0] - dx) / 0.01;
        r[1] = (b[1] - a[1] - dy) / 0.01;
        return true;
    }
};
struct Distance {
    double length;
    template <class T> bool operator()(const T *a, const T *b, T *r) const {
        using std::sqrt;
        const T x = b[0] - a[0], y = b[1] - a[1];
        r[0] = (sqrt(x * x + y * y) - length) / 0.02;
        return true;
    }
};
struct Anchor {
    double x, y;
    template <class T> bool operator()(const T *a, T *r) const {
        r[0] = (a[0] - x) / 0.001;
        r[1] = (a[1] - y) / 0.001;
        return true;
    }
};

/// Seconds of the processor, of all threads.
static double cpu() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

static double noise(unsigned &state) { // about -1 .. 1
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / 8388608.0 - 1;
}

static void make(std::vector<double> &p, ceres::Problem &problem) {
    const std::size_t n = p.size() / 2;
    unsigned seed = 7;
    std::vector<double> truth(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
        const double angle = 0.02 * static_cast<double>(i);
        truth[2 * i] = 10 * std::cos(angle);
        truth[2 * i + 1] = 10 * std::sin(angle);
        p[2 * i] = truth[2 * i] + 0.3 * noise(seed);
        p[2 * i + 1] = truth[2 * i + 1] + 0.3 * noise(seed);
    }
    for (std::size_t i = 0; i + 1 < n; ++i)
        problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Step, 2, 2, 2>(new Step{
                                     truth[2 * i + 2] - truth[2 * i] + 0.01 * noise(seed),
                                     truth[2 * i + 3] - truth[2 * i + 1] + 0.01 * noise(seed)}),
                                 nullptr, &p[2 * i], &p[2 * i + 2]);
    for (std::size_t i = 0; i + 40 < n; i += 3)
        problem.AddResidualBlock(
            new ceres::AutoDiffCostFunction<Distance, 1, 2, 2>(new Distance{
                std::hypot(truth[2 * i + 80] - truth[2 * i], truth[2 * i + 81] - truth[2 * i + 1]) +
                0.02 * noise(seed)}),
            new ceres::HuberLoss(1.0), &p[2 * i], &p[2 * i + 80]);
    for (std::size_t i = 0; i < n; i += 100)
        problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Anchor, 2, 2>(
                                     new Anchor{truth[2 * i], truth[2 * i + 1]}),
                                 nullptr, &p[2 * i]);
}

int main(int argc, char **argv) {
    const std::size_t n = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 300;
    std::vector<double> p(2 * n), q(2 * n);
    ceres::Problem first, second;
    make(p, first);
    make(q, second);

    ceres::Solver::Options options;
    options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary theirs;
    double start = cpu();
    ceres::Solve(options, &first, &theirs);
    const double ceres_s = cpu() - start;
    start = cpu();
    const metapack::MinimizeSummary ours = metapack::minimize(second);
    const double ours_s = cpu() - start;

    const std::vector<double> variance = metapack::variances(second);
    ceres::Covariance::Options how;
    ceres::Covariance covariance(how);
    double block[4];
    const double *middle = &q[2 * (n / 2)];
    const bool known = covariance.Compute(std::vector<const double *>{middle}, &second) &&
                       covariance.GetCovarianceBlock(middle, middle, block);
    const double v = variance[2 * (n / 2)], apart = known ? std::fabs(v - block[0]) / block[0] : 1;
    std::printf("Ceres:    cost %.8g in %d steps, %.3f s of CPU\n", theirs.final_cost,
                static_cast<int>(theirs.iterations.size()) - 1, ceres_s);
    std::printf("METAPACK: cost %.8g in %d steps, %.3f s of CPU (%s)\n", ours.final_cost,
                ours.iterations, ours_s, ours.message.c_str());
    std::printf("variance of x in the middle %.6g; %.1e from Ceres's covariance\n", v, apart);
    return !ours.converged ||
           !(std::fabs(ours.final_cost - theirs.final_cost) <= 1e-6 * theirs.final_cost) ||
           !(apart < 1e-6);
}
