/* SPDX-License-Identifier: BSD-3-Clause */
/* Structure in blocks and signs, whatever the order of the rows: saddle points, Laplacians. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row is. */
enum { VARIABLE = 0, OTHER = 1, CONSTRAINT = 2, NEITHER = 3 /* empty */, NEW = 4 };

typedef struct split {
    const doctor_rows *r;
    char *part;       /* n */
    double *diagonal; /* n: real parts */
    double *imag;     /* n: imaginary parts */
    int32_t *queue;   /* n */
    int32_t zero, positive, negative, either, coupled, torn, tied;
} split;

static bool is_linked(const split *s, int32_t i, char part) {
    for (int64_t e = s->r->ptr[i]; e < s->r->ptr[i + 1]; e++)
        if (s->r->col[e] != i && s->part[s->r->col[e]] == part) return true;
    return false;
}

/* The component of zero diagonals that begins at `seed`, in two colours. Returns its size; 0: it has
 * an odd cycle. */
static int32_t colour(split *s, int32_t seed) {
    int32_t count = 0;
    s->queue[count++] = seed;
    s->part[seed] = OTHER;
    for (int32_t head = 0; head < count; head++) {
        const int32_t i = s->queue[head];
        for (int64_t e = s->r->ptr[i]; e < s->r->ptr[i + 1]; e++) {
            const int32_t k = s->r->col[e];
            if (s->part[k] == s->part[i] && k != i) return 0;
            if (s->part[k] != NEW) continue;
            s->part[k] = s->part[i] == OTHER ? CONSTRAINT : OTHER;
            s->queue[count++] = k;
        }
    }
    return count;
}

/* Which colour is that of the constraints? A variable with H_ii = 0 in a semidefinite H meets
 * constraints alone: so the colour that meets other variables is theirs. Where neither does, the
 * smaller; where both do, the larger; of two of one size the one that stands later. */
static void orient(split *s, int32_t count) {
    int32_t size[2] = {0, 0};
    double place[2] = {0, 0};
    bool linked[2] = {false, false};
    for (int32_t k = 0; k < count; k++) {
        const int32_t i = s->queue[k], c = s->part[i] == CONSTRAINT;
        size[c]++;
        place[c] += i;
        linked[c] = linked[c] || is_linked(s, i, VARIABLE);
    }
    int mine = linked[1] ? 1 : 0;
    if (linked[0] && linked[1]) mine = size[1] > size[0], s->torn++;
    if (!linked[0] && !linked[1]) mine = size[1] > 0 && size[1] < size[0];
    if (linked[0] == linked[1] && size[0] == size[1]) mine = place[1] > place[0], s->tied++;
    if (!linked[0] && !linked[1]) s->either += size[mine];
    s->coupled += size[!mine];
    for (int32_t k = 0; k < count; k++) {
        const int32_t i = s->queue[k];
        s->part[i] = (s->part[i] == CONSTRAINT) == mine ? CONSTRAINT : OTHER;
    }
}

/* The rows with zero diagonal, as constraints and variables. False: they are not bipartite. */
static bool part_zero(split *s) {
    for (int32_t i = 0; i < s->r->n; i++) {
        if (s->part[i] != NEW) continue;
        const int32_t count = colour(s, i);
        if (count == 0) return false;
        orient(s, count);
    }
    return true;
}

/* Constraints with a diagonal: the rows of one sign, if no two of them are coupled. */
static bool part_by_sign(split *s, int sign) {
    for (int32_t i = 0; i < s->r->n; i++) {
        if (s->part[i] == NEITHER) continue;
        s->part[i] = s->diagonal[i] * sign > 0 ? CONSTRAINT : VARIABLE;
    }
    for (int32_t i = 0; i < s->r->n; i++)
        if (s->part[i] == CONSTRAINT && is_linked(s, i, CONSTRAINT)) return false;
    return true;
}

/* ---- what the blocks are --------------------------------------------------------------------- */

static void look_at_h(const split *s, doctor_form *f) {
    bool plus = false, minus = false;
    f->h_diagonal = f->h_constant = true;
    f->h_least = HUGE_VAL;
    for (int32_t i = 0; i < s->r->n; i++) {
        if (s->part[i] != VARIABLE && s->part[i] != OTHER) continue;
        const double d = s->diagonal[i], modulus = hypot(d, s->imag[i]);
        const bool beside = is_linked(s, i, VARIABLE) || is_linked(s, i, OTHER);
        f->variables++;
        plus = plus || d > 0;
        minus = minus || d < 0;
        f->h_diagonal = f->h_diagonal && !beside;
        if (f->variables == 1) f->h_alpha = d;
        f->h_constant = f->h_constant && d == f->h_alpha && s->imag[i] == 0 && !beside;
        if (modulus != 0)
            f->h_least = fmin(f->h_least, modulus), f->h_most = fmax(f->h_most, modulus);
    }
    f->sign = plus && minus ? 0 : minus ? -1 : 1;
    if (f->h_most == 0) f->h_least = 0;
}

/* Components of H of more than one row, and whether they are of one size. */
static void look_at_parts(split *s, doctor_form *f) {
    char *seen = calloc((size_t)s->r->n + 1, 1);
    for (int32_t i = 0; seen && i < s->r->n; i++) {
        if (seen[i] || (s->part[i] != VARIABLE && s->part[i] != OTHER)) continue;
        int32_t count = 0;
        s->queue[count++] = i;
        seen[i] = 1;
        for (int32_t head = 0; head < count; head++)
            for (int64_t e = s->r->ptr[s->queue[head]]; e < s->r->ptr[s->queue[head] + 1]; e++) {
                const int32_t k = s->r->col[e];
                if (seen[k] || (s->part[k] != VARIABLE && s->part[k] != OTHER)) continue;
                seen[k] = 1;
                s->queue[count++] = k;
            }
        if (count == 1) continue;
        f->h_part = f->h_parts == 0 || f->h_part == count ? count : 0;
        f->h_parts++;
    }
    free(seen);
}

