/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares what the library said with the truth. */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what counts as wrong -------------------------------------------------------------------- */

/* A componentwise error may exceed the accuracy by the first factor, a residual the tolerance by
 * the second. */
static const double ACCURACY_ROOM = 2, TOLERANCE_ROOM = 1.01;
/* A measure may be off by this factor, either way, if the larger value is above the floor. */
static const double MEASURE_ROOM = 2;
#ifndef ORACLE_FLOOR
#define ORACLE_FLOOR 1e-15 /* a few units of 1e-17 are what compensated residuals can keep */
#endif
#ifndef ORACLE_FLOOR_SINGLE
#define ORACLE_FLOOR_SINGLE 1e-6
#endif
/* "Singular" is wrong where the condition number is below this. */
static const double CONDITION = 1e12, CONDITION_SINGLE = 1e12 / 0x1p29;

double default_accuracy(mpk_scalar scalar) {
    return (is_single(scalar) ? 0x1p29 : 1) * 1e-14;
}

static const char *const wrong_names[WRONGS] = {
    "not-finite",    "inaccurate", "unconverged", "inconsistent", "consistency", "normwise",
    "componentwise", "relative",   "krylov",      "inertia",      "inertia-sum", "singular",
    "structural",    "indefinite", "refused",     "accepted",     "overflow",    "unusable",
    "silent",        "outputs",    "leak",        "crash",        "hang"};

static const char *const counted_names[COUNTS] = {"ok",       "certified", "unchecked",
                                                  "singular", "refused",   "invalid"};

const char *wrong_name(int wrong) {
    return wrong_names[wrong];
}

const char *counted_name(int counted) {
    return counted_names[counted];
}

void trial_free(trial *t) {
    equations_free(&t->eq);
}

void wrong(verdicts *v, int wrong, const char *format, ...) {
    char details[512];
    va_list args;
    va_start(args, format);
    vsnprintf(details, sizeof details, format, args);
    va_end(args);
    v->found |= UINT32_C(1) << wrong;
    v->tell(v->self, v->trial, wrong, details);
}

void counted(verdicts *v, int counted) {
    v->count(v->self, v->trial, counted);
}

/* ---- solutions ------------------------------------------------------------------------------- */

static double largest(const equations *eq) {
    double most = 0;
    for (int64_t k = 0; k < eq->count; k++)
        most = fmax(most, fmax(fabs(eq->entry[k].re), fabs(eq->entry[k].im)));
    return most;
}

/* Entries of A and b `span` apart, or at the upper end of the range. */
static int spread(const equations *eq, double span) {
    const double top = is_single(eq->scalar) ? 0x1p120 : 0x1p1000;
    double most = 0, least = INFINITY;
    for (int64_t k = 0; k < eq->count; k++) {
        const double a = fmax(fabs(eq->entry[k].re), fabs(eq->entry[k].im));
        most = fmax(most, a);
        if (a > 0) least = fmin(least, a);
    }
    for (int64_t k = 0; k < 2 * (int64_t)eq->n * eq->nrhs; k++) most = fmax(most, fabs(eq->b[k]));
    return most > top / 16 || most / sqrt(span) > least * sqrt(span);
}

/* Do they reach from one end of the range to the other? */
static int extreme(const equations *eq) {
    return spread(eq, is_single(eq->scalar) ? 0x1p120 : 0x1p1000);
}

/* Is there no solution within the range, or none that can be determined since numbers are at its
 * ends? */
static int out_of_range(verdicts *v) {
    const double top = is_single(v->trial->eq.scalar) ? (double)FLT_MAX : DBL_MAX;
    if (truth_condition(&v->truth, 1) <= 1e24) return !(v->truth.inverse.largest <= top / 16);
    return spread(&v->trial->eq, is_single(v->trial->eq.scalar) ? 0x1p60 : 0x1p500);
}

/* The worst over the right-hand sides. */
typedef struct measured {
    quad_errors errors;
    int finite;
} measured;

static double larger(double a, double b) {
    return a > b || isnan(a) ? a : b;
}

