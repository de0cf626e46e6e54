/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of families, orders, types and right-hand sides. */
#include "families.h"

#include <string.h>

/* 0 .. 60 and seldom to 300; 0 .. 2; 1 .. 40; 2 .. 50 and seldom to 600; 2 .. 8; 30 .. 1024 */
enum order { SMALL, TINY, FEW, BANDED, SEVERAL, LARGE };
/* CONTRADICTING: small integers and 0, which few dependent rows agree to */
enum sides { ANY_SIDES, CONSISTENT, EXTREME_SIDES, ZERO_SIDES, CONTRADICTING };

static const struct family {
    const char *name;
    fill_fn fill;
    enum order order;
    enum sides sides;
    twist_fn twist;
} table[FAMILIES] = {
    {"dense", fill_dense, SMALL, ANY_SIDES, NULL},
    {"sparse", fill_sparse, SMALL, ANY_SIDES, NULL},
    {"saddle", fill_saddle, SMALL, ANY_SIDES, NULL},
    {"pairs", fill_pairs, SMALL, ANY_SIDES, NULL},
    {"definite", fill_definite, SMALL, ANY_SIDES, NULL},
    {"helmholtz", fill_helmholtz, SMALL, ANY_SIDES, NULL},
    {"dependent", fill_dependent, SMALL, ANY_SIDES, NULL},
    {"laplacian", fill_laplacian, SMALL, ANY_SIDES, NULL},
    {"ones", fill_ones, FEW, ANY_SIDES, NULL},
    {"outer", fill_outer, FEW, ANY_SIDES, NULL},
    {"low-rank", fill_low_rank, FEW, ANY_SIDES, NULL},
    {"congruent", fill_congruent, SMALL, ANY_SIDES, NULL},
    {"consistent", fill_congruent, SMALL, CONSISTENT, NULL},
    {"zero", fill_zero, FEW, ANY_SIDES, NULL},
    {"empty", fill_empty, SMALL, ANY_SIDES, NULL},
    {"scaled", fill_scaled, SMALL, ANY_SIDES, NULL},
    {"scaled-rows", fill_scaled_rows, SMALL, ANY_SIDES, NULL},
    {"huge", fill_huge, FEW, ANY_SIDES, NULL},
    {"denormal", fill_denormal, FEW, ANY_SIDES, NULL},
    {"near-singular", fill_near_singular, FEW, ANY_SIDES, NULL},
    {"graded", fill_graded, FEW, ANY_SIDES, NULL},
    {"interior", fill_interior, SMALL, ANY_SIDES, NULL},
    {"tiny", fill_tiny, TINY, ANY_SIDES, NULL},
    {"crafted", fill_crafted, BANDED, ANY_SIDES, NULL},
    {"planted", fill_planted, BANDED, ANY_SIDES, NULL},
    {"grid", fill_grid, LARGE, ANY_SIDES, NULL},
    {"penalty", fill_penalty, FEW, ANY_SIDES, NULL},
    {"redundant", fill_redundant, FEW, CONSISTENT, NULL},
    {"contradicting", fill_redundant, FEW, CONTRADICTING, NULL},
    {"mixed", fill_mixed, FEW, ANY_SIDES, NULL},
    {"decades", fill_decades, SEVERAL, ANY_SIDES, NULL},
    {"noise", fill_any, FEW, ANY_SIDES, twist_noise},
    {"noise-scaled", fill_mixed, FEW, ANY_SIDES, twist_noise},
    {"skew", fill_any, FEW, ANY_SIDES, twist_skew},
    {"zeroed-rows", fill_definite, FEW, ANY_SIDES, twist_rows},
    {"one-entry", fill_any, FEW, ANY_SIDES, twist_entry},
    {"sides", fill_any, SMALL, EXTREME_SIDES, NULL},
    {"spoilt", fill_any, FEW, ANY_SIDES, NULL},
};

const char *family_name(int family) {
    return table[family].name;
}

int family_find(const char *name) {
    for (int k = 0; k < FAMILIES; k++)
        if (!strcmp(table[k].name, name)) return k;
    return -1;
}

int family_is_whole(int family) {
    return table[family].twist != NULL;
}

int family_is_spoilt(int family) {
    return family == FAMILIES - 1;
}

/* ---- the draft ------------------------------------------------------------------------------- */

