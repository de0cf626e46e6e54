// SPDX-License-Identifier: BSD-3-Clause
/// Minimise 2 x^2 + 1.5 y^2 + z^2 with x + y + z = 6 and y - z = -1.
///     c++ solve.cpp -o solve $(pkg-config --cflags --libs metapack) && ./solve
#include <cstdio>
#include <metapack/metapack.hpp>

int main() {
    const std::vector<std::int64_t> ap{0, 2, 5,
                                       8, 8, 8}; // [H A^T; A 0]: its lower triangle by columns
    const std::vector<std::int32_t> ai{0, 3, 1, 3, 4, 2, 3, 4};
    const std::vector<double> ax{4, 1, 3, 1, 1, 2, 1, -1};
    try {
        metapack::Solver<double> k;
        k.analyse(5, ap.data(), ai.data(), ax.data());
        k.factorize();
        const std::vector<double> x = k.solve({0, 0, 0, 6, -1});
        const mpk_inertia inertia = k.inertia();
        std::printf("%.4f %.4f %.4f, inertia %d+ %d-\n", x[0], x[1], x[2],
                    static_cast<int>(inertia.positive), static_cast<int>(inertia.negative));
        return k.status() != MPK_OK || inertia.negative != 2; // a minimum: two constraints
    } catch (const metapack::Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