static measured measure(verdicts *v, const void *x, int64_t ldx, int plain) {
    const equations *eq = &v->trial->eq;
    const size_t size = mpk_scalar_size(eq->scalar), n = (size_t)eq->n;
    const double eps = is_single(eq->scalar) ? FLT_EPSILON : DBL_EPSILON;
    double *pairs = must_alloc(2 * n, sizeof *pairs);
    measured m = {.finite = 1};
    for (int32_t r = 0; r < eq->nrhs; r++) {
        numbers_load(eq->scalar, eq->n, (const char *)x + (size_t)(r * ldx) * size, pairs);
        for (size_t k = 0; k < 2 * n; k++) m.finite &= isfinite(pairs[k]) != 0;
        const quad_errors e = quad_judge(eq->n, v->truth.count, v->truth.whole, pairs,
                                         eq->b + 2 * n * (size_t)r, eps);
        m.errors.normwise = larger(m.errors.normwise, e.normwise);
        m.errors.componentwise = larger(m.errors.componentwise, plain ? e.plain : e.componentwise);
        m.errors.relative = larger(m.errors.relative, e.relative);
        m.errors.noise = larger(m.errors.noise, e.noise);
        m.errors.row = larger(m.errors.row, e.row);
    }
    free(pairs);
    return m;
}

static void judge_measure(verdicts *v, int kind, double said, double is) {
    const double floor = is_single(v->trial->eq.scalar) ? ORACLE_FLOOR_SINGLE : ORACLE_FLOOR;
    const double most = larger(said, is), least = most == said ? is : said;
    if (most <= floor || (most <= MEASURE_ROOM * least) || said == is) return;
    wrong(v, kind, "reported %.3g, true %.3g", said, is);
}

/* Does b contradict A by more than rounding? By its norm, or by rows, which a large entry of b
 * cannot hide. */
static int contradicts(verdicts *v, const measured *m, const void *x, int64_t ldx) {
    const equations *eq = &v->trial->eq;
    const double rounding = is_single(eq->scalar) ? 1e-4 : 1e-8;
    if (!(m->errors.row > rounding / 2) || !truth_below_n(&v->truth)) return 0;
    if (m->errors.relative > rounding) return truth_inconsistent(&v->truth);
    double *pairs = must_alloc(2 * (size_t)eq->n, sizeof *pairs);
    int found = 0;
    for (int32_t r = 0; r < eq->nrhs && !found; r++) {
        const size_t at = (size_t)(r * ldx) * mpk_scalar_size(eq->scalar);
        numbers_load(eq->scalar, eq->n, (const char *)x + at, pairs);
        found = truth_contradicts(&v->truth, r, pairs);
    }
    free(pairs);
    return found;
}

/* An "ok" where no solution exists. It does not count where b is off by rounding alone, nor where
 * the caller took less for zero than the library would. */
static int judge_inconsistent(verdicts *v, const measured *m, const void *x, int64_t ldx) {
    const double zero = v->trial->setup.options.zero_tolerance;
    if ((zero >= 0 && zero < default_accuracy(v->trial->eq.scalar)) || !contradicts(v, m, x, ldx))
        return 0;
    wrong(v, WRONG_INCONSISTENT, "ok; rank %d of %d, no solution; true relative residual %.3g",
          truth_rank(&v->truth)->rank, v->trial->eq.n, m->errors.relative);
    return 1;
}

/* Triangles that differ in their last bits may pass for equal: by how much that may change a
 * relative residual, and a componentwise error. */
static double slack(const verdicts *v, const measured *m, int componentwise) {
    const equations *eq = &v->trial->eq;
    const double eps = is_single(eq->scalar) ? FLT_EPSILON : DBL_EPSILON;
    if (!eq->whole) return 0;
    return 4 * eps * (componentwise ? 1 : m->errors.noise * 0x1p112 / eq->n);
}

