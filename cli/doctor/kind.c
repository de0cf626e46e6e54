/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts -> what the matrix is. A name is given only where entries and inertia carry it; else the
 * kind is "unknown". */
#include "doctor.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *const doctor_section_titles[SECTIONS] = {
    "What it is",     "What makes it hard",       "What METAPACK does", "What that costs",
    "What was tried", "What the answer is worth", "What was left out"};

void doctor_say(doctor_findings *f, doctor_section section, doctor_severity severity,
                const char *key, const char *format, ...) {
    va_list list;
    if (f->count == DOCTOR_FINDINGS) return;
    doctor_finding *one = &f->list[f->count++];
    one->section = section, one->severity = severity, one->key = key;
    va_start(list, format);
    vsnprintf(one->text, sizeof one->text, format, list);
    va_end(list);
}

static void name(doctor_findings *f, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void name(doctor_findings *f, const char *kind, const char *format, ...) {
    va_list list;
    f->kind = kind;
    va_start(list, format);
    vsnprintf(f->title, sizeof f->title, format, list);
    va_end(list);
}

bool doctor_has_inertia(const doctor_facts *d) {
    const doctor_work *w = &d->work;
    return doctor_is_hermitian(&d->a) && w->have_factor && w->direct && !mpk_failed(w->status);
}

/* ---- is it a saddle point? ------------------------------------------------------------------- */

/* A form in blocks alone shows little: any two uncoupled rows with zero diagonal have it. What the
 * inertia says of [H B'; B 0] with m constraints: H is definite on B's kernel if and only if no more
 * than m eigenvalues have the other sign. Where more have, or nobody knows, m must be a good part of
 * the rows, and no variable without a diagonal coupled to another one, as in no semidefinite H. Of
 * [H B'; B -D] at least m have it, and no more if and only if H + B' D^-1 B is semidefinite. */
static bool is_saddle(const doctor_facts *d) {
    const doctor_form *f = &d->form;
    const mpk_inertia *in = &d->work.factor.inertia;
    if (f->shape != SHAPE_SADDLE && f->shape != SHAPE_BORDERED) return false;
    const bool many = f->m >= 0.1 * d->a.n && !f->h_indefinite;
    if (!doctor_has_inertia(d)) return f->shape == SHAPE_SADDLE && many;
    const int64_t other = f->sign < 0 ? in->positive : in->negative;
    if (f->shape == SHAPE_BORDERED) return f->sign != 0 && other == f->m;
    return other <= f->m || many;
}

static void tell_saddle(const doctor_facts *d, doctor_findings *f) {
    const doctor_form *s = &d->form;
    const bool complex = d->a.symmetry == MPK_SYMMETRIC && d->a.scalar >= MPK_C; /* B', not B^H */
    const bool least_squares =
        s->shape == SHAPE_SADDLE && s->h_constant && s->h_alpha != 0 && !complex;
    const bool flow = !s->h_diagonal && (s->h_parts == 2 || s->h_parts == 3) && s->h_part > 1 &&
                      s->gradient > 0.5;
    char m[DOCTOR_NAME], v[DOCTOR_NAME], p[DOCTOR_NAME];
    doctor_count(m, s->m), doctor_count(v, s->variables), doctor_count(p, s->h_part);
    if (least_squares)
        name(f, "least-squares",
             "a saddle point (KKT) matrix with H = a I, the augmented system of a least-squares "
             "problem: a = %.6g, %s variables, %s constraints",
             s->h_alpha, v, m);
    else if (flow)
        name(f, "stokes",
             "a Stokes-like saddle point: %d parts of velocity of %s unknowns each, "
             "%s constraints like pressures",
             s->h_parts, p, m);
    else if (s->shape == SHAPE_BORDERED)
        name(f, "regularised-saddle-point",
             "a regularised saddle point (KKT) matrix, [H B'; B -D] with %s variables and %s "
             "constraints, D diagonal",
             v, m);
    else if (s->h_diagonal)
        name(f, "saddle-point",
             "a saddle point (KKT) matrix, [H B'; B 0] with %s variables, %s constraints and a "
             "diagonal H",
             v, m);
    else
        name(f, "saddle-point",
             "a saddle point (KKT) matrix, [H B'; B 0] with %s variables and %s constraints", v, m);
}

static void explain_saddle(const doctor_facts *d, doctor_findings *f) {
    const doctor_form *s = &d->form;
    const mpk_inertia *in = &d->work.factor.inertia;
    const char *zero = s->shape == SHAPE_BORDERED ? "a diagonal of one sign" : "zero diagonal";
    char m[DOCTOR_NAME], k[DOCTOR_NAME];
    doctor_say(f, SECTION_WHAT, FINDING_NOTE, "blocks",
               "%s rows have %s and no entry between any two of them: they are the constraints. "
               "%s",
               doctor_count(m, s->m), zero,
               s->tied ? "Some parts have as many others that could be: of these the rows that "
                         "stand later were taken."
                       : "This holds in whatever order the rows stand.");
    if (s->shape == SHAPE_SADDLE && d->look.zero_rows > 0)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "blocks-empty",
                   "Rows without an entry, %s of them, are in neither count.",
                   doctor_count(m, d->look.zero_rows));
    if (s->either > 0)
        doctor_say(
            f, SECTION_WHAT, FINDING_NOTE, "blocks-either",
            "%s of them could as well be variables: they meet rows with zero diagonal alone.",
            doctor_count(m, s->either));
    if (s->coupled > 0)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "h-zero-diagonal",
                   "%s variables have zero in the diagonal of H, too.",
                   doctor_count(m, s->coupled));
    if (!strcmp(f->kind, "stokes"))
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "gradient",
                   "H falls into %d uncoupled parts of one size, and %.0f %% of the rows of B' sum "
                   "to zero, as those of a gradient do.",
                   s->h_parts, 100 * s->gradient);
    else if (s->h_diagonal && !s->h_constant && s->h_least > 0)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "h-diagonal",
                   "H is diagonal, with moduli from %.2g to %.2g%s.", s->h_least, s->h_most,
                   s->h_most >= 1e6 * s->h_least
                       ? "; such a range is that of interior-point methods near a solution"
                       : "");
    if (s->shape == SHAPE_SADDLE && s->m > s->variables)
        doctor_say(f, SECTION_WHAT, FINDING_CARE, "more-constraints",
                   "There are more constraints than variables: at least %s depend on others, and "
                   "A is singular.",
                   doctor_count(m, s->m - s->variables));
    if (!doctor_has_inertia(d) || s->shape != SHAPE_SADDLE) return;
    const int64_t other = s->sign < 0 ? in->positive : in->negative;
    const char *shown = in->certified ? "" : ", as far as pivots tell";
    if (other == s->m && in->zero == 0)
        doctor_say(f, SECTION_WHAT, FINDING_GOOD, "reduced-definite",
                   "B has full rank, and H is %s definite on B's kernel%s: %s eigenvalues of the "
                   "other sign, one for each constraint.",
                   s->sign < 0 ? "negative" : "positive", shown, doctor_count(m, (double)other));
    else if (other > s->m)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "reduced-indefinite",
                   "H is not %s semidefinite on B's kernel%s: %s eigenvalues have the other sign, "
                   "and there are %s constraints.",
                   s->sign < 0 ? "negative" : "positive", shown, doctor_count(k, (double)other),
                   doctor_count(m, s->m));
}

