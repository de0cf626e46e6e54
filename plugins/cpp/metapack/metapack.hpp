// SPDX-License-Identifier: BSD-3-Clause
/// METAPACK in C++14: one class that owns what the C functions make, and throws where they fail.
/// Nothing is compiled for it: it stands in headers, over the C library. docs/guide/cpp.md;
/// examples: plugins/cpp/examples. For Eigen's matrices metapack/eigen.hpp, for Ceres's problems
/// metapack/ceres.hpp.
#ifndef METAPACK_METAPACK_HPP
#define METAPACK_METAPACK_HPP
#include <metapack/metapack.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace metapack {

/// What a failed call said. Positive statuses (singular, inaccurate, ...) are results, not failures.
class Error : public std::runtime_error {
  public:
    Error(mpk_status status, const std::string &text)
        : std::runtime_error(text.empty() ? mpk_status_text(status) : text), status_(status) {}
    mpk_status status() const noexcept { return status_; }

  private:
    mpk_status status_;
};

namespace detail {
template <class T> struct scalar;
template <> struct scalar<float> { static constexpr mpk_scalar value = MPK_S; };
template <> struct scalar<double> { static constexpr mpk_scalar value = MPK_D; };
template <> struct scalar<std::complex<float>> { static constexpr mpk_scalar value = MPK_C; };
template <> struct scalar<std::complex<double>> { static constexpr mpk_scalar value = MPK_Z; };
template <class T, void (*destroy)(T **)> struct destroyer {
    void operator()(T *object) const noexcept { destroy(&object); }
};
template <class T, void (*destroy)(T **)> using handle = std::unique_ptr<T, destroyer<T, destroy>>;
} // namespace detail

/// The options by their names in docs/reference/options.md: Options().set("threads", "4").
class Options {
  public:
    Options() { mpk_options_init(&options_); }
    /// Throws Error: no such option, no such value.
    Options &set(const std::string &key, const std::string &value) {
        const mpk_status status = mpk_options_set(nullptr, &options_, key.c_str(), value.c_str());
        if (mpk_failed(status))
            throw Error(status, "metapack: no option " + key + " = " + value +
                                    " (docs/reference/options.md)");
        return *this;
    }
    Options &set(const std::string &key, double value) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", value);
        for (char *c = text; *c; ++c)
            if (*c == ',') *c = '.'; // of the program's locale
        return set(key, std::string(text));
    }
    const mpk_options *get() const noexcept { return &options_; }
    mpk_options *get() noexcept { return &options_; }

  private:
    mpk_options options_;
};

