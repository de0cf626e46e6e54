/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows below a factored block: triangular solve, D^-1 and the a-posteriori test, one strip of
 * MR rows at a time in the first-level cache. */
#include "isa.h"
#include "micro.h"

enum {
    BLOCK_MOST = 128,
    STRIP = MV * VBYTES / sizeof(R)
}; /* STRIP: reals in a column of the strip */

/* xs(:, j) -= xs(:, k) * m for mv vectors */
INLINE void axpy(const int mv, R *xj, const R *xk, T m) {
    vec re = v_all(t_re(m));
#if MPKI_COMPLEX
    vec im = v_all(t_im(m));
#endif
    UNROLL_TO(3)
    for (int i = 0; i < mv; i++) {
        vec x = v_load(xk + i * LANES), y = v_load(xj + i * LANES);
#if MPKI_COMPLEX
        y -= x * re + v_times_i(x) * im;
#else
        y -= x * re;
#endif
        v_store(xj + i * LANES, y);
    }
}

/* columns j0 .. j1-1 of the strip against all solved columns before them */
INLINE void solve_sliver(const int mv, R *xs, int j0, int j1, int np, int depth_of_pack,
                         const R *packed, const T *l, int64_t ldl, int hermitian) {
    int depth = j0 < np ? j0 : np;
    if (depth > 0) {
        vec acc[MV][NR];
        micro(mv, NR, 0, depth, xs, STRIP, packed + (int64_t)j0 * PARTS * depth_of_pack, LANES,
              acc);
        UNROLL_TO(8)
        for (int j = 0; j < NC; j++) {
            if (j0 + j >= j1) break;
            UNROLL_TO(3)
            for (int i = 0; i < mv; i++) {
                R *p = xs + (int64_t)(j0 + j) * STRIP + i * LANES;
                v_store(p, v_load(p) - micro_column(acc, i, j));
            }
        }
    }
    for (int j = j0 + 1; j < j1; j++)
        for (int k = j0; k < (j < np ? j : np); k++)
            axpy(mv, xs + (int64_t)j * STRIP, xs + (int64_t)k * STRIP,
                 conj_if(hermitian, l[j + k * ldl]));
}

/* y = x * m (+ x2 * m2) */
INLINE vec scaled(vec x, T m) {
#if MPKI_COMPLEX
    return x * v_all(t_re(m)) + v_times_i(x) * v_all(t_im(m));
#else
    return x * v_all(m);
#endif
}

typedef __typeof__((vec){0} <= (vec){0}) truth;

/* Of all lanes. */
INLINE int all_of(truth x) {
    int all = 1;
    for (int k = 0; k < LANES; k++) all &= x[k] != 0;
    return all;
}

/* 1 if an entry of x is above bound in modulus, or NaN. Complex: by max(|re|, |im|), within sqrt(2)
 * of the modulus. The lanes' verdicts are added without branches. */
INLINE int outside(const R *x, int reals, R bound) {
    int bad = 0;
    for (int i = 0; i < reals; i++) bad |= !(r_abs(x[i]) <= bound);
    return bad;
}

INLINE int strip_of_x(const int mv, int64_t reals, int b, int np, R *x, int64_t ldx,
                      const int32_t *perm, const T *l, int64_t ldl, const R *packed, const T *dinv,
                      int hermitian, R bound, int good) {
    R xs[STRIP * BLOCK_MOST] __attribute__((aligned(64)));
    int last = (int)(reals - (mv - 1) * LANES);
    for (int j = 0; j < b; j++) {
        const R *from = x + (perm ? perm[j] : j) * ldx;
        for (int i = 0; i < mv; i++)
            v_store(xs + j * STRIP + i * LANES, i < mv - 1 || last == LANES
                                                    ? v_load(from + i * LANES)
                                                    : v_load_n(from + i * LANES, last));
    }
    for (int j = 0; j < b; j += NC)
        solve_sliver(mv, xs, j, j + NC < b ? j + NC : b, np, np, packed, l, ldl, hermitian);
    truth within = (vec){0} <= (vec){0};
    for (int j = 0; j < np; j++) {
        R *xj = xs + j * STRIP;
        const int pair = j + 1 < np && t_abs1(dinv[2 * j + 1]) > 0;
        const T d11 = dinv[2 * j], d21 = dinv[2 * j + 1];
        UNROLL_TO(3)
        for (int i = 0; i < mv; i++) {
            const vec x1 = v_load(xj + i * LANES);
            if (pair) {
                const vec x2 = v_load(xj + STRIP + i * LANES);
                const vec y1 = scaled(x1, d11) + scaled(x2, d21);
                const vec y2 = scaled(x1, conj_if(hermitian, d21)) + scaled(x2, dinv[2 * j + 2]);
                within &= (v_abs(y1) <= v_all(bound)) & (v_abs(y2) <= v_all(bound));
                v_store(xj + i * LANES, y1);
                v_store(xj + STRIP + i * LANES, y2);
            } else {
                const vec y = scaled(x1, d11);
                within &= v_abs(y) <= v_all(bound);
                v_store(xj + i * LANES, y);
            }
        }
        j += pair;
    }
    const int all = all_of(within);
    for (int j = 0; !all && j < good; j++) { /* good <= np */
        const int pair = j + 1 < np && t_abs1(dinv[2 * j + 1]) > 0;
        if (outside(xs + j * STRIP, (int)reals, bound) ||
            (pair && outside(xs + (j + 1) * STRIP, (int)reals, bound)))
            good = j;
        j += pair;
    }
    for (int j = 0; j < b; j++) {
        R *to = x + j * ldx;
        for (int i = 0; i < mv; i++)
            if (i < mv - 1 || last == LANES)
                v_store(to + i * LANES, v_load(xs + j * STRIP + i * LANES));
            else
                v_store_n(to + i * LANES, v_load(xs + j * STRIP + i * LANES), last);
    }
    return good;
}

int ISA_FN(apply)(int64_t rows, int b, int np, T *x, int64_t ldx, const int32_t *perm, const T *l,
                  int64_t ldl, const T *packed, const T *dinv, int hermitian, R bound) {
    int good = np;
    for (int64_t i = 0; i < rows; i += MR) {
        int64_t left = (rows - i) * PARTS;
        R *xi = (R *)(x + i);
        const R *p = (const R *)packed;
        if (left > 2 * LANES)
            good = strip_of_x(MV, left < STRIP ? left : STRIP, b, np, xi, ldx * PARTS, perm, l, ldl,
                              p, dinv, hermitian, bound, good);
        else if (left > LANES)
            good = strip_of_x(2, left, b, np, xi, ldx * PARTS, perm, l, ldl, p, dinv, hermitian,
                              bound, good);
        else
            good = strip_of_x(1, left, b, np, xi, ldx * PARTS, perm, l, ldl, p, dinv, hermitian,
                              bound, good);
    }
    return good;
}