static void judge_ok(verdicts *v, const reported *said, const measured *m, const void *x,
                     int64_t ldx) {
    const double floor = 0x1p-53;
    const quad_errors *e = &m->errors;
    counted(v, COUNT_OK);
    if (!m->finite) {
        wrong(v, WRONG_NOT_FINITE, "ok, and x is not finite");
        return;
    }
    const int converged = !(said->tolerance >= 0) ||
                          e->relative <= TOLERANCE_ROOM * said->tolerance + floor + slack(v, m, 0);
    if ((said->accuracy >= 0 || !converged) && judge_inconsistent(v, m, x, ldx)) return;
    if (said->accuracy >= 0 &&
        !(e->componentwise <= ACCURACY_ROOM * said->accuracy + floor + slack(v, m, 1)))
        wrong(v, WRONG_INACCURATE, "ok; true componentwise error %.3g, accuracy %.3g",
              e->componentwise, said->accuracy);
    if (said->normwise_bound > 0 && !(e->normwise <= said->normwise_bound))
        wrong(v, WRONG_INACCURATE, "ok; true normwise error %.3g, bound %.3g", e->normwise,
              said->normwise_bound);
    if (!converged)
        wrong(v, WRONG_UNCONVERGED,
              "ok; true relative residual %.3g, tolerance %.3g, reported %.3g", e->relative,
              said->tolerance, said->has_krylov ? said->krylov : said->relative);
}

/* "Consistent", or solved, though b contradicts A by more than rounding; or "not", though A is
 * singular and all of B are consistent. */
static void judge_consistency(verdicts *v, const reported *said, const measured *m, const void *x,
                              int64_t ldx) {
    const int yes = said->consistent > 0 || (said->has_solved && said->solved);
    /* a Krylov method that stopped early has solved nothing */
    const int no = said->consistent < 0 || (said->has_solved && !said->solved &&
                                            !said->has_krylov && said->status == MPK_SINGULAR);
    const char *word = said->consistent ? "consistent" : "solved";
    if (v->trial->setup.options.zero_tolerance >= 0) return; /* whose zeros are the caller's */
    if (yes && contradicts(v, m, x, ldx))
        wrong(v, WRONG_CONSISTENCY, "%s; rank %d of %d, no solution", word,
              truth_rank(&v->truth)->rank, v->trial->eq.n);
    if (no && truth_below_n(&v->truth) && !truth_inconsistent(&v->truth))
        wrong(v, WRONG_CONSISTENCY, "not %s; rank %d of %d, and there is a solution", word,
              truth_rank(&v->truth)->rank, v->trial->eq.n);
}

void judge_solution(verdicts *v, const reported *said, const void *x, int64_t ldx) {
    const equations *eq = &v->trial->eq;
    if (mpk_failed(said->status) || eq->n == 0 || eq->nrhs == 0) return;
    const measured m = measure(v, x, ldx, said->plain);
    if (said->status == MPK_OK) judge_ok(v, said, &m, x, ldx);
    if (m.finite) judge_consistency(v, said, &m, x, ldx);
    if (said->status > 0 && !m.finite) {
        const int beyond = out_of_range(v);
        wrong(v, beyond ? WRONG_OVERFLOW : WRONG_UNUSABLE,
              "%s, and x is not finite; the solution's largest entry is %.3g",
              mpk_status_name(said->status),
              v->truth.inverse.found ? v->truth.inverse.largest : NAN);
    }
    if (said->measures) {
        judge_measure(v, WRONG_NORMWISE, said->normwise, m.errors.normwise);
        judge_measure(v, WRONG_COMPONENTWISE, said->componentwise, m.errors.componentwise);
    }
    /* quadruple precision cannot tell; above 1 it is no solution, whatever the factor */
    if (m.errors.noise > 0.1 * m.errors.relative || slack(v, &m, 0) > 0.1 * m.errors.relative ||
        (m.errors.relative > 1 && said->relative > 1))
        return;
    if (said->has_relative) judge_measure(v, WRONG_RELATIVE, said->relative, m.errors.relative);
    /* an operator's residual is reported with a bound of what rounding hides */
    const int bound = v->trial->path == PATH_KRYLOV && said->krylov >= m.errors.relative;
    if (said->has_krylov && eq->nrhs == 1 && !bound)
        judge_measure(v, WRONG_KRYLOV, said->krylov, m.errors.relative);
}

