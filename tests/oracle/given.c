/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix as a caller may give it: either triangle, any order, entries in parts. */
#include "given.h"

#include <string.h>

enum { PARTS = 3 };

/* Bits from .. to-1 of the 53 bits of x, with the sign of x. */
static double bits_between(double x, int from, int to) {
    int exponent;
    const double m = frexp(x, &exponent);
    const double upper = trunc(ldexp(m, to)), lower = ldexp(trunc(ldexp(m, from)), to - from);
    return ldexp(upper - lower, exponent - to);
}

static double part_of(double x, int part, int parts) {
    static const int cut[PARTS + 1][PARTS + 1] = {{0}, {0, 53}, {0, 11, 53}, {0, 9, 17, 53}};
    return bits_between(x, cut[parts][part], cut[parts][part + 1]);
}

typedef struct triplet {
    int32_t row, col;
    double re, im;
} triplet;

/* One entry of the lower triangle, in `parts`, in the triangle that is asked for. */
static int64_t put(const equations *eq, const setup *s, const quad_entry *e, int parts, int flip,
                   triplet *to) {
    const double turn = eq->symmetry == MPK_HERMITIAN ? -1 : 1;
    const int upper = s->triangle == MPK_UPPER || (s->triangle == MPK_EITHER && flip);
    int64_t count = 0;
    for (int part = 0; part < parts; part++) {
        const double re = part_of(e->re, part, parts), im = part_of(e->im, part, parts);
        const int both = s->triangle == MPK_FULL && e->i != e->j && !eq->whole;
        if (!upper || e->i == e->j) to[count++] = (triplet){e->i, e->j, re, im};
        if ((upper && e->i != e->j) || both) to[count++] = (triplet){e->j, e->i, re, turn * im};
    }
    return count;
}

static void shuffle(triplet *t, int64_t count, int64_t seed) {
    random_state r = random_start((uint64_t)seed, 1);
    for (int64_t k = count - 1; k > 0; k--) {
        const int64_t other = random_below(&r, (int)(k + 1));
        const triplet kept = t[k];
        t[k] = t[other];
        t[other] = kept;
    }
}

/* Entries in the other triangle, which must not count. */
static int64_t put_junk(const equations *eq, const setup *s, triplet *to) {
    random_state r = random_start((uint64_t)s->junk, 2);
    const int64_t most = eq->n > 1 ? 1 + random_below(&r, eq->n) : 0;
    for (int64_t k = 0; k < most; k++) {
        const int32_t i = random_between(&r, 1, eq->n - 1), j = random_below(&r, i);
        const double x = random_signed(&r);
        to[k] = s->triangle == MPK_LOWER ? (triplet){j, i, x, x} : (triplet){i, j, x, x};
    }
    return most;
}

static void by_columns(const equations *eq, triplet *t, int64_t count, given *g) {
    triplet *sorted = must_alloc((size_t)count, sizeof *sorted);
    g->ap = must_alloc((size_t)eq->n + 1, sizeof *g->ap);
    for (int64_t k = 0; k < count; k++) g->ap[t[k].col + 1]++;
    for (int32_t j = 0; j < eq->n; j++) g->ap[j + 1] += g->ap[j];
    for (int64_t k = 0; k < count; k++) sorted[g->ap[t[k].col]++] = t[k];
    memmove(g->ap + 1, g->ap, (size_t)eq->n * sizeof *g->ap);
    g->ap[0] = 0;
    if (count) memcpy(t, sorted, (size_t)count * sizeof *t);
    free(sorted);
}

given given_make(const equations *eq, const quad_entry *entry, const setup *s) {
    random_state r = random_start((uint64_t)s->twice, 0);
    random_state side = random_start((uint64_t)s->mix, 4);
    const size_t most = (size_t)eq->count * 2 * PARTS + (size_t)eq->n + 1;
    triplet *t = must_alloc(most, sizeof *t);
    int64_t count = 0;
    given g = {0};
    for (int64_t k = 0; k < eq->count; k++) {
        const int parts = s->twice && random_chance(&r, 0.3) ? random_between(&r, 2, PARTS) : 1;
        count += put(eq, s, &entry[k], parts, random_chance(&side, 0.5), t + count);
    }
    if (s->junk && s->triangle <= MPK_UPPER) count += put_junk(eq, s, t + count);
    if (s->mix) shuffle(t, count, s->mix);
    if (!s->triplets) by_columns(eq, t, count, &g);
    g.count = count;
    g.row = must_alloc((size_t)count, sizeof *g.row);
    g.col = must_alloc((size_t)count, sizeof *g.col);
    g.value = must_alloc((size_t)count, mpk_scalar_size(eq->scalar));
    double *pairs = must_alloc(2 * (size_t)count, sizeof *pairs);
    for (int64_t k = 0; k < count; k++) {
        g.row[k] = t[k].row;
        g.col[k] = t[k].col;
        pairs[2 * k] = t[k].re;
        pairs[2 * k + 1] = t[k].im;
    }
    numbers_store(eq->scalar, count, pairs, g.value);
    free(pairs);
    free(t);
    return g;
}

