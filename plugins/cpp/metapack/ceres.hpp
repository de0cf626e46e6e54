// SPDX-License-Identifier: BSD-3-Clause
/// METAPACK for a ceres::Problem (Ceres 2.1 or later). With the Jacobian J of the residuals r, a step
/// of Levenberg and Marquardt solves
///     [ I    J  ] [ s ]   [ -r ]
///     [ J^T -D^2] [ d ] = [  0 ],
/// which is symmetric and indefinite, or (J^T J + D^2) d = -J^T r, which is smaller and squares the
/// condition (Bjorck 1996, Numerical Methods for Least Squares Problems, 2.7). The latter is corrected
/// once by the residual in J itself (ib., 2.9), and left for the former where the correction is not small.
/// Ceres chooses its linear solvers itself and takes none from outside; therefore minimize() is a trust
/// region of its own around Problem::Evaluate, with the rule for the radius that Ceres has (Nielsen 1999).
/// docs/guide/cpp.md; plugins/cpp/examples/ceres.cpp.
#ifndef METAPACK_CERES_HPP
#define METAPACK_CERES_HPP
#include <metapack/metapack.hpp>

#include <algorithm>
#include <ceres/crs_matrix.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <cmath>
#include <limits>

namespace metapack {

/// What a step is computed by: the normal equations while they are good enough, or never.
enum class Steps { automatic, augmented };

struct MinimizeOptions {
    Steps steps = Steps::automatic;
    int max_iterations = 50;
    double function_tolerance = 1e-6;  ///< |change of the cost| / cost
    double gradient_tolerance = 1e-10; ///< max |J^T r|
    double parameter_tolerance = 1e-8; ///< ||d|| / ||x||
    double initial_radius = 1e4;
    Options linear; ///< of the factorizations
};

struct MinimizeSummary {
    bool converged = false;
    int iterations = 0, factorizations = 0;
    int augmented = 0; ///< factorizations of [I J; J^T -D^2]; the others were of J^T J + D^2
    double initial_cost = 0, final_cost = 0; ///< half of the sum of squares, as Ceres has it
    double gradient = 0;                     ///< max |J^T r| at the end
    std::string message;
};

/// The Jacobian of a problem at its present parameters, and systems with it. Parameter blocks that
/// are constant have no columns; a manifold has as many as its tangent space.
class LeastSquares {
  public:
    explicit LeastSquares(ceres::Problem &problem, Options options = Options())
        : problem_(problem), solver_(options), normal_(definite(options)) {
        std::vector<double *> all;
        problem.GetParameterBlocks(&all);
        for (double *block : all) {
            if (problem.IsParameterBlockConstant(block)) continue;
            for (int k = 0; k < problem.ParameterBlockSize(block); ++k)
                if (problem.GetParameterLowerBound(block, k) >
                        -std::numeric_limits<double>::max() ||
                    problem.GetParameterUpperBound(block, k) < std::numeric_limits<double>::max())
                    throw Error(MPK_ERR_UNSUPPORTED, "metapack: the problem has bounds");
            what_.parameter_blocks.push_back(block);
        }
    }

    /// Residuals and Jacobian at the present parameters. Throws Error where Ceres cannot evaluate.
    void evaluate() {
        if (!problem_.Evaluate(what_, &cost_, &r_, nullptr, &j_) || !std::isfinite(cost_))
            throw Error(MPK_ERR_INPUT, "metapack: the residuals cannot be evaluated");
    }
    /// The cost alone; infinite where it cannot be had.
    double cost_there() const {
        double cost = 0;
        return problem_.Evaluate(what_, &cost, nullptr, nullptr, nullptr) && std::isfinite(cost)
                   ? cost
                   : std::numeric_limits<double>::infinity();
    }

