/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FACTOR_SYSTEMS_H
#define TESTS_FACTOR_SYSTEMS_H
/** Direct factors, each with a context, a problem and an analysis of its own. */
#include "core/core.h"
#include "core/pool.h"
#include "support.h"

/* A factor and all that it hangs on. */
typedef struct system_of {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_factor_info info;
    mpk_status status;
} system_of;

static inline void factorize(system_of *s) {
    mpk_problem_view_get(s->problem, &s->a);
    assert_false(mpk_failed(mpk_analyse(s->ctx, s->problem, &s->o, &s->an)));
    s->status = mpk_factorize(s->ctx, s->an, NULL, &s->o, &s->fac);
    assert_false(mpk_failed(s->status));
    mpk_factor_info_get(s->fac, &s->info);
}

static inline system_of of_dense(const dense *m, mpk_options o) {
    system_of s = {.o = o};
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    mpki_context_set_cores(s.ctx, 64);
    s.problem = dense_problem(s.ctx, m, 0);
    factorize(&s);
    return s;
}

static inline system_of of_spec(const char *spec, mpk_options o) {
    system_of s = {.o = o};
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    mpki_context_set_cores(s.ctx, 64);
    assert_int_equal(mpk_problem_generate(s.ctx, spec, 7, &s.problem), MPK_OK);
    factorize(&s);
    return s;
}

static inline void end(system_of *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

#endif
