// SPDX-License-Identifier: BSD-3-Clause
/// metapack/metapack.hpp, without a framework: what fails is named, and the exit code is 1.
#include <cmath>
#include <cstdio>
#include <limits>
#include <metapack/metapack.hpp>

static int failures;
#define HOLDS(what)                                                                                \
    do                                                                                             \
        if (!(what)) {                                                                             \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                 \
            ++failures;                                                                            \
        }                                                                                          \
    while (0)

template <class Call> static mpk_status thrown(Call call) {
    try {
        call();
    } catch (const metapack::Error &e) {
        HOLDS(e.what()[0] != 0);
        return e.status();
    }
    return MPK_OK;
}

static const std::vector<std::int64_t> ap{0, 2, 5, 8, 8, 8}; // README's KKT matrix, inertia 3+ 2-
static const std::vector<std::int32_t> ai{0, 3, 1, 3, 4, 2, 3, 4};

template <class T> static void kkt(double tolerance) {
    std::vector<T> ax{4, 1, 3, 1, 1, 2, 1, -1};
    metapack::Solver<T> k;
    k.analyse(5, ap.data(), ai.data(), ax.data());
    HOLDS(k.factorize() == MPK_OK);
    const std::vector<T> x = k.solve({0, 0, 0, 6, -1});
    HOLDS(std::abs(x[0] - T(29.0 / 21)) < tolerance && std::abs(x[1] - T(38.0 / 21)) < tolerance);
    HOLDS(k.last().componentwise < tolerance);
    std::complex<double> sign;
    HOLDS(std::fabs(k.log_determinant(&sign) - std::log(21.0)) < tolerance);
    HOLDS(std::abs(sign - 1.0) < tolerance);

    metapack::Solver<T> moved = std::move(k); // its objects go with it
    for (T &v : ax) v *= 2;
    HOLDS(moved.factorize(ax.data()) == MPK_OK);
    HOLDS(std::abs(moved.solve({0, 0, 0, 6, -1})[0] - x[0] / T(2)) < 10 * tolerance);
    std::vector<T> both{0, 0, 0, 6, -1, 0, 0, 0, 12, -2};
    moved.solve(2, both.data(), 5, both.data(), 5); // in place
    HOLDS(std::abs(both[5] - both[0] * T(2)) < tolerance);
}

static void verdicts() {
    const double ax[] = {4, 1, 3, 1, 1, 2, 1, -1};
    metapack::Solver<double> k;
    HOLDS(thrown([&] { k.factorize(); }) == MPK_ERR_ARGUMENT);
    HOLDS(thrown([&] { k.solve({1.0}); }) == MPK_ERR_ARGUMENT);
    k.analyse(5, ap.data(), ai.data(), ax);
    HOLDS(thrown([&] { k.solve({1.0}); }) == MPK_ERR_ARGUMENT);
    k.factorize();
    HOLDS(thrown([&] { k.solve({1.0}); }) == MPK_ERR_ARGUMENT); // a short b
    HOLDS(k.certify() && k.inertia().positive == 3 && k.inertia().negative == 2);
    const double nan[] = {4, 1, 3, 1, 1, 2, 1, std::numeric_limits<double>::quiet_NaN()};
    HOLDS(thrown([&] { k.factorize(nan); }) == MPK_ERR_INPUT);
    HOLDS(std::fabs(k.solve({0, 0, 0, 6, -1})[0] - 29.0 / 21) <
          1e-14); // the old factor is as it was
    HOLDS(thrown([&] { k.analyse(5, ap.data(), ai.data(), nan); }) == MPK_ERR_INPUT);
    HOLDS(!k.analysed() && !k.factorized() && k.size() == 0);
    HOLDS(thrown([&] { k.analyse(INT64_C(1) << 33, ap.data(), ai.data(), ax); }) == MPK_ERR_SIZE);

    const double zero[] = {1, 1, 1}; // [1 1; 1 1]
    const std::int64_t p[] = {0, 2, 3};
    const std::int32_t i[] = {0, 1, 1};
    k.analyse(2, p, i, zero);
    HOLDS(k.factorize() == MPK_SINGULAR && k.inertia().zero == 1);
    HOLDS(k.solve(std::vector<double>{1, 1}).size() == 2 && k.last().solved == 1);
    k.solve(std::vector<double>{1, -1});
    HOLDS(k.status() == MPK_SINGULAR && k.last().solved == 0);

    metapack::Options options;
    HOLDS(thrown([&] { options.set("pivot_treshold", 0.1); }) == MPK_ERR_ARGUMENT);
    HOLDS(thrown([&] { options.set("pivot_threshold", 7); }) == MPK_ERR_ARGUMENT);
    options.set("pivot_threshold", 0.1).set("ordering", "amd");
    HOLDS(options.get()->pivot_threshold == 0.1 && options.get()->ordering == MPK_ORDERING_AMD);
}

static void general() {
    const double ax[] = {2, 1, 3, 4}; // [2 3; 1 4]
    const std::int64_t p[] = {0, 2, 4};
    const std::int32_t i[] = {0, 1, 0, 1};
    metapack::Solver<double> a;
    a.analyse(2, p, i, ax, MPK_GENERAL, MPK_FULL);
    a.factorize();
    const double b[] = {5, 5};
    double x[2];
    a.solve(1, b, 2, x, 2);
    HOLDS(std::fabs(x[0] - 1) < 1e-15 && std::fabs(x[1] - 1) < 1e-15);
    a.solve(MPK_TRANSPOSE, 1, b, 2, x, 2); // [2 1; 3 4]
    HOLDS(std::fabs(x[0] - 3) < 1e-14 && std::fabs(x[1] + 1) < 1e-14);
}

int main() {
    kkt<double>(1e-14);
    kkt<float>(1e-5);
    kkt<std::complex<double>>(1e-14);
    kkt<std::complex<float>>(1e-5);
    verdicts();
    general();
    std::printf("%s\n", failures ? "failed" : "ok");
    return failures != 0;
}
