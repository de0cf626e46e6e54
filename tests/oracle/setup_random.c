/* SPDX-License-Identifier: BSD-3-Clause */
/* Random choices: often the defaults, sometimes the ends of the ranges; nothing that the headers
 * say is refused. */
#include "setup.h"

#include <math.h>

static double decades(random_state *r, double from, double to) {
    return pow(10, from + (to - from) * random_unit(r));
}

static int64_t some_seed(random_state *r) {
    return 1 + random_below(r, 1000000);
}

static void random_way_in(setup *s, int path, const equations *eq, random_state *r) {
    s->triplets = random_chance(r, 0.4);
    s->triangle = random_chance(r, 0.35) ? MPK_LOWER : random_below(r, 4);
    s->whole = eq->whole;
    if (eq->whole) s->triangle = MPK_FULL;
    if (random_chance(r, 0.5)) s->mix = some_seed(r);
    if (random_chance(r, 0.2)) s->twice = some_seed(r);
    if (s->triangle <= MPK_UPPER && random_chance(r, 0.1)) s->junk = some_seed(r);
    s->null = random_chance(r, 0.3);
    s->replace = random_chance(r, 0.05);
    if (path == PATH_REFACTORIZE) {
        s->before = some_seed(r);
        if (random_chance(r, 0.6)) s->other = random_below(r, OTHERS);
        if (random_chance(r, 0.3)) s->rounds = random_between(r, 2, 4);
    }
    if (path < PATH_NONE && path != PATH_ADAPTIVE &&
        random_chance(r, path < PATH_ILDLT ? 0.3 : 0.1)) {
        s->analysed = some_seed(r);
        if (!s->before) s->other = random_below(r, OTHERS);
        if (path == PATH_REFACTORIZE && random_chance(r, 0.3)) s->before = 0;
    }
    if (random_chance(r, 0.1)) s->elsewhere = 1;
    if (random_chance(r, eq->known.there == 2 ? 0.5 : 0.002))
        s->child = random_between(r, CHILD_SOLVES, CHILDREN - 1);
    if (random_chance(r, 0.15)) s->lead = random_between(r, 1, 5);
    s->in_place = eq->nrhs > 0 && random_chance(r, 0.1);
}

static void random_common(mpk_options *o, random_state *r) {
    if (random_chance(r, 0.25)) o->matching = (mpk_switch)random_below(r, 3);
    if (random_chance(r, 0.25)) o->scaling = (mpk_switch)random_below(r, 3);
    if (random_chance(r, 0.25))
        o->pivot_threshold = random_chance(r, 0.7)   ? 0.5 * random_unit(r)
                             : random_chance(r, 0.5) ? 0
                                                     : 0.5;
    if (random_chance(r, 0.06)) o->threads = random_between(r, 2, 4);
    if (random_chance(r, 0.1)) o->deterministic = MPK_OFF;
    if (random_chance(r, 0.1)) o->seed = some_seed(r);
}

static void random_direct(setup *s, random_state *r) {
    static const mpk_ordering orders[] = {
        MPK_ORDERING_AMD,   MPK_ORDERING_METIS,   MPK_ORDERING_SCOTCH, MPK_ORDERING_RCM,
        MPK_ORDERING_GIVEN, MPK_ORDERING_NATURAL, MPK_ORDERING_ND};
    mpk_options *o = &s->options;
    if (random_chance(r, 0.4)) o->ordering = orders[random_below(r, 7)];
    if (o->ordering == MPK_ORDERING_GIVEN) s->order = some_seed(r);
    if (random_chance(r, 0.1)) o->zero_tolerance = random_chance(r, 0.5) ? 0 : decades(r, -20, -8);
    if (random_chance(r, 0.06)) o->static_shift = decades(r, -12, -1);
    if (random_chance(r, 0.25)) o->refine = random_below(r, 4);
    if (random_chance(r, 0.2)) o->accuracy = random_chance(r, 0.1) ? 0 : decades(r, -16, -4);
    if (random_chance(r, 0.08)) o->condition = MPK_ON;
}

