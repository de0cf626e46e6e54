// SPDX-License-Identifier: BSD-3-Clause
/// deal.II with METAPACK in place of SparseDirectUMFPACK: Stokes's equations by Taylor-Hood elements in
/// a square with a moving lid. stokes [levels].
#include <deal.II/base/function.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/vector_tools.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <metapack/metapack.hpp>

using namespace dealii;

/// The lower triangle of a matrix of deal.II's, whose rows are not sorted, as columns of the upper one.
static metapack::Solver<double> factorize(const SparseMatrix<double> &A) {
    std::vector<std::int64_t> ap{0};
    std::vector<std::int32_t> ai;
    std::vector<double> ax;
    std::vector<std::pair<std::int32_t, double>> row;
    for (unsigned i = 0; i < A.m(); ++i) {
        row.clear();
        for (auto entry = A.begin(i); entry != A.end(i); ++entry)
            if (entry->column() <= i) row.emplace_back(entry->column(), entry->value());
        std::sort(row.begin(), row.end());
        for (const auto &entry : row) {
            ai.push_back(entry.first);
            ax.push_back(entry.second);
        }
        ap.push_back(static_cast<std::int64_t>(ai.size()));
    }
    metapack::Solver<double> solver;
    solver.analyse(A.m(), ap.data(), ai.data(), ax.data(), MPK_SYMMETRIC, MPK_UPPER);
    solver.factorize(ax.data());
    return solver;
}

class Lid : public Function<2> {
  public:
    Lid() : Function<2>(3) {}
    double value(const Point<2> &p, unsigned component) const override {
        return component == 0 && p[1] > 1 - 1e-10 ? 1 : 0;
    }
};

int main(int argc, char **argv) {
    Triangulation<2> mesh;
    GridGenerator::hyper_cube(mesh);
    mesh.refine_global(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 5);
    const FESystem<2> element(FE_Q<2>(2), 2, FE_Q<2>(1), 1);
    DoFHandler<2> dofs(mesh);
    dofs.distribute_dofs(element);

    AffineConstraints<double> fixed;
    const FEValuesExtractors::Vector velocity(0);
    const FEValuesExtractors::Scalar pressure(2);
    VectorTools::interpolate_boundary_values(dofs, 0, Lid(), fixed,
                                             element.component_mask(velocity));
    const IndexSet pressures = DoFTools::extract_dofs(dofs, element.component_mask(pressure));
    fixed.add_line(*pressures.begin()); // one pressure is zero
    fixed.close();

    DynamicSparsityPattern pattern(dofs.n_dofs());
    DoFTools::make_sparsity_pattern(dofs, pattern, fixed, false);
    SparsityPattern entries;
    entries.copy_from(pattern);
    SparseMatrix<double> A(entries);
    Vector<double> b(dofs.n_dofs()), r(dofs.n_dofs());
    const QGauss<2> points(3);
    FEValues<2> values(element, points, update_values | update_gradients | update_JxW_values);
    const unsigned n = element.n_dofs_per_cell();
    FullMatrix<double> local(n, n);
    Vector<double> right(n);
    std::vector<types::global_dof_index> numbers(n);
    for (const auto &cell : dofs.active_cell_iterators()) {
        values.reinit(cell);
        local = 0;
        for (const unsigned q : values.quadrature_point_indices())
            for (unsigned i = 0; i < n; ++i)
                for (unsigned j = 0; j < n; ++j)
                    local(i, j) +=
                        (scalar_product(values[velocity].gradient(i, q),
                                        values[velocity].gradient(j, q)) -
                         values[velocity].divergence(i, q) * values[pressure].value(j, q) -
                         values[pressure].value(i, q) * values[velocity].divergence(j, q)) *
                        values.JxW(q);
        cell->get_dof_indices(numbers);
        fixed.distribute_local_to_global(local, right, numbers, A, b);
    }

    double seconds[2] = {1e9, 1e9}, size[2] = {0, 0};
    for (int which = 0; which < 2; ++which)
        for (int time = 0; time < 3; ++time) {
            Vector<double> x(b);
            const std::clock_t begin = std::clock();
            if (which == 0) {
                SparseDirectUMFPACK umfpack;
                umfpack.initialize(A);
                umfpack.solve(x);
            } else {
                factorize(A).solve(1, x.begin(), x.size(), x.begin(), x.size());
            }
            seconds[which] = std::min(seconds[which],
                                      static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
            A.residual(r, x, b);
            if (!(r.l2_norm() <= 1e-10 * b.l2_norm())) return 1;
            fixed.distribute(x);
            size[which] = x.l2_norm();
        }
    std::printf(
        "{\"n\": %u, \"umfpack\": %.4f, \"metapack\": %.4f, \"value\": %.15g, \"beside\": %.15g}\n",
        static_cast<unsigned>(dofs.n_dofs()), seconds[0], seconds[1], size[1], size[0]);
    return std::abs(size[0] - size[1]) > 1e-8 * size[0];
}