static size_t place(const draft *d, int i, int j) {
    return (size_t)(i > j ? i : j) + (size_t)(i > j ? j : i) * (size_t)d->n;
}

/* No family is meant to overflow: the largest number replaces what would. */
static double finite_number(const draft *d, double x) {
    const double most = is_single(d->scalar) ? (double)FLT_MAX : DBL_MAX;
    if (!(x <= most)) x = most;
    if (!(x >= -most)) x = -most;
    return number_rounded(d->scalar, x);
}

void draft_set(draft *d, int i, int j, double re, double im) {
    const size_t at = place(d, i, j);
    if (!is_complex(d->scalar) || (i == j && d->symmetry == MPK_HERMITIAN)) im = 0;
    if (i < j && d->symmetry == MPK_HERMITIAN) im = -im;
    d->a[2 * at] = finite_number(d, re);
    d->a[2 * at + 1] = finite_number(d, im);
    d->there[at] = 1;
}

void draft_drop(draft *d, int i, int j) {
    const size_t at = place(d, i, j);
    d->a[2 * at] = d->a[2 * at + 1] = 0;
    d->there[at] = 0;
}

const double *draft_at(const draft *d, int i, int j) {
    return d->a + 2 * place(d, i, j);
}

/* Nonzero numbers: uniform, small integers, powers of two, over six decades. */
static double styled(draft *d) {
    random_state *r = d->rng;
    const double sign = random_chance(r, 0.5) ? 1 : -1;
    switch (d->style) {
    case 1:
        return sign * random_between(r, 1, 3);
    case 2:
        return sign * ldexp(1, random_between(r, -6, 6));
    case 3:
        return sign * pow(10, 6 * random_unit(r) - 3);
    default:
        return random_signed(r);
    }
}

void draft_value(draft *d, double *re, double *im) {
    *re = styled(d);
    *im = is_complex(d->scalar) ? styled(d) : 0;
}

void draft_scale(draft *d, const int *power) {
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++) {
            const double *a = draft_at(d, i, j);
            const int k = power[i] + power[j];
            if (d->there[place(d, i, j)]) draft_set(d, i, j, ldexp(a[0], k), ldexp(a[1], k));
        }
}

static void draft_entries(const draft *d, equations *eq) {
    eq->count = 0;
    for (size_t k = 0; k < (size_t)d->n * (size_t)d->n; k++) eq->count += d->there[k];
    eq->entry = must_alloc((size_t)eq->count, sizeof *eq->entry);
    eq->count = 0;
    for (int j = 0; j < d->n; j++)
        for (int i = j; i < d->n; i++)
            if (d->there[place(d, i, j)])
                eq->entry[eq->count++] =
                    (quad_entry){i, j, draft_at(d, i, j)[0], draft_at(d, i, j)[1]};
}

/* ---- right-hand sides ------------------------------------------------------------------------ */

enum side { RANDOM, PRODUCT, UNIT, INTEGERS, SCALED, DENORMAL, HUGE_ONES, MIXED, ZERO, SIDES };

/* b = A x for small integers x, in doubles: exact for matrices of small integers. */
static void product_side(const equations *eq, random_state *r, double *b) {
    double *x = must_alloc(2 * (size_t)eq->n, sizeof *x);
    int64_t count;
    quad_entry *all = equations_whole(eq, &count);
    for (int32_t i = 0; i < eq->n; i++) x[2 * i] = random_between(r, -3, 3);
    for (int32_t i = 0; is_complex(eq->scalar) && i < eq->n; i++)
        x[2 * i + 1] = random_between(r, -3, 3);
    for (int64_t k = 0; k < count; k++) {
        const double *xj = x + 2 * all[k].j;
        b[2 * all[k].i] += all[k].re * xj[0] - all[k].im * xj[1];
        b[2 * all[k].i + 1] += all[k].re * xj[1] + all[k].im * xj[0];
    }
    free(all);
    free(x);
}

static double side_number(random_state *r, enum side side, int range) {
    const double x = random_signed(r);
    switch (side) {
    case INTEGERS:
        return random_between(r, -5, 5);
    case DENORMAL:
        return ldexp(x, range == 120 ? -140 : -1060);
    case HUGE_ONES:
        return ldexp(x, range == 120 ? 127 : 1023);
    case MIXED:
        return ldexp(x, random_between(r, -range, range));
    default:
        return x;
    }
}

