/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices given with both triangles, which do not quite agree or not at all. The matrix that was
 * given is the one to solve, or to refuse. */
#include "families.h"

/* Both triangles of a symmetric draft. */
static void open_up(equations *eq) {
    int64_t count;
    quad_entry *all = equations_whole(eq, &count);
    free(eq->entry);
    eq->entry = all;
    eq->count = count;
    eq->whole = 1;
}

static void set_entry(const equations *eq, quad_entry *e, double re, double im) {
    const double most = is_single(eq->scalar) ? (double)FLT_MAX : DBL_MAX;
    if (fabs(re) <= most) e->re = number_rounded(eq->scalar, re);
    if (fabs(im) <= most) e->im = number_rounded(eq->scalar, im);
}

/* What rounding leaves: 1e-16 .. 1e-9 of the entry, or of sqrt |a_ii a_jj|; in single 1e-7 ..
 * 1e-4. */
void twist_noise(equations *eq, random_state *r) {
    const double most = is_single(eq->scalar) ? 1e-4 : 1e-9,
                 least = is_single(eq->scalar) ? 1e-7 : 1e-16;
    const double noise = least * pow(most / least, random_unit(r) * random_unit(r));
    const int by_diagonal = random_chance(r, 0.3);
    double *diagonal = must_alloc((size_t)eq->n, sizeof *diagonal);
    for (int64_t k = 0; k < eq->count; k++)
        if (eq->entry[k].i == eq->entry[k].j)
            diagonal[eq->entry[k].i] = sqrt(fabs(eq->entry[k].re));
    open_up(eq);
    for (int64_t k = 0; k < eq->count; k++) {
        quad_entry *e = &eq->entry[k];
        const double x = noise * random_signed(r), size = diagonal[e->i] * diagonal[e->j];
        if (e->i >= e->j) continue;
        if (by_diagonal)
            set_entry(eq, e, e->re + x * size, e->im);
        else
            set_entry(eq, e, e->re * (1 + x), e->im * (1 + x));
    }
    free(diagonal);
}

/* [K -B; B' C] in place of [K B; B' C], in units in which K is large and C small. */
void twist_skew(equations *eq, random_state *r) {
    const int split = eq->n > 1 ? random_between(r, 1, eq->n - 1) : 0,
              single = is_single(eq->scalar);
    const double large = pow(10, random_between(r, 0, single ? 6 : 12));
    const double small = pow(10, -random_between(r, 0, single ? 6 : 12));
    for (int64_t k = 0; k < eq->count; k++) {
        quad_entry *e = &eq->entry[k];
        const double unit = e->i < split ? large : e->j >= split ? small : 1;
        set_entry(eq, e, e->re * unit, e->im * unit);
    }
    open_up(eq);
    for (int64_t k = 0; k < eq->count; k++) {
        quad_entry *e = &eq->entry[k];
        if (e->i < split && e->j >= split) set_entry(eq, e, -e->re, -e->im);
    }
}

/* Rows replaced by a large diagonal, as boundary values are set; the columns are left. */
void twist_rows(equations *eq, random_state *r) {
    const double large = pow(10, random_between(r, 0, is_single(eq->scalar) ? 12 : 30));
    const int rows = random_between(r, 1, 3);
    open_up(eq);
    for (int k = 0; k < rows && eq->n > 0; k++) {
        const int32_t row = random_below(r, eq->n);
        int found = 0;
        for (int64_t e = 0; e < eq->count; e++)
            if (eq->entry[e].i == row) {
                const int diagonal = eq->entry[e].j == row;
                found |= diagonal;
                eq->entry[e].re = diagonal ? number_rounded(eq->scalar, large) : 0;
                eq->entry[e].im = 0;
            }
        if (found) continue;
        eq->entry = realloc(eq->entry, (size_t)(eq->count + 1) * sizeof *eq->entry);
        if (!eq->entry) abort();
        eq->entry[eq->count++] = (quad_entry){row, row, number_rounded(eq->scalar, large), 0};
    }
}

/* One entry that its mirror image does not have, in a matrix of large or moderate numbers; or
 * convection: +c and -c beside a large diagonal. */
void twist_entry(equations *eq, random_state *r) {
    const int single = is_single(eq->scalar), all = random_chance(r, 0.4);
    const double unit = pow(10, random_between(r, 0, single ? 6 : 10));
    for (int64_t k = 0; k < eq->count; k++)
        if (!all || eq->entry[k].i == eq->entry[k].j)
            set_entry(eq, &eq->entry[k], eq->entry[k].re * unit, eq->entry[k].im * unit);
    open_up(eq);
    for (int64_t k = 0, tries = 0; eq->count > 0 && tries < (all ? eq->count : 1); tries++) {
        quad_entry *e = &eq->entry[all ? k++ : random_below(r, (int)eq->count)];
        if (e->i >= e->j) continue;
        if (all)
            set_entry(eq, e, -e->re, -e->im);
        else
            set_entry(eq, e, e->re + 100 * pow(10, -random_below(r, 4)), e->im);
    }
}
