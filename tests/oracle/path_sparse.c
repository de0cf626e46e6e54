/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths of sparse systems: the direct solver, the methods on blocks, method auto. */
#include "paths.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct session {
    verdicts *v;
    mpk_context *ctx;
    const equations *eq;
    const setup *setup;
    mpk_options options;
    int32_t *perm;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    int said_singular;
    memory memory; /* of the context in which solves are, if it is another one */
    mpk_context *other;
} session;

static void session_end(session *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    if (s->other) memory_end(s->v, &s->memory, &s->other);
    free(s->perm);
}

static void choose_options(session *s) {
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_LDLT,  MPK_METHOD_LDLT,
                                         MPK_METHOD_AUTO, MPK_METHOD_ILDLT, MPK_METHOD_JACOBI,
                                         MPK_METHOD_ILU0, MPK_METHOD_NONE};
    s->options = s->setup->options;
    s->options.method = methods[s->v->trial->path];
    if (!has_inertia(s->eq) && s->options.factor_type == MPK_TYPE_LLT)
        s->options.factor_type = MPK_TYPE_LDLT; /* LLT is for definite matrices: refused */
    if (s->options.ordering == MPK_ORDERING_GIVEN) {
        s->perm = must_alloc((size_t)s->eq->n, sizeof *s->perm);
        setup_permutation(s->setup, s->eq->n, s->perm);
        s->options.given_perm = s->perm;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Values in the order in which the caller gave the pattern, as mpk_factorize and others take them.
 * ORACLE_LOWER_VALUES: in the order of mpk_problem_view.ai, which is eq's. */
static void *values_of(const session *s, const quad_entry *entry, int spoilt, int *spoiled) {
#ifdef ORACLE_LOWER_VALUES
    setup plain = *s->setup;
    plain.triplets = 1;
    plain.triangle = MPK_LOWER;
    plain.mix = plain.twice = plain.junk = 0;
    given g = given_make(s->eq, entry, &plain);
#else
    given g = given_make(s->eq, entry, s->setup);
#endif
    *spoiled = spoilt && given_spoil(s->eq, s->setup, &g);
    void *value = g.value;
    g.value = NULL;
    given_free(&g);
    return value;
}

static int null_values(const session *s) {
#ifdef ORACLE_LOWER_VALUES
    (void)s;
    return 0;
#else
    return s->setup->null;
#endif
}

/* Is the input spoilt on the way into the problem, or into the factorization? */
static int spoils_problem(const session *s) {
    const int imaginary = s->setup->spoil == SPOIL_IMAGINARY && s->setup->spoil_at % 2 == 0;
    return s->setup->spoil == SPOIL_MATRIX || imaginary ||
           (s->setup->spoil != SPOIL_NOTHING && s->setup->spoil != SPOIL_SIDES &&
            s->v->trial->path == PATH_ADAPTIVE);
}

static int spoils_values(const session *s) {
    return !spoils_problem(s) &&
           (s->setup->spoil == SPOIL_VALUES || s->setup->spoil == SPOIL_IMAGINARY);
}

/* ---- problem, analysis ----------------------------------------------------------------------- */

/* Does the library hold the matrix that was given? */
static void check_view(session *s) {
    mpk_problem_view view;
    mpk_problem_view_get(s->problem, &view);
    if (s->eq->whole || s->setup->analysed) return;
    int same = view.nnz == s->eq->count;
    double *pairs = must_alloc(2 * (size_t)view.nnz, sizeof *pairs);
    numbers_load(s->eq->scalar, view.nnz, view.ax, pairs);
    for (int64_t k = 0; same && k < view.nnz; k++) {
        const quad_entry *e = &s->eq->entry[k];
        same = view.ai[k] == e->i && k >= view.ap[e->j] && k < view.ap[e->j + 1] &&
               pairs[2 * k] == e->re && pairs[2 * k + 1] == e->im;
    }
    free(pairs);
    if (!same) wrong(s->v, WRONG_OUTPUTS, "the problem made is not the matrix given");
}

static int make_problem(session *s) {
    const int replace = s->setup->replace && s->setup->spoil == SPOIL_NOTHING;
    const int64_t seed = s->setup->analysed ? s->setup->analysed : 1;
    const enum other kind = s->setup->analysed ? (enum other)s->setup->other : OTHER_NEAR;
    const int other = replace || s->setup->analysed;
    quad_entry *earlier = other ? given_before(s->eq, kind, seed) : NULL;
    given g = given_make(s->eq, other ? earlier : s->eq->entry, s->setup);
    free(earlier);
    const int spoilt = spoils_problem(s) && given_spoil(s->eq, s->setup, &g);
    mpk_status status = given_problem(s->ctx, s->eq, s->setup, &g, &s->problem);
    given_free(&g);
    if (spoilt) {
        judge_spoilt(s->v, s->ctx, "problem", status);
        if (mpk_failed(status) && s->problem)
            wrong(s->v, WRONG_OUTPUTS, "a failure made a problem");
        return 0;
    }
    if (judge_status(s->v, s->ctx, "problem", status)) return 0;
    if (replace && !s->setup->analysed) {
        int spoiled;
        void *value = values_of(s, s->eq->entry, 0, &spoiled);
        status = mpk_problem_set_values(s->ctx, s->problem, value);
        free(value);
        if (judge_status(s->v, s->ctx, "set_values", status)) return 0;
    }
    check_view(s);
    return 1;
}

static int analyse(session *s) {
    mpk_analysis_info info;
    const mpk_status status = mpk_analyse(s->ctx, s->problem, &s->options, &s->an);
    if (judge_status(s->v, s->ctx, "analyse", status)) {
        if (s->an) wrong(s->v, WRONG_OUTPUTS, "a failure made an analysis");
        return 0;
    }
    mpk_analysis_info_get(s->an, &info);
    if (s->setup->analysed) { /* a verdict on other values */
        s->v->said_singular = 0;
        return 1;
    }
    if (status == MPK_SINGULAR) s->said_singular = 1;
    if ((status == MPK_SINGULAR ||
         (info.structural_rank >= 0 && info.structural_rank < s->eq->n)) &&
        truth_rank(&s->v->truth)->rank > info.structural_rank)
        wrong(s->v, WRONG_STRUCTURAL, "analyse: %s, structural rank %d; rank %d of %d",
              mpk_status_name(status), info.structural_rank, truth_rank(&s->v->truth)->rank,
              s->eq->n);
    return 1;
}

/* ---- factorization --------------------------------------------------------------------------- */

/* Are zero pivots judged by the default bounds? With others the caller has taken the
 * responsibility. */
static int default_zeros(const session *s) {
    return s->options.zero_tolerance <= default_accuracy(s->eq->scalar);
}

static mpk_status factorize_once(session *s, int *spoilt) {
    const quad_entry *entry = s->eq->entry;
    void *value = values_of(s, entry, spoils_values(s), spoilt);
    const void *given =
        null_values(s) && !*spoilt && !s->setup->before && !s->setup->analysed ? NULL : value;
    mpk_status status = s->fac ? mpk_refactorize(s->ctx, given, &s->options, s->fac)
                               : mpk_factorize(s->ctx, s->an, given, &s->options, &s->fac);
    free(value);
    return status;
}

/* Factorize other values of the same pattern, once or in turn; a failure there ends the trial. */
static int factorize_earlier(session *s) {
    for (int round = 0; round < s->setup->rounds; round++) {
        int spoilt;
        const enum other kind = (enum other)((s->setup->other + round) % OTHERS);
        quad_entry *earlier = given_before(s->eq, kind, s->setup->before + round);
        void *value = values_of(s, earlier, 0, &spoilt);
        const mpk_status status = mpk_factorize(s->ctx, s->an, value, &s->options, &s->fac);
        free(value);
        free(earlier);
        if (mpk_failed(status)) return 0;
    }
    return 1;
}

/* Ask for a certificate; the counts are those that it is about. */
static void judge_certificate(session *s, mpk_factor *fac, int zeros) {
    mpk_factor_info info;
    if (judge_status(s->v, s->ctx, "certify", mpk_certify(s->ctx, fac, NULL))) return;
    mpk_factor_info_get(fac, &info);
    judge_inertia(s->v, &info.inertia, zeros);
}

static int factorize(session *s) {
    int spoilt;
    if (s->setup->before && !factorize_earlier(s)) return 0;
    const int fresh = s->fac == NULL;
    const mpk_status status = factorize_once(s, &spoilt);
    const char *call = fresh ? "factorize" : "refactorize";
    if (mpk_failed(status) && fresh && s->fac)
        wrong(s->v, WRONG_OUTPUTS, "a failure made a factor");
    if (spoilt) {
        judge_spoilt(s->v, s->ctx, call, status);
        return 0;
    }
    if (judge_status(s->v, s->ctx, call, status)) return 0;
    judge_certificate(s, s->fac, s->options.method == MPK_METHOD_LDLT);
    if (status == MPK_SINGULAR && !s->said_singular && default_zeros(s)) {
        judge_singular(s->v, call, s->options.scaling != MPK_OFF);
        s->said_singular = 1;
    }
    return 1;
}

/* ---- solution -------------------------------------------------------------------------------- */

/* Without a tolerance every solve must be accurate to rounding. */
static reported what_was_said(const mpk_options *o, const equations *eq, mpk_status status,
                              const mpk_solve_info *info) {
    const int refined = o->method == MPK_METHOD_LDLT &&
                        (o->krylov == MPK_KRYLOV_AUTO || o->krylov == MPK_KRYLOV_NONE);
    const double accuracy = o->accuracy >= 0 ? o->accuracy : default_accuracy(eq->scalar);
    return (reported){.status = status,
                      .accuracy = refined || o->tolerance < 0 ? accuracy : -1,
                      .tolerance = refined ? -1 : o->tolerance,
                      .measures = 1,
                      .normwise = info->normwise,
                      .componentwise = info->componentwise,
                      .has_relative = 1,
                      .relative = info->relative_residual,
                      .has_krylov = !refined,
                      .krylov = info->krylov.residual,
                      .consistent = info->consistent,
                      .has_solved = 1,
                      .solved = info->solved};
}

static void judge_call(session *s, mpk_context *ctx, const char *call, const sides *io,
                       const mpk_options *o, mpk_status status, const mpk_solve_info *info) {
    sides_check(io, s->v, call, status);
    if (s->setup->spoil == SPOIL_SIDES && s->eq->n > 0 && s->eq->nrhs > 0) {
        judge_spoilt(s->v, ctx, call, status);
        return;
    }
    if (judge_status(s->v, ctx, call, status)) return;
    if (status == MPK_SINGULAR && !s->said_singular && default_zeros(s))
        judge_singular(s->v, call, o->scaling != MPK_OFF);
    const reported said = what_was_said(o, s->eq, status, info);
    judge_solution(s->v, &said, io->x, io->ld);
}

/* NaN or the like in the last right-hand side. */
static void spoil_sides(const session *s, sides *io) {
    const size_t size = mpk_scalar_size(s->eq->scalar);
    if (s->setup->spoil != SPOIL_SIDES || s->eq->nrhs == 0 || s->eq->n == 0) return;
    const size_t last = (size_t)(s->eq->nrhs - 1) * (size_t)io->ld * size;
    number_spoil(s->setup, s->eq->scalar, s->eq->n, (char *)io->b + last);
    const size_t bytes = (size_t)io->ld * (size_t)s->eq->nrhs * size;
    memcpy(io->b_copy, io->b, bytes);
    if (io->x == io->b) memcpy(io->x_copy, io->b, bytes);
}

static void solve(session *s, const mpk_factor *fac, mpk_context *ctx, const char *call) {
    sides io = sides_make(s->eq, s->setup, s->setup->in_place);
    mpk_solve_info info;
    pattern_fill(&info, sizeof info);
    spoil_sides(s, &io);
    const mpk_status status =
        mpk_solve(ctx, fac, s->eq->nrhs, io.b, io.ld, io.x, io.ld, &s->options, &info);
    pattern_check(s->v, call, status, &info, sizeof info);
    judge_call(s, ctx, call, &io, &s->options, status, &info);
    sides_free(&io);
}

/* In a context of its own, whose memory is its own. */
static void solve_elsewhere(session *s) {
    s->other = memory_context(s->v, &s->memory);
    if (s->other) solve(s, s->fac, s->other, "solve in another context");
}

/* ---- a child --------------------------------------------------------------------------------- */

/* It may take a third of the time that its parent has. */
static unsigned child_seconds(const session *s) {
    return (unsigned)fmax(1, s->v->patience / 3);
}

static void child_refactorizes(session *s) {
    int spoilt;
    const mpk_status status = factorize_once(s, &spoilt);
    if (!judge_status(s->v, s->ctx, "refactorize in a child", status))
        solve(s, s->fac, s->ctx, "solve in a child");
}

static void child_anew(session *s) {
    memory own = {0};
    int spoilt;
    session t = {.v = s->v, .eq = s->eq, .setup = s->setup, .options = s->options};
    t.ctx = memory_context(s->v, &own);
    if (!t.ctx) return;
    mpk_status status = mpk_analyse(t.ctx, s->problem, &t.options, &t.an);
    if (!judge_status(s->v, t.ctx, "analyse in a child", status)) {
        void *value = values_of(s, s->eq->entry, 0, &spoilt);
        status = mpk_factorize(t.ctx, t.an, value, &t.options, &t.fac);
        if (!judge_status(s->v, t.ctx, "factorize in a child", status))
            solve(&t, t.fac, t.ctx, "solve in a child");
        free(value);
    }
    session_end(&t);
    memory_end(s->v, &own, &t.ctx);
}

/* A forked process, within a time; what it finds wrong is found. */
static void with_child(session *s) {
    static const char *const does[] = {"nothing", "solves", "refactorizes", "destroys", "is new"};
    const int kind = s->setup->child;
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        s->v->found = 0;
        alarm(child_seconds(s));
        if (kind == CHILD_SOLVES) solve(s, s->fac, s->ctx, "solve in a child");
        if (kind == CHILD_REFACTORIZES) child_refactorizes(s);
        if (kind == CHILD_ANEW) child_anew(s);
        session_end(s);
        mpk_context_destroy(&s->ctx);
        _exit(s->v->found ? 1 + __builtin_ctz(s->v->found) : 0);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status)) {
        if (WEXITSTATUS(status)) s->v->found |= UINT32_C(1) << (WEXITSTATUS(status) - 1);
    } else if (WTERMSIG(status) == SIGALRM) {
        wrong(s->v, WRONG_HANG, "a child that %s is not done after %u s", does[kind],
              child_seconds(s));
    } else {
        wrong(s->v, WRONG_CRASH, "a child that %s: signal %d", does[kind], WTERMSIG(status));
    }
}