static void fill_side(const draft *d, const equations *eq, enum side side, double *b) {
    random_state *r = d->rng;
    const int range = draft_range(d), power = random_between(r, -range, range);
    if (side == PRODUCT) product_side(eq, r, b);
    if (side == UNIT && d->n > 0) b[2 * random_below(r, d->n)] = 1;
    const int drawn = side != PRODUCT && side != UNIT && side != ZERO;
    for (int32_t i = 0; i < d->n; i++)
        for (int part = 0; part < 2; part++) {
            double *x = &b[2 * i + part];
            if (part && !is_complex(d->scalar)) continue;
            if (drawn) *x = side_number(r, side, range);
            if (side == SCALED) *x = ldexp(*x, power);
            *x = finite_number(d, *x);
        }
}

static enum side choose_side(random_state *r, enum sides sides) {
    static const enum side usual[] = {RANDOM, RANDOM,   PRODUCT,  PRODUCT,
                                      UNIT,   INTEGERS, INTEGERS, SCALED};
    if (sides == CONSISTENT) return PRODUCT;
    if (sides == CONTRADICTING) return INTEGERS;
    if (sides == ZERO_SIDES) return ZERO;
    if (sides == EXTREME_SIDES) return SCALED + (enum side)random_below(r, SIDES - SCALED);
    return random_chance(r, 0.02) ? ZERO : usual[random_below(r, 8)];
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Complex arithmetic in quadruple precision is slow: no complex matrix above order 160. */
static int32_t choose_order(random_state *r, enum order order, mpk_scalar scalar) {
    const double u = random_unit(r);
    const int most = is_complex(scalar) ? 160 : 300;
    if (order == TINY) return random_below(r, 3);
    if (order == SEVERAL) return random_between(r, 2, 8);
    if (order == LARGE) return random_between(r, 30, u < 0.9 ? 300 : 1024);
    if (order == BANDED)
        return u < 0.3     ? random_between(r, 2, 25)
               : u < 0.8   ? random_between(r, 15, 26)
               : u < 0.985 ? random_between(r, 26, 50)
               : u < 0.999 ? random_between(r, 51, 150)
                           : random_between(r, 151, is_complex(scalar) ? 160 : 600);
    if (order == FEW) return random_between(r, 1, u < 0.7 ? 12 : 40);
    return u < 0.01    ? 0
           : u < 0.04  ? 1
           : u < 0.40  ? random_between(r, 2, 10)
           : u < 0.80  ? random_between(r, 11, 30)
           : u < 0.975 ? random_between(r, 31, 60)
           : u < 0.998 ? random_between(r, 61, 130)
                       : random_between(r, 131, most);
}

static void choose_type(random_state *r, equations *eq) {
    static const mpk_scalar scalar[] = {MPK_D, MPK_D, MPK_D, MPK_D, MPK_S, MPK_S,
                                        MPK_Z, MPK_Z, MPK_Z, MPK_C, MPK_C, MPK_C};
    eq->scalar = scalar[random_below(r, 12)];
    eq->symmetry = is_complex(eq->scalar) && random_chance(r, 0.5) ? MPK_HERMITIAN : MPK_SYMMETRIC;
}

void family_make(int family, random_state *rng, equations *eq) {
    const struct family *f = &table[family];
    *eq = (equations){0};
    choose_type(rng, eq);
    eq->n = choose_order(rng, f->order, eq->scalar);
    eq->nrhs = random_chance(rng, 0.85)   ? 1
               : random_chance(rng, 0.85) ? random_between(rng, 2, 3)
               : random_chance(rng, 0.8)  ? 9
                                          : 0;
    const size_t n = (size_t)eq->n;
    draft d = {.rng = rng, .scalar = eq->scalar, .symmetry = eq->symmetry, .n = eq->n};
    d.style = random_below(rng, 5) % 4;
    d.a = must_alloc(2 * n * n, sizeof *d.a);
    d.there = must_alloc(n * n, 1);
    if (n > 0) f->fill(&d);
    draft_entries(&d, eq);
    eq->known = d.known;
    if (f->twist) f->twist(eq, rng);
    eq->b = must_alloc(2 * n * (size_t)eq->nrhs, sizeof *eq->b);
    for (int32_t k = 0; k < eq->nrhs; k++)
        fill_side(&d, eq, choose_side(rng, f->sides), eq->b + 2 * n * (size_t)k);
    free(d.a);
    free(d.there);
}