/* ---- the others ------------------------------------------------------------------------------ */

static void tell_general(const doctor_facts *d, doctor_findings *f) {
    const doctor_mirror *m = &d->mirror;
    char a[DOCTOR_NAME], b[DOCTOR_NAME], c[DOCTOR_NAME];
    if (m->skew == 0)
        name(f, "skew-symmetric", "skew-symmetric: A' = -A");
    else if (m->hermitian == 0)
        name(f, "hermitian", "Hermitian, taken for general");
    else if (m->relative == 0)
        name(f, "nearly-symmetric", "symmetric in its values, but taken for general");
    else if (m->relative <= 1e-3)
        name(f, "nearly-symmetric", "nearly symmetric: ||A - A'|| is %.1e of ||A||", m->relative);
    else if (m->hermitian >= 0 && m->hermitian <= 1e-3)
        name(f, "nearly-hermitian", "nearly Hermitian: ||A - A^H|| is %.1e of ||A||", m->hermitian);
    else
        name(f, "general", "not symmetric: ||A - A'|| is %.2g of ||A||", m->relative);
    doctor_say(f, SECTION_WHAT, FINDING_NOTE, "mirror",
               "Of %s pairs of entries beside the diagonal %s differ; %s entries have none at the "
               "mirrored place%s.",
               doctor_count(a, (double)m->pairs), doctor_count(b, (double)m->differ),
               doctor_count(c, (double)m->alone),
               m->alone == 0 ? ": the pattern is symmetric" : "");
    if (m->largest > 0)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "mirror-largest",
                   "The largest difference is %.3g, between row %d, column %d (modulus %.3g) and "
                   "its mirror image (%.3g).",
                   m->largest, m->row + 1, m->column + 1, m->there, m->mirrored);
}

