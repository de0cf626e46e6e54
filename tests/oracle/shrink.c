/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a failing trial small: fewer right-hand sides, choices, rows, entries and digits, as long
 * as the finding stays. */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct shrinker {
    trial *best;
    uint32_t wanted; /* a bit of enum wrong */
    double patience;
} shrinker;

/* Take the other trial if it still fails; the one not taken is freed. */
static int take(shrinker *s, trial *other) {
    const int good = (trial_findings(other, s->patience) & s->wanted) != 0;
    if (good) {
        trial_free(s->best);
        *s->best = *other;
    } else {
        trial_free(other);
    }
    return good;
}

static trial copy_of(const trial *t) {
    trial copy = *t;
    copy.eq = equations_copy(&t->eq);
    return copy;
}

static int fewer_sides(shrinker *s) {
    const int32_t sides = s->best->eq.nrhs;
    for (int32_t r = 0; sides > 1 && r < sides; r++) {
        trial other = copy_of(s->best);
        const size_t n = 2 * (size_t)other.eq.n;
        memmove(other.eq.b, other.eq.b + n * (size_t)r, n * sizeof *other.eq.b);
        other.eq.nrhs = 1;
        if (take(s, &other)) return 1;
    }
    return 0;
}

static int fewer_choices(shrinker *s) {
    int changed = 0;
    for (int k = 0;; k++) {
        trial other = copy_of(s->best);
        const int reset = setup_reset(&other.setup, k);
        if (reset > 0) {
            changed |= take(s, &other);
            continue;
        }
        trial_free(&other);
        if (reset < 0) return changed;
    }
}

/* Remove row and column i. */
static void drop_row(equations *eq, int32_t i) {
    eq->known.there = 0;
    int64_t count = 0;
    size_t at = 0;
    for (int64_t k = 0; k < eq->count; k++) {
        quad_entry e = eq->entry[k];
        if (e.i == i || e.j == i) continue;
        e.i -= e.i > i;
        e.j -= e.j > i;
        eq->entry[count++] = e;
    }
    eq->count = count;
    for (size_t k = 0; k < (size_t)eq->n * (size_t)eq->nrhs; k++) {
        if ((int32_t)(k % (size_t)eq->n) == i) continue;
        eq->b[at++] = eq->b[2 * k];
        eq->b[at++] = eq->b[2 * k + 1];
    }
    eq->n--;
}

/* Whole ranges of rows first, then one by one. */
static int fewer_rows(shrinker *s) {
    int changed = 0;
    for (int32_t width = (s->best->eq.n + 1) / 2; width >= 1; width /= 2)
        for (int32_t i = 0; i + width <= s->best->eq.n;) {
            trial other = copy_of(s->best);
            for (int32_t k = 0; k < width; k++) drop_row(&other.eq, i);
            if (take(s, &other))
                changed = 1;
            else
                i += width;
        }
    return changed;
}

static int fewer_entries(shrinker *s) {
    int changed = 0;
    for (int64_t width = (s->best->eq.count + 1) / 2; width >= 1; width /= 2)
        for (int64_t k = 0; k + width <= s->best->eq.count;) {
            trial other = copy_of(s->best);
            quad_entry *e = other.eq.entry;
            memmove(e + k, e + k + width, (size_t)(other.eq.count - k - width) * sizeof *e);
            other.eq.count -= width;
            other.eq.known.there = 0;
            if (take(s, &other))
                changed = 1;
            else
                k += width;
        }
    return changed;
}

/* The next simpler number by kind: 0, 1, a power of two, an integer, a few bits. */
static double simpler(double x, int how) {
    int exponent;
    const double m = frexp(x, &exponent);
    switch (how) {
    case 0:
        return 0;
    case 1:
        return x < 0 ? -1 : 1;
    case 2:
        return ldexp(x < 0 ? -1 : 1, exponent);
    case 3:
        return fabs(x) < 0x1p40 ? nearbyint(x) : x;
    case 4:
        return ldexp(nearbyint(ldexp(m, 3)), exponent - 3);
    default:
        return ldexp(nearbyint(ldexp(m, 10)), exponent - 10);
    }
}

