// SPDX-License-Identifier: BSD-3-Clause
/// METAPACK as a sparse solver of Eigen 3.3 or later: what SimplicialLDLT and SparseLU are, with
/// their functions (compute, analyzePattern, factorize, solve, info), for matrices that are
/// indefinite or not symmetric. C++14. docs/guide/cpp.md; plugins/cpp/examples/eigen.cpp.
#ifndef METAPACK_EIGEN_HPP
#define METAPACK_EIGEN_HPP
#include <metapack/metapack.hpp>

#include <Eigen/SparseCore>
#include <limits>

namespace metapack {

/// Common to both below. MatrixType: an Eigen::SparseMatrix, by columns or rows, compressed or not.
template <class Derived, class MatrixType_>
class EigenBase : public Eigen::SparseSolverBase<Derived> {
    typedef Eigen::SparseSolverBase<Derived> Base;

  protected:
    using Base::m_isInitialized;

  public:
    typedef MatrixType_ MatrixType;
    typedef typename MatrixType::Scalar Scalar;
    typedef typename MatrixType::RealScalar RealScalar;
    typedef typename MatrixType::StorageIndex StorageIndex;
    typedef Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> Dense;
    enum {
        ColsAtCompileTime = MatrixType::ColsAtCompileTime,
        MaxColsAtCompileTime = MatrixType::MaxColsAtCompileTime
    };

    Eigen::Index rows() const { return rows_; }
    Eigen::Index cols() const { return rows_; }

    /// Success; NumericalIssue: singular, or the last solution is not accurate (status() says
    /// which); InvalidInput: not square, not finite, or memory. Of the last call, solve() included.
    Eigen::ComputationInfo info() const {
        eigen_assert(m_isInitialized && "METAPACK: compute() comes first");
        return info_;
    }
    mpk_status status() const { return status_; }
    std::string message() const { return message_; }

    Derived &compute(const MatrixType &a) {
        analyzePattern(a);
        if (info_ == Eigen::Success) factorize(a);
        return this->derived();
    }
    /// The values of `a` guide matching and scaling; factorize() brings those that count.
    void analyzePattern(const MatrixType &a) {
        m_isInitialized = true;
        rows_ = a.rows();
        gather(a);
        tell([&] { return analyse(a); });
    }
    /// A pattern other than the analysed one is analysed anew.
    void factorize(const MatrixType &a) {
        eigen_assert(m_isInitialized && "METAPACK: analyzePattern() comes before factorize()");
        std::vector<std::int64_t> ap = std::move(ap_);
        std::vector<std::int32_t> ai = std::move(ai_);
        rows_ = a.rows();
        gather(a);
        tell([&] {
            if (a.rows() != a.cols() || !solver_.analysed() || ap != ap_ || ai != ai_) analyse(a);
            return solver_.factorize(ax_.data());
        });
    }

    /// The options, the inertia, the determinant, the handles: see metapack.hpp.
    Solver<Scalar> &solver() { return solver_; }
    const Solver<Scalar> &solver() const { return solver_; }
    mpk_inertia inertia() const { return solver_.inertia(); }
    double logAbsDeterminant() const { return solver_.log_determinant(); }
    Scalar signDeterminant() const {
        std::complex<double> sign;
        solver_.log_determinant(&sign);
        return as_scalar(sign, Scalar());
    }

    template <class Rhs, class Dest>
    void _solve_impl(const Eigen::MatrixBase<Rhs> &b, Eigen::MatrixBase<Dest> &x) const {
        Dense y = b;
        tell([&] {
            return solver_.solve(static_cast<std::int32_t>(y.cols()), y.data(), y.rows(), y.data(),
                                 y.rows());
        });
        if (mpk_failed(status_)) y.setConstant(std::numeric_limits<RealScalar>::quiet_NaN());
        x.derived() = y;
    }
    using Base::_solve_impl;

  protected:
    EigenBase(mpk_symmetry symmetry, mpk_triangle triangle)
        : symmetry_(symmetry), triangle_(triangle) {}

    /// Call; a failure becomes a status, as Eigen has no exceptions for it.
    template <class Call> void tell(Call call) const {
        try {
            set(call(), "");
        } catch (const Error &e) {
            set(e.status(), e.what());
        }
    }
    void set(mpk_status status, const std::string &text) const {
        status_ = status;
        message_ = text.empty() ? solver_.text() : text;
        info_ = status == MPK_OK                                   ? Eigen::Success
                : !mpk_failed(status) || status == MPK_ERR_NUMERIC ? Eigen::NumericalIssue
                                                                   : Eigen::InvalidInput;
    }

