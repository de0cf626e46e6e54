/* SPDX-License-Identifier: BSD-3-Clause */
/* Pivots of a direct factor that are zero, or so small that they may be rounding alone. */
#include "core/precision.h"
#include "core/random.h"
#include "problem/columns.h"
#include "front_of_t.h"

#include <string.h>

static T entry(const double *pair) {
    return t_make((R)pair[0], (R)pair[1]);
}

static double modulus(T x) {
    return MPKI_COMPLEX ? hypot((double)t_re(x), (double)t_im(x)) : fabs((double)t_re(x));
}

void FN(at_zeros)(const mpki_direct *f, void *vy) {
    T *y = vy;
    memset(y, 0, (size_t)f->tree.n * sizeof *y);
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = node->d;
        const int32_t *id = id_of(node);
        for (int32_t k = 0; k < node->nelim; k++) {
            const bool pair = t_abs1(d[2 * k + 1]) > 0;
            if (!pair && !(t_abs1(d[2 * k]) > 0))
                y[id[k]] = t_make((R)mpki_random_sign((uint64_t)id[k]), 0);
            k += pair;
        }
    }
}

/* The eigenvalue of smaller modulus of [a conj(b); b c], a and c real, from the determinant: its
 * size, sign and eigenvector; and the other eigenvalue. */
static void examine_pair(const T *d, mpki_weak_pivot *p) {
    const double a = (double)t_re(d[0]), c = (double)t_re(d[2]), b = modulus(d[1]);
    const double mean = (a + c) / 2, large = fabs(mean) + hypot((a - c) / 2, b);
    const double least = (a / large) * c - (b / large) * b, small = mean > 0 ? least : -least;
    const bool first =
        hypot(a - small, b) >= hypot(b, c - small); /* orthogonal to the longer row */
    const double length = first ? hypot(a - small, b) : hypot(b, c - small);
    const double re = (double)t_re(d[1]) / length, im = (double)t_im(d[1]) / length;
    p->size = fabs(least);
    p->sign = (least > 0) == (mean > 0) ? 1 : -1;
    p->other = mean > 0 ? large : -large;
    p->vector[0] = first ? re : (c - small) / length;
    p->vector[1] = first ? -im : 0;
    p->vector[2] = first ? -(a - small) / length : -re;
    p->vector[3] = first ? 0 : -im;
}

int FN(weak_pivots)(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list) {
    const mpki_tree_view *tree = &f->tree;
    int count = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = node->d;
        const int32_t *id = id_of(node);
        for (int32_t k = 0; k < node->nelim; k++) {
            mpki_weak_pivot p = {.at = {id[k]}, .handle = {s, k}, .vector = {1, 0, 0, 0}};
            p.pair = t_abs1(d[2 * k + 1]) > 0;
            if (p.pair) p.at[1] = id[k + 1];
            p.size = modulus(d[2 * k]);
            p.sign = t_re(d[2 * k]) > 0 ? 1 : -1;
            if (p.pair) examine_pair(d + 2 * k, &p);
            p.size /= f->size;
            k += p.pair;
            if (!(p.size <= bound) || p.size == 0) continue;
            int at = count < most ? count++ : most;
            for (; at > 0 && list[at - 1].size > p.size; at--)
                if (at < most) list[at] = list[at - 1];
            if (at < most) list[at] = p;
        }
    }
    return count;
}

int FN(zero_pivots)(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list) {
    const mpki_tree_view *tree = &f->tree;
    const int64_t step = all > most ? all / most : 1;
    int64_t seen = 0;
    int count = 0;
    for (int32_t s = 0; s < tree->nsuper && count < most; s++) {
        const mpki_node *node = &f->node[s];
        const T *d = node->d;
        const int32_t *id = id_of(node);
        for (int32_t k = 0; k < node->nelim && count < most; k++) {
            const bool pair = t_abs1(d[2 * k + 1]) > 0;
            if (!pair && !(t_abs1(d[2 * k]) > 0) && seen++ % step == 0)
                list[count++] =
                    (mpki_weak_pivot){.at = {id[k]}, .handle = {s, k}, .vector = {1, 0, 0, 0}};
            k += pair;
        }
    }
    return count;
}

void FN(weak_to_zero)(mpki_direct *f, const mpki_weak_pivot *list, int count) {
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        const mpki_node *node = &f->node[p->handle[0]];
        if (f->kept) f->kept->touched[p->handle[0]] = 1; /* a factorization would not do that */
        T *d = (T *)node->d + 2 * p->handle[1], *dinv = dinv_of(node) + 2 * p->handle[1];
        if (!p->pair) {
            d[0] = dinv[0] = t_make(0, 0);
        } else { /* what is left of the pair: other u u^H with u orthogonal to the vector */
            const T u0 = t_conj(entry(p->vector + 2)), u1 = -t_conj(entry(p->vector));
            const T part[3] = {t_mul(u0, t_conj(u0)), t_mul(u1, t_conj(u0)), t_mul(u1, t_conj(u1))};
            for (int k = 0; k < 3; k++) {
                d[k] = part[k] * (R)p->other;
                dinv[k] = p->other != 0 ? part[k] * (R)(1 / p->other) : t_make(0, 0);
            }
        }
    }
}
