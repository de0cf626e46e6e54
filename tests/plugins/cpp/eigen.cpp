// SPDX-License-Identifier: BSD-3-Clause
/// metapack/eigen.hpp: every layout of a matrix, every kind, and what goes wrong.
#include <Eigen/Dense>
#include <cstdio>
#include <metapack/eigen.hpp>

static int failures;
#define HOLDS(what)                                                                                \
    do                                                                                             \
        if (!(what)) {                                                                             \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                 \
            ++failures;                                                                            \
        }                                                                                          \
    while (0)

/// Random entries with a weak diagonal; hermitian: equal to its adjoint, else to its transpose.
template <class T>
static Eigen::Matrix<T, -1, -1> random_matrix(int n, bool symmetric, bool hermitian) {
    Eigen::Matrix<T, -1, -1> a = Eigen::Matrix<T, -1, -1>::Random(n, n);
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
            if ((i + j) % 23 != 0 && std::abs(i - j) > 1) a(i, j) = T(0);
    if (symmetric && hermitian) a = (a + a.adjoint()).eval();
    if (symmetric && !hermitian) a = (a + a.transpose()).eval();
    return a;
}

template <class Solver, class Matrix, class Dense>
static void solves(const Matrix &given, const Dense &a, double tolerance) {
    typedef typename Matrix::Scalar T;
    const Eigen::Matrix<T, -1, -1> b = Eigen::Matrix<T, -1, -1>::Random(a.rows(), 3);
    Solver s;
    s.compute(given);
    HOLDS(s.info() == Eigen::Success && s.rows() == a.rows());
    const Eigen::Matrix<T, -1, -1> x = s.solve(b);
    HOLDS(s.info() == Eigen::Success);
    HOLDS((a * x - b).norm() < tolerance * (a.norm() * x.norm() + b.norm()));
    const Eigen::Matrix<T, -1, 1> one = s.solve(b.col(1)); // a block of another matrix
    HOLDS((one - x.col(1)).norm() <= tolerance * x.norm() * 100);
    const Eigen::Matrix<T, -1, -1, Eigen::RowMajor> rows = s.solve(b); // into rows
    HOLDS((rows - x).norm() <= tolerance * x.norm());
    const Eigen::SparseMatrix<T> sparse = b.sparseView();
    const Eigen::SparseMatrix<T> y = s.solve(sparse);
    HOLDS((Eigen::Matrix<T, -1, -1>(y) - x).norm() <= tolerance * x.norm() * 100);
    const T det = a.determinant();
    HOLDS(std::abs(s.signDeterminant() * T(std::exp(s.logAbsDeterminant())) - det) <
          100 * tolerance * std::abs(det));
}

template <class T> static void scalar(double tolerance) {
    const bool complex = Eigen::NumTraits<T>::IsComplex;
    const Eigen::Matrix<T, -1, -1> a = random_matrix<T>(24, true, true),
                                   g = random_matrix<T>(24, false, false);
    typedef Eigen::SparseMatrix<T> Columns;
    typedef Eigen::SparseMatrix<T, Eigen::RowMajor, std::int64_t> Rows;
    const Columns c = a.sparseView();
    const Rows r(c);
    solves<metapack::LDLT<Columns>>(c, a, tolerance);
    solves<metapack::LDLT<Columns, Eigen::Lower | Eigen::Upper>>(c, a, tolerance);
    solves<metapack::LDLT<Rows, Eigen::Upper>>(Rows(r.template triangularView<Eigen::Upper>()), a,
                                               tolerance);
    Columns loose = c; // not compressed
    loose.uncompress();
    loose.reserve(Eigen::VectorXi::Constant(24, 9));
    solves<metapack::LDLT<Columns>>(loose, a, tolerance);
    solves<metapack::LU<Columns>>(Columns(g.sparseView()), g, tolerance);
    solves<metapack::LU<Rows>>(Rows(g.sparseView()), g, tolerance);
    if (complex) {
        const Eigen::Matrix<T, -1, -1> s = random_matrix<T>(24, true, false);
        solves<metapack::LDLT<Columns, Eigen::Lower, MPK_SYMMETRIC>>(Columns(s.sparseView()), s,
                                                                     tolerance);
    }
    metapack::LU<Columns> lu{Columns(g.sparseView())};
    const Eigen::Matrix<T, -1, 1> b = Eigen::Matrix<T, -1, 1>::Random(24);
    HOLDS((g.transpose() * lu.solveTransposed(b) - b).norm() <
          100 * tolerance * b.norm() * g.norm());
    metapack::LDLT<Columns> ldlt(c);
    const Eigen::Matrix<T, -1, -1> inverse = a.inverse();
    HOLDS((ldlt.inverseDiagonal() - inverse.diagonal()).norm() < 1e3 * tolerance * inverse.norm());
}

static void verdicts() {
    typedef Eigen::SparseMatrix<double> Matrix;
    Matrix a(3, 3), other(3, 3), singular(2, 2), wide(2, 3), empty;
    a.insert(0, 0) = 1;
    a.insert(1, 1) = -1;
    a.insert(2, 2) = 2;
    other = a;
    other.insert(2, 0) = 1;
    singular.insert(0, 0) = 1;
    singular.insert(1, 0) = 1;
    singular.insert(1, 1) = 1;
    metapack::LDLT<Matrix> s;
    s.compute(wide);
    HOLDS(s.info() == Eigen::InvalidInput && s.message().find("square") != std::string::npos);
    s.analyzePattern(a);
    s.factorize(other); // another pattern: right all the same
    HOLDS(s.info() == Eigen::Success);
    HOLDS((other.selfadjointView<Eigen::Lower>() * s.solve(Eigen::Vector3d(1, 2, 3)) -
           Eigen::Vector3d(1, 2, 3))
              .norm() < 1e-14);
    a.coeffRef(1, 1) = std::numeric_limits<double>::infinity();
    s.compute(a);
    HOLDS(s.info() == Eigen::InvalidInput && !s.message().empty());
    const Eigen::VectorXd x = s.solve(Eigen::VectorXd::Ones(3)); // no factor: no number to mistake
    HOLDS(s.info() == Eigen::InvalidInput && x.array().isNaN().all());
    s.compute(singular);
    HOLDS(s.info() == Eigen::NumericalIssue && s.status() == MPK_SINGULAR && s.inertia().zero == 1);
    HOLDS((singular.selfadjointView<Eigen::Lower>() * s.solve(Eigen::Vector2d(1, 1)) -
           Eigen::Vector2d(1, 1))
              .norm() < 1e-14);
    s.compute(empty);
    HOLDS(s.info() == Eigen::Success && s.rows() == 0);
    s.solver().options().set("pivot_threshold", 0.5); // before compute()
    s.compute(other);
    HOLDS(s.info() == Eigen::Success);
}

int main() {
    scalar<double>(1e-13);
    scalar<std::complex<double>>(1e-13);
    const Eigen::MatrixXf a = random_matrix<float>(24, true, true);
    const Eigen::SparseMatrix<float> c = a.sparseView();
    solves<metapack::LDLT<Eigen::SparseMatrix<float>>>(c, a, 1e-5);
    verdicts();
    std::printf("%s\n", failures ? "failed" : "ok");
    return failures != 0;
}
