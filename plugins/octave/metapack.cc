// SPDX-License-Identifier: BSD-3-Clause
/// METAPACK in Octave: F = metapack (A), then x = F \ b. Octave needs no other file than this:
///     mkoctfile metapack.cc $(pkg-config --cflags --libs metapack)
/// docs/guide/octave.md; examples/saddle.m.
#include <metapack/metapack.h>
#include <octave/oct.h>
#include <octave/interpreter.h>
#include <octave/ov-base.h>
#include <octave/ov-complex.h>
#include <octave/ov-cx-mat.h>
#include <octave/ov-cx-sparse.h>
#include <octave/ov-re-mat.h>
#include <octave/ov-re-sparse.h>
#include <octave/ov-scalar.h>
#include <octave/ov-typeinfo.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

/// What an analysis serves: a pattern, with the context of all that is made of it.
struct pattern {
    mpk_context *ctx = nullptr;
    mpk_problem *problem = nullptr;
    mpk_analysis *an = nullptr;
    mpk_options options;
    bool is_complex = false;
    octave_idx_type n = 0;
    std::vector<std::int64_t> ap;
    std::vector<std::int32_t> ai;

    pattern() {
        mpk_options_init(&options);
        check(mpk_context_create(nullptr, &ctx));
    }
    pattern(const pattern &) = delete;
    ~pattern() {
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    std::string text(mpk_status status) const {
        const char *said = nullptr;
        mpk_last_error(ctx, nullptr, nullptr, &said);
        return said && *said ? said : mpk_status_text(status);
    }
    /// An error of Octave's where a call failed, a warning where its result has a remark.
    mpk_status check(mpk_status status) const {
        if (mpk_failed(status))
            error_with_id("metapack:failed", "metapack: %s", text(status).c_str());
        if (status != MPK_OK) {
            const std::string name = std::string("metapack:") + mpk_status_name(status);
            warning_with_id(name.c_str(), "metapack: %s", text(status).c_str());
        }
        return status;
    }
};

/// A factor; Octave's values share it, and it shares its pattern.
struct factored {
    std::shared_ptr<pattern> of;
    mpk_factor *fac = nullptr;
    mpk_status status = MPK_OK;
    mpk_solve_info last = {};
    explicit factored(std::shared_ptr<pattern> p) : of(std::move(p)) {}
    factored(const factored &) = delete;
    ~factored() { mpk_factor_destroy(&fac); }
};

/// A's pattern in the library's widths.
template <class Sparse>
static void indices(const Sparse &a, std::vector<std::int64_t> &ap, std::vector<std::int32_t> &ai) {
    if (a.rows() != a.cols()) error("metapack: A is not square");
    if (a.rows() > 2147483647) error("metapack: A has more than 2147483647 rows");
    ap.assign(a.cidx(), a.cidx() + a.cols() + 1);
    ai.assign(a.ridx(), a.ridx() + a.nnz());
    ai.reserve(1);
}

static octave_value factorize(const std::shared_ptr<pattern> &of, const octave_value &a,
                              const std::string &word);

class octave_metapack : public octave_base_value {
  public:
    octave_metapack() = default;
    explicit octave_metapack(std::shared_ptr<factored> f, std::string method = "")
        : f_(std::move(f)), method_(std::move(method)) {}
    octave_base_value *clone() const override { return new octave_metapack(*this); }
    octave_base_value *empty_clone() const override { return new octave_metapack(); }
    bool is_defined() const override { return true; }
    bool is_constant() const override { return true; }
    dim_vector dims() const override {
        const octave_idx_type n = f_ ? f_->of->n : 0;
        return dim_vector(n, n);
    }
    bool print_as_scalar() const override { return true; }
    void print(std::ostream &os, bool) override { print_raw(os); }
    void print_raw(std::ostream &os, bool = false) const override {
        os << "<metapack factor of " << dims().str() << ": "
           << mpk_status_name(f_ ? f_->status : MPK_OK) << ">\n";
    }

    /// X with A X = B, or with a transpose of A: "T", "H".
    octave_value solve(const octave_value &b, const std::string &transposed = "N") const {
        const pattern &p = *f_->of;
        if (b.rows() != p.n) error("metapack: A has %ld rows, b %ld", long(p.n), long(b.rows()));
        if (b.columns() > 2147483647) error("metapack: b has more than 2147483647 columns");
        if (!p.is_complex && b.iscomplex()) // of a real A: both parts
            return octave_value(ComplexMatrix(by(real(b.complex_matrix_value()), transposed),
                                              by(imag(b.complex_matrix_value()), transposed)));
        return p.is_complex ? octave_value(by(b.complex_matrix_value(), transposed))
                            : octave_value(by(b.matrix_value(), transposed));
    }