    /// Factorize [I J; J^T -D^2], with the squares of D, one for each column of J.
    mpk_status factorize(const std::vector<double> &d2) {
        const int m = j_.num_rows, n = j_.num_cols;
        const bool same = solver_.analysed() && rows_ == j_.rows && cols_ == j_.cols;
        std::vector<std::int64_t> ap(
            1, 0);                    // the upper triangle by columns: J^T by columns is J by rows,
        std::vector<std::int32_t> ai; // so the order is n unknowns first, then m residuals
        std::vector<double> ax;
        ax.reserve(static_cast<std::size_t>(n + m) + j_.values.size());
        for (int k = 0; k < n; ++k) {
            ai.push_back(k);
            ax.push_back(-d2[static_cast<std::size_t>(k)]);
            ap.push_back(static_cast<std::int64_t>(ai.size()));
        }
        for (int i = 0; i < m; ++i) {
            for (int k = j_.rows[static_cast<std::size_t>(i)];
                 k < j_.rows[static_cast<std::size_t>(i) + 1]; ++k) {
                ai.push_back(j_.cols[static_cast<std::size_t>(k)]);
                ax.push_back(j_.values[static_cast<std::size_t>(k)]);
            }
            ai.push_back(n + i);
            ax.push_back(1);
            ap.push_back(static_cast<std::int64_t>(ai.size()));
        }
        if (!same) {
            solver_.analyse(n + m, ap.data(), ai.data(), ax.data(), MPK_SYMMETRIC, MPK_UPPER);
            rows_ = j_.rows;
            cols_ = j_.cols;
        }
        return solver_.factorize(ax.data());
    }
    /// The step d of the system that was factorized.
    std::vector<double> step() const {
        std::vector<double> b(static_cast<std::size_t>(j_.num_cols), 0.0);
        for (double r : r_) b.push_back(-r);
        b = solver_.solve(b);
        b.resize(static_cast<std::size_t>(j_.num_cols));
        return b;
    }

    /// Factorize J^T J + D^2. False: it has more entries than are worth it, or is not positive definite
    /// in rounding; then it has no step.
    bool factorize_normal(const std::vector<double> &d2) {
        if (rows_of_normal_ != j_.rows || cols_of_normal_ != j_.cols) form_normal();
        if (where_.empty()) return false;
        std::vector<double> h(static_cast<std::size_t>(normal_ap_.back()), 0.0);
        std::size_t at = 0;
        for (int i = 0; i < j_.num_rows; ++i)
            pairs(i, [&](std::size_t a, std::size_t b) {
                h[where_[at++]] += j_.values[a] * j_.values[b];
            });
        for (std::size_t c = 0; c < d2.size(); ++c) // the diagonal ends a column
            h[static_cast<std::size_t>(normal_ap_[c + 1]) - 1] += d2[c];
        try {
            if (!normal_.analysed())
                normal_.analyse(j_.num_cols, normal_ap_.data(), normal_ai_.data(), h.data(),
                                MPK_SYMMETRIC, MPK_UPPER);
            return normal_.factorize(h.data()) == MPK_OK &&
                   normal_.inertia().positive == j_.num_cols;
        } catch (const Error &e) {
            if (e.status() != MPK_ERR_INPUT) throw;
            return false; // a product that is not finite
        }
    }
    /// The step of that system, corrected once. False: the correction says that it is not to be relied on.
    bool step_normal(const std::vector<double> &d2, std::vector<double> &d) const {
        const auto solve = [&](std::vector<double> &x) {
            return !mpk_failed(mpk_solve_part(normal_.context(), normal_.factor(), MPK_PART_ALL, 1,
                                              x.data(), j_.num_cols));
        };
        d = gradient();
        for (double &v : d) v = -v;
        if (!solve(d)) return false;
        std::vector<double> s = times(d), correction(d.size());
        for (std::size_t i = 0; i < s.size(); ++i) s[i] += r_[i];
        for (std::size_t c = 0; c < d.size(); ++c) correction[c] = -d2[c] * d[c];
        each([&](std::size_t i, std::size_t j, double v) { correction[j] -= v * s[i]; });
        if (!solve(correction)) return false;
        double step = 0, change = 0;
        for (std::size_t c = 0; c < d.size(); ++c) {
            step += d[c] * d[c];
            change += correction[c] * correction[c];
            d[c] += correction[c];
        }
        return change <=
               1e-8 * step; // squares: 1e-4 of the step, of which the next would leave 1e-8
    }

    /// x := x (+) d, on the manifolds that there are.
    bool move(const std::vector<double> &d) const {
        std::size_t at = 0;
        for (double *block : what_.parameter_blocks) {
            const ceres::Manifold *manifold = problem_.GetManifold(block);
            const int size = problem_.ParameterBlockSize(block);
            if (manifold) {
                std::vector<double> moved(static_cast<std::size_t>(size));
                if (!manifold->Plus(block, d.data() + at, moved.data())) return false;
                std::copy(moved.begin(), moved.end(), block);
                at += static_cast<std::size_t>(manifold->TangentSize());
            } else
                for (int k = 0; k < size; ++k) block[k] += d[at++];
        }
        return true;
    }
    /// All parameters that vary, one after the other, and back.
    std::vector<double> parameters() const {
        std::vector<double> x;
        for (const double *block : what_.parameter_blocks)
            x.insert(x.end(), block, block + problem_.ParameterBlockSize(block));
        return x;
    }
    void restore(const std::vector<double> &x) const {
        auto at = x.begin();
        for (double *block : what_.parameter_blocks) {
            const int size = problem_.ParameterBlockSize(block);
            std::copy(at, at + size, block);
            at += size;
        }
    }

