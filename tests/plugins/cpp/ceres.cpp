// SPDX-License-Identifier: BSD-3-Clause
/// metapack/ceres.hpp: which systems steps come from, and that the answer does not depend on it. What fails is named, and
/// the exit code is 1.
#include <ceres/ceres.h>
#include <cmath>
#include <cstdio>
#include <metapack/ceres.hpp>

static int failures;
#define HOLDS(what)                                                                                \
    do                                                                                             \
        if (!(what)) {                                                                             \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                 \
            ++failures;                                                                            \
        }                                                                                          \
    while (0)

struct Banana { // Rosenbrock's, of two neighbours
    template <class T> bool operator()(const T *a, const T *b, T *r) const {
        r[0] = 10.0 * (b[0] - a[0] * a[0]);
        r[1] = 1.0 - a[0];
        return true;
    }
};
struct Sum { // weight * (a + sign b - value)
    double weight, sign, value;
    template <class T> bool operator()(const T *a, const T *b, T *r) const {
        r[0] = weight * (a[0] + sign * b[0] - value);
        return true;
    }
};
struct Near {
    double value;
    template <class T> bool operator()(const T *a, T *r) const {
        r[0] = a[0] - value;
        return true;
    }
};
struct Total { // of all parameters
    int count;
    template <class T> bool operator()(T const *const *p, T *r) const {
        r[0] = T(-1.0);
        for (int i = 0; i < count; ++i) r[0] += p[i][0];
        return true;
    }
};

/// A chain of bananas, by both kinds of steps: one minimum.
static void chain() {
    std::vector<double> p(40, -1.2), q = p;
    metapack::MinimizeSummary told[2];
    for (int way = 0; way < 2; ++way) {
        ceres::Problem problem;
        double *x = way ? q.data() : p.data();
        for (std::size_t i = 0; i + 1 < p.size(); ++i)
            problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Banana, 2, 1, 1>(new Banana),
                                     nullptr, x + i, x + i + 1);
        metapack::MinimizeOptions options;
        options.max_iterations = 500;
        options.function_tolerance = 1e-14;
        if (way) options.steps = metapack::Steps::augmented;
        told[way] = metapack::minimize(problem, options);
        HOLDS(told[way].converged);
    }
    HOLDS(told[0].augmented == 0 && told[1].augmented == told[1].factorizations);
    for (std::size_t i = 0; i < p.size(); ++i) HOLDS(std::fabs(p[i] - q[i]) < 1e-5);
}

/// Columns that are the same but for 1e-9: J'J is singular in rounding, J is not.
static void parallel_columns() {
    double a = 3, b = -5;
    ceres::Problem problem;
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Sum, 1, 1, 1>(new Sum{1, 1, 2}),
                             nullptr, &a, &b);
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Sum, 1, 1, 1>(new Sum{1e-9, -1, 4}),
                             nullptr, &a, &b);
    metapack::MinimizeOptions options;
    options.initial_radius = 1e24;
    options.gradient_tolerance = 1e-30;
    options.function_tolerance = 0;
    const metapack::MinimizeSummary told = metapack::minimize(problem, options);
    HOLDS(told.augmented > 0);
    HOLDS(std::fabs(a - 3) < 1e-5 && std::fabs(b + 1) < 1e-5);
}

/// One residual has all parameters: J'J would be full.
static void full_row() {
    const int count = 300;
    std::vector<double> x(count, 1.0);
    ceres::Problem problem;
    auto *total = new ceres::DynamicAutoDiffCostFunction<Total, 4>(new Total{count});
    std::vector<double *> blocks;
    for (double &v : x) {
        total->AddParameterBlock(1);
        blocks.push_back(&v);
        problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Near, 1, 1>(new Near{0.5}),
                                 nullptr, &v);
    }
    total->SetNumResiduals(1);
    problem.AddResidualBlock(total, nullptr, blocks);
    const metapack::MinimizeSummary told = metapack::minimize(problem);
    HOLDS(told.converged && told.augmented > 0);
    for (double v : x) HOLDS(std::fabs(v - (0.5 - 149.0 / 301)) < 1e-6);
}

int main() {
    chain();
    parallel_columns();
    full_row();
    return failures != 0;
}
