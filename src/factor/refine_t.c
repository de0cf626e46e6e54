/* SPDX-License-Identifier: BSD-3-Clause */
/* Refinement of one right-hand side, and the estimate of the inverse's norm. */
#include "refine.h"
#include "../core/precision.h"
#include "../core/random.h"
#include "../problem/columns.h"

#include <string.h>

/* The worst over all right-hand sides. */
static void tell(mpk_solve_info *info, const mpki_quality *q, double unrefined, int steps) {
    info->componentwise = fmax(info->componentwise, q->componentwise);
    info->normwise = fmax(info->normwise, q->normwise);
    info->relative_residual = fmax(info->relative_residual, q->relative);
    info->unrefined = fmax(info->unrefined, unrefined);
    if (steps > info->iterations) info->iterations = steps;
}

bool FN(refine)(mpki_solve_work *work, int steps, double accuracy, void *vx, mpk_solve_info *info) {
    const int32_t n = work->system.a.n;
    T *x = vx, *best = work->x;
    const mpki_system *s = &work->system;
    mpki_quality q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
    const double unrefined = q.componentwise;
    int step = 0;
    while (!(q.componentwise <= accuracy) && isfinite(q.componentwise) && step < steps) {
        const mpki_quality kept = q;
        memcpy(best, x, (size_t)n * sizeof(T));
        mpki_apply_inverse(work, work->r);
        FN(column_add)(n, -q.exponent, work->r, x);
        q = FN(measure)(s, x, work->b, work->r, work->w, work->sums);
        step++;
        if (!(q.componentwise < kept.componentwise)) { /* no better: keep the one before */
            memcpy(x, best, (size_t)n * sizeof(T));
            q = kept;
            break;
        }
        if (!(q.componentwise <= 0.5 * kept.componentwise)) break; /* stagnation */
    }
    tell(info, &q, unrefined, step);
    work->growth = q.growth;
    return FN(column_finite)(n, x);
}

/* Hager's ascent from work->x, a vector of norm 1, by at most so many columns of A^-1; those that gave
 * `estimate` are not sought again. */
static double ascend(mpki_solve_work *work, int rounds, double estimate, int32_t *last) {
    const int32_t n = work->system.a.n;
    T *x = work->x, *sign = work->b;
    for (int round = 0; round <= rounds; round++) {
        mpki_apply_inverse(work, x);
        double sum = 0;
        for (int32_t i = 0; i < n; i++) sum += (double)t_abs(x[i]);
        if (round > 0 && !(sum > estimate)) break;
        if (sum > estimate) estimate = sum;
        if (round == rounds) break;
        for (int32_t i = 0; i < n; i++) {
            R a = t_abs(x[i]);
            sign[i] = a > 0 ? x[i] / a : t_make(1, 0);
        }
        memcpy(x, sign, (size_t)n * sizeof(T));
        /* A^-H sign: A^-1 when real or Hermitian; conj(A^-1 conj(sign)) when complex symmetric */
        const int turn = work->system.a.symmetry != MPK_HERMITIAN;
        for (int32_t i = 0; turn && i < n; i++) x[i] = t_conj(x[i]);
        mpki_apply_inverse(work, x);
        int32_t place = 0;
        for (int32_t i = 1; i < n; i++)
            if (t_abs(x[i]) > t_abs(x[place])) place = i;
        if (place == *last) break;
        *last = place;
        for (int32_t i = 0; i < n; i++) x[i] = t_make(i == place, 0);
    }
    return estimate;
}

double FN(inverse_norm1)(mpki_solve_work *work) {
    const int32_t n = work->system.a.n;
    T *x = work->x;
    int32_t last = -1;
    uint64_t state = 1;
    double sum = 0;
    if (n == 0) return 0;
    for (int32_t i = 0; i < n; i++) x[i] = t_make((R)1 / (R)n, 0);
    const double estimate = ascend(work, 4, 0, &last);
    /* two rows that are nearly equal answer nothing to 1 in both, and little to Higham's second
     * vector, +-(1 + i / (n - 1)): with random sizes it shows their column, which is then looked at */
    for (int32_t i = 0; i < n; i++) {
        const double size = mpki_random_unit(mpki_random_next(&state)) + 1e-3;
        x[i] = t_make((R)(i % 2 ? -size : size), 0);
        sum += size;
    }
    for (int32_t i = 0; i < n; i++) x[i] /= (R)sum;
    return ascend(work, 1, estimate, &last);
}