/* Not with a device, which no child may use; nor under a sanitizer that follows threads. */
static int may_fork(const session *s) {
#if defined(__SANITIZE_THREAD__)
    return 0;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return 0;
#endif
#endif
    return s->setup->child != CHILD_NONE && s->options.device != MPK_ON_CUDA &&
           s->setup->spoil == SPOIL_NOTHING;
}

static void solve_adaptive(session *s) {
    sides io = sides_make(s->eq, s->setup, 0);
    mpk_adaptive result = {0};
    spoil_sides(s, &io);
    const mpk_status status = mpk_solve_adaptive(s->ctx, s->problem, &s->options, s->eq->nrhs, io.b,
                                                 io.ld, io.x, io.ld, NULL, 0, NULL, &result);
    judge_call(s, s->ctx, "solve_adaptive", &io, &result.options, status, &result.solve);
    if (!mpk_failed(status) && result.options.method == MPK_METHOD_LDLT && result.factor)
        judge_certificate(s, result.factor, 1);
    mpk_adaptive_clear(&result);
    sides_free(&io);
}

void run_sparse(verdicts *v, mpk_context *ctx) {
    session s = {.v = v, .ctx = ctx, .eq = &v->trial->eq, .setup = &v->trial->setup};
    choose_options(&s);
    if (make_problem(&s)) {
        if (v->trial->path == PATH_ADAPTIVE)
            solve_adaptive(&s);
        else if (analyse(&s) && factorize(&s)) {
            if (may_fork(&s)) with_child(&s);
            if (s.setup->elsewhere) solve_elsewhere(&s);
            solve(&s, s.fac, s.ctx, "solve");
        }
    }
    session_end(&s);
}