/* The share of variables whose entries in B sum to zero: a constant in the other block's space is
 * then taken to zero, as a gradient does. */
static void look_at_b(const split *s, doctor_form *f) {
    int64_t rows = 0, zero = 0;
    for (int32_t i = 0; i < s->r->n; i++) {
        double sum = 0, imag = 0, all = 0;
        int32_t count = 0;
        if (s->part[i] != VARIABLE && s->part[i] != OTHER) continue;
        for (int64_t e = s->r->ptr[i]; e < s->r->ptr[i + 1]; e++) {
            if (s->part[s->r->col[e]] != CONSTRAINT) continue;
            sum += s->r->re[e], imag += s->r->im ? s->r->im[e] : 0;
            all += doctor_modulus(s->r, e), count++;
        }
        rows += count > 0;
        zero += count > 1 && hypot(sum, imag) <= 1e-10 * all;
    }
    f->gradient = rows > 0 && f->m > 1 ? (double)zero / (double)rows : -1;
}

static void find_shape(split *s, doctor_form *f) {
    const int32_t rest = s->positive + s->negative;
    if (s->zero > 0) {
        if (!part_zero(s)) return;
        f->shape = rest > 0 ? SHAPE_SADDLE : SHAPE_PAIR;
    } else if (s->positive > 0 && s->negative > 0) {
        const int fewer = s->negative <= s->positive ? -1 : 1;
        if (!part_by_sign(s, fewer) && !part_by_sign(s, -fewer)) return;
        f->shape = SHAPE_BORDERED;
    } else {
        return;
    }
    bool crossed = false;
    for (int32_t i = 0; i < s->r->n; i++) {
        f->m += s->part[i] == CONSTRAINT;
        if (s->part[i] == CONSTRAINT && !crossed)
            crossed = is_linked(s, i, VARIABLE) || is_linked(s, i, OTHER);
    }
    if (!crossed) {
        *f = (doctor_form){.gradient = -1};
        return;
    }
    f->either = s->either;
    f->coupled = s->coupled;
    f->h_indefinite = s->torn > 0;
    f->tied = s->tied > 0;
    look_at_h(s, f);
    look_at_parts(s, f);
    look_at_b(s, f);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void find_graph(const doctor_rows *r, const double *diagonal, doctor_form *f) {
    double least = HUGE_VAL, one = 0;
    int64_t beside = 0;
    int32_t at_least = 0;
    bool falling = true, ones = true, zero = true;
    double *sum = calloc((size_t)r->n + 1, sizeof *sum);
    if (!sum || r->im) {
        free(sum);
        return;
    }
    for (int32_t i = 0; i < r->n; i++) {
        double all = fabs(diagonal[i]);
        sum[i] = diagonal[i];
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            const double v = r->re[e];
            if (r->col[e] == i) continue;
            if (beside++ == 0) one = v;
            falling = falling && v < 0;
            ones = ones && v == one;
            sum[i] += v;
            all += fabs(v);
        }
        if (fabs(sum[i]) <= 1e-13 * all) sum[i] = 0;
        zero = zero && sum[i] == 0;
        least = fmin(least, sum[i]);
    }
    for (int32_t i = 0; i < r->n; i++) {
        ones = ones && (diagonal[i] == 0 || diagonal[i] == one);
        at_least += fabs(sum[i] - least) <= 1e-10 * (fabs(diagonal[i]) + fabs(least));
    }
    if (beside > 0 && falling && least >= 0)
        f->graph = zero ? GRAPH_LAPLACIAN : GRAPH_GROUNDED;
    else if (beside > 0 && falling && 2 * (int64_t)at_least > r->n)
        f->graph = GRAPH_SHIFTED, f->shift = -least;
    else if (beside > 0 && ones)
        f->graph = GRAPH_ONES;
    f->is_diagonal = beside == 0;
    free(sum);
}

mpk_status doctor_form_find(const mpk_problem_view *a, const doctor_rows *r, doctor_form *f) {
    const size_t n = (size_t)r->n + 1;
    split s = {.r = r,
               .part = malloc(n),
               .diagonal = calloc(n, sizeof *s.diagonal),
               .imag = calloc(n, sizeof *s.imag),
               .queue = malloc(n * sizeof *s.queue)};
    *f = (doctor_form){.gradient = -1};
    const bool there = s.part && s.diagonal && s.imag && s.queue;
    bool diagonal = true;
    for (int32_t i = 0; there && i < r->n; i++) {
        double modulus = 0;
        for (int64_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
            diagonal = diagonal && r->col[e] == i;
            if (r->col[e] != i) continue;
            s.diagonal[i] = r->re[e], s.imag[i] = r->im ? r->im[e] : 0;
            modulus = doctor_modulus(r, e);
        }
        s.part[i] = r->ptr[i] == r->ptr[i + 1] ? NEITHER : modulus == 0 ? NEW : VARIABLE;
        s.zero += s.part[i] == NEW;
        s.positive += s.part[i] == VARIABLE && s.diagonal[i] >= 0;
        s.negative += s.part[i] == VARIABLE && s.diagonal[i] < 0;
    }
    if (there && a->symmetry != MPK_GENERAL) {
        find_shape(&s, f);
        find_graph(r, s.diagonal, f);
    }
    f->is_diagonal = diagonal && r->ptr[r->n] > 0;
    free(s.part);
    free(s.diagonal);
    free(s.imag);
    free(s.queue);
    return there ? MPK_OK : MPK_ERR_MEMORY;
}