/* ---- inertia, rank --------------------------------------------------------------------------- */

void judge_inertia(verdicts *v, const mpk_inertia *in, int zeros) {
    const equations *eq = &v->trial->eq;
    const int64_t sum = in->positive + in->negative + in->zero;
    if (eq->whole) return; /* of which matrix? */
    if (!has_inertia(eq)) {
        if (in->certified && eq->n > 0)
            wrong(v, WRONG_INERTIA, "certified, and the matrix is complex symmetric");
        return;
    }
    if (zeros && sum != eq->n)
        wrong(v, WRONG_INERTIA_SUM, "%lld + %lld + %lld, n = %d", (long long)in->positive,
              (long long)in->negative, (long long)in->zero, eq->n);
    if (!in->certified) return;
    const known_inertia *is = truth_inertia(&v->truth);
    const int singular = is->there ? is->zero > 0 : truth_singular(&v->truth);
    counted(v, is->there || singular ? COUNT_CERTIFIED : COUNT_UNCHECKED);
    if (singular)
        wrong(v, WRONG_INERTIA, "certified %lld+ %lld- %lld0, and the rank is %d of %d",
              (long long)in->positive, (long long)in->negative, (long long)in->zero,
              truth_rank(&v->truth)->rank, eq->n);
    else if (is->there && (in->positive != is->positive || in->negative != is->negative))
        wrong(v, WRONG_INERTIA, "certified %lld+ %lld- %lld0, true %d+ %d- 0",
              (long long)in->positive, (long long)in->negative, (long long)in->zero, is->positive,
              is->negative);
}

/* Numbers below the least normal one, with few bits, in the order and scaling of other values? */
static int denormal_after_others(const trial *t) {
    const double least = is_single(t->eq.scalar) ? (double)FLT_MIN : DBL_MIN;
    if (!t->setup.analysed && !t->setup.before) return 0;
    for (int64_t k = 0; k < t->eq.count; k++) {
        const double size = fmax(fabs(t->eq.entry[k].re), fabs(t->eq.entry[k].im));
        if (size > 0 && size < least) return 1;
    }
    return 0;
}