static void random_iteration(mpk_options *o, random_state *r) {
    if (random_chance(r, 0.5)) o->tolerance = decades(r, -16, 0);
    if (random_chance(r, 0.03)) o->tolerance = 0;
    if (random_chance(r, 0.2)) o->max_iterations = random_below(r, 60);
    if (random_chance(r, 0.2)) o->restart = random_between(r, 1, 30);
    if (random_chance(r, 0.2)) o->shadow = random_between(r, 1, 8);
}

static mpk_krylov random_method(const equations *eq, int symmetric, random_state *r) {
    for (;;) {
        const mpk_krylov k = (mpk_krylov)random_between(r, MPK_KRYLOV_SQMR, MPK_KRYLOV_IDR);
        const int definite = k >= MPK_KRYLOV_MINRES && k <= MPK_KRYLOV_CG;
        if (definite && !has_inertia(eq)) continue;
        if (!symmetric && k <= MPK_KRYLOV_CG) continue;
        return k;
    }
}

static void random_blocks(mpk_options *o, const equations *eq, random_state *r) {
    static const mpk_ordering orders[] = {
        MPK_ORDERING_AMD,     MPK_ORDERING_METIS, MPK_ORDERING_SCOTCH, MPK_ORDERING_RCM,
        MPK_ORDERING_NATURAL, MPK_ORDERING_ND,    MPK_ORDERING_GMC};
    if (random_chance(r, 0.3)) o->ordering = orders[random_below(r, 7)];
    if (random_chance(r, 0.3)) o->strategy = (mpk_strategy)random_below(r, 4);
    if (random_chance(r, 0.5)) o->block = random_between(r, 1, random_chance(r, 0.7) ? 12 : 128);
    if (random_chance(r, 0.1)) o->grid = MPK_ON;
    if (random_chance(r, 0.2)) o->similarity = random_unit(r);
    if (random_chance(r, 0.1)) o->similarity_end = random_unit(r);
    if (random_chance(r, 0.5)) o->level = random_between(r, -1, 4);
    if (random_chance(r, 0.4)) o->fill_factor = random_chance(r, 0.5) ? 0 : 8 * random_unit(r);
    if (random_chance(r, 0.5)) o->drop_tolerance = random_chance(r, 0.4) ? 0 : decades(r, -14, 0);
    if (random_chance(r, 0.25)) o->factor_type = (mpk_factor_type)random_below(r, 3);
    if (random_chance(r, 0.4)) o->pivoting = (mpk_pivoting)random_below(r, MPK_PIVOTING_COUNT);
    if (o->pivoting == MPK_PIVOTING_STATIC &&
        (o->matching == MPK_OFF || o->factor_type == MPK_TYPE_LLT))
        o->pivoting = MPK_PIVOTING_COMPLETE;
    if (random_chance(r, 0.3)) o->stages = random_between(r, 2, 5);
    if (o->stages > 1 && random_chance(r, 0.3)) o->butterfly = MPK_ON;
    if (random_chance(r, 0.3)) o->schedule = (mpk_schedule)random_below(r, 4);
    if (random_chance(r, 0.3)) o->sweeps = random_between(r, 1, 20);
    if (random_chance(r, 0.2)) o->jacobi_epsilon = random_unit(r);
    if (random_chance(r, 0.2)) o->jacobi_decay = random_unit(r);
    if (random_chance(r, 0.1)) o->shift = decades(r, -10, 0);
    if (random_chance(r, 0.05)) o->static_shift = decades(r, -12, -1);
    if (random_chance(r, 0.25)) o->precision = MPK_PRECISION_SINGLE;
    if (random_chance(r, 0.15)) o->solve_sweeps = random_between(r, 1, 10);
    if (random_chance(r, 0.8)) o->krylov = random_method(eq, o->factor_type != MPK_TYPE_LDU, r);
}

