// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_CUDA_PUBLISHED_H
#define BENCH_CUDA_PUBLISHED_H
// Two matrices of Anzt, Chow, Huckle & Dongarra 2016, Table I, as far as rows, entries and the collection's notes tell them; what
// is not told is an argument. With a unit diagonal.
//   ecology2: "a 2D, 1000-by-1000 mesh (5 pt stencil)" (its notes); ecology1, the whole mesh, has 4 996 000 entries, ecology2
//     one row and nine entries less, so a node inside is held. Conductances: not told, here all 1.
//   parabolic_fem: "parabolic FEM, constant homogenous diffusion". 525 825 = 1025 x 513, and a rectangle of so many points, its
//     cells cut in two, gives its 3 674 625 entries exactly. Cells: here squares. The weight of diffusion beside the mass matrix: not told.
#include "siblings.h"

// Node `hole` is not among the unknowns.
inline csr grounded_mesh(int side, int32_t hole) {
    const int32_t n = side * side;
    assembly sum(n - 1);
    auto row = [&](int32_t i) { return i - (i > hole); };
    for (int32_t i = 0; i < n; ++i)
        for (int32_t j : {i % side + 1 < side ? i + 1 : -1, i + side < n ? i + side : -1}) {
            if (j < 0) continue;
            if (i != hole) sum.add(row(i), row(i), 1);
            if (j != hole) sum.add(row(j), row(j), 1);
            if (i != hole && j != hole) sum.add(row(i), row(j), -1), sum.add(row(j), row(i), -1);
        }
    return sum.finish(by_lines(n - 1));
}

// Mass matrix of linear elements + weight x Laplace's, for square cells with sides 1.
inline csr parabolic(int nx, int ny, double weight) {
    assembly sum(nx * ny);
    for (int y = 0; y + 1 < ny; ++y)
        for (int x = 0; x + 1 < nx; ++x)
            for (int half = 0; half < 2; ++half) {
                const int32_t a = y * nx + x, b = a + 1, c = a + nx, d = c + 1;
                // the corner with the right angle first
                const int32_t node[3] = {half ? d : a, half ? c : b, half ? b : c};
                for (int i = 0; i < 3; ++i)
                    for (int j = 0; j < 3; ++j) {
                        const double mass = (i == j ? 2 : 1) / 24.0;
                        const double k = i == j ? (i == 0 ? 1 : 0.5) : i && j ? 0 : -0.5;
                        sum.add(node[i], node[j], mass + weight * k);
                    }
            }
    return sum.finish(by_lines(nx * ny));
}
#endif
