// SPDX-License-Identifier: BSD-3-Clause
/// METAPACK as the sparse factorization of PIQP (0.6, 0.7): found before PIQP's own file of this name,
/// by -I plugins/piqp first, it takes its place in the KKT systems. docs/guide/optimisers.md.
#ifndef PIQP_SPARSE_LDLT_HPP
#define PIQP_SPARSE_LDLT_HPP
#include "piqp/fwd.hpp"
#include "piqp/typedefs.hpp"

#include <limits>
#include <metapack/metapack.hpp>

namespace piqp {
namespace sparse {

template <class T, class I> struct LDLt {
    LDLt() = default;
    LDLt(LDLt &&) = default;
    LDLt &operator=(LDLt &&) = default;
    /// A copy of a pattern: PIQP factorizes before it solves.
    LDLt(const LDLt &other) : ap_(other.ap_), ai_(other.ai_) {}

    /// The pattern of A's upper triangle; values that are there guide the scaling.
    void factorize_symbolic_upper_triangular(const SparseMat<T, I> &a) {
        ap_.assign(a.outerIndexPtr(), a.outerIndexPtr() + a.cols() + 1);
        ai_.assign(a.innerIndexPtr(), a.innerIndexPtr() + a.nonZeros());
        solver_.clear();
    }
    /// Returns the order, or less where it failed. A is quasi-definite: a zero pivot is a failure.
    isize factorize_numeric_upper_triangular(const SparseMat<T, I> &a) {
        try { // the first values are the first worth looking at: those of the symbolic call may be zero
            if (!solver_.analysed())
                solver_.analyse(a.cols(), ap_.data(), ai_.data(), a.valuePtr(), MPK_SYMMETRIC,
                                MPK_UPPER);
            return solver_.factorize(a.valuePtr()) == MPK_OK ? isize(a.cols()) : 0;
        } catch (const metapack::Error &) {
            return 0;
        }
    }
    void solve_inplace(Vec<T> &x) {
        try {
            solver_.solve(1, x.data(), x.size(), x.data(), x.size());
        } catch (const metapack::Error &) {
            x.setConstant(std::numeric_limits<T>::quiet_NaN());
        }
    }

  private:
    metapack::Solver<T> solver_{metapack::Options().set("threads", "1")};
    std::vector<std::int64_t> ap_;
    std::vector<std::int32_t> ai_;
};

} // namespace sparse
} // namespace piqp
#endif