static void random_dense(setup *s, random_state *r) {
    s->dense_method = random_below(r, MPK_DENSE_COUNT);
    s->dense_precision = random_chance(r, 0.3) ? MPK_DENSE_SINGLE : MPK_DENSE_WORKING;
    s->upper = random_chance(r, 0.5);
    s->apart = random_chance(r, 0.5);
    s->tile = random_chance(r, 0.3) ? random_between(r, 32, 64) : 0;
    s->depth = random_between(r, 1, 2);
    s->refinement = random_below(r, 3);
    if (s->dense_method == MPK_DENSE_AUTO) s->in_place = 0;
    /* the dense methods' range is open at zero */
    if (!(s->options.pivot_threshold > 0)) s->options.pivot_threshold = 0.01;
}

static void random_batch(setup *s, random_state *r) {
    s->batch_method = random_below(r, 3);
    s->layout = random_below(r, 3);
    s->copies = random_between(r, 1, 3);
    s->options.pivoting = (mpk_pivoting)random_below(r, MPK_PIVOTING_COUNT);
    if (s->batch_method == MPK_BATCH_LLT && s->options.pivoting != MPK_PIVOTING_NONE)
        s->options.pivoting = MPK_PIVOTING_COMPLETE;
    if (s->options.pivoting == MPK_PIVOTING_STATIC) s->options.pivoting = MPK_PIVOTING_ROOK;
}

static void random_spoil(setup *s, int path, const equations *eq, random_state *r) {
    s->spoil = random_between(r, SPOIL_MATRIX, SPOIL_IMAGINARY);
    s->spoil_with = random_below(r, 3);
    s->spoil_at = random_below(r, 1000);
    if (s->spoil == SPOIL_IMAGINARY &&
        (eq->symmetry != MPK_HERMITIAN || path == PATH_DENSE || path == PATH_KRYLOV))
        s->spoil = SPOIL_SIDES;
    if (path == PATH_KRYLOV) s->spoil = SPOIL_SIDES;
    if (path == PATH_BATCH) s->spoil = SPOIL_MATRIX;
    if (path == PATH_DENSE && s->spoil == SPOIL_VALUES) s->spoil = SPOIL_MATRIX;
    if (path == PATH_ADAPTIVE && s->spoil == SPOIL_VALUES) s->spoil = SPOIL_MATRIX;
    if (s->spoil == SPOIL_VALUES || s->spoil == SPOIL_IMAGINARY) s->null = 0;
    s->analysed = 0;
    s->junk = s->twice = 0; /* so that the spoilt entry counts, and is not summed */
}

void setup_random(setup *s, int path, const equations *eq, int spoilt, random_state *r) {
    mpk_options *o = &s->options;
    setup_default(s);
    random_way_in(s, path, eq, r);
    random_common(o, r);
    random_direct(s, r);
    random_iteration(o, r);
    if (path >= PATH_ILDLT && path <= PATH_NONE) {
        o->ordering = MPK_ORDERING_AUTO;
        o->static_shift = 0;
        random_blocks(o, eq, r);
        if (path == PATH_ILU0) o->butterfly = MPK_OFF; /* there are no stages */
    }
    if (path == PATH_DIRECT && random_chance(r, 0.1)) o->krylov = MPK_KRYLOV_NONE;
    if (path == PATH_DIRECT_KRYLOV) o->krylov = random_method(eq, 1, r);
    if (path == PATH_ADAPTIVE) {
        o->direct = (mpk_switch)random_below(r, 3);
        if (o->direct != MPK_ON && random_chance(r, 0.5)) o->ordering = MPK_ORDERING_AUTO;
        if (random_chance(r, 0.5)) o->krylov = random_method(eq, 1, r);
    }
    if (path == PATH_KRYLOV) {
        o->krylov = random_method(eq, 1, r);
        s->check = random_chance(r, 0.5) ? 8 : random_between(r, 1, 20);
        s->guess = random_chance(r, 0.3);
        s->diagonal = random_chance(r, 0.4);
    }
    if (path == PATH_DENSE) random_dense(s, r);
    if (path == PATH_BATCH) random_batch(s, r);
    if (s->child && random_chance(r, 0.7)) o->threads = random_between(r, 2, 4);
    if (spoilt) random_spoil(s, path, eq, r);
}