/// A matrix, its analysis and its factor. T is float, double or a std::complex of them. It may be
/// moved, not copied, and serves one thread at a time; several serve several.
template <class T> class Solver {
  public:
    explicit Solver(Options options = Options()) : options_(std::move(options)) {
        mpk_context *made = nullptr;
        const mpk_status status = mpk_context_create(nullptr, &made);
        if (mpk_failed(status)) {
            const char *text = nullptr;
            mpk_last_error(nullptr, nullptr, nullptr, &text);
            throw Error(status, text ? text : "");
        }
        context_.reset(made);
    }
    Solver(Solver &&) = default;
    /// What this one had goes first, while its context is there.
    Solver &operator=(Solver &&other) noexcept {
        if (this == &other) return *this;
        clear();
        options_ = other.options_;
        context_ = std::move(other.context_);
        problem_ = std::move(other.problem_);
        analysis_ = std::move(other.analysis_);
        factor_ = std::move(other.factor_);
        n_ = other.n_;
        status_ = other.status_;
        last_ = other.last_;
        return *this;
    }

    /// Look at a pattern, once. By columns, from 0: rows ai[ap[j]] .. of column j; arrays are copied.
    /// ax: values, which guide matching and scaling, and are those of a factorize() without any.
    /// The analysis and the factor from before are gone. Throws Error.
    void analyse(std::int64_t n, const std::int64_t *ap, const std::int32_t *ai, const T *ax,
                 mpk_symmetry symmetry = MPK_SYMMETRIC, mpk_triangle triangle = MPK_LOWER) {
        clear();
        mpk_problem *problem = nullptr;
        check(mpk_problem_from_csc(context_.get(), n, detail::scalar<T>::value, symmetry, triangle,
                                   ap, ai, ax, &problem));
        problem_.reset(problem);
        mpk_analysis *analysis = nullptr;
        check(mpk_analyse(context_.get(), problem, options_.get(), &analysis));
        analysis_.reset(analysis);
        n_ = static_cast<std::int32_t>(n);
    }

    /// Factorize values, in the order of analyse(); nullptr: those that it was given. The second
    /// time in the memory of the first. Afterwards status(): MPK_OK, MPK_SINGULAR, MPK_PERTURBED.
    mpk_status factorize(const T *ax = nullptr) {
        require(analysis_ != nullptr, "analyse() comes before factorize()");
        mpk_factor *factor = factor_.release();
        const mpk_status status =
            mpk_factorize(context_.get(), analysis_.get(), ax, options_.get(), &factor);
        factor_.reset(factor);
        return check(status);
    }

    /// Solve A X = B, refined; X and B are n x nrhs by columns, and may be the same array.
    /// Returns MPK_OK, or what is wrong with the answer; last() has its errors. Throws Error.
    mpk_status solve(std::int32_t nrhs, const T *b, std::int64_t ldb, T *x,
                     std::int64_t ldx) const {
        require(factor_ != nullptr, "factorize() comes before solve()");
        return check(
            mpk_solve(context_.get(), factor_.get(), nrhs, b, ldb, x, ldx, options_.get(), &last_));
    }
    /// The same with a transpose of A.
    mpk_status solve(mpk_transpose transpose, std::int32_t nrhs, const T *b, std::int64_t ldb, T *x,
                     std::int64_t ldx) const {
        require(factor_ != nullptr, "factorize() comes before solve()");
        return check(mpk_solve_transposed(context_.get(), factor_.get(), transpose, nrhs, b, ldb, x,
                                          ldx, options_.get(), &last_));
    }
    /// One right-hand side, of size n.
    std::vector<T> solve(const std::vector<T> &b) const {
        require(b.size() == static_cast<std::size_t>(n_), "b has another length than A has rows");
        std::vector<T> x(b.size());
        solve(1, b.data(), n_, x.data(), n_);
        return x;
    }

    /// Eigenvalues of each sign; with certify(): is that sure?
    mpk_inertia inertia() const { return info().inertia; }
    bool certify() const {
        require(factor_ != nullptr, "factorize() comes before certify()");
        mpk_certificate found = {};
        check(mpk_certify(context_.get(), factor_.get(), &found));
        return found.certified != 0;
    }
    /// log|det A|, and the sign of det A (a phase, of complex T) in sign.
    double log_determinant(std::complex<double> *sign = nullptr) const {
        double found[3] = {0, 1, 0};
        require(factor_ != nullptr, "factorize() comes before log_determinant()");
        check(mpk_get(context_.get(), factor_.get(), MPK_GET_LOGDET, found, sizeof found));
        if (sign) *sign = std::complex<double>(found[1], found[2]);
        return found[0];
    }
    /// The diagonal of the inverse.
    std::vector<T> inverse_diagonal() const {
        require(factor_ != nullptr, "factorize() comes before inverse_diagonal()");
        std::vector<T> d(static_cast<std::size_t>(n_));
        check(mpk_selected_inverse(context_.get(), factor_.get(), MPK_SELECT_DIAGONAL, d.data(),
                                   d.size() * sizeof(T), options_.get(), nullptr));
        return d;
    }
    /// What the factorization did; what the last solve did; the status of the last call, and its text.
    mpk_factor_info info() const {
        mpk_factor_info found = {};
        mpk_factor_info_get(factor_.get(), &found);
        return found;
    }
    const mpk_solve_info &last() const noexcept { return last_; }
    mpk_status status() const noexcept { return status_; }
    std::string text() const {
        const char *text = nullptr;
        mpk_last_error(context_.get(), nullptr, nullptr, &text);
        return text ? text : "";
    }

    std::int32_t size() const noexcept { return n_; }
    bool analysed() const noexcept { return analysis_ != nullptr; }
    bool factorized() const noexcept { return factor_ != nullptr; }
    Options &options() noexcept { return options_; }
    /// The C handles, for what has no method here.
    mpk_context *context() const noexcept { return context_.get(); }
    const mpk_problem *problem() const noexcept { return problem_.get(); }
    const mpk_analysis *analysis() const noexcept { return analysis_.get(); }
    const mpk_factor *factor() const noexcept { return factor_.get(); }

    void clear() noexcept {
        factor_.reset();
        analysis_.reset();
        problem_.reset();
        n_ = 0;
    }

  private:
    mpk_status check(mpk_status status) const {
        status_ = status;
        if (mpk_failed(status)) throw Error(status, text());
        return status;
    }
    static void require(bool holds, const char *text) {
        if (!holds) throw Error(MPK_ERR_ARGUMENT, text);
    }

    // destroyed from the last to the first: the context outlives what it made
    Options options_;
    detail::handle<mpk_context, mpk_context_destroy> context_;
    detail::handle<mpk_problem, mpk_problem_destroy> problem_;
    detail::handle<mpk_analysis, mpk_analysis_destroy> analysis_;
    detail::handle<mpk_factor, mpk_factor_destroy> factor_;
    std::int32_t n_ = 0;
    mutable mpk_status status_ = MPK_OK;
    mutable mpk_solve_info last_ = {};
};

} // namespace metapack
#endif