  private:
    mpk_status analyse(const MatrixType &a) {
        if (a.rows() != a.cols()) throw Error(MPK_ERR_ARGUMENT, "the matrix is not square");
        solver_.analyse(a.cols(), ap_.data(), ai_.data(), ax_.data(), symmetry_, triangle_);
        return MPK_OK;
    }
    /// The matrix by columns, with the widths of indices that the library has.
    void gather(const MatrixType &a) {
        gather_columns(a, std::integral_constant<bool, bool(MatrixType::IsRowMajor)>());
    }
    void gather_columns(const MatrixType &a, std::true_type) {
        gather_from(Eigen::SparseMatrix<Scalar, Eigen::ColMajor, StorageIndex>(a));
    }
    void gather_columns(const MatrixType &a, std::false_type) { gather_from(a); }
    template <class Columns> void gather_from(const Columns &a) {
        ap_.assign(1, 0);
        ai_.clear();
        ax_.clear();
        ai_.reserve(static_cast<std::size_t>(a.nonZeros()));
        ax_.reserve(static_cast<std::size_t>(a.nonZeros()));
        for (Eigen::Index j = 0; j < a.outerSize(); ++j) {
            for (typename Columns::InnerIterator it(a, j); it; ++it) {
                ai_.push_back(static_cast<std::int32_t>(it.index()));
                ax_.push_back(it.value());
            }
            ap_.push_back(static_cast<std::int64_t>(ai_.size()));
        }
        if (ax_.empty()) { // arrays of size 0 need an address
            ai_.reserve(1);
            ax_.reserve(1);
        }
    }
    template <class R> static R as_scalar(const std::complex<double> &s, R) {
        return static_cast<R>(s.real());
    }
    template <class R>
    static std::complex<R> as_scalar(const std::complex<double> &s, std::complex<R>) {
        return std::complex<R>(s);
    }

  protected:
    Solver<Scalar> solver_;

  private:
    Eigen::Index rows_ = 0;
    mpk_symmetry symmetry_;
    mpk_triangle triangle_;
    std::vector<std::int64_t> ap_;
    std::vector<std::int32_t> ai_;
    std::vector<Scalar> ax_;
    mutable Eigen::ComputationInfo info_ = Eigen::Success;
    mutable mpk_status status_ = MPK_OK;
    mutable std::string message_;
};

/// L D L^H of a symmetric or Hermitian matrix, definite or not. UpLo: the triangle that is read,
/// Eigen::Lower or Eigen::Upper; Eigen::Lower | Eigen::Upper: both, which are checked to agree.
/// Symmetry: MPK_SYMMETRIC for complex matrices with A = A^T.
template <class MatrixType, int UpLo = Eigen::Lower,
          mpk_symmetry Symmetry = Eigen::NumTraits<typename MatrixType::Scalar>::IsComplex
                                      ? MPK_HERMITIAN
                                      : MPK_SYMMETRIC>
class LDLT : public EigenBase<LDLT<MatrixType, UpLo, Symmetry>, MatrixType> {
    typedef EigenBase<LDLT, MatrixType> Base;

  public:
    LDLT()
        : Base(Symmetry, UpLo == Eigen::Lower   ? MPK_LOWER
                         : UpLo == Eigen::Upper ? MPK_UPPER
                                                : MPK_FULL) {}
    explicit LDLT(const MatrixType &a) : LDLT() { this->compute(a); }
    /// The diagonal of the inverse: variances, where A is a precision matrix.
    Eigen::Matrix<typename MatrixType::Scalar, Eigen::Dynamic, 1> inverseDiagonal() const {
        const auto d = this->solver_.inverse_diagonal();
        return Eigen::Map<const Eigen::Matrix<typename MatrixType::Scalar, Eigen::Dynamic, 1>>(
            d.data(), static_cast<Eigen::Index>(d.size()));
    }
};

/// L U of a square matrix that need not be symmetric.
template <class MatrixType> class LU : public EigenBase<LU<MatrixType>, MatrixType> {
    typedef EigenBase<LU, MatrixType> Base;

  public:
    LU() : Base(MPK_GENERAL, MPK_FULL) {}
    explicit LU(const MatrixType &a) : LU() { this->compute(a); }
    /// A^T X = B, by the same factor.
    template <class Rhs>
    typename Base::Dense solveTransposed(const Eigen::MatrixBase<Rhs> &b) const {
        eigen_assert(b.rows() == this->rows());
        typename Base::Dense x = b;
        this->tell([&] {
            return this->solver_.solve(MPK_TRANSPOSE, static_cast<std::int32_t>(x.cols()), x.data(),
                                       x.rows(), x.data(), x.rows());
        });
        typedef typename MatrixType::RealScalar Real;
        if (mpk_failed(this->status())) x.setConstant(std::numeric_limits<Real>::quiet_NaN());
        return x;
    }
};

} // namespace metapack
#endif