static void tell_graph(const doctor_facts *d, doctor_findings *f) {
    const doctor_form *s = &d->form;
    const mpk_inertia *in = &d->work.factor.inertia;
    const bool regular = doctor_has_inertia(d) && in->certified && in->zero == 0;
    const bool singular = d->work.null.dimension > 0 || (doctor_has_inertia(d) && in->zero > 0);
    if (s->graph == GRAPH_LAPLACIAN) {
        name(f, "laplacian",
             "the Laplacian of a graph: no entry beside the diagonal is positive, "
             "all rows sum to zero within rounding");
        doctor_say(f, SECTION_WHAT, FINDING_CARE, "laplacian",
                   "%s a constant on each of its %d component%s is taken to zero within rounding.",
                   regular    ? "No eigenvalue is zero, by the certified inertia, so it is not "
                                "singular; but"
                   : singular ? "To working precision it is positive semidefinite and singular:"
                              : "Whether it is singular is not known here;",
                   d->look.components, d->look.components == 1 ? "" : "s");
    } else if (s->graph == GRAPH_GROUNDED) {
        name(f, "grounded-laplacian",
             "a grounded Laplacian: no entry beside the diagonal is positive, no row sums to less "
             "than zero beyond rounding");
        doctor_say(f, SECTION_WHAT, FINDING_GOOD, "grounded-laplacian",
                   "By its dominant diagonal it has no negative eigenvalue beyond rounding.");
    } else {
        name(f, "shifted-laplacian", "a Laplacian minus %.6g I", s->shift);
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "shifted-laplacian",
                   "No entry beside the diagonal is positive; with %.6g added to the diagonal no "
                   "row sums to less than zero, and most sum to zero, within rounding.",
                   s->shift);
    }
}

static void tell_by_inertia(const doctor_facts *d, doctor_findings *f) {
    const mpk_inertia *in = &d->work.factor.inertia;
    const int64_t less = in->positive < in->negative ? in->positive : in->negative;
    char k[DOCTOR_NAME];
    const char *shown = in->certified ? "" : ", as far as pivots tell";
    if (less == 0 && in->zero == 0)
        name(f, in->negative ? "negative-definite" : "positive-definite", "%s definite%s",
             in->negative ? "negative" : "positive", shown);
    else if (less == 0)
        name(f, in->negative ? "negative-semidefinite" : "positive-semidefinite",
             "%s semidefinite%s: %s zero pivot%s", in->negative ? "negative" : "positive", shown,
             doctor_count(k, (double)in->zero), in->zero == 1 ? "" : "s");
    else if (less + in->zero <= d->a.n / 10)
        name(f, "nearly-definite",
             "indefinite, by %s of its eigenvalues alone: so is a %s definite matrix minus a shift "
             "inside its spectrum",
             doctor_count(k, (double)less), in->negative > in->positive ? "negative" : "positive");
    else
        name(f, "unknown", "indefinite, without a form that has a name here");
}

static void tell_form(const doctor_facts *d, doctor_findings *f) {
    const doctor_form *s = &d->form;
    const bool inertia = doctor_has_inertia(d);
    const mpk_inertia *in = &d->work.factor.inertia;
    const bool semidefinite = inertia && (in->positive == 0 || in->negative == 0);
    char m[DOCTOR_NAME], v[DOCTOR_NAME];
    if (d->look.nonzeros == 0) {
        name(f, "zero", "the zero matrix");
    } else if (d->a.symmetry == MPK_GENERAL) {
        tell_general(d, f);
    } else if (s->is_diagonal) {
        name(f, "diagonal", "a diagonal matrix");
    } else if (s->graph >= GRAPH_LAPLACIAN && s->graph <= GRAPH_SHIFTED) {
        tell_graph(d, f);
    } else if (semidefinite) {
        tell_by_inertia(d, f);
    } else if (is_saddle(d)) {
        tell_saddle(d, f);
        explain_saddle(d, f);
    } else if (s->shape == SHAPE_PAIR) {
        name(f, "pair",
             "[0 B'; B 0] with B %s x %s: its eigenvalues are in pairs, plus and minus "
             "the singular values of B",
             doctor_count(m, s->m), doctor_count(v, s->variables));
    } else if (s->graph == GRAPH_ONES) {
        name(f, d->look.diagonal_zero == d->a.n ? "adjacency" : "pattern",
             d->look.diagonal_zero == d->a.n
                 ? "the adjacency matrix of a graph: all entries are one number, beside a diagonal "
                   "of zeros"
                 : "a pattern: all nonzero entries are one number");
    } else if (inertia) {
        tell_by_inertia(d, f);
    } else {
        name(f,
             d->a.scalar >= MPK_C && d->a.symmetry == MPK_SYMMETRIC ? "complex-symmetric"
                                                                    : "unknown",
             d->a.scalar >= MPK_C && d->a.symmetry == MPK_SYMMETRIC
                 ? "complex symmetric, not Hermitian"
                 : "symmetric, without a form that has a name here");
    }
}

