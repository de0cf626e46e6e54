/* SPDX-License-Identifier: BSD-3-Clause */
/* symildl CASE FILL TOLERANCE ITERATIONS: SYM-ILDL (Greif, He & Liu 2017; github.com/inutard/matrix-factor, whose folder
 * is the include path) on A x = A 1: rook pivoting, AMD, equilibration, its default drop tolerance, SQMR. CASE: as in
 * cuda/cases.h. What it says, with its seconds, then a line of JSON of ours: the relative residual, computed anew, of the
 * solution that it returns, which is not the one it tells; and the entries of its factor. */
#include "cuda/cases.h"

#include <cmath>
#include <source/solver.h>
#include <vector>

int main(int argc, char **argv) {
    mpk_context *ctx = nullptr;
    mpk_problem *problem = nullptr;
    mpk_problem_view a;
    mpk_options o;
    if (argc != 5) {
        std::fprintf(stderr, "usage: symildl CASE FILL TOLERANCE ITERATIONS\n");
        return 2;
    }
    if (mpk_failed(mpk_context_create(nullptr, &ctx)) ||
        mpk_failed(case_parse(ctx, argv[1], &problem, &o)))
        return 1;
    mpk_problem_view_get(problem, &a);
    if (a.scalar != MPK_D) return 1;
    const double *ax = static_cast<const double *>(a.ax);
    std::vector<double> x(a.n, 1.0), b(a.n), r(a.n);
    if (mpk_failed(mpk_problem_multiply(ctx, problem, 1, x.data(), a.n, b.data(), a.n))) return 1;
    std::vector<int> ptr(a.ap, a.ap + a.n + 1), row(a.ai, a.ai + a.nnz);
    std::vector<double> val(ax, ax + a.nnz);
    symildl::solver<double> s;
    s.save_sol = false; /* it has no beginning there */
    s.load(ptr, row, val);
    s.set_rhs(b);
    s.solve(std::atof(argv[2]), 1e-3, 1.0, std::atoi(argv[4]), std::atof(argv[3]));
    if (mpk_failed(mpk_problem_multiply(ctx, problem, 1, s.sol_vec.data(), a.n, r.data(), a.n)))
        return 1;
    double top = 0, bottom = 0;
    for (int32_t i = 0; i < a.n; ++i) top += (b[i] - r[i]) * (b[i] - r[i]), bottom += b[i] * b[i];
    const double residual = std::sqrt(top / bottom);
    std::printf("{\"case\": \"%s\", \"fill\": %s, \"relative_residual\": %.3g, \"entries\": %d}\n",
                argv[1], argv[2], std::isfinite(residual) ? residual : 1e300, (int)s.L.nnz());
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return 0;
}