    double cost() const { return cost_; }
    const std::vector<double> &residuals() const { return r_; }
    const ceres::CRSMatrix &jacobian() const { return j_; }
    const std::vector<double *> &blocks() const { return what_.parameter_blocks; }
    Solver<double> &solver() { return solver_; }

    /// J^T r, and squares of the norms of J's columns; J d.
    std::vector<double> gradient(std::vector<double> *squares = nullptr) const {
        std::vector<double> g(static_cast<std::size_t>(j_.num_cols), 0.0);
        if (squares) squares->assign(g.size(), 0.0);
        each([&](std::size_t i, std::size_t j, double v) {
            g[j] += v * r_[i];
            if (squares) (*squares)[j] += v * v;
        });
        return g;
    }
    std::vector<double> times(const std::vector<double> &d) const {
        std::vector<double> y(static_cast<std::size_t>(j_.num_rows), 0.0);
        each([&](std::size_t i, std::size_t j, double v) { y[i] += v * d[j]; });
        return y;
    }

  private:
    template <class Do> void each(Do act) const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(j_.num_rows); ++i)
            for (auto k = static_cast<std::size_t>(j_.rows[i]);
                 k < static_cast<std::size_t>(j_.rows[i + 1]); ++k)
                act(i, static_cast<std::size_t>(j_.cols[k]), j_.values[k]);
    }
    /// Entries a, b of row i of J, b's column not behind a's.
    template <class Do> void pairs(int i, Do act) const {
        const auto begin = static_cast<std::size_t>(j_.rows[static_cast<std::size_t>(i)]),
                   end = static_cast<std::size_t>(j_.rows[static_cast<std::size_t>(i) + 1]);
        for (std::size_t a = begin; a < end; ++a)
            for (std::size_t b = begin; b < end; ++b)
                if (j_.cols[b] <= j_.cols[a]) act(a, b);
    }
    /// The pattern of J^T J, its upper triangle by columns, and where each product goes; nothing where it would
    /// have more than twice the entries of [I J; J^T -D^2].
    void form_normal() {
        const auto n = static_cast<std::size_t>(j_.num_cols);
        rows_of_normal_ = j_.rows;
        cols_of_normal_ = j_.cols;
        normal_.clear();
        normal_ap_.assign(1, 0);
        normal_ai_.clear();
        where_.clear();
        const std::size_t most = 2 * (j_.values.size() + n + static_cast<std::size_t>(j_.num_rows));
        std::size_t products = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(j_.num_rows); ++i) {
            const auto length = static_cast<std::size_t>(j_.rows[i + 1] - j_.rows[i]);
            products += length * (length + 1) / 2;
        }
        if (products > 8 * most) return;
        std::vector<std::vector<int>> rows(n); // of J, by columns
        each([&](std::size_t i, std::size_t j, double) { rows[j].push_back(static_cast<int>(i)); });
        std::vector<int> seen(n, -1);
        for (std::size_t c = 0; c < n; ++c) {
            const int column = static_cast<int>(c);
            seen[c] = column;
            for (int i : rows[c])
                for (int k = j_.rows[static_cast<std::size_t>(i)];
                     k < j_.rows[static_cast<std::size_t>(i) + 1]; ++k) {
                    const int r = j_.cols[static_cast<std::size_t>(k)];
                    if (r >= column || seen[static_cast<std::size_t>(r)] == column) continue;
                    seen[static_cast<std::size_t>(r)] = column;
                    normal_ai_.push_back(r);
                }
            std::sort(normal_ai_.begin() + static_cast<std::ptrdiff_t>(normal_ap_.back()),
                      normal_ai_.end());
            normal_ai_.push_back(column);
            normal_ap_.push_back(static_cast<std::int64_t>(normal_ai_.size()));
            if (normal_ai_.size() > most) return;
        }
        where_.reserve(products);
        for (int i = 0; i < j_.num_rows; ++i)
            pairs(i, [&](std::size_t a, std::size_t b) {
                const auto c = static_cast<std::size_t>(j_.cols[a]);
                const auto from = normal_ai_.begin() + static_cast<std::ptrdiff_t>(normal_ap_[c]);
                const auto to = normal_ai_.begin() + static_cast<std::ptrdiff_t>(normal_ap_[c + 1]);
                where_.push_back(static_cast<std::size_t>(std::lower_bound(from, to, j_.cols[b]) -
                                                          normal_ai_.begin()));
            });
    }
    static Options definite(Options options) {
        options.set("matching", "off"); // there is nothing to be paired
        return options;
    }
    ceres::Problem &problem_;
    ceres::Problem::EvaluateOptions what_;
    Solver<double> solver_, normal_;
    ceres::CRSMatrix j_;
    std::vector<int> rows_, cols_; // of the analysis
    std::vector<int> rows_of_normal_, cols_of_normal_;
    std::vector<std::int64_t> normal_ap_;
    std::vector<std::int32_t> normal_ai_;
    std::vector<std::size_t>
        where_; // a product of two entries of J is added, in the order of pairs()
    std::vector<double> r_;
    double cost_ = 0;
};