void given_free(given *g) {
    free(g->row);
    free(g->col);
    free(g->ap);
    free(g->value);
    *g = (given){0};
}

/* A factor of its own for each row: 10^-8 .. 10^8, in single 10^-4 .. 10^4. */
static double row_scale(const equations *eq, int64_t seed, int32_t i) {
    random_state r = random_start((uint64_t)seed, 1000 + (uint64_t)i);
    return pow(10, (is_single(eq->scalar) ? 4 : 8) * random_signed(&r));
}

/* Values for entry (i, j), the same for (j, i): so a matrix given whole stays as skew as it is. */
static quad_entry other_values(const equations *eq, const quad_entry *e, enum other kind,
                               int64_t seed) {
    const int32_t low = e->i < e->j ? e->i : e->j, high = e->i < e->j ? e->j : e->i;
    random_state r =
        random_start((uint64_t)seed, (uint64_t)low * UINT64_C(0x100000) + (uint64_t)high);
    const int integer = random_between(&r, -3, 3), gone = random_chance(&r, 0.4);
    const int sign = random_chance(&r, 0.5) ? -1 : 1;
    double factor = 1;
    quad_entry other = *e;
    switch (kind) {
    case OTHER_SCALE:
        factor = row_scale(eq, seed, e->i) * row_scale(eq, seed, e->j);
        break;
    case OTHER_ZEROS:
        factor = gone ? 0 : 1;
        break;
    case OTHER_SIGNS:
        factor = sign;
        break;
    case OTHER_INTEGERS:
        other.re = integer;
        other.im = e->i == e->j || !is_complex(eq->scalar) ? 0 : e->i > e->j ? 1 : -1;
        if (eq->symmetry != MPK_HERMITIAN) other.im = fabs(other.im);
        break;
    case OTHER_ENTRIES:
        factor = pow(10, (is_single(eq->scalar) ? 4 : 8) * random_signed(&r)) * (gone ? 0 : sign);
        break;
    default:
        factor = 0;
    }
    other.re = number_rounded(eq->scalar, factor * other.re);
    other.im = number_rounded(eq->scalar, factor * other.im);
    return isfinite(other.re) && isfinite(other.im) ? other : *e;
}

quad_entry *given_before(const equations *eq, enum other kind, int64_t seed) {
    random_state r = random_start((uint64_t)seed, 5);
    quad_entry *other = must_alloc((size_t)eq->count, sizeof *other);
    for (int64_t k = 0; k < eq->count; k++) {
        if (kind != OTHER_NEAR || eq->whole) {
            other[k] = other_values(eq, &eq->entry[k], kind, seed);
            continue;
        }
        const double size = ldexp(random_chance(&r, 0.3) ? -1 : 1, random_between(&r, -6, 6));
        other[k] = eq->entry[k];
        if (random_chance(&r, 0.1)) other[k].re = random_signed(&r);
        other[k].re = number_rounded(eq->scalar, size * other[k].re);
        other[k].im = number_rounded(eq->scalar, size * other[k].im);
        if (!isfinite(other[k].re) || !isfinite(other[k].im)) other[k] = eq->entry[k];
    }
    return other;
}

/* ---- input that must be refused ---- */

double spoil_number(const setup *s) {
    return s->spoil_with == 0 ? (double)NAN : s->spoil_with == 1 ? INFINITY : -INFINITY;
}

void number_spoil(const setup *s, mpk_scalar scalar, int64_t count, void *array) {
    const int64_t parts = is_complex(scalar) ? 2 : 1;
    if (count == 0) return;
    if (is_single(scalar))
        ((float *)array)[s->spoil_at % (parts * count)] = (float)spoil_number(s);
    else
        ((double *)array)[s->spoil_at % (parts * count)] = spoil_number(s);
}

int given_spoil(const equations *eq, const setup *s, given *g) {
    if (g->count == 0) return 0;
    if (s->spoil != SPOIL_IMAGINARY) {
        number_spoil(s, eq->scalar, g->count, g->value);
        return 1;
    }
    for (int64_t k = 0; k < g->count; k++) {
        if (g->row[k] != g->col[k]) continue;
        if (is_single(eq->scalar))
            ((float *)g->value)[2 * k + 1] = fabsf(((float *)g->value)[2 * k]) + 1;
        else
            ((double *)g->value)[2 * k + 1] = fabs(((double *)g->value)[2 * k]) + 1;
        return 1;
    }
    return 0;
}

mpk_status given_problem(mpk_context *ctx, const equations *eq, const setup *s, const given *g,
                         mpk_problem **problem) {
    const mpk_triangle triangle = (mpk_triangle)s->triangle;
    if (s->triplets)
        return mpk_problem_from_triplets(ctx, eq->n, eq->scalar, eq->symmetry, triangle, g->count,
                                         g->row, g->col, g->value, problem);
    return mpk_problem_from_csc(ctx, eq->n, eq->scalar, eq->symmetry, triangle, g->ap, g->row,
                                g->value, problem);
}