    octave_value_list subsref(const std::string &type, const std::list<octave_value_list> &idx,
                              int) override {
        return octave_value_list(subsref(type, idx));
    }
    octave_value subsref(const std::string &type,
                         const std::list<octave_value_list> &idx) override {
        const octave_value_list &first = idx.front();
        octave_value found;
        if (type[0] == '(' && method_ == "solve" && (first.length() == 1 || first.length() == 2))
            found = solve(first(0), first.length() == 2 ? first(1).string_value() : "N");
        else if (type[0] == '(' && method_ == "refactor" && first.length() == 1)
            found = factorize(f_->of, first(0), "");
        else if (type[0] != '.' || !method_.empty())
            error("metapack: a factor has no elements; F \\ b, F.solve (b, \"T\"), F.refactor (A)");
        else
            found = get(first(0).string_value());
        return type.size() > 1 ? found.next_subsref(type, idx, 1) : found;
    }

  private:
    template <class M> M by(M x, const std::string &transposed) const {
        const pattern &p = *f_->of;
        auto *data = x.fortran_vec();
        const auto nrhs = static_cast<std::int32_t>(x.cols());
        if (p.n == 0 || nrhs == 0) return x;
        if (transposed == "N")
            p.check(mpk_solve(p.ctx, f_->fac, nrhs, data, p.n, data, p.n, &p.options, &f_->last));
        else if (transposed == "T" || transposed == "H")
            p.check(mpk_solve_transposed(
                p.ctx, f_->fac, transposed == "T" ? MPK_TRANSPOSE : MPK_CONJUGATE_TRANSPOSE, nrhs,
                data, p.n, data, p.n, &p.options, &f_->last));
        else
            error("metapack: a transpose is \"N\", \"T\" or \"H\"");
        return x;
    }

    octave_value get(const std::string &name) const {
        const pattern &p = *f_->of;
        mpk_factor_info info;
        mpk_factor_info_get(f_->fac, &info);
        if (name == "inertia") {
            Matrix counts(1, 3);
            counts(0) = double(info.inertia.positive);
            counts(1) = double(info.inertia.negative);
            counts(2) = double(info.inertia.zero);
            return octave_value(counts);
        }
        if (name == "certified") {
            mpk_certificate found = {};
            p.check(mpk_certify(p.ctx, f_->fac, &found));
            return octave_value(found.certified != 0);
        }
        if (name == "logdet" || name == "sign") {
            double found[3] = {0, 1, 0};
            p.check(mpk_get(p.ctx, f_->fac, MPK_GET_LOGDET, found, sizeof found));
            if (name == "logdet") return octave_value(found[0]);
            return p.is_complex ? octave_value(Complex(found[1], found[2]))
                                : octave_value(found[1]);
        }
        if (name == "inverse_diagonal") {
            const std::size_t bytes = mpk_selected_size(f_->fac, MPK_SELECT_DIAGONAL);
            if (p.is_complex) {
                ComplexColumnVector d(p.n);
                p.check(mpk_selected_inverse(p.ctx, f_->fac, MPK_SELECT_DIAGONAL, d.fortran_vec(),
                                             bytes, &p.options, nullptr));
                return octave_value(d);
            }
            ColumnVector d(p.n);
            p.check(mpk_selected_inverse(p.ctx, f_->fac, MPK_SELECT_DIAGONAL, d.fortran_vec(),
                                         bytes, &p.options, nullptr));
            return octave_value(d);
        }
        if (name == "solve" || name == "refactor")
            return octave_value(new octave_metapack(f_, name));
        if (name == "status") return octave_value(mpk_status_name(f_->status));
        if (name == "backward_error") return octave_value(f_->last.componentwise);
        if (name == "iterations") return octave_value(double(f_->last.iterations));
        if (name == "size") return octave_value(double(p.n));
        error("metapack: a factor has no '%s' (help metapack)", name.c_str());
    }