void judge_singular(verdicts *v, const char *call, int scaled) {
    const double bound = is_single(v->trial->eq.scalar) ? CONDITION_SINGLE : CONDITION;
    if (truth_singular(&v->truth)) {
        counted(v, COUNT_SINGULAR);
        return;
    }
    const double condition = truth_condition(&v->truth, scaled);
    /* a dense matrix is not scaled: rows that differ by more than this no pivoting can handle */
    const double plain = truth_condition(&v->truth, 0);
    if (v->trial->path == PATH_DENSE && scaled && (plain > 1e30 || out_of_range(v))) return;
    /* the factors that scale them do not fit the type either */
    if (scaled && plain > (is_single(v->trial->eq.scalar) ? 1e70 : 1e300)) return;
    if (condition < bound && !denormal_after_others(v->trial))
        wrong(v, WRONG_SINGULAR, "%s: singular; full rank, %s condition %.3g", call,
              scaled ? "scaled" : "plain", condition);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Do numbers of A and of its inverse differ so much that only scaling brings them together? */
static int wild(verdicts *v) {
    return truth_condition(&v->truth, 0) > (is_single(v->trial->eq.scalar) ? 1e15 : 1e30);
}

/* May a valid system end in MPK_ERR_NUMERIC? It may if its solution is beyond the range; if there
 * is none, or none that can be determined, and its numbers are at the ends of the range; in a
 * Cholesky factorization of an indefinite matrix; without pivoting; in sweeps, which need not
 * converge. */
static int may_overflow(verdicts *v, const char *text) {
    const equations *eq = &v->trial->eq;
    const setup *s = &v->trial->setup;
    const int on_blocks = v->trial->path >= PATH_ILDLT && v->trial->path <= PATH_ILU0;
    if (v->trial->path == PATH_DENSE && s->dense_method >= MPK_DENSE_BUTTERFLY) return 1;
    /* factors of a singular matrix: in single precision, or without zero pivots, as was asked */
    if (v->trial->path == PATH_DENSE && s->dense_precision != MPK_DENSE_WORKING &&
        truth_singular(&v->truth))
        return 1;
    if (s->options.zero_tolerance >= 0 &&
        s->options.zero_tolerance < default_accuracy(eq->scalar) &&
        (truth_singular(&v->truth) || wild(v)))
        return 1;
    /* a singular system has many solutions, and none of them need be within the range */
    if (v->said_singular) return 1;
    if (v->trial->path == PATH_DENSE && wild(v)) return 1;
    /* pivots replaced by less than the precision can hold, as the caller asked */
    if (s->options.static_shift > 0 && !on_blocks) return 1;
    /* squares of an operator's values, which only the caller can scale */
    if (v->trial->path == PATH_KRYLOV && largest(eq) > (is_single(eq->scalar) ? 0x1p50 : 0x1p400))
        return 1;
    if (on_blocks && s->options.factor_type == MPK_TYPE_LLT) {
        const int definite = has_inertia(eq) && truth_inertia(&v->truth)->there &&
                             v->truth.inertia.negative == 0 && v->truth.inertia.zero == 0;
        if (definite && strstr(text, "not definite"))
            wrong(v, WRONG_INDEFINITE, "'%s', and A is positive definite", text);
        return 1;
    }
    if (on_blocks && (v->trial->path == PATH_JACOBI || s->options.schedule == MPK_SCHEDULE_JACOBI))
        return 1;
    const int iterative = v->trial->path != PATH_DIRECT && v->trial->path != PATH_REFACTORIZE &&
                          v->trial->path != PATH_DENSE && v->trial->path != PATH_BATCH;
    const int unscaled = s->options.scaling == MPK_OFF || v->trial->path == PATH_DENSE;
    return out_of_range(v) || ((iterative || unscaled) && extreme(eq));
}

/* May a matrix given whole be refused, since its triangles differ by more than rounding? */
static int is_skew(const equations *eq) {
    const double eps = is_single(eq->scalar) ? FLT_EPSILON : DBL_EPSILON;
    return eq->whole && equations_skewness(eq) > 450 * eps;
}

int judge_status(verdicts *v, mpk_context *ctx, const char *call, mpk_status status) {
    const char *text = "";
    const mpk_status last = mpk_last_error(ctx, NULL, NULL, &text);
    if (status == MPK_OK) return 0;
    if (status == MPK_SINGULAR) v->said_singular = 1;
    if (!text || !*text)
        wrong(v, WRONG_SILENT, "%s: %s without a text", call, mpk_status_name(status));
    else if (last != status)
        wrong(v, WRONG_SILENT, "%s: %s, and mpk_last_error says %s: %s", call,
              mpk_status_name(status), mpk_status_name(last), text);
    if (!mpk_failed(status)) return 0;
    const int rightly = status == MPK_ERR_NUMERIC ? may_overflow(v, text)
                        : status == MPK_ERR_UNSUPPORTED
                            ? v->trial->setup.options.device == MPK_ON_CUDA
                            : status == MPK_ERR_INPUT && is_skew(&v->trial->eq);
    if (rightly)
        counted(v, COUNT_REFUSED);
    else
        wrong(v, WRONG_REFUSED, "%s: %s: %s", call, mpk_status_name(status), text);
    return 1;
}

void judge_spoilt(verdicts *v, mpk_context *ctx, const char *call, mpk_status status) {
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != MPK_ERR_INPUT)
        wrong(v, WRONG_ACCEPTED, "%s: %s", call, mpk_status_name(status));
    else if (!text || !*text)
        wrong(v, WRONG_SILENT, "%s: %s without a text", call, mpk_status_name(status));
    else
        counted(v, COUNT_INVALID);
}