/* Sylvester's law for a matrix that may be a difference. */
static void tell_shift(const doctor_facts *d, doctor_findings *f) {
    static const char *const kinds[] = {"shifted-laplacian", "nearly-definite", "unknown"};
    const mpk_inertia *in = &d->work.factor.inertia;
    char k[DOCTOR_NAME];
    if (!doctor_has_inertia(d) || !in->certified || in->negative == 0 || in->positive == 0) return;
    for (int i = 0; i < 3; i++)
        if (!strcmp(f->kind, kinds[i]))
            doctor_say(f, SECTION_WHAT, FINDING_NOTE, "pencil",
                       "If it is K - s M with a positive definite M, then s lies above %s of the "
                       "eigenvalues of K x = l M x, and below the others.",
                       doctor_count(k, (double)in->negative));
}

void doctor_find_kind(const doctor_facts *d, doctor_findings *f) {
    static const char *const scalars[] = {"real, single precision", "real",
                                          "complex, single precision", "complex"};
    static const char *const laws[] = {"symmetric", "Hermitian", "not symmetric"};
    char n[DOCTOR_NAME], nnz[DOCTOR_NAME], k[DOCTOR_NAME];
    doctor_say(f, SECTION_WHAT, FINDING_NOTE, "size",
               "%s row%s, %s nonzero entr%s in all, %s, %s: %.3g in a row, %d in the longest (row "
               "%d).",
               doctor_count(n, d->a.n), d->a.n == 1 ? "" : "s",
               doctor_count(nnz, (double)d->look.nonzeros), d->look.nonzeros == 1 ? "y" : "ies",
               scalars[d->a.scalar], laws[d->a.symmetry], (double)d->look.nonzeros / d->a.n,
               d->look.longest, d->look.longest_row + 1);
    if (d->look.explicit_zeros > 0)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "explicit-zeros", "%s stored entries are zero.",
                   doctor_count(k, (double)d->look.explicit_zeros));
    if (d->a.n > 1 && (double)d->look.nonzeros >= 0.5 * d->a.n * d->a.n)
        doctor_say(f, SECTION_WHAT, FINDING_NOTE, "dense", "It is dense: %.0f %% of all entries.",
                   100 * (double)d->look.nonzeros / d->a.n / d->a.n);
    if (d->asymmetry.pairs > 0)
        doctor_say(f, SECTION_WHAT, d->asymmetry.rough ? FINDING_CARE : FINDING_NOTE, "asymmetry",
                   "It was given whole, and %s pairs of mirrored entries differ, by up to %.1e of "
                   "the larger%s; the mean is factorized.",
                   doctor_count(k, (double)d->asymmetry.pairs), d->asymmetry.apart,
                   d->asymmetry.rough ? ", which is more than rounding leaves" : "");
    tell_form(d, f);
    tell_shift(d, f);
    if (d->look.dominant_rows == d->a.n && !d->form.is_diagonal)
        doctor_say(f, SECTION_WHAT, FINDING_GOOD, "dominant",
                   "It is diagonally dominant: in no row are the others together larger than the "
                   "diagonal entry.");
    if (d->look.components > 1)
        doctor_say(
            f, SECTION_WHAT, FINDING_GOOD, "components",
            "It falls into %s parts without an entry between them; the largest has %s row%s, "
            "and %s %s a single row.",
            doctor_count(k, d->look.components), doctor_count(n, d->look.size[0]),
            d->look.size[0] == 1 ? "" : "s", doctor_count(nnz, d->look.single),
            d->look.single == 1 ? "is" : "are");
}