    std::shared_ptr<factored> f_;
    std::string
        method_; // F.solve and F.refactor before their arguments come: Octave asks for them so
    DECLARE_OV_TYPEID_FUNCTIONS_AND_DATA
};
DEFINE_OV_TYPEID_FUNCTIONS_AND_DATA(octave_metapack, "metapack factor", "metapack");

/// Analyse: what kind of matrix this is, is said by a word, or found by trying: both triangles agree or not.
static void analyse(pattern &p, const void *ax, const std::string &word) {
    struct kind {
        const char *word;
        mpk_symmetry symmetry;
        mpk_triangle triangle;
        bool tried; // without a word, in this order
    };
    static const kind kinds[] = {{"hermitian", MPK_HERMITIAN, MPK_FULL, true},
                                 {"symmetric", MPK_SYMMETRIC, MPK_FULL, true},
                                 {"general", MPK_GENERAL, MPK_FULL, true},
                                 {"lower", MPK_HERMITIAN, MPK_LOWER, false},
                                 {"upper", MPK_HERMITIAN, MPK_UPPER, false}};
    mpk_status status = MPK_ERR_ARGUMENT;
    bool any = false;
    for (const kind &k : kinds) {
        if (word.empty() ? !k.tried : word != k.word) continue;
        any = true;
        const mpk_symmetry symmetry =
            k.symmetry == MPK_HERMITIAN && !p.is_complex ? MPK_SYMMETRIC : k.symmetry;
        status = mpk_problem_from_csc(p.ctx, p.n, p.is_complex ? MPK_Z : MPK_D, symmetry,
                                      k.triangle, p.ap.data(), p.ai.data(), ax, &p.problem);
        if (status != MPK_ERR_INPUT) break; // not symmetric, perhaps
    }
    if (!any)
        error("metapack: symmetry is hermitian, symmetric, general, lower or upper, not '%s'",
              word.c_str());
    p.check(status);
    status = mpk_analyse(p.ctx, p.problem, &p.options, &p.an);
    if (mpk_failed(status)) p.check(status); // structurally singular: the factorization says it
}

/// A factor of A: with the analysis of `of` if it has one, which must be of that pattern.
template <class Sparse>
static octave_value factorize_as(const std::shared_ptr<pattern> &of, const Sparse &a,
                                 const std::string &word) {
    const void *ax =
        a.nnz() > 0 ? static_cast<const void *>(a.data()) : static_cast<const void *>(&of);
    if (!of->an) {
        of->n = a.rows();
        indices(a, of->ap, of->ai);
        analyse(*of, ax, word);
    } else {
        std::vector<std::int64_t> ap;
        std::vector<std::int32_t> ai;
        indices(a, ap, ai);
        if (ap != of->ap || ai != of->ai)
            error("metapack: refactor: A has another pattern than the analysed one");
    }
    auto f = std::make_shared<factored>(of);
    f->status = of->check(mpk_factorize(of->ctx, of->an, ax, &of->options, &f->fac));
    return octave_value(new octave_metapack(f));
}
static octave_value factorize(const std::shared_ptr<pattern> &of, const octave_value &a,
                              const std::string &word) {
    if (!a.isnumeric() && !a.islogical()) error("metapack: A is no matrix of numbers");
    if (!of->an) of->is_complex = a.iscomplex();
    if (!of->is_complex && a.iscomplex())
        error("metapack: refactor: A is complex, the analysed matrix was real");
    return of->is_complex ? factorize_as(of, a.sparse_complex_matrix_value(), word)
                          : factorize_as(of, a.sparse_matrix_value(), word);
}

static octave_value divide(const octave_base_value &f, const octave_base_value &b) {
    return dynamic_cast<const octave_metapack &>(f).solve(octave_value(b.clone()));
}

DEFMETHOD_DLD(metapack, interp, args, , R"(-*- texinfo -*-
@deftypefn {} {@var{F} =} metapack (@var{A})
@deftypefnx {} {@var{F} =} metapack (@var{A}, @var{option}, @var{value}, @dots{})
Factorize a sparse square matrix: L D L' of a symmetric or Hermitian one, definite or not, else L U.

@code{x = F \ b} solves and refines; a warning tells where the answer is none. @code{F.solve (b, "T")} and
@code{F.solve (b, "H")} solve with transposes.
@table @code
@item F.inertia
numbers of positive, negative and zero eigenvalues; @code{F.certified}: is that sure?
@item F.logdet, F.sign
log |det A|, and det A / |det A|
@item F.inverse_diagonal
the diagonal of the inverse
@item F.status
of the factorization: "ok", "singular", @dots{}
@item F.backward_error, F.iterations
of the last solve
@item F.refactor (A2)
a factor of other values with the same pattern, without a new analysis
@end table
Options have the names of docs/reference/options.md: @code{metapack (A, "pivot_threshold", 0.1)}.
Symmetry is found out; @code{metapack (A, "symmetry", "hermitian" | "symmetric" | "general")} demands it, and
"lower" or "upper" read one triangle.
@end deftypefn)") {
    static bool known = false;
    if (!known) { // the type stays as long as Octave runs
        interp.mlock();
        octave_metapack::register_type();
        for (int type : {octave_matrix::static_type_id(), octave_complex_matrix::static_type_id(),
                         octave_scalar::static_type_id(), octave_complex::static_type_id(),
                         octave_sparse_matrix::static_type_id(),
                         octave_sparse_complex_matrix::static_type_id()})
            interp.get_type_info().install_binary_op(
                octave_value::op_ldiv, octave_metapack::static_type_id(), type, divide);
        known = true;
    }
    if (args.length() < 1 || args.length() % 2 == 0) print_usage();
    auto of = std::make_shared<pattern>();
    std::string word;
    for (int k = 1; k < args.length(); k += 2) {
        const std::string key = args(k).xstring_value("metapack: an option is a name and a value");
        if (key == "symmetry") {
            word = args(k + 1).xstring_value("metapack: symmetry is a word");
            continue;
        }
        char number[40] = "";
        if (!args(k + 1).is_string())
            std::snprintf(number, sizeof number, "%.17g",
                          args(k + 1).xdouble_value("metapack: an option is a name and a value"));
        const std::string value =
            args(k + 1).is_string() ? args(k + 1).string_value() : std::string(number);
        of->check(mpk_options_set(of->ctx, &of->options, key.c_str(), value.c_str()));
    }
    return octave_value_list(factorize(of, args(0), word));
}