static int is_simpler(double now, double then) {
    const double a[] = {now, then};
    int digits[2];
    for (int k = 0; k < 2; k++) {
        char text[64];
        for (digits[k] = 1; digits[k] < 18; digits[k]++) {
            snprintf(text, sizeof text, "%.*g", digits[k], a[k]);
            if (strtod(text, NULL) == a[k]) break;
        }
        digits[k] = a[k] == 0 ? 0 : 2 * digits[k] + (fabs(log10(fabs(a[k]))) > 3);
    }
    return isfinite(now) && digits[0] < digits[1];
}

/* Number `at` of the entries' and right-hand sides' parts. */
static double *part(equations *eq, int64_t at) {
    if (at < 2 * eq->count) return at % 2 ? &eq->entry[at / 2].im : &eq->entry[at / 2].re;
    return &eq->b[at - 2 * eq->count];
}

static int simpler_numbers(shrinker *s) {
    const int64_t parts = 2 * (s->best->eq.count + (int64_t)s->best->eq.n * s->best->eq.nrhs);
    int changed = 0;
    for (int64_t at = 0; at < parts; at++)
        for (int how = 0; how < 6; how++) {
            const double then = *part(&s->best->eq, at);
            const double now = number_rounded(s->best->eq.scalar, simpler(then, how));
            if (then == 0 || !is_simpler(now, then)) continue;
            trial other = copy_of(s->best);
            *part(&other.eq, at) = now;
            if (at < 2 * other.eq.count) other.eq.known.there = 0;
            if (take(s, &other)) {
                changed = 1;
                break;
            }
        }
    return changed;
}

/* ---- as a case for cases.c ------------------------------------------------------------------- */

/* The shortest text that is x. */
static void print_number(double x) {
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    printf("%s", text);
}

static void print_pair(double re, double im) {
    print_number(re);
    printf(", ");
    print_number(im);
}

/* The truth, for the comment of a case. */
static void print_truth(const trial *t) {
    truth is = truth_make(&t->eq);
    printf("/* rank %d of %d%s", truth_rank(&is)->rank, t->eq.n,
           truth_inconsistent(&is) ? ", no solution" : "");
    if (has_inertia(&t->eq) && truth_inertia(&is)->there)
        printf("; %d positive, %d negative", is.inertia.positive, is.inertia.negative);
    if (truth_condition(&is, 1) < INFINITY)
        printf("; condition %.3g, scaled %.3g; largest of x %.3g", is.inverse.plain,
               is.inverse.scaled, is.inverse.largest);
    printf(" */\n");
    truth_free(&is);
}

void trial_print(const trial *t) {
    static const char *const scalars[] = {"MPK_S", "MPK_D", "MPK_C", "MPK_Z"};
    const equations *eq = &t->eq;
    char text[SETUP_TEXT];
    setup_text(&t->setup, text);
    print_truth(t);
    printf("    {\"%s\", \"%s\", \"%s\", %s, %s, %d, %d,\n     ENTRIES(", t->name,
           path_name(t->path), text, scalars[eq->scalar],
           eq->symmetry == MPK_HERMITIAN ? "MPK_HERMITIAN" : "MPK_SYMMETRIC", eq->n, eq->nrhs);
    for (int64_t k = 0; k < eq->count; k++) {
        printf("%s{%d, %d, ", k ? ", " : "", eq->entry[k].i, eq->entry[k].j);
        print_pair(eq->entry[k].re, eq->entry[k].im);
        printf("}");
    }
    printf("),\n     SIDES(");
    for (int64_t k = 0; k < (int64_t)eq->n * eq->nrhs; k++) {
        printf("%s", k ? ", " : "");
        print_pair(eq->b[2 * k], eq->b[2 * k + 1]);
    }
    printf(")},\n");
}

void trial_shrink(trial *t, double patience) {
    const uint32_t found = trial_findings(t, patience);
    shrinker s = {t, 0, patience};
    if (!found) {
        printf("nothing is wrong with this case\n");
        return;
    }
    for (int kind = 0; kind < WRONGS; kind++) {
        if (!(found & UINT32_C(1) << kind)) continue;
        trial start = copy_of(t);
        s.best = &start;
        s.wanted = UINT32_C(1) << kind;
        for (int round = 0, changed = 1; changed && round < 8; round++) {
            changed = fewer_sides(&s) | fewer_choices(&s) | fewer_rows(&s);
            changed |= fewer_entries(&s) | simpler_numbers(&s);
        }
        printf("/* %s */\n", wrong_name(kind));
        trial_print(&start);
        trial_free(&start);
    }
}