/// Minimise the problem from its present parameters, which become the solution. Loss functions and
/// manifolds are Ceres's; bounds are refused (Error).
inline MinimizeSummary minimize(ceres::Problem &problem,
                                const MinimizeOptions &options = MinimizeOptions()) {
    LeastSquares at(problem, options.linear);
    MinimizeSummary told;
    double radius = options.initial_radius, shrink = 2;
    bool normal = options.steps == Steps::automatic;
    std::vector<double> squares;
    at.evaluate();
    told.initial_cost = told.final_cost = at.cost();
    const auto norm = [](const std::vector<double> &x) {
        double s = 0;
        for (double v : x) s += v * v;
        return std::sqrt(s);
    };
    const auto ends = [&](bool converged, const char *why) {
        told.converged = converged;
        told.message = why;
        return told;
    };
    for (bool moved = true;; ++told.iterations) {
        if (moved) {
            told.gradient = 0;
            for (double g : at.gradient(&squares))
                told.gradient = std::max(told.gradient, std::fabs(g));
            if (told.gradient <= options.gradient_tolerance)
                return ends(true, "the gradient is small");
        }
        if (told.iterations >= options.max_iterations) return ends(false, "max_iterations");
        if (radius < 1e-32) return ends(false, "no step makes the cost smaller");
        std::vector<double> d2 = squares;
        for (double &v : d2) v = std::min(std::max(v, 1e-6), 1e32) / radius;
        std::vector<double> d;
        if (normal) {
            ++told.factorizations;
            normal = at.factorize_normal(d2) && at.step_normal(d2, d);
        }
        if (!normal) {
            at.factorize(d2);
            ++told.factorizations;
            ++told.augmented;
            d = at.step();
        }
        const std::vector<double> x = at.parameters();
        // |r|^2 / 2 - |r + J d|^2 / 2; with a loss function |r|^2 / 2 is not the cost
        const std::vector<double> change = at.times(d);
        double expected = 0;
        for (std::size_t i = 0; i < change.size(); ++i)
            expected -= change[i] * (at.residuals()[i] + 0.5 * change[i]);
        const double there = at.move(d) ? at.cost_there() : std::numeric_limits<double>::infinity();
        const double gain = (at.cost() - there) / expected;
        moved = expected > 0 && gain > 1e-3;
        const bool still =
            norm(d) <= options.parameter_tolerance * (norm(x) + options.parameter_tolerance);
        if (!moved) {
            at.restore(x);
            if (still) return ends(true, "the step is small");
            radius /= shrink;
            shrink *= 2;
            continue;
        }
        const double before = at.cost(), bend = 2 * gain - 1;
        radius = std::min(1e16, radius / std::max(1.0 / 3, 1 - bend * bend * bend));
        shrink = 2;
        at.evaluate();
        told.final_cost = at.cost();
        if (still || before - at.cost() <= options.function_tolerance * before) {
            ++told.iterations;
            return ends(true, still ? "the step is small" : "the cost changes little");
        }
    }
}

/// Variances of the parameters at the present ones: the diagonal of (J^T J)^-1, in the order of
/// LeastSquares::blocks(), from entries of the inverse of [I J; J^T 0]. Throws Error where J has
/// not full rank (MPK_SINGULAR).
inline std::vector<double> variances(ceres::Problem &problem, Options options = Options()) {
    LeastSquares at(problem, std::move(options));
    at.evaluate();
    const auto n = static_cast<std::size_t>(at.jacobian().num_cols);
    const mpk_status status = at.factorize(std::vector<double>(n, 0.0));
    if (status == MPK_SINGULAR) throw Error(status, "metapack: the Jacobian has not full rank");
    std::vector<double> d = at.solver().inverse_diagonal();
    d.resize(n);
    for (double &v : d) v = -v;
    return d;
}

} // namespace metapack
#endif
